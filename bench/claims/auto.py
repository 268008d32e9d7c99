#!/usr/bin/env python3
"""Compares --strategy auto on two simulated devices with one device alone and with averaged replicas, in virtual time.

    python3 bench/claims/auto.py --data FOLDER/bibtex [--seeds 2] [--epochs N] [--jobs N]

Uses the default options. A device takes 1 ms and 60 us per row; the second device takes as long, twice as long or fifty times as
long. Times include the trials of auto. 95 % and 99 % are of the best P@1 that the device alone reaches with the same seed. Prints a
Markdown table: the mean of the seeds, and the least and the most.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

EVENER = os.environ.get("EVENER", Path(__file__).resolve().parents[2] / "build/release/evener")
SHARES = (0.95, 0.99)
REPLICAS = "adaptive-sgd"
# name -> (slowness of each device, strategy)
CASES = {
    "one alone": ([1], "auto"),
    "equal pair, `auto`": ([1, 1], "auto"),
    "equal pair, averaged replicas": ([1, 1], REPLICAS),
    "the second at 50 %, `auto`": ([1, 2], "auto"),
    "the second at 2 %, `auto`": ([1, 50], "auto"),
}
NEVER = float("inf")


def simulate(args, slowness, strategy, seed):
    with tempfile.TemporaryDirectory() as folder:
        cluster = "merge-bandwidth-gb-s = 10\n"
        for i, slow in enumerate(slowness):
            cluster += f'[[device]]\nname = "device {i + 1}"\nfixed-ms = {slow:g}\nper-row-us = {60 * slow:g}\n'
        Path(folder, "cluster.toml").write_text(cluster)
        command = [str(EVENER), "simulate", f"{folder}/cluster.toml", args.data, "--seed", str(seed), "--strategy", strategy, "--json", "--quiet",
                   "-o", f"{folder}/run"]
        if args.epochs:
            command += ["--epochs", str(args.epochs)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        result = json.loads(done.stdout)
        records = [json.loads(line) for line in Path(folder, "run", "metrics.jsonl").read_text().splitlines()]
    curve = [(record["seconds"], 100 * record["p@1"]) for record in records if record["kind"] == "eval"]
    return {"curve": curve, "seconds": result["seconds"], "strategy": result["strategy"]}


def best(run):
    return max(quality for _, quality in run["curve"])


def time_to(run, target):
    return next((seconds for seconds, quality in run["curve"] if quality >= target), NEVER)


def text(values):
    if NEVER in values:
        return "never" if min(values) == NEVER else f"never in {values.count(NEVER)} of {len(values)}"
    spread = f" ({min(values):.2f}-{max(values):.2f})" if min(values) < max(values) else ""
    return f"{statistics.mean(values):.2f}{spread}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("EVENER_DATA", "data") + "/bibtex")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=0, help="0: the recipe's")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    seeds = range(1, args.seeds + 1)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        waiting = {name: [pool.submit(simulate, args, *case, seed) for seed in seeds] for name, case in CASES.items()}
        runs = {name: [future.result() for future in futures] for name, futures in waiting.items()}
    print(f"{Path(args.data).name}, {args.seeds} seeds, virtual seconds\n")
    print("|  | trains with | best P@1 | s to 95 % | s to 99 % | s to the end |\n|---|---|---|---|---|---|")
    for name, several in runs.items():
        to_share = [text([time_to(run, share * best(alone)) for run, alone in zip(several, runs["one alone"])]) for share in SHARES]
        strategies = ", ".join(dict.fromkeys(f"`{run['strategy'].split(':')[0]}`" for run in several))
        print(f"| {name} | {strategies} | {text([best(run) for run in several])} "
              f"| {to_share[0]} | {to_share[1]} | {text([run['seconds'] for run in several])} |")


if __name__ == "__main__":
    main()
