#!/usr/bin/env python3
"""How well does virtual time predict real time? Profiles a device, simulates two workers of it, and runs two, in turns.

    python3 bench/predicted_time.py DATA [--strategy adaptive-sgd] [--slow 0.25] [--repeat 3]
"""
import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

EVENER = Path(__file__).resolve().parents[1] / "build/release/evener"


def run(*arguments):
    return subprocess.run([str(EVENER), *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def slowed(device, factor):
    """A [[device]] whose times are longer."""
    lines = []
    for line in device.splitlines():
        key, _, value = line.partition(" = ")
        if key.startswith(("fixed", "per-")):
            value = f"{float(value) / factor:.6g}"
        lines.append(f"{key} = {value}" if value else line)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--strategy", default="adaptive-sgd")
    parser.add_argument("--slow", type=float, default=0.25, help="speed of the second worker")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    common = [args.data, "--hidden", 128, "--loss", "softmax", "--dropout", 0]
    training = [*common, "--quiet", "--strategy", args.strategy, "--epochs", 6, "--checkpoint-minutes", 0, "--json"]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.repeat):
            # Profiled beside a busy process, because the two workers also run at the same time.
            busy = subprocess.Popen([str(EVENER), "train", *map(str, common), "--devices", "cpu:1", "--epochs", "1000", "-o",
                                     f"{folder}/busy{number}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                device = run("profile", "cpu:1", *common)
            finally:
                busy.kill()
                busy.wait()
            cluster = Path(folder) / f"cluster{number}.toml"
            cluster.write_text(device + slowed(device, args.slow))
            real = json.loads(run("train", *training, "--devices", "cpu:1,cpu:1", "--emulate", f"1=x{args.slow}", "-o",
                                  f"{folder}/real{number}"))
            virtual = json.loads(run("simulate", cluster, *training, "-o", f"{folder}/virtual{number}"))
            ratio = real["samples_per_second"] / virtual["samples_per_second"]
            ratios.append(ratio)
            print(f"real {real['samples_per_second']:.0f} rows/s, predicted {virtual['samples_per_second']:.0f}: "
                  f"the simulation is {100 * (ratio - 1):+.1f} % off in time", flush=True)
    print(f"median {100 * (statistics.median(ratios) - 1):+.1f} %")


if __name__ == "__main__":
    main()
