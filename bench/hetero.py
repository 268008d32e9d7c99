#!/usr/bin/env python3
"""CPU and accelerator on one model: compares hogbatch, adaptive-hogbatch and sync on the pair with each device alone.

    python3 bench/hetero.py SET... [--shared FOLDER] [--speeds 1,0.5,0.25] [--seeds 5] [--rates A,B,C,D,E] [--emulate]

SET: eurlex4k, delicious, w8a, covtype. Every entry gets the learning rate of the grid with which its loss is least at full
speed (seed 100). Then, for each speed of the accelerator, every entry runs once for each seed, in turns. The accelerator is
one compute unit of the first OpenCL device; it is slowed by a CPU quota on the thread that computes for it (cgroup v1; needs
root and PoCL), or with --emulate by pauses. Throughput is against the sum of the devices alone; the ratio is of updates,
CPU to accelerator; the time is to one loss of the evaluation data for all: what the best device alone has reached at three
quarters of its rows.
"""
import argparse
import json
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVENER = os.environ.get("EVENER", Path(__file__).resolve().parents[1] / "build/release/evener")
CGROUP = Path("/sys/fs/cgroup/cpu/evener-hetero")
ACCELERATOR = "opencl:0.0.1"
PERIOD = 20_000  # of the quota, microseconds: well below a step of a large batch
DEEP = ["--hidden", "512,512", "--activation", "sigmoid", "--no-normalise"]
# Path under the shared data, rows taken (None: all), epochs, base rate of the grid, network.
SETS = {
    "eurlex4k": ("eurlex4k", None, 3, 1.0, ["--hidden", "128", "--loss", "softmax"]),
    "delicious": ("delicious", None, 3, 1.0, [*DEEP, "--loss", "softmax"]),
    "w8a": ("w8a/w8a.xz", 25_000, 4, 1.0, [*DEEP, "--loss", "softmax"]),
    "covtype": ("covtype/covtype.binary.scale.libsvm.xz", 25_000, 4, 1.0, [*DEEP, "--loss", "softmax"]),
}
GRID = [0.1, 0.3, 1, 3, 10]
COMMON = ["--dropout", "0", "--decay", "constant", "--optimizer", "sgd", "--evaluations-per-epoch", "4"]
CPU_BATCH, CPU_MAX, ACCELERATOR_BATCH = 16, 256, 256


def entries():
    """name -> (devices, strategy)"""
    pair = f"cpu:1,{ACCELERATOR}"
    sizes = f"cpu-batch={CPU_BATCH}:accelerator-batch={ACCELERATOR_BATCH}"
    adaptive = f"adaptive-hogbatch:{sizes}:cpu-max={CPU_MAX}:accelerator-min=32:accelerator-max={4 * ACCELERATOR_BATCH}"
    return {
        "cpu alone": ("cpu:1", f"hogbatch:{sizes}"),
        "accelerator alone": (ACCELERATOR, f"hogbatch:{sizes}"),
        "hogbatch": (pair, f"hogbatch:{sizes}"),
        "adaptive-hogbatch": (pair, f"{adaptive}:rate-scaling=sqrt"),
        "sync": (pair, "sync"),
    }


def prepare(name, shared, folder):
    """Options that name data and network; sets without a split, or too large, are shuffled and cut."""
    path, rows, epochs, _, network = SETS[name]
    source = Path(shared, path)
    options = [*network, *COMMON, "--epochs", str(epochs)]
    if source.is_dir():
        return [str(source), *options]
    with lzma.open(source, "rt") as file:
        lines = [line for line in file if ":" in line]
    random.Random(1).shuffle(lines)
    cut = Path(folder, f"{name}.libsvm")
    cut.write_text("".join(lines[:rows]))
    return [str(cut), "--validation-share", "0.1", *options]


class Quota:
    """At most this share of a core for the threads that PoCL has pinned to the last core."""

    def __init__(self, speed):
        CGROUP.mkdir(exist_ok=True)
        (CGROUP / "cpu.cfs_period_us").write_text(str(PERIOD))
        (CGROUP / "cpu.cfs_quota_us").write_text(str(int(PERIOD * speed)))

    @staticmethod
    def hold(process):
        """Adds such threads to the group as they start, until the process ends."""
        core = str((os.cpu_count() or 1) - 1)
        while process.poll() is None:
            for status in Path(f"/proc/{process.pid}/task").glob("*/status"):
                try:
                    allowed = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("Cpus_allowed_list")]
                    if allowed == [core]:
                        (CGROUP / "tasks").write_text(status.parent.name)
                except OSError:
                    pass  # the thread has ended
            time.sleep(0.01)


