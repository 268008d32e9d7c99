#!/usr/bin/env python3
"""Compares adaptive gossip with gossip every step, the fixed period with equal traffic, local SGD and bsp, in virtual time.
On the simulated links gossip every step spends 56 % of an iteration on communication (as the paper's two figures imply).

    python3 bench/claims/gossip.py [--data FOLDER/bibtex] [--nodes 8] [--seeds 5] [--epochs 20] [--unequal] [--batch 256]
        [--strategies S,...] [--share 0.56] [--target 60] [--kept FILE] [--jobs N]

Uses the default options with 128 units. The learning rate of each entry is tuned over one grid by the final P@1 of the first
seed. Traffic is the sum over all nodes; local SGD's all-reduce counts as two models per node.
--unequal: a quarter of the nodes at a quarter of the speed.
--strategies: compares these with the first, instead of the paper's comparison; PERIOD in one becomes the fixed period with
the traffic of the previous one.
--kept: runs that are in the file are not repeated (they would give the same).
--share 0.984: a message takes thirty steps.
--target: also prints the time to this P@1, computed as in bench/claims/server.py, for the mean curve of the seeds and for the
single seeds that reach it.
Prints a Markdown table, the differences in P@1 for each seed, and the tuning.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from server import NEVER, time_to

EVENER = os.environ.get("EVENER", Path(__file__).resolve().parents[2] / "build/release/evener")
GRID = (1, 2, 4, 8)
FIXED, PER_ROW = 0.2e-3, 300e-6
BY_CHANGE = "adaptive-gossip:eps=0.16:warmup=10"
DEFAULT = "adaptive-gossip:eps=0.08:warmup=30"
PAPER = ("gossip:overlap=0", f"{BY_CHANGE}:overlap=0", "gossip:overlap=0:period=PERIOD", f"{DEFAULT}:overlap=0", "gossip:overlap=0:period=PERIOD",
         f"{BY_CHANGE}:overlap=0:rows=changed:eps-rows=0.1", "gossip", BY_CHANGE, DEFAULT, "local-sgd:period=8", "bsp")


def cluster_text(args, model_bytes):
    step = FIXED + args.batch / args.nodes * PER_ROW
    exchange = step * args.share / (1 - args.share)
    bandwidth = 2 * model_bytes / exchange / 1e9
    text = "merge-bandwidth-gb-s = 100\n"
    for i in range(args.nodes):
        slow = 4 if args.unequal and i >= args.nodes - args.nodes // 4 else 1
        text += (f'[[device]]\nname = "node {i}"\nfixed-ms = {1e3 * FIXED * slow:g}\nper-row-us = {1e6 * PER_ROW * slow:g}\n'
                 f"latency-us = 1\nbandwidth-gb-s = {bandwidth:.6f}\njitter = 0.02\n")
    return text


class Bench:
    """Trains in virtual time on links that fit the model."""

    def __init__(self, args):
        self.args = args
        self.lock = threading.Lock()
        self.kept = {}
        if args.kept and Path(args.kept).exists():
            self.kept = dict(json.loads(line) for line in Path(args.kept).read_text().splitlines())
        self.cluster = cluster_text(args, 1e6)  # any link works for finding the size of the model
        header = self.train("gossip", None, 1, 1)
        self.rate, self.model_bytes = header["rate"], header["model_bytes"]
        self.cluster = cluster_text(args, self.model_bytes)

    def train(self, strategy, rate, seed, epochs):
        args = self.args
        key = json.dumps([self.cluster, args.data, args.batch, args.hidden, args.loss, strategy, rate, seed, epochs])
        if key not in self.kept:
            run = self.simulate(strategy, rate, seed, epochs)
            with self.lock:
                self.kept[key] = run
                if args.kept:
                    with open(args.kept, "a") as file:
                        file.write(json.dumps([key, run]) + "\n")
        return self.kept[key]

    def simulate(self, strategy, rate, seed, epochs):
        args = self.args
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "cluster.toml").write_text(self.cluster)
            command = [str(EVENER), "simulate", f"{folder}/cluster.toml", args.data, "--strategy", strategy, "--hidden", str(args.hidden),
                       "--seed", str(seed), "--epochs", str(epochs), "--global-batch-size", str(args.batch), "--json", "--quiet", "-o", f"{folder}/run",
                       "--loss", args.loss]
            if rate:
                command += ["--learning-rate", f"{rate:g}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}\n{done.stderr}")
            result = json.loads(done.stdout)
            config = Path(folder, "run", "config.toml").read_text()
            size = Path(folder, "run", "last.safetensors").stat().st_size
            records = [json.loads(line) for line in Path(folder, "run", "metrics.jsonl").read_text().splitlines()]
        rate = float(next(line.split("=")[1] for line in config.splitlines() if line.startswith("learning-rate")))
        sent = sum(device["bytes"] for device in result["devices"])
        curve = [{"seconds": record["seconds"], "quality": 100 * record["p@1"]} for record in records if record["kind"] == "eval"]
        return {"p@1": 100 * result["metrics"]["p@1"], "seconds": result["seconds"], "bytes": sent, "rate": rate, "model_bytes": size, "curve": curve}

    def tuned(self, strategy, pool):
        """The rate that is best for the first seed, and the runs of all seeds with it."""
        args = self.args
        grid = [float(rate) for rate in args.rates.split(",")] if args.rates else [self.rate * factor for factor in GRID]
        tries = list(pool.map(lambda rate: self.train(strategy, rate, 1, args.epochs), grid))
        best = max(range(len(grid)), key=lambda i: tries[i]["p@1"])
        rest = list(pool.map(lambda seed: self.train(strategy, grid[best], seed, args.epochs), range(2, args.seeds + 1)))
        return {"strategy": strategy, "rate": grid[best], "runs": [tries[best], *rest], "tries": [(rate, run["p@1"]) for rate, run in zip(grid, tries)]}


def median(entry, key):
    return statistics.median(run[key] for run in entry["runs"])


def time_text(runs, target):
    """Time to the target: mean curve, first and last seed that reach it, and how many seeds do if not all."""
    times = [time_to([run], target) for run in runs]
    reached = [time for time in times if time < NEVER]
    if not reached:
        return "never"
    whole = time_to(runs, target)
    few = f", {len(reached)} of {len(runs)}" if len(reached) < len(runs) else ""
    return f"{'never' if whole == NEVER else f'{whole:.2f} s'} ({min(reached):.2f} - {max(reached):.2f}{few})"


def differences(entry, other):
    by_seed = [a["p@1"] - b["p@1"] for a, b in zip(entry["runs"], other["runs"])]
    return f"median {statistics.median(by_seed):+.2f} ({', '.join(f'{d:+.2f}' for d in by_seed)})"


def add_options(parser):
    parser.add_argument("--data", default=os.environ.get("EVENER_DATA", "data") + "/bibtex")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--loss", default="auto")
    parser.add_argument("--rates", default="", help="in the place of 1, 2, 4 and 8 times the recipe's")
    parser.add_argument("--share", type=float, default=0.56, help="of an iteration of gossip every step, that its two messages take")
    parser.add_argument("--unequal", action="store_true")
    parser.add_argument("--kept", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())


def in_turn(bench, strategies, pool):
    entries = []
    for strategy in strategies:
        if "PERIOD" in strategy:
            every = bench.tuned("gossip:overlap=0", pool)
            strategy = strategy.replace("PERIOD", str(max(1, round(median(every, "bytes") / median(entries[-1], "bytes")))))
        entries.append(bench.tuned(strategy, pool))
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--strategies", default=",".join(PAPER))
    parser.add_argument("--target", type=float, default=0, help="P@1, in per cent")
    args = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        bench = Bench(args)
        entries = in_turn(bench, args.strategies.split(","), pool)
    first = entries[0]
    print(f"{Path(args.data).name}, {args.nodes} {'unequal' if args.unequal else 'equal'} nodes, {args.epochs} epochs, {args.seeds} seeds\n")
    reach = f" to P@1 {args.target:g} |" if args.target else ""
    print(f"| strategy | rate | final P@1 (least - most) | traffic | against the first | time | against it |{reach}\n|---|---|---|---|---|---|---|"
          + "---|" * bool(args.target))
    for entry in entries:
        quality = [run["p@1"] for run in entry["runs"]]
        sent, seconds = median(entry, "bytes"), median(entry, "seconds")
        reach = f" {time_text(entry['runs'], args.target)} |" if args.target else ""
        print(f"| `{entry['strategy']}` | {entry['rate']:g} | {statistics.median(quality):.2f} ({min(quality):.2f} - {max(quality):.2f}) "
              f"| {sent / 1e6:,.0f} MB | {100 * (sent / median(first, 'bytes') - 1):+.0f} % | {seconds:.2f} s "
              f"| {100 * (seconds / median(first, 'seconds') - 1):+.0f} % |{reach}")
    print("\nP@1 seed by seed, less that of the first row, and less that of the row above:\n")
    for above, entry in zip(entries, entries[1:]):
        print(f"- `{entry['strategy']}`: {differences(entry, first)}; {differences(entry, above)}")
    print("\nP@1 of the first seed by rate:\n")
    for entry in entries:
        print(f"- `{entry['strategy']}`: " + ", ".join(f"{rate:g} {quality:.2f}" for rate, quality in entry["tries"]))


if __name__ == "__main__":
    main()
