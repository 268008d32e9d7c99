"""Seconds that scikit-learn takes to read a LIBSVM or multi-label text file.

Usage: read_sklearn.py FILE [--multilabel]
Compare with `read_bench FILE`. The best of five repetitions is printed, as read_bench does.
"""

import argparse
import os
import time

from sklearn.datasets import load_svmlight_file


def header_size(path):
    """Bytes of the first line, and D, if it is a header `N D L`; else 0 and None."""
    with open(path, "rb") as file:
        line = file.readline()
    words = line.split()
    return (len(line), int(words[1])) if len(words) == 3 and b":" not in line else (0, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--multilabel", action="store_true", help="labels are lists a,b,c")
    options = parser.parse_args()
    header, features_given = header_size(options.file)
    # scikit-learn drops the line that `offset` falls into, so it must fall into the header.
    where = {"offset": header - 1, "n_features": features_given} if header else {}
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        features, _ = load_svmlight_file(
            options.file, multilabel=options.multilabel or header > 0, **where
        )
        seconds.append(time.perf_counter() - start)
    megabytes = os.path.getsize(options.file) / 1e6
    best = min(seconds)
    print(f"scikit-learn: {best:.4f} s, {megabytes / best:.1f} MB/s, {features.nnz} non-zeros")


if __name__ == "__main__":
    main()
