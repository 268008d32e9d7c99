#!/usr/bin/env python3
"""Two real devices on one model, default options, equal time: every strategy on the pair, and each device alone.

    python3 bench/hetero.py [SET...] [--data FOLDER] [--seconds 5] [--seeds 2] [--json FILE]

SET: a folder of the data folder (default: bibtex). The second device is a core at 25 %, then one compute unit of the
first OpenCL device at 100, 50 and 25 %; `--emulate` slows it down by pauses. Everything else is the default of `evener
train --head full --seconds`. All entries of all pairs run once for each seed, in turns. The target is 97 % of the best P@1 of the
better device alone (median over the seeds). "Of the sum" is the throughput over that of both devices alone in the same
turn. Prints Markdown.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

EVENER = os.environ.get("EVENER", Path(__file__).resolve().parents[1] / "build/release/evener")
ACCELERATOR = "opencl:0.0.1"
# Title -> the second device, its speed. The first is cpu:1.
PAIRS = {
    "two cores, the second at 25 %": ("cpu:1", 0.25),
    "cpu:1 + OpenCL at 100 %": (ACCELERATOR, 1),
    "cpu:1 + OpenCL at 50 %": (ACCELERATOR, 0.5),
    "cpu:1 + OpenCL at 25 %": (ACCELERATOR, 0.25),
}
STRATEGIES = ["sync", "sync:split=speed", "adaptive-sgd", "hogbatch", "adaptive-hogbatch", "auto"]
ALONE = ["first device alone", "second device alone"]


def options_of(entry, second, speed):
    """Devices and strategy."""
    if entry == ALONE[0]:
        return ["--devices", "cpu:1"]
    slow = [] if speed == 1 else ["--emulate", f"{int(entry != ALONE[1])}=x{speed:g}"]
    if entry == ALONE[1]:
        return ["--devices", second, *slow]
    return ["--devices", f"cpu:1,{second}", "--strategy", entry, *slow]


def train(data, options, seconds, seed):
    with tempfile.TemporaryDirectory() as folder:
        command = [str(EVENER), "train", str(data), "--head", "full", *options, "--seconds", f"{seconds:g}", "--seed", str(seed),
                   "--quiet", "-o", f"{folder}/run"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout}")
        records = [json.loads(line) for line in Path(folder, "run/metrics.jsonl").open()]
    of = {kind: [record for record in records if record["kind"] == kind] for kind in ("epoch", "eval", "worker")}
    trained, curve = 0.0, []
    for epoch, evaluation in zip(of["epoch"], of["eval"]):
        trained += epoch["train_seconds"]
        curve.append([trained, 100 * evaluation["p@1"]])
    # Counts of the workers are of the whole run.
    last_step = of["epoch"][-1]["step"]
    workers = [record for record in of["worker"] if record["step"] == last_step]
    return dict(curve=curve, rate=of["epoch"][-1]["samples_per_second"],
                updates=[worker["updates"] for worker in workers], batches=[worker["batch"] for worker in workers],
                busy=[worker["compute_share"] + worker["transfer_share"] for worker in workers])


def best(run):
    return max(value for _, value in run["curve"])


def time_to(run, target):
    return next((seconds for seconds, value in run["curve"] if value >= target), None)


def spread(values, form):
    values = sorted(values)
    middle = form.format(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({form.format(values[0])}-{form.format(values[-1])})"


def table(title, runs):
    target = 0.97 * max(statistics.median(map(best, runs[entry])) for entry in ALONE)
    sums = [sum(run["rate"] for run in turn) for turn in zip(*(runs[entry] for entry in ALONE))]
    print(f"\n#### {title}\n\nTarget: P@1 {target:.1f}.\n")
    print("|  | s to the target (reached) | last P@1 | rows/s | of the sum | updates | busy |")
    print("|---|---|---|---|---|---|---|")
    for entry, several in runs.items():
        times = [time_to(run, target) for run in several]
        reached = [seconds for seconds in times if seconds is not None]
        seconds = spread(reached, "{:.2f}") if len(reached) * 2 > len(times) else "-"
        cells = [f"{seconds} ({len(reached)}/{len(times)})",
                 spread([run["curve"][-1][1] for run in several], "{:.1f}"),
                 f"{statistics.median(run['rate'] for run in several):,.0f}"]
        shares = [100 * run["rate"] / both for run, both in zip(several, sums)]
        cells.append("" if entry in ALONE else f"{spread(shares, '{:.0f}')} %")
        both = all(len(run["updates"]) == 2 for run in several)
        ratios = [run["updates"][0] / max(1, run["updates"][1]) for run in several] if both else []
        cells.append(f"{statistics.median(ratios):.2f} : 1" if both else "")
        busy = [f"{100 * share:.0f}" for share in several[0]["busy"]]
        cells.append(f"{' / '.join(busy)} %" if busy else "")
        print(f"| {entry} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["bibtex"])
    parser.add_argument("--data", type=Path, default=os.environ.get("EVENER_DATA", "data"))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", type=Path, help="writes all runs to this file")
    args = parser.parse_args()
    everything = {}
    for name in args.sets:
        runs = {title: {entry: [] for entry in [*ALONE, *STRATEGIES]} for title in PAIRS}
        for seed in range(1, args.seeds + 1):
            for title, (second, speed) in PAIRS.items():
                for entry, several in runs[title].items():
                    several.append(train(Path(args.data, name), options_of(entry, second, speed), args.seconds, seed))
        print(f"\n### {name}, {args.seconds:g} s, {args.seeds} seeds")
        for title, of_pair in runs.items():
            table(title, of_pair)
        everything[name] = runs
    if args.json:
        args.json.write_text(json.dumps(everything))


if __name__ == "__main__":
    main()
