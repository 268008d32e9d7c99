#!/usr/bin/env python3
"""Evener under the peers' conditions: the same network, initial model, rate, batch, threads and JSON lines.

D-128-L, relu, softmax, Adam, batch 256, biases from zero. `--recipe` runs `evener train` with nothing but data instead.
"""
import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / "build/release/evener"


def find(folder, name):
    return next(str(path) for path in (Path(folder) / f"{name}.txt", Path(folder) / f"{name}.txt.xz") if path.exists())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--max-batches", type=int, default=0, help="taken for the peers' sake; epochs are always whole")
    parser.add_argument("--init", default="evener")
    parser.add_argument("--tfidf", action="store_true")
    parser.add_argument("--recipe", action="store_true", help="all defaults: epochs and rate are the recipe's")
    args = parser.parse_args()
    run = tempfile.mkdtemp(prefix="evener-bench-")
    command = [str(COMMAND), "train", find(args.data, "train"), "--test", find(args.data, "test"), "-o", f"{run}/run",
               "--quiet", "--seed", str(args.seed), "--devices", f"cpu:{args.threads}"]
    if not args.recipe:
        command += ["--hidden", "128", "--loss", "softmax", "--no-prior-bias", "--dropout", "0", "--decay", "constant",
                    "--warmup-epochs", "0", "--learning-rate", str(args.lr), "--epochs", str(args.epochs)]
    if args.tfidf:
        command.append("--tfidf")
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        records = [json.loads(line) for line in open(f"{run}/run/metrics.jsonl")]
    finally:
        shutil.rmtree(run, ignore_errors=True)
    total, epochs = 0.0, {}
    for record in records:
        if record["kind"] in ("epoch", "eval"):
            epochs.setdefault(record["epoch"], {}).update(record)
    rows = None
    for number, record in sorted(epochs.items()):
        total += record["train_seconds"]
        rows = record["samples_per_second"] * total / number
        batches = -(-rows // 256)
        print(json.dumps({
            "peer": "evener", "variant": "recipe" if args.recipe else "same-network", "data": Path(args.data).name,
            "epoch": number, "seconds": record["train_seconds"], "seconds_total": total,
            "batch_ms": 1e3 * record["train_seconds"] / batches, "eval_seconds": record["eval_seconds"],
            "p@1": record["p@1"], "p@3": record["p@3"], "p@5": record["p@5"], "seed": args.seed,
            "threads": args.threads, "peak_memory_bytes": records[-1].get("peak_memory_bytes")}), flush=True)


if __name__ == "__main__":
    main()
