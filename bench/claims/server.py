#!/usr/bin/env python3
"""The parameter server's strategies on eight nodes in virtual time; prints a Markdown table for each profile of speeds.

    python3 bench/claims/server.py [--data ../shared/data/bibtex] [--target p@1=0.5] [--seeds 5] [--epochs 40] [--nodes 8]
        [--profiles equal,spread,...] [--strategies bsp,...]

Nodes on 1 Gbit links; learning rate tuned for each strategy over one grid; the same seeds for all. Staleness is the mean of the
node with most of it, waiting the share of the time that the nodes neither computed nor sent, both in the first run.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EVENER = os.environ.get("EVENER", Path(__file__).resolve().parents[2] / "build/release/evener")
STRATEGIES = ["bsp", "asp", "asp:staleness-lr=on", "ssp", "dssp", "dasp"]
TRAINING = ["--hidden", "64", "--loss", "softmax", "--optimizer", "sgd", "--decay", "constant", "--dropout", "0", "--learning-rate", "1",
            "--global-batch-size", "256", "--tune", "lr", "--grid", "0.3,1,3,10"]


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


def cluster(slowness, lines):
    text = "merge-bandwidth-gb-s = 10\n"
    for i, slow in enumerate(slowness):
        text += (f'[[device]]\nname = "node {i} at {slow:g}x"\nkind = "accelerator"\nfixed-ms = {0.5 * slow:g}\nper-row-us = {200 * slow:g}\n'
                 f"latency-us = 200\nbandwidth-gb-s = 0.125\njitter = 0.05\n{lines}")
    return text


def compare(args, text, folder):
    file = Path(folder, "cluster.toml")
    file.write_text(text)
    command = [str(EVENER), "compare", args.data, "--virtual", str(file), "--strategies", ",".join(args.strategies), "--seeds", str(args.seeds),
               "--epochs", str(args.epochs), "--target", args.target, "--quiet", "-o", f"{folder}/out", *TRAINING]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(Path(folder, "out", "comparison.json").read_text())


def row(entry, bsp, seeds):
    runs = entry["runs"]
    time = entry["time_to_target"]
    reached = entry["reached"]
    if reached * 2 > seeds:
        against = f"{100 * (time['median'] / bsp - 1):+.0f} %" if bsp else ""
        times = f"{time['median']:.2f} ({time['low']:.2f}-{time['high']:.2f})"
    else:
        times, against = f"never ({reached}/{seeds})", ""
    workers = runs[0]["workers"]
    waiting = 1 - sum(w["compute"] + w["transfer"] for w in workers) / len(workers)
    staleness = max(w["staleness"] for w in workers)
    quality = entry["final_quality"]
    return (f"| `{entry['strategy']}` | {times} | {against} | {100 * quality['median']:.1f} ({100 * quality['low']:.1f}-{100 * quality['high']:.1f}) "
            f"| {staleness:.1f} | {100 * waiting:.0f} % | {entry['learning_rate']:g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="../shared/data/bibtex")
    parser.add_argument("--target", default="p@1=0.5")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--profiles", help="some of them, by the beginning of their names")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    args = parser.parse_args()
    args.strategies = args.strategies.split(",")
    for name, (slowness, lines) in profiles(args.nodes).items():
        if args.profiles and not any(name.startswith(p) for p in args.profiles.split(",")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = compare(args, cluster(slowness, lines), folder)
        entries = result["strategies"]
        bsp = next((e["time_to_target"]["median"] for e in entries if e["strategy"] == "bsp" and e["reached"] * 2 > args.seeds), None)
        print(f"\n**{name}** ({args.nodes} nodes, {args.target})\n")
        print("| strategy | s to target (spread) | against bsp | final P@1 (spread) | staleness | waiting | lr |\n|---|---|---|---|---|---|---|")
        for entry in entries:
            print(row(entry, bsp, args.seeds), flush=True)


if __name__ == "__main__":
    main()
