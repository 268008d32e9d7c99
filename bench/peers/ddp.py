#!/usr/bin/env python3
"""Two processes train one network synchronously: compares PyTorch's DistributedDataParallel (gloo) with `evener train --nodes 2`.

    build/peers-venv/bin/python bench/peers/ddp.py DATA [--rounds 3] [--epochs 3]

D-128-L, relu, softmax, Adam, 256 rows an update (128 a process), one thread a process, on loopback; in turns. `ddp` is as
one writes it first; `ddp-sparse` sends only rows of the input layer that occur, as Evener does; both with fused Adam and
no copies of gradients (gradient_as_bucket_view). Evener's `bsp` pushes what an Adam step changed, `sync` of one process with
two threads is beside it for scale. A table of samples a second: the best epoch of each run, then the median of the rounds.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EVENER = ROOT / "build/release/evener"
PORT = 29563


def train_part(args):
    """One of the two processes of DDP; rank 0 prints the seconds of each epoch."""
    import numpy as np
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch.nn.parallel import DistributedDataParallel

    from data import batches, load_task, row_weights
    from torch_variants import ADAM, Net, sparse_tensors

    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.set_flush_denormal(True)
    task = load_task(args)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{PORT}", rank=args.rank, world_size=2)
    sparse = args.part == "ddp-sparse"
    net = Net(task, args, sparse)
    model = DistributedDataParallel(net, gradient_as_bucket_view=not sparse)
    if sparse:
        optimizers = [torch.optim.SparseAdam([net.embed.weight], lr=args.lr, **ADAM),
                      torch.optim.Adam([net.bias, *net.out.parameters()], lr=args.lr, fused=True, **ADAM)]
    else:
        optimizers = [torch.optim.Adam(net.parameters(), lr=args.lr, fused=True, **ADAM)]
    y = row_weights(task.y)
    rng = np.random.default_rng(1)
    for _ in range(args.epochs):
        dist.barrier()
        begin = time.perf_counter()
        for batch in batches(task.x.shape[0], args.batch, rng, 0):
            rows = batch[args.rank::2]
            if len(batch) < 2:
                continue
            for optimizer in optimizers:
                optimizer.zero_grad()
            targets = torch.from_numpy(y[rows].toarray())
            F.cross_entropy(model(*sparse_tensors(task.x[rows])), targets).backward()
            for optimizer in optimizers:
                optimizer.step()
        dist.barrier()
        if args.rank == 0:
            print(json.dumps({"rows": int(task.x.shape[0]), "seconds": time.perf_counter() - begin}), flush=True)
    dist.destroy_process_group()


def best(epochs):
    return max(epoch["rows"] / epoch["seconds"] for epoch in epochs)


def ddp(args, kind):
    command = [sys.executable, __file__, args.data, "--epochs", str(args.epochs), "--part", kind]
    others = subprocess.Popen([*command, "--rank", "1"])
    first = subprocess.run([*command, "--rank", "0"], check=True, capture_output=True, text=True, timeout=600)
    others.wait(timeout=60)
    return best([json.loads(line) for line in first.stdout.splitlines()])


def evener(args, kind):
    how = {"evener bsp": ["--nodes", "2", "--strategy", "bsp"],
           "evener, one process": ["--devices", "cpu:1,cpu:1", "--strategy", "sync"]}[kind]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([EVENER, "train", args.data, "-o", f"{folder}/run", "--quiet", "--hidden", "128", "--loss", "softmax",
                        "--no-prior-bias", "--dropout", "0", "--decay", "constant", "--warmup-epochs", "0",
                        "--global-batch-size", str(args.batch), "--learning-rate", str(args.lr),
                        "--epochs", str(args.epochs), *how], check=True, capture_output=True, timeout=600)
        records = [json.loads(line) for line in open(f"{folder}/run/metrics.jsonl")]
    epochs = [record for record in records if record["kind"] == "epoch"]
    # samples_per_second is since the start
    rows = epochs[-1]["samples_per_second"] * sum(e["train_seconds"] for e in epochs) / len(epochs)
    return best([{"rows": rows, "seconds": epoch["train_seconds"]} for epoch in epochs])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    from data import add_network_arguments
    add_network_arguments(parser)
    parser.set_defaults(epochs=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        return train_part(args)
    rates = {}
    for _ in range(args.rounds):
        for kind, run in (("evener bsp", evener), ("ddp", ddp), ("ddp-sparse", ddp), ("evener, one process", evener)):
            rates.setdefault(kind, []).append(run(args, kind))
    print(f"| {Path(args.data).name}, two processes | samples/s (least - most) |\n|---|---|")
    for kind, seen in rates.items():
        print(f"| {kind} | {statistics.median(seen):,.0f} ({min(seen):,.0f} - {max(seen):,.0f}) |")


if __name__ == "__main__":
    main()
