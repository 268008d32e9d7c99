#!/usr/bin/env python3
"""Makes the citeulike-t set of the results from the published files: tags of an article from the words of its title and abstract.

    python3 bench/data/citeulike_t.py mult.dat tag-item.dat OUT

mult.dat: one line per article, `COUNT word:occurrences ...`. tag-item.dat: one line per tag, `COUNT article ...`. Both count from 0.
OUT: folder for train.txt.xz and test.txt.xz.

Articles without a word or without a tag are left out. The others are shuffled (seed 2013); the first 80 % are the training rows.
The value of a word in an article is (1 + ln tf) (ln((1 + N) / (1 + df)) + 1): tf is how often the article has the word, N the number
of training rows, df the number of training rows that have the word. Then each row is scaled to Euclidean length 1.
"""
import argparse
import lzma
import math
import random
import sys
from collections import Counter
from pathlib import Path

SEED, TRAINING_SHARE = 2013, 0.8


def lists(path, parse):
    """The entries of each line, whose first word is their number."""
    for at, line in enumerate(Path(path).read_text(encoding="ascii").splitlines(), 1):
        try:
            count, *words = line.split()
            entries = [parse(word) for word in words]
            matches = int(count) == len(entries)
        except ValueError:
            matches = False
        if not matches:
            sys.exit(f"{path}:{at}: expected a number and that many entries")
        yield entries


def word_count(text):
    word, count = text.split(":")
    return int(word), int(count)


def write(path, rows, features, labels, idf):
    with lzma.open(path, "wt", encoding="ascii") as file:
        file.write(f"{len(rows)} {features} {labels}\n")
        for words, tags in rows:
            values = {word: (1 + math.log(count)) * idf[word] for word, count in words}
            length = math.sqrt(sum(value * value for value in values.values()))
            pairs = " ".join(f"{word}:{value / length:.5f}" for word, value in sorted(values.items()))
            file.write(f"{','.join(map(str, sorted(tags)))} {pairs}\n")
    print(f"{path}: {len(rows)} rows, {features} features, {labels} labels")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", help="mult.dat")
    parser.add_argument("tags", help="tag-item.dat")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    try:
        articles = [(words, set()) for words in lists(args.words, word_count)]
        labels = 0
        for tag, tagged in enumerate(lists(args.tags, int)):
            labels = tag + 1
            for article in tagged:
                if not 0 <= article < len(articles):
                    sys.exit(f"{args.tags}:{tag + 1}: there is no article {article}, only {len(articles)}")
                articles[article][1].add(tag)
        rows = [(words, tags) for words, tags in articles if words and tags]
        if len(rows) < 2:
            sys.exit(f"{args.words}: fewer than two articles have words and tags")
        random.Random(SEED).shuffle(rows)
        training = int(TRAINING_SHARE * len(rows))
        features = 1 + max(word for words, _ in rows for word, _ in words)
        frequency = Counter(word for words, _ in rows[:training] for word, _ in words)
        idf = [math.log((1 + training) / (1 + frequency[word])) + 1 for word in range(features)]
        args.out.mkdir(parents=True, exist_ok=True)
        write(args.out / "train.txt.xz", rows[:training], features, labels, idf)
        write(args.out / "test.txt.xz", rows[training:], features, labels, idf)
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
