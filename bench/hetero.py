#!/usr/bin/env python3
"""CPU and accelerator on one model: hogbatch, adaptive-hogbatch and sync on the pair against each device alone.

    python3 bench/hetero.py DATA [--cpu cpu:1] [--accelerator opencl:0.0.1] [--speeds 1,0.5,0.25] [--seeds 5]
        [-- options of evener compare, as --hidden 512,512 --activation sigmoid]

For each speed of the accelerator (emulated below 1) every entry runs once for each seed, in turns. Throughput is against
the sum of the devices alone; the ratio is of updates, CPU to accelerator; the time is to the same loss of the evaluation
data for all, which the best device alone reaches after its last epoch but one.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

EVENER = Path(__file__).resolve().parents[1] / "build/release/evener"


def entries(args):
    """name -> (devices, strategy)"""
    pair = f"{args.cpu},{args.accelerator}"
    hogbatch = f"hogbatch:cpu-batch={args.cpu_batch}:accelerator-batch={args.accelerator_batch}"
    adaptive = (f"adaptive-hogbatch:cpu-batch={args.cpu_batch}:accelerator-batch={args.accelerator_batch}:cpu-max={args.cpu_max}"
                f":accelerator-min=32:accelerator-max={4 * args.accelerator_batch}:rate-scaling=sqrt")
    return {
        "cpu alone": (args.cpu, hogbatch),
        "accelerator alone": (args.accelerator, hogbatch),
        "hogbatch": (pair, hogbatch),
        "adaptive-hogbatch": (pair, adaptive),
        "sync": (pair, "sync"),
    }


def compare(data, devices, strategy, speed, seed, extra, folder):
    command = [str(EVENER), "compare", data, "--devices", devices, "--strategies", strategy, "--seeds", "1", "--seed", str(seed),
               "--target", "loss", "--quiet", "-o", folder, *extra]
    if speed < 1:
        slowed = len(devices.split(",")) - 1
        command += ["--emulate", f"{slowed}=x{speed:g}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    result = json.loads(Path(folder, "comparison.json").read_text())
    return result["strategies"][0]["runs"][0]


def time_to(run, loss):
    for point in run["curve"]:
        if point["quality"] <= loss:
            return point["seconds"]
    return None


def median(values):
    reached = [v for v in values if v is not None]
    return statistics.median(reached) if len(reached) * 2 > len(values) else None


def text(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def main():
    own, _, extra = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--cpu", default="cpu:1")
    parser.add_argument("--accelerator", default="opencl:0.0.1")
    parser.add_argument("--speeds", default="1,0.5,0.25")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cpu-batch", type=int, default=16)
    parser.add_argument("--cpu-max", type=int, default=256)
    parser.add_argument("--accelerator-batch", type=int, default=256)
    args = parser.parse_args(own.split())
    extra = extra.split() or ["--hidden", "128", "--loss", "softmax", "--dropout", "0", "--decay", "constant", "--optimizer", "sgd",
                              "--learning-rate", "1", "--epochs", "4"]
    print(f"{args.data}: {args.cpu} + {args.accelerator}, {' '.join(extra)}")
    for speed in map(float, args.speeds.split(",")):
        runs = {name: [] for name in entries(args)}
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(1, args.seeds + 1):
                for name, (devices, strategy) in entries(args).items():
                    slow = 1 if name == "cpu alone" else speed
                    where = f"{folder}/{seed} {name}"
                    runs[name].append(compare(args.data, devices, strategy, slow, seed, extra, where))
        alone = ["cpu alone", "accelerator alone"]
        rate = {name: statistics.median(r["samples_per_second"] for r in several) for name, several in runs.items()}
        best = min(alone, key=lambda n: statistics.median(r["curve"][-1]["quality"] for r in runs[n]))
        target = statistics.median(r["curve"][-2]["quality"] for r in runs[best])
        print(f"\naccelerator at {100 * speed:g} %; loss {target:.4f}")
        print(f"{'':<20}{'s to loss':>10}{'rows/s':>10}{'of the sum':>12}{'updates':>10}  last batches, busy")
        for name, several in runs.items():
            seconds = median([time_to(r, target) for r in several])
            share = rate[name] / sum(rate[n] for n in alone)
            workers = several[0]["workers"]
            ratio = None
            if len(workers) == 2:
                ratio = statistics.median(r["workers"][0]["updates"] / max(1, r["workers"][1]["updates"]) for r in several)
            busy = "/".join(f"{100 * w['compute']:.0f}" for w in workers)
            batches = "/".join(str(w["last_batch"]) for w in workers)
            print(f"{name:<20}{text(seconds):>10}{rate[name]:>10.0f}{100 * share:>10.0f} %{text(ratio):>10}  {batches}, {busy} %")


if __name__ == "__main__":
    main()
