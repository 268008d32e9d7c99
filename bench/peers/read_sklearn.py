"""Times scikit-learn's reader, the one Evener's readers are measured against, on a LIBSVM or multi-label text file."""
import argparse
import os
import time

from data import emit


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="plain text; a header line `N D L` must have been removed")
    parser.add_argument("--multilabel", action="store_true", help="labels are `a,b,c`")
    parser.add_argument("--zero-based", action="store_true", help="features count from 0 (default: from 1)")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()

    import sklearn
    from sklearn.datasets import load_svmlight_file

    for repeat in range(args.repeat):
        start = time.perf_counter()
        x, _ = load_svmlight_file(args.file, multilabel=args.multilabel, zero_based=args.zero_based)
        seconds = time.perf_counter() - start
        size = os.path.getsize(args.file)
        emit(peer="scikit-learn", version=sklearn.__version__, file=os.path.basename(args.file), repeat=repeat,
             seconds=round(seconds, 4), mb_per_s=round(size / seconds / 1e6, 2), rows=x.shape[0], nonzeros=int(x.nnz))


if __name__ == "__main__":
    main()
