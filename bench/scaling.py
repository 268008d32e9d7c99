#!/usr/bin/env python3
"""How cost and memory grow with the number of labels: trains on synthetic sets from 4 thousand to 670 thousand labels.

    python3 bench/scaling.py [--labels 4000,...] [--rows 5120] [--svg docs/images/scaling.svg]

Same rows, features and non-zeros throughout; D-128-L, softmax, Adam, batch 256. Peak memory is the process's own, beside what model,
optimizer state and data take (parameters x 12 bytes, non-zeros x 8). Needs build/release/evener and nothing else.
"""
import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EVENER = ROOT / "build/release/evener"
HIDDEN, BATCH, FEATURES, NONZEROS = 128, 256, 135909, 76


def run(*arguments):
    return subprocess.run([str(EVENER), *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def measure(labels, rows, optimizer, folder):
    data = folder / f"{labels}"
    if not data.exists():
        run("dataset", "synthetic", "-o", data, "--rows", rows, "--features", FEATURES, "--labels", labels, "--features-per-row", NONZEROS,
            "--labels-per-row", 5.4, "--test-share", 0.01)
    peak = max(json.loads(run("devices", "--json"))[0]["gflops"] for _ in range(3))
    out = folder / f"run-{labels}-{optimizer}"
    run("train", data / "train.txt", "-o", out, "--devices", "cpu", "--hidden", HIDDEN, "--loss", "softmax", "--no-prior-bias", "--dropout", 0,
        "--optimizer", optimizer, "--epochs", 2, "--checkpoint-minutes", 0, "--no-cache", "--quiet")
    records = [json.loads(line) for line in open(out / "metrics.jsonl")]
    seconds = min(record["train_seconds"] for record in records if record["kind"] == "epoch")
    count = int(open(data / "train.txt").readline().split()[0])
    states = {"sgd": 1, "adam": 3}[optimizer]
    parameters = (FEATURES + labels) * HIDDEN + labels
    needed = states * parameters * 4 + count * (NONZEROS * 8 + 5.4 * 4 + 16)
    operations = 6 * HIDDEN * count * (labels + NONZEROS)
    subprocess.run(["rm", "-rf", str(out)], check=True)
    return {"labels": labels, "optimizer": optimizer, "ms_per_batch": 1e3 * seconds * BATCH / count,
            "gflops": operations / seconds / 1e9, "peak_gflops": peak,
            "memory": records[-1]["peak_memory_bytes"], "needed": needed}


def svg(rows, path):
    """Two panels against labels, all axes logarithmic: ms per batch and peak memory."""
    panel, height, left, top, bottom = 340, 300, 30, 50, 60
    xs = [math.log10(row["labels"]) for row in rows]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * panel} {height}" font-family="sans-serif" font-size="13">',
             f'<rect width="{2 * panel}" height="{height}" fill="white"/>']
    panels = (("milliseconds a batch of 256", "#1f5fa8", lambda row: row["ms_per_batch"]),
              ("peak memory, MB", "#b04a1a", lambda row: row["memory"] / 1e6))
    for number, (title, colour, value) in enumerate(panels):
        logs = [math.log10(value(row)) for row in rows]
        low, high = min(logs), max(logs)
        points = [(number * panel + left + (at - xs[0]) / (xs[-1] - xs[0]) * (panel - 2 * left),
                   height - bottom - (v - low) / (high - low) * (height - bottom - top)) for v, at in zip(logs, xs)]
        parts.append(f'<text x="{number * panel + left}" y="22" fill="{colour}">{title}</text>')
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' +
                     " ".join(f"{x:.0f},{y:.0f}" for x, y in points) + '"/>')
        for (x, y), row in zip(points, rows):
            parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" fill="{colour}"/>'
                         f'<text x="{x:.0f}" y="{y - 9:.0f}" fill="{colour}" text-anchor="middle">{value(row):.0f}</text>'
                         f'<text x="{x:.0f}" y="{height - bottom + 24}" text-anchor="middle">{row["labels"] // 1000}k</text>')
    parts.append(f'<text x="{panel}" y="{height - 8}" text-anchor="middle">labels (all scales logarithmic)</text></svg>')
    Path(path).write_text("\n".join(parts) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", default="4000,16000,64000,256000,670091")
    parser.add_argument("--rows", type=int, default=5172)
    parser.add_argument("--optimizers", default="adam")
    parser.add_argument("--svg")
    args = parser.parse_args()
    rows = []
    print(f"{'labels':>8} {'optimizer':>9} {'ms/batch':>9} {'GFLOP/s':>8} {'of peak':>8} {'memory MB':>10} {'needed MB':>10} {'over':>6}")
    with tempfile.TemporaryDirectory(prefix="evener-scaling-") as folder:
        for optimizer in args.optimizers.split(","):
            for labels in map(int, args.labels.split(",")):
                row = measure(labels, args.rows, optimizer, Path(folder))
                rows.append(row)
                print(f"{row['labels']:8} {optimizer:>9} {row['ms_per_batch']:9.1f} {row['gflops']:8.1f} "
                      f"{row['gflops'] / row['peak_gflops']:8.1%} {row['memory'] / 1e6:10.0f} {row['needed'] / 1e6:10.0f} "
                      f"{row['memory'] / row['needed'] - 1:6.1%}", flush=True)
    if args.svg:
        svg([row for row in rows if row["optimizer"] == args.optimizers.split(",")[0]], args.svg)


if __name__ == "__main__":
    main()
