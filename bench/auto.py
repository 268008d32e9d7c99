#!/usr/bin/env python3
"""Does --strategy auto do harm? Compares pairs of devices with one alone, in turns, with the default options.

    python3 bench/auto.py DATA [--device cpu:1] [--other cpu:1] [--seeds 3] [--epochs N] [--evener PATH] [-- OPTIONS]

The pairs: the device and the other, with the other at full speed, at a quarter and at a fiftieth. Both sides train with
the same options: the defaults of --head full, and those after "--". Time is measured from the start to 95 % and 99 % of the best P@1
that the device reaches alone (median of the seeds). It includes trials of devices and excludes evaluations. Quality is
the best and the final P@1.
"""
import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

EVENER = Path(__file__).resolve().parents[1] / "build/release/evener"
SHARES = (0.95, 0.99)


def run(args, devices, emulate, seed, folder):
    """Seconds and P@1 of each evaluation, and rows per second."""
    command = [str(args.evener), "train", args.data, "--head", "full", "--devices", devices, "--seed", str(seed), "--quiet", "--checkpoint-minutes",
               "0", "-o", folder, *args.options]
    if args.epochs:
        command += ["--epochs", str(args.epochs)]
    if emulate:
        command += ["--emulate", emulate]
    subprocess.run(command, check=True, capture_output=True)
    curve, evaluating, rate = [], 0, 0
    for line in Path(folder, "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "epoch":
            rate = record["samples_per_second"]  # since the start
        if record["kind"] == "eval":
            evaluating += record["eval_seconds"]
            curve.append((record["seconds"] - evaluating, record["p@1"]))
    return curve, rate


def time_to(curve, target):
    return next((seconds for seconds, quality in curve if quality >= target), float("inf"))


def best(curve):
    return max(quality for _, quality in curve)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--device", default="cpu:1")
    parser.add_argument("--other", default="cpu:1")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=0, help="0: the recipe's")
    parser.add_argument("--evener", type=Path, default=EVENER)
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    both = f"{args.device},{args.other}"
    sides = {"alone": (args.device, ""), "pair": (both, ""), "other at 25 %": (both, "1=x0.25"), "other at 2 %": (both, "1=x0.02")}
    results = {name: [] for name in sides}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, args.seeds + 1):
            for number, (name, (devices, emulate)) in enumerate(sides.items()):
                results[name].append(run(args, devices, emulate, seed, f"{folder}/{seed}-{number}"))
    targets = [share * statistics.median(best(curve) for curve, _ in results["alone"]) for share in SHARES]
    print(f"{'':<16}" + "".join(f"{f's to P@1 {100 * t:.1f}':>20}" for t in targets) + f"{'best P@1':>20}{'final P@1':>12}{'rows/s':>9}")
    for name, runs in results.items():
        line = f"{name:<16}"
        for target in targets:
            times = sorted(time_to(curve, target) for curve, _ in runs)
            line += f"{f'{statistics.median(times):.2f} ({times[0]:.2f}-{times[-1]:.2f})':>20}"
        qualities = sorted(100 * best(curve) for curve, _ in runs)
        line += f"{f'{statistics.median(qualities):.2f} ({qualities[0]:.2f}-{qualities[-1]:.2f})':>20}"
        line += f"{statistics.median(100 * curve[-1][1] for curve, _ in runs):>12.2f}{statistics.median(rate for _, rate in runs):>9.0f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
