#!/usr/bin/env python3
"""The parameter server's strategies on eight nodes in virtual time; prints a Markdown table for each profile of speeds.

    python3 bench/claims/server.py [--data FOLDER/bibtex] [--target loss=3.6] [--seeds 5] [--epochs 14] [--nodes 8] [--gbit 1]
        [--rates 3,4.5] [--hidden 64] [--batch 256] [--profiles equal,spread,...] [--strategies bsp,...]

Every strategy runs with every learning rate and every seed; the rate with the shortest time to the target counts. There is one
evaluation per epoch, because each evaluation is a barrier. To get a resolution finer than an epoch, and to reduce noise, each
evaluation is replaced by the mean of itself and its neighbours. The time to the target is where the mean of the seeds' curves
crosses it, interpolated linearly. Brackets show the shortest and the longest time of single seeds. Staleness is the mean of the
node with the largest mean. Waiting is the share of time in which the nodes neither computed nor sent. Both are of the first run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EVENER = os.environ.get("EVENER", Path(__file__).resolve().parents[2] / "build/release/evener")
STRATEGIES = ["bsp", "bsp:split=speed", "asp", "asp:staleness-lr=on", "ssp", "dssp", "dasp:split=equal", "dasp"]
TRAINING = ["--loss", "softmax", "--optimizer", "sgd", "--decay", "constant", "--dropout", "0"]
NEVER = float("inf")


def profiles(n):
    """name -> (slowness of each node, lines for each)"""
    bursts = "burst-every-s = 0.5\nburst-s = 0.1\nburst-factor = 8\n"
    return {
        "equal": ([1.0] * n, ""),
        "spread 1..2x": ([1 + i / (n - 1) for i in range(n)], ""),
        "a quarter at 4x": ([1.0] * (n - n // 4) + [4.0] * (n // 4), ""),
        "one at 8x": ([1.0] * (n - 1) + [8.0], ""),
        "bursts of 8x": ([1.0] * n, bursts),
    }


def cluster(slowness, lines, gbit):
    text = "merge-bandwidth-gb-s = 10\n"
    for i, slow in enumerate(slowness):
        text += (f'[[device]]\nname = "node {i} at {slow:g}x"\nkind = "accelerator"\nfixed-ms = {0.5 * slow:g}\nper-row-us = {200 * slow:g}\n'
                 f"latency-us = 200\nbandwidth-gb-s = {gbit / 8:g}\njitter = 0.05\n{lines}")
    return text


def compare(args, text, rate):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.toml")
        file.write_text(text)
        command = [str(EVENER), "compare", args.data, "--virtual", str(file), "--strategies", args.strategies, "--seeds", str(args.seeds), "--equal",
                   "epochs", "--epochs", str(args.epochs), "--target", args.target, "--hidden", args.hidden, "--global-batch-size", args.batch, "--learning-rate", rate,
                   "--quiet", "-o", f"{folder}/out", *TRAINING]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        entries = json.loads(Path(folder, "out", "comparison.json").read_text())["strategies"]
    if args.target.startswith("loss"):  # negated: larger is better from here on
        for entry in entries:
            for run in entry["runs"]:
                for point in run["curve"]:
                    point["quality"] *= -1
    return entries


def mean(values):
    return sum(values) / len(values)


def time_to(runs, target):
    """Time at which the mean curve of these runs reaches the target; for a loss, both are negative."""
    epochs = min(len(run["curve"]) for run in runs)  # a run that diverged has fewer
    points = [[run["curve"][i] for run in runs] for i in range(epochs)]
    raw = [mean([p["quality"] for p in at]) for at in points]
    smooth = [mean(raw[max(0, i - 1):i + 2]) for i in range(epochs)]
    seconds = [mean([p["seconds"] for p in at]) for at in points]
    for i in range(epochs):
        if smooth[i] >= target:
            return seconds[i] if i == 0 else seconds[i] - (seconds[i] - seconds[i - 1]) * (smooth[i] - target) / (smooth[i] - smooth[i - 1])
    return NEVER


def row(entry, time, target, bsp):
    workers = entry["runs"][0]["workers"]
    waiting = 1 - mean([w["compute"] + w["transfer"] for w in workers])
    staleness = max(w["staleness"] for w in workers)
    quality = entry["final_quality"]
    percent, digits = (1, 2) if target < 0 else (100, 1)
    against = f"{100 * (time / bsp - 1):+.0f} %" if max(time, bsp) < NEVER else ""
    times = [time_to([run], target) for run in entry["runs"]]
    text, low, high = ("never" if t == NEVER else f"{t:.2f}" for t in (time, min(times), max(times)))
    return (f"| `{entry['strategy']}` | {text} ({low}-{high}) | {against} "
            f"| {percent * quality['median']:.{digits}f} ({percent * quality['low']:.{digits}f}-{percent * quality['high']:.{digits}f}) "
            f"| {staleness:.1f} | {100 * waiting:.0f} % | {entry['learning_rate']:g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("EVENER_DATA", "data") + "/bibtex")
    parser.add_argument("--target", default="loss=3.6", help="loss, or a metric where more is better")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--gbit", type=float, default=1, help="of each node's link")
    parser.add_argument("--rates", default="3,4.5", help="learning rates")
    parser.add_argument("--hidden", default="64")
    parser.add_argument("--batch", default="256", help="over all nodes")
    parser.add_argument("--profiles", help="some of them, by the beginning of their names")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    args = parser.parse_args()
    metric, target = args.target.split("=")
    target = float(target) * (-1 if metric == "loss" else 1)
    for name, (slowness, lines) in profiles(args.nodes).items():
        if args.profiles and not any(name.startswith(p) for p in args.profiles.split(",")):
            continue
        best = {}  # strategy -> (time, entry)
        for rate in args.rates.split(","):
            for entry in compare(args, cluster(slowness, lines, args.gbit), rate):
                time = time_to(entry["runs"], target)
                if entry["strategy"] not in best or time < best[entry["strategy"]][0]:
                    best[entry["strategy"]] = (time, entry)
        print(f"\n**{name}** ({args.nodes} nodes, {args.gbit:g} Gbit/s, {args.target})\n")
        print(f"| strategy | s to target (spread) | against bsp | final {metric} (spread) | staleness | waiting | lr |\n|---|---|---|---|---|---|---|")
        for time, entry in best.values():
            print(row(entry, time, target, best.get("bsp", [NEVER])[0]), flush=True)


if __name__ == "__main__":
    main()
