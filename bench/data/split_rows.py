#!/usr/bin/env python3
"""Writes the rows of one split of a multi-label text file, with a header of its own.

    python3 bench/data/split_rows.py DATA ROWS OUT [--column 1]

DATA: multi-label text with a first line `ROWS FEATURES LABELS`. ROWS: row numbers of DATA, counted from 1, one line per row of the
split and one column per split, as the Extreme Classification Repository publishes them. OUT: the file to write. DATA and OUT may end
in .xz or .gz. --column: which split to take, counted from 1.
"""
import argparse
import gzip
import lzma
import sys
from pathlib import Path


def open_text(path, mode):
    opener = {".xz": lzma.open, ".gz": gzip.open}.get(Path(path).suffix, open)
    return opener(path, mode + "t", encoding="ascii")


def read_data(path):
    """Features, labels and the lines of all rows."""
    with open_text(path, "r") as file:
        header = file.readline().split()
        if len(header) != 3 or not all(word.isdigit() for word in header):
            sys.exit(f"{path}:1: the first line must be `ROWS FEATURES LABELS`")
        lines = file.readlines()
    rows, features, labels = map(int, header)
    if len(lines) != rows:
        sys.exit(f"{path}: the first line says {rows} rows, the file has {len(lines)}")
    return features, labels, lines


def read_column(path, column, rows):
    """Row numbers from 0."""
    numbers, seen = [], set()
    for at, line in enumerate(Path(path).read_text(encoding="ascii").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) < column:
            sys.exit(f"{path}:{at}: there is no column {column}, only {len(words)}")
        word = words[column - 1]
        if not word.isdigit() or not 1 <= int(word) <= rows:
            sys.exit(f"{path}:{at}: {word} is not a row number from 1 to {rows}")
        if word in seen:
            sys.exit(f"{path}:{at}: row {word} is listed twice")
        seen.add(word)
        numbers.append(int(word) - 1)
    if not numbers:
        sys.exit(f"{path}: no row numbers")
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("rows")
    parser.add_argument("out")
    parser.add_argument("--column", type=int, default=1)
    args = parser.parse_args()
    if args.column < 1:
        parser.error("--column counts from 1")
    try:
        features, labels, lines = read_data(args.data)
        numbers = read_column(args.rows, args.column, len(lines))
        with open_text(args.out, "w") as file:
            file.write(f"{len(numbers)} {features} {labels}\n")
            file.writelines(lines[number].rstrip("\n") + "\n" for number in numbers)
    except (OSError, lzma.LZMAError, UnicodeDecodeError) as error:
        sys.exit(f"{parser.prog}: {error}")
    print(f"{args.out}: {len(numbers)} of {len(lines)} rows, {features} features, {labels} labels")


if __name__ == "__main__":
    main()
