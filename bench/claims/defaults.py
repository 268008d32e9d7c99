#!/usr/bin/env python3
"""Compares strategies with their default options at equal time, in virtual time, on several sets and sets of devices.

    python3 bench/claims/defaults.py [--sets bibtex,delicious] [--profiles pair,far] [--seeds 5] [--hidden 128] [--jobs N]

The budget of a set, a profile and a seed is the time that `sync` needs for the epochs of the recipe. All other strategies train for
the same time (--seconds), and so does the fastest device alone. The target is the P@1 that sync ends with. Prints, for each set and
profile, the P@1 at the end and that of the best evaluation, which `evener test` uses (mean of the seeds, least and most), how much
sooner than sync the target was reached (median of the seeds; runs that never reach it count as 0), and the epochs trained. Sets are
folders of EVENER_DATA; debian-tags is made by `evener dataset debian-tags -o data/debian-tags`. A last table has one line for each
strategy.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVENER = os.environ.get("EVENER", str(ROOT / "build/release/evener"))
DATA = Path(os.environ.get("EVENER_DATA", ROOT / "data"))
SETS = {name: [str(DATA / folder)] for name, folder in (("bibtex", "bibtex"), ("delicious", "delicious"), ("eurlex4k", "eurlex4k"))}
SETS["rcv1"] = [str(DATA / "rcv1/rcv1sub.topics.train.txt.xz"), "--test", str(DATA / "rcv1/rcv1sub.topics.test.txt.xz")]
SETS["debian-tags"] = [str(ROOT / "data/debian-tags")]


def card(speed, name, gigabytes=12, fixed=0.5, per_row=20, per_nonzero=10):
    return (f'[[device]]\nname = "{name}"\nfixed-ms = {fixed / speed:g}\nper-row-us = {per_row / speed:g}\n'
            f'per-nonzero-ns = {per_nonzero / speed:g}\nlatency-us = 20\nbandwidth-gb-s = {gigabytes}\n')


def cards(*speeds, gigabytes=12):
    return "merge-bandwidth-gb-s = 10\n" + "".join(card(speed, f"card {i}", gigabytes) for i, speed in enumerate(speeds))


ACCELERATOR = card(1, "accelerator", fixed=0.2, per_nonzero=0)
HOST = '[[device]]\nname = "host"\nkind = "cpu"\nthreads = 16\nfixed-ms = 0.05\nper-row-us = 3200\n'
PROFILES = {
    "pair 1:.25": cards(1, 0.25),
    "1/.9/.75/.68": cards(1, 0.9, 0.75, 0.68),
    "1/.5/.25/.25": cards(1, 0.5, 0.25, 0.25),
    "example": (ROOT / "docs/examples/cluster.toml").read_text(),
    "equal pair": cards(1, 1),
    "pair 1:.25, 1 GB/s": cards(1, 0.25, gigabytes=1),
    "host + accelerator": "merge-bandwidth-gb-s = 10\n" + ACCELERATOR + HOST,
}
STRATEGIES = ["sync", "sync:split=speed", "adaptive-sgd", "auto"]
BESIDE_A_HOST = ["hogbatch", "adaptive-hogbatch"]
# Devices alone, with the batch sizes that are tried; the best one counts.
ALONE = {"accelerator alone": ("merge-bandwidth-gb-s = 10\n" + ACCELERATOR, ["sequential --global-batch-size " + b for b in ("128", "256", "512")]),
         "host alone": (HOST, [f"hogwild:cpu-batch={b}" for b in (4, 16, 64)])}


def first_device(cluster):
    """The same without the other devices."""
    return "[[device]]".join(cluster.split("[[device]]")[:2])


def simulate(args, name, cluster, strategy, seed, seconds=None):
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cluster.toml").write_text(cluster)
        command = [EVENER, "simulate", f"{folder}/cluster.toml", *SETS[name], "--seed", str(seed), "--strategy", *strategy.split(), "--json",
                   "--quiet", "-o", f"{folder}/run"]
        command += ["--hidden", args.hidden] if args.hidden else []
        command += ["--seconds", repr(seconds)] if seconds else []
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        records = [json.loads(line) for line in Path(folder, "run/metrics.jsonl").read_text().splitlines()]
    evaluations = [record for record in records if record["kind"] == "eval"]
    return [(record["seconds"], 100 * record["p@1"]) for record in evaluations]


def time_to(curve, target):
    return next((seconds for seconds, quality in curve if quality >= target), None)


def compare(args, name, profile, seed):
    """Curves by strategy, for one seed."""
    cluster = PROFILES[profile]
    curves = {"sync": simulate(args, name, cluster, "sync", seed)}
    budget = curves["sync"][-1][0]
    with_host = "accelerator" in profile
    for strategy in STRATEGIES[1:] + (BESIDE_A_HOST if with_host else []):
        curves[strategy] = simulate(args, name, cluster, strategy, seed, budget)
    alone_entries = ALONE if with_host else {"first device alone": (first_device(cluster), ["sequential"])}
    for label, (alone, choices) in alone_entries.items():
        tried = [simulate(args, name, alone, choice, seed, budget) for choice in choices]
        curves[label] = max(tried, key=lambda curve: curve[-1][1])
    return curves


def summary(several, strategy):
    """Final and best quality of each seed, how much sooner than sync its end quality was reached, and epochs."""
    finals = [curves[strategy][-1][1] for curves in several]
    bests = [max(quality for _, quality in curves[strategy]) for curves in several]
    sooner = []
    for curves in several:
        target = curves["sync"][-1][1]
        reached = time_to(curves[strategy], target)
        sooner.append(time_to(curves["sync"], target) / reached if reached else 0)
    return finals, bests, sooner, statistics.mean(len(curves[strategy]) for curves in several)


class Row(typing.NamedTuple):
    """A strategy on a set and a profile: means of P@1, median of how much sooner than sync."""
    name: str
    profile: str
    strategy: str
    final: float
    best: float
    sooner: float


def spread(values):
    return f"{statistics.mean(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def print_all(everything):
    """How far each strategy is behind the one with the highest P@1 of its set and profile, and how soon it is."""
    def behind(row, quality):
        return getattr(row, quality) - max(getattr(other, quality) for other in everything if other[:2] == row[:2])

    print("\n| strategy | sooner than sync: median | least | final P@1, behind: median | worst | best P@1, behind: median | worst |")
    print("|---|---|---|---|---|---|---|")
    for strategy in dict.fromkeys(row.strategy for row in everything):
        rows = [row for row in everything if row.strategy == strategy]
        speeds = [row.sooner for row in rows]
        cells = [f"{speed:.2f}x" for speed in (statistics.median(speeds), min(speeds))]
        for quality in ("final", "best"):
            values = [behind(row, quality) for row in rows]
            cells += [f"{statistics.median(values):.2f}", f"{min(values):.2f}"]
        print(f"| {strategy} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--profiles", default=",".join(p.replace(",", ";") for p in PROFILES), help="parts of their names")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--hidden", default="", help="empty: the recipe's")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    wanted = [part.replace(";", ",") for part in args.profiles.split(",")]
    profiles = [p for p in PROFILES if any(part in p for part in wanted)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        waiting = {(s, p): [pool.submit(compare, args, s, p, seed) for seed in range(1, args.seeds + 1)]
                   for s in args.sets.split(",") for p in profiles}
        everything = []
        for (name, profile), futures in waiting.items():
            several = [future.result() for future in futures]
            print(f"\n{name}, {profile}: {statistics.mean(c['sync'][-1][0] for c in several):.2f} s, {args.seeds} seeds\n")
            print("| strategy | final P@1 | best P@1 | sooner than sync | never | epochs |\n|---|---|---|---|---|---|")
            for strategy in several[0]:
                finals, bests, sooner, epochs = summary(several, strategy)
                everything.append(Row(name, profile, strategy, statistics.mean(finals), statistics.mean(bests), statistics.median(sooner)))
                print(f"| {strategy} | {spread(finals)} | {spread(bests)} | {statistics.median(sooner):.2f}x | {sooner.count(0)} "
                      f"| {epochs:.0f} |", flush=True)
    print_all(everything)


if __name__ == "__main__":
    main()
