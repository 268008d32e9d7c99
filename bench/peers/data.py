"""Reads the multi-label text that every peer trains on, and evaluates their predictions.

The text is `N D L` (optional), then a line per row: `label,label feature:value feature:value ...`, all 0-based, plain or
.xz. What is parsed once is kept as .npz under build/peers/cache, so that no peer's time contains reading.
"""
import argparse
import hashlib
import json
import lzma
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "peers"
ARRAYS = ("shape", "x_ptr", "x_idx", "x_val", "y_ptr", "y_idx")


def _numbers(text, what, path):
    """All numbers of a blank-separated text; numpy stops at the first it cannot read, which must be an error."""
    values = np.fromstring(text, dtype=np.float64, sep=" ") if text.strip() else np.empty(0)
    if values.size != len(text.split()):
        raise SystemExit(f"{path}: a {what} is not a number")
    return values


def _parse(path):
    raw = lzma.open(path).read() if path.suffix == ".xz" else path.read_bytes()
    lines = raw.split(b"\n")
    if lines and not lines[-1].strip():
        lines.pop()
    features_in_header = labels_in_header = 0
    first = lines[0].split() if lines else []
    if len(first) == 3 and b":" not in lines[0] and b"," not in lines[0]:
        _, features_in_header, labels_in_header = (int(word) for word in first)
        lines = lines[1:]
    x_counts = np.array([line.count(b":") for line in lines], dtype=np.int64)
    label_texts, feature_texts = [], []
    for line in lines:
        head, _, rest = line.partition(b" ")
        if b":" in head:  # a row without labels that does not begin with a blank
            head, rest = b"", line
        label_texts.append(head)
        feature_texts.append(rest)
    y_counts = np.array([head.count(b",") + 1 if head.strip() else 0 for head in label_texts], dtype=np.int64)
    pairs = _numbers(b" ".join(feature_texts).replace(b":", b" ").decode(), "feature or value", path).reshape(-1, 2)
    labels = _numbers(b" ".join(label_texts).replace(b",", b" ").decode(), "label", path)
    if pairs.shape[0] != x_counts.sum() or labels.size != y_counts.sum():
        raise SystemExit(f"{path}: not in the multi-label text format")
    x_idx, y_idx = pairs[:, 0].astype(np.int32), labels.astype(np.int32)
    features = max(features_in_header, int(x_idx.max(initial=-1)) + 1)
    label_count = max(labels_in_header, int(y_idx.max(initial=-1)) + 1)
    pointers = [np.concatenate(([0], np.cumsum(counts))) for counts in (x_counts, y_counts)]
    return dict(shape=np.array([len(lines), features, label_count]), x_ptr=pointers[0], x_idx=x_idx,
                x_val=pairs[:, 1].astype(np.float32), y_ptr=pointers[1], y_idx=y_idx)


def load(path):
    """(X, Y) as CSR float32, features as they stand in the file, Y of ones."""
    path = Path(path).resolve()
    stat = path.stat()
    key = hashlib.sha256(f"1 {path} {stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:16]
    cached = WORK / "cache" / f"{path.parent.name}-{path.name}-{key}.npz"
    if cached.exists():
        with np.load(cached) as kept:
            parsed = {name: kept[name] for name in ARRAYS}
    else:
        parsed = _parse(path)
        cached.parent.mkdir(parents=True, exist_ok=True)
        partial = cached.with_suffix(".partial.npz")
        np.savez(partial, **parsed)
        partial.rename(cached)
    rows, features, labels = (int(number) for number in parsed["shape"])
    x = sp.csr_matrix((parsed["x_val"], parsed["x_idx"], parsed["x_ptr"]), shape=(rows, features))
    ones = np.ones(parsed["y_idx"].size, dtype=np.float32)
    y = sp.csr_matrix((ones, parsed["y_idx"], parsed["y_ptr"]), shape=(rows, labels))
    x.sum_duplicates()
    y.sum_duplicates()
    y.data[:] = 1
    return x, y


def normalised(x):
    """Each row to Euclidean length 1, which is the default of `evener train`."""
    length = np.sqrt(np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64)).ravel()
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    out = x.copy()
    out.data = (out.data * np.repeat(scale, np.diff(x.indptr))).astype(np.float32)
    return out


