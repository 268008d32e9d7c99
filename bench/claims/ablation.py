#!/usr/bin/env python3
"""Each part of Adaptive SGD on and off, in virtual time on four unequal cards; prints a Markdown table.

    python3 bench/claims/ablation.py TRAIN TEST [--target p@1=0.93] [--seeds 5]

Speeds are 1/.5/.25/.25. The learning rate is tuned for each row over one grid. Times are medians over the seeds.
"""
import argparse
import json
import math
import subprocess
import tempfile
from pathlib import Path

EVENER = Path(__file__).resolve().parents[2] / "build/release/evener"
PUBLISHED = "adaptive-sgd:preset=paper"
PAPER = PUBLISHED + ":mega-batch=20"
OURS = "adaptive-sgd"
ROWS = [
    ("as published, mega-batch 100", PUBLISHED, "rows"),
    ("as published, mega-batch 20", PAPER, "rows"),
    ("static scheduling", PAPER + ":scheduling=static", "rows"),
    ("no batch scaling", PAPER + ":scaler=off", "rows"),
    ("scaling by throughput (ours)", PAPER + ":scaler=throughput", "rows"),
    ("equal weights in merges", PAPER + ":merge=equal", "rows"),
    ("no perturbation", PAPER + ":perturbation=off", "rows"),
    ("no momentum", PAPER + ":gamma=0", "rows"),
    ("no perturbation, no momentum", PAPER + ":perturbation=off:gamma=0", "rows"),
    ("ours (the default)", OURS, "rows"),
    ("ours, fastest device with whole batches", OURS + ":scaler=throughput", "rows"),
    ("ours, merges 100 batches apart", OURS + ":mega-batch=100", "rows"),
    ("ours, merges take 5 % of the time", OURS + ":merge-share=0.05", "rows"),
    ("ours, merges take 20 % of the time", OURS + ":merge-share=0.2", "rows"),
    ("ours, with a small momentum", OURS + ":gamma=0.2", "rows"),
    ("ours, batches cut by non-zeros", OURS, "nnz"),
]


def cluster(speeds):
    text = ""
    for speed in speeds:
        text += (f'[[device]]\nname = "card at {speed:g}"\nkind = "accelerator"\nfixed-ms = {0.2 / speed:g}\n'
                 f'per-row-us = {8 / speed:g}\nper-nonzero-ns = {150 / speed:g}\nlatency-us = 20\nbandwidth-gb-s = 10\n')
    return text


def seconds(value):
    return "never" if value is None or not math.isfinite(value) else f"{value:.2f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test")
    parser.add_argument("--target", default="p@1=0.93")
    parser.add_argument("--seeds", default="5")
    parser.add_argument("--epochs", default="5")
    args = parser.parse_args()
    print("| | time to target | final | rows/s |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        devices = Path(folder) / "cluster.toml"
        devices.write_text(cluster([1, 0.5, 0.25, 0.25]))
        for title, strategy, balance in ROWS:
            command = [str(EVENER), "compare", args.train, "--test", args.test, "--strategies", strategy, "--virtual", str(devices),
                       "--hidden", "64", "--loss", "sigmoid", "--dropout", "0", "--decay", "constant", "--learning-rate", "0.01",
                       "--epochs", args.epochs, "--seeds", args.seeds, "--tune", "lr", "--grid", "0.3,1,3,10", "--target",
                       args.target, "--balance", balance, "-o", f"{folder}/out", "--quiet", "--json"]
            result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["strategies"][0]
            time, final = result["time_to_target"], result["final_quality"]
            print(f"| {title} | {seconds(time['median'])} | {100 * final['median']:.2f} ({100 * final['low']:.2f}-"
                  f"{100 * final['high']:.2f}) | {result['samples_per_second']['median']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
