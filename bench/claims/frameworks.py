#!/usr/bin/env python3
"""Deep sigmoid networks on two cores: Evener's CPU and OpenCL device together against PyTorch and TensorFlow.

    bench/peers/setup torch tensorflow
    python3 bench/claims/frameworks.py [covtype w8a delicious] [--seconds 4] [--seeds 2] [--rates A,B,C]

All train the same network with Adam from the same bounds of start weights, for the same seconds, batch 256. The
learning rate of each entry is the one of the grid whose last loss is least (seed 100, one run of the same length
each). Then all entries run in turns, once for each seed. The target of a set is the least loss on the test rows that
the best entry of PyTorch and TensorFlow reaches (median over its seeds). "Cores" is the processor time from the first
step to the last evaluation, as a share of the two cores; "others" is the share that other programs used meanwhile.
covtype and w8a are shuffled and cut (ROWS). Prints Markdown.
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
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVENER = os.environ.get("EVENER", ROOT / "build/release/evener")
PEERS = ROOT / "bench/peers"
PYTHON = ROOT / "build/peers-venv/bin/python"
PAIR = "cpu:1,opencl:0.0.1"
ROWS = (12_000, 2_000)  # train, test
TICK = 1 / os.sysconf("SC_CLK_TCK")
# Options of evener, or a script of bench/peers.
ENTRIES = {
    "Evener, pair, adaptive-hogbatch": ["--devices", PAIR, "--strategy", "adaptive-hogbatch"],
    "Evener, pair, hogbatch": ["--devices", PAIR, "--strategy", "hogbatch"],
    "Evener, pair, adaptive-sgd": ["--devices", PAIR, "--strategy", "adaptive-sgd"],
    "Evener, cpu:2, sequential": ["--devices", "cpu:2", "--strategy", "sequential"],
    "PyTorch, 2 threads": "deep_torch.py",
    "PyTorch, Hogwild, 2 processes": "deep_torch.py --hogwild",
    "TensorFlow, 2 threads": "deep_tf.py",
}
SOURCES = {"covtype": "covtype/covtype.binary.scale.libsvm.xz", "w8a": "w8a/w8a.xz", "delicious": "delicious"}


def prepare(name, data):
    """A folder with train.txt and test.txt; LIBSVM sets are shuffled, cut and written as multi-label text."""
    source = Path(data, SOURCES[name])
    if source.is_dir():
        return source
    folder = ROOT / f"build/claims/{name}-{'-'.join(map(str, ROWS))}"
    if (folder / "test.txt").exists():
        return folder
    with lzma.open(source, "rt") as file:
        lines = [line.split() for line in file if ":" in line]
    random.Random(1).shuffle(lines)
    classes = {name: i for i, name in enumerate(sorted({line[0] for line in lines}, key=float))}
    features = max(int(line[-1].split(":")[0]) for line in lines)
    folder.mkdir(parents=True, exist_ok=True)
    for part, some in (("train", lines[ROWS[1]:sum(ROWS)]), ("test", lines[:ROWS[1]])):
        with (folder / f"{part}.txt").open("w") as file:
            file.write(f"{len(some)} {features} {len(classes)}\n")
            for label, *pairs in some:
                moved = (f"{int(index) - 1}:{value}" for index, value in (pair.split(":") for pair in pairs))
                file.write(f"{classes[label]} {' '.join(moved)}\n")
    return folder


def busy_seconds():
    """Of all cores: everything but idle and waiting for a disk."""
    numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return TICK * (sum(numbers) - numbers[3] - numbers[4])


class Processor:
    """Processor time of a process over wall time, read every 20 ms until it ends."""

    def __init__(self, process):
        self.points, self.process = [], process
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        while self.process.poll() is None:
            try:
                words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                break
            self.points.append((time.perf_counter(), TICK * (int(words[11]) + int(words[12]))))
            time.sleep(0.02)

    def between(self, begin, end):
        """Seconds of the processor between two times."""
        self.thread.join()
        at = [max([cpu for when, cpu in self.points if when <= limit], default=0) for limit in (begin, end)]
        return at[1] - at[0]


def run_evener(options, folder, args, rate, seed):
    with tempfile.TemporaryDirectory() as run:
        command = [str(EVENER), "train", str(folder), *options, "--hidden", args.hidden, "--activation", "sigmoid",
                   "--loss", "softmax", "--no-normalise", "--no-prior-bias", "--dropout", "0", "--optimizer", "adam",
                   "--decay", "constant", "--learning-rate", f"{rate:g}", "--seconds", f"{args.seconds:g}", "--seed",
                   str(seed), "--quiet", "-o", f"{run}/run"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        processor = Processor(process)
        errors = process.stderr.read()
        process.wait()
        ended = time.perf_counter()
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{errors}")
        records = [json.loads(line) for line in Path(run, "run/metrics.jsonl").open()]
    of = {kind: [record for record in records if record["kind"] == kind] for kind in ("epoch", "eval", "worker", "end")}
    trained, curve = 0.0, []
    for epoch, evaluation in zip(of["epoch"], of["eval"]):
        trained += epoch["train_seconds"]
        curve.append([trained, evaluation["loss"]])
    first, last = of["epoch"][0], of["end"][0]
    begin = ended - last["seconds"] + first["seconds"] - of["eval"][0]["eval_seconds"] - first["train_seconds"]
    return dict(rate=rate, seed=seed, curve=curve, seconds=trained, cpu=processor.between(begin, ended),
                wall=ended - begin, rows=of["epoch"][-1]["samples_per_second"] * trained)


class Peer:
    """A process that takes jobs one after the other (bench/peers/deep.py), so that it imports its framework once."""

    def __init__(self, script, args):
        command = [str(PYTHON), str(PEERS / script.split()[0]), *script.split()[1:], "--hidden", args.hidden]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, folder, args, rate, seed):
        self.process.stdin.write(f"{folder} {args.seconds:g} {rate:g} {seed}\n")
        self.process.stdin.flush()
        while line := self.process.stdout.readline():
            if line.startswith("{"):
                return json.loads(line)
        return sys.exit(f"{' '.join(self.process.args)} has ended")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def run(name, peers, folder, args, rate, seed):
    began, busy = time.perf_counter(), busy_seconds()
    job = (folder, args, rate, seed)
    result = peers[name].run(*job) if name in peers else run_evener(ENTRIES[name], *job)
    busy, wall = busy_seconds() - busy, time.perf_counter() - began
    result["others"] = max(0.0, busy - result["cpu"]) / wall
    return result


def last_loss(run):
    return run["curve"][-1][1] if run["curve"][-1][1] == run["curve"][-1][1] else float("inf")


def least_loss(run):
    return min(loss for _, loss in run["curve"] if loss == loss)


def time_to(run, target):
    return next((seconds for seconds, loss in run["curve"] if loss <= target), None)


def spread(values, form):
    values = sorted(values)
    middle = form.format(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({form.format(values[0])}-{form.format(values[-1])})"


def table(name, runs, rates):
    frameworks = [several for entry, several in runs.items() if isinstance(ENTRIES[entry], str)]
    target = min(statistics.median(map(least_loss, several)) for several in frameworks)
    print(f"\n### {name}\n\nTarget: loss {target:.4f}.\n")
    print("|  | rate | s to the target (reached) | last loss | rows/s | rows per processor second | cores | others |")
    print("|---|---|---|---|---|---|---|---|")
    for entry, several in runs.items():
        times = [time_to(each, target) for each in several]
        reached = [seconds for seconds in times if seconds is not None]
        text = spread(reached, "{:.2f}") if len(reached) * 2 > len(times) else "-"
        cells = [
            f"{rates[entry]:g}", f"{text} ({len(reached)}/{len(times)})", spread(map(last_loss, several), "{:.3f}"),
            spread([each["rows"] / each["seconds"] for each in several], "{:,.0f}"),
            spread([each["rows"] / each["cpu"] for each in several], "{:,.0f}"),
            f"{statistics.median(50 * each['cpu'] / each['wall'] for each in several):.0f} %",
            f"{statistics.median(50 * each['others'] for each in several):.0f} %"]
        print(f"| {entry} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help=f"{', '.join(SOURCES)}; default: all")
    parser.add_argument("--data", default=os.environ.get("EVENER_DATA", "data"))
    parser.add_argument("--seconds", type=float, default=4, help="of training, for each run")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rates", default="0.0003,0.001,0.003", help="one rate: no tuning")
    parser.add_argument("--hidden", default="512,512,512,512")
    parser.add_argument("--json", type=Path, help="writes all runs to this file")
    args = parser.parse_args()
    if unknown := set(args.sets) - set(SOURCES):
        parser.error(f"unknown set: {', '.join(sorted(unknown))}")
    grid = [float(rate) for rate in args.rates.split(",")]
    peers = {entry: Peer(how, args) for entry, how in ENTRIES.items() if isinstance(how, str)}
    everything = {}
    for name in args.sets or SOURCES:
        folder = prepare(name, args.data)
        tuning = {}
        for entry in ENTRIES if len(grid) > 1 else []:
            tuning[entry] = [run(entry, peers, folder, args, rate, 100) for rate in grid]
        rates = {entry: min(tuning[entry], key=last_loss)["rate"] if tuning else grid[0] for entry in ENTRIES}
        runs = {entry: [] for entry in ENTRIES}
        for seed in range(1, args.seeds + 1):
            for entry in ENTRIES:
                runs[entry].append(run(entry, peers, folder, args, rates[entry], seed))
        table(name, runs, rates)
        everything[name] = {"tuning": tuning, "runs": runs}
        if args.json:
            args.json.write_text(json.dumps(everything))
    for peer in peers.values():
        peer.close()


if __name__ == "__main__":
    main()
