"""Seconds that scikit-learn takes to read a LIBSVM or multi-label text file without header.

Usage: read_sklearn.py FILE [--multilabel]
Compare with `read_bench FILE`. The best of five repetitions is printed, as read_bench does.
"""

import argparse
import os
import time

from sklearn.datasets import load_svmlight_file


def header_size(path):
    """Bytes of the first line if it is a header `N D L`, else 0."""
    with open(path, "rb") as file:
        line = file.readline()
    return len(line) if len(line.split()) == 3 and b":" not in line else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--multilabel", action="store_true", help="labels are lists a,b,c")
    options = parser.parse_args()
    offset = header_size(options.file)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        features, _ = load_svmlight_file(
            options.file, multilabel=options.multilabel or offset > 0, offset=offset
        )
        seconds.append(time.perf_counter() - start)
    megabytes = os.path.getsize(options.file) / 1e6
    best = min(seconds)
    print(f"scikit-learn: {best:.4f} s, {megabytes / best:.1f} MB/s, {features.nnz} non-zeros")


if __name__ == "__main__":
    main()