def compare(options, devices, strategy, rate, speed, seed, emulate, folder):
    command = [str(EVENER), "compare", *options, "--devices", devices, "--strategies", strategy, "--seeds", "1", "--seed", str(seed),
               "--learning-rate", f"{rate:g}", "--target", "loss", "--quiet", "-o", folder]
    slow = speed < 1 and ACCELERATOR in devices
    if slow and emulate:
        command += ["--emulate", f"{len(devices.split(',')) - 1}=x{speed:g}"]
    quota = Quota(speed) if slow and not emulate else None
    # Pinned only where the pinning identifies the thread: a pinned thread shares its core with the host part of the accelerator.
    env = {**os.environ, "POCL_AFFINITY": "1"} if quota else os.environ
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env)
    if quota:
        quota.hold(process)
    output, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{output}")
    result = json.loads(Path(folder, "comparison.json").read_text())
    return result["strategies"][0]["runs"][0]


def last_loss(run):
    value = run["curve"][-1]["quality"]
    return value if value is not None else float("inf")


def time_to(run, loss):
    for point in run["curve"]:
        if point["quality"] is not None and point["quality"] <= loss:
            return point["seconds"]
    return None


def median(values):
    reached = [v for v in values if v is not None]
    return statistics.median(reached) if len(reached) * 2 > len(values) else None


def text(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def tune(options, base, folder):
    """The rate of each entry, at full speed."""
    rates = {}
    for name, (devices, strategy) in entries().items():
        losses = {}
        for factor in GRID:
            where = f"{folder}/tune {name} {factor}"
            losses[base * factor] = last_loss(compare(options, devices, strategy, base * factor, 1, 100, True, where))
        rates[name] = min(losses, key=losses.get)
    return rates


def table(runs, speed):
    alone = ["cpu alone", "accelerator alone"]
    rate = {name: statistics.median(r["samples_per_second"] for r in several) for name, several in runs.items()}
    best = min(alone, key=lambda n: statistics.median(map(last_loss, runs[n])))
    target = statistics.median(r["curve"][len(r["curve"]) * 3 // 4 - 1]["quality"] for r in runs[best])
    print(f"\naccelerator at {100 * speed:g} %; loss {target:.4f}")
    print(f"{'':<20}{'s to loss':>10}{'reached':>9}{'last loss':>11}{'rows/s':>10}{'of the sum':>12}{'updates':>10}  last batches, busy")
    for name, several in runs.items():
        times = [time_to(r, target) for r in several]
        share = rate[name] / sum(rate[n] for n in alone)
        workers = several[0]["workers"]
        ratio = None
        if len(workers) == 2:
            ratio = statistics.median(r["workers"][0]["updates"] / max(1, r["workers"][1]["updates"]) for r in several)
        busy = "/".join(f"{100 * w['compute']:.0f}" for w in workers)
        batches = "/".join(str(w["last_batch"]) for w in workers)
        reached = f"{sum(t is not None for t in times)}/{len(times)}"
        loss = statistics.median(map(last_loss, several))
        print(f"{name:<20}{text(median(times)):>10}{reached:>9}{loss:>11.4f}{rate[name]:>10.0f}{100 * share:>10.0f} %{text(ratio):>10}  {batches}, {busy} %",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", choices=SETS)
    parser.add_argument("--shared", default=os.environ.get("EVENER_DATA", "../shared/data"))
    parser.add_argument("--speeds", default="1,0.5,0.25")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rates", help="learning rates of the five entries, to save tuning")
    parser.add_argument("--emulate", action="store_true", help="pauses instead of a quota")
    args = parser.parse_args()
    for name in args.sets:
        with tempfile.TemporaryDirectory() as folder:
            options = prepare(name, args.shared, folder)
            if args.rates:
                rates = dict(zip(entries(), map(float, args.rates.split(","))))
            else:
                rates = tune(options, SETS[name][3], folder)
            print(f"\n{name}: cpu:1 + {ACCELERATOR}, {' '.join(options[1:])}")
            print("learning rates: " + ", ".join(f"{n} {r:g}" for n, r in rates.items()), flush=True)
            for speed in map(float, args.speeds.split(",")):
                runs = {entry: [] for entry in entries()}
                for seed in range(1, args.seeds + 1):
                    for entry, (devices, strategy) in entries().items():
                        where = f"{folder}/{speed} {seed} {entry}"
                        runs[entry].append(compare(options, devices, strategy, rates[entry], speed, seed, args.emulate, where))
                table(runs, speed)
    if CGROUP.exists():
        CGROUP.rmdir()


if __name__ == "__main__":
    main()
