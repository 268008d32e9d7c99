"""Seconds that scikit-learn takes to read a LIBSVM or multi-label text file.

Usage: read_sklearn.py FILE [--multilabel]
Compare with `read_bench FILE`. The best of five repetitions is printed, as read_bench does.
"""

import argparse
import os
import time

from sklearn.datasets import load_svmlight_file


def header_of(path):
    """Bytes of the first line and the number of features if it is a header `N D L`, else 0, None."""
    with open(path, "rb") as file:
        line = file.readline()
    numbers = line.split()
    if len(numbers) == 3 and b":" not in line:
        return len(line), int(numbers[1])
    return 0, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--multilabel", action="store_true", help="labels are lists a,b,c")
    options = parser.parse_args()
    offset, n_features = header_of(options.file)
    seconds, processor = [], []
    for _ in range(5):
        start, start_processor = time.perf_counter(), time.process_time()
        features, _ = load_svmlight_file(
            options.file,
            multilabel=options.multilabel or offset > 0,
            offset=offset,
            n_features=n_features,
            zero_based=True if offset > 0 else "auto",
        )
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_processor)
    megabytes = os.path.getsize(options.file) / 1e6
    best = min(seconds)
    print(
        f"scikit-learn: {megabytes / best:.0f} MB/s, {best:.4f} s, "
        f"{min(processor):.4f} s of processor time, {features.nnz} non-zeros"
    )


if __name__ == "__main__":
    main()