def tfidf(train, test):
    """Evener's --tfidf: value -> (1 + ln value if value > 1) * (ln((1 + rows) / (1 + rows with the feature)) + 1)."""
    occurs = np.bincount(train.indices, minlength=train.shape[1])
    idf = np.log((1 + train.shape[0]) / (1 + occurs)) + 1

    def weigh(x):
        out = x.copy()
        damped = np.where(x.data > 1, 1 + np.log(np.maximum(x.data, 1)), x.data)
        out.data = (damped * idf[x.indices]).astype(np.float32)
        return out

    return weigh(train), weigh(test)


@dataclass
class Task:
    name: str
    x: sp.csr_matrix
    y: sp.csr_matrix
    x_test: sp.csr_matrix
    y_test: sp.csr_matrix

    @property
    def features(self):
        return self.x.shape[1]

    @property
    def labels(self):
        return self.y.shape[1]


def _find(folder, stem):
    for name in (f"{stem}.txt", f"{stem}.txt.xz"):
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"{folder}: neither {stem}.txt nor {stem}.txt.xz is there")


def add_arguments(parser: argparse.ArgumentParser):
    parser.add_argument("data", help="a folder with train.txt[.xz] and test.txt[.xz]")
    parser.add_argument("--no-normalise", action="store_true", help="leave row lengths as they are")
    parser.add_argument("--tfidf", action="store_true", help="weigh features as evener's --tfidf does, before normalising")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)


def add_network_arguments(parser: argparse.ArgumentParser):
    add_arguments(parser)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=256, help="rows")
    parser.add_argument("--hidden", type=int, default=128, help="units")
    parser.add_argument("--init", choices=("evener", "framework"), default="evener",
                        help="start weights: Evener's bounds, or what the framework's layers choose")
    parser.add_argument("--max-batches", type=int, default=0, help="stop each epoch after so many; 0: all")


def load_task(args):
    folder = Path(args.data)
    x, y = load(_find(folder, "train"))
    x_test, y_test = load(_find(folder, "test"))
    features, labels = max(x.shape[1], x_test.shape[1]), max(y.shape[1], y_test.shape[1])
    for matrix, columns in ((x, features), (x_test, features), (y, labels), (y_test, labels)):
        matrix.resize(matrix.shape[0], columns)
    if args.tfidf:
        x, x_test = tfidf(x, x_test)
    if not args.no_normalise:
        x, x_test = normalised(x), normalised(x_test)
    return Task(folder.resolve().name, x, y, x_test, y_test)


def row_weights(y):
    """Y with each row's ones divided by their number: the softmax targets."""
    counts = np.diff(y.indptr)
    return sp.csr_matrix((np.repeat(1 / np.maximum(counts, 1), counts).astype(np.float32), y.indices, y.indptr), y.shape)


def batches(rows, size, rng, limit):
    """The row numbers of each batch of one epoch; the last may be smaller."""
    order = rng.permutation(rows)
    cuts = range(0, rows, size)
    for begin in (cuts[:limit] if limit else cuts):
        yield order[begin:begin + size]


def batch_times(marks):
    """Milliseconds per batch; the best one is the most reliable when other programs use the machine."""
    steps = 1000 * np.diff(marks)
    return dict(batch_ms=round(float(np.median(steps)), 2), batch_ms_best=round(float(steps.min()), 2))


def precision(top, y, ks=(1, 3, 5)):
    """P@k in [0, 1] from each row's best labels, best first (-1: none). Rows without labels count as zero."""
    top = np.asarray(top)
    keys = np.repeat(np.arange(y.shape[0], dtype=np.int64), np.diff(y.indptr)) * y.shape[1] + y.indices
    asked = np.arange(y.shape[0], dtype=np.int64)[:, None] * y.shape[1] + top
    hits = np.isin(asked, keys) & (top >= 0)
    return {f"p@{k}": round(float(hits[:, :k].sum() / (k * y.shape[0])), 5) for k in ks}


def emit(**fields):
    """One JSON line on standard output, with the peak memory of the process so far."""
    fields["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(fields), flush=True)


def say(text):
    print(text, file=sys.stderr, flush=True)
