#!/usr/bin/env python3
"""Whether --strategy auto does harm: pairs of devices against the better of the two alone, in turns.

    python3 bench/auto.py DATA [--device cpu:1] [--seeds 5] [--epochs 8] [--target 0.7]

The pairs: equal, the second at a quarter of its speed, the second at a fiftieth. Both sides train with the same options;
time is to the same P@1, and rows a second of the whole run, start included.
"""
import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

EVENER = Path(__file__).resolve().parents[1] / "build/release/evener"
COMMON = ["--hidden", "128", "--loss", "softmax", "--dropout", "0", "--decay", "constant", "--learning-rate", "0.006"]


def run(args, devices, emulate, seed, folder):
    command = [str(EVENER), "train", args.data, "--devices", devices, *COMMON, "--epochs", str(args.epochs), "--seed", str(seed),
               "--quiet", "--checkpoint-minutes", "0", "-o", folder]
    if emulate:
        command += ["--emulate", emulate]
    subprocess.run(command, check=True, capture_output=True)
    seconds, reached, rate = 0, None, 0
    for line in Path(folder, "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["kind"] == "epoch":  # training time, evaluations not counted
            seconds += record["train_seconds"]
            rate = record["samples_per_second"]  # since the start
        if record["kind"] == "eval" and reached is None and record["p@1"] >= args.target:
            reached = seconds
    return reached, rate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--device", default="cpu:1")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--target", type=float, default=0.7)
    args = parser.parse_args()
    pair = f"{args.device},{args.device}"
    pairs = {"equal pair": "", "second at 25 %": "1=x0.25", "second at 2 %": "1=x0.02"}
    results = {name: [] for name in ["best alone", *pairs]}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, args.seeds + 1):
            results["best alone"].append(run(args, args.device, "", seed, f"{folder}/{seed}-alone"))
            for number, (name, emulate) in enumerate(pairs.items()):
                results[name].append(run(args, pair, emulate, seed, f"{folder}/{seed}-{number}"))
    alone_rate = statistics.median(rate for _, rate in results["best alone"])
    alone_time = statistics.median(t for t, _ in results["best alone"] if t)
    print(f"{'':<16}{'s to P@1 ' + format(args.target, 'g'):>14}{'against alone':>15}{'rows/s':>10}{'against alone':>15}")
    for name, runs in results.items():
        times = [t for t, _ in runs if t]
        rate = statistics.median(r for _, r in runs)
        time = statistics.median(times) if len(times) * 2 > len(runs) else float("nan")
        spread = f" ({min(times):.2f}-{max(times):.2f})" if times else ""
        print(f"{name:<16}{time:>14.2f}{100 * (time / alone_time - 1):>+13.1f} %{rate:>10.0f}{100 * (rate / alone_rate - 1):>+13.1f} %{spread}")


if __name__ == "__main__":
    main()
