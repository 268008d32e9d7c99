"""Trains the network D-128-L in PyTorch; a JSON line per epoch with seconds of training (evaluation apart) and P@k."""
import argparse
import os
import sys
import time
from pathlib import Path

# glibc returns large blocks to the system and faults them in again on every batch, which costs up to half the time at
# many labels. These keep them. They are read when a process starts, hence the second start below.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28),
             "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}

# MKL checks for an Intel processor before it checks its features; mkl_avx512.c overrides the check.
MKL_AVX512 = Path(__file__).resolve().parents[2] / "build" / "peers" / "libmkl_avx512.so"


def arguments():
    from data import add_network_arguments

    parser = argparse.ArgumentParser(description=__doc__)
    add_network_arguments(parser)
    parser.add_argument("--variant", choices=("stock", "sparse", "tuned", "manual", "by-label"), default="stock")
    parser.add_argument("--embedding", choices=("dense", "sparse"), default="dense",
                        help="tuned, manual, by-label: update all rows of the input layer, or only those that occur")
    parser.add_argument("--compile", action="store_true", help="tuned: torch.compile the output layer and loss")
    parser.add_argument("--tile", type=int, default=0, help="by-label: labels worked on at a time; 0: all")
    parser.add_argument("--mkl-avx512", action="store_true",
                        help="make MKL use its AVX-512 code on processors that are not Intel's (needs bench/peers/setup)")
    parser.add_argument("--allocator", choices=("default", "tuned"),
                        help="glibc's settings; unless given, default for stock and sparse, tuned for the rest")
    parser.add_argument("--bf16", action="store_true",
                        help="let matrix products round to bfloat16 (less precise than Evener: not the comparison)")
    args = parser.parse_args()
    args.allocator = args.allocator or ("default" if args.variant in ("stock", "sparse") else "tuned")
    return args


def name_of(args):
    parts = [args.variant]
    if args.variant not in ("stock", "sparse"):
        parts += ["sparse"] * (args.embedding == "sparse") + ["compile"] * (args.variant == "tuned" and args.compile)
    if args.variant == "by-label" and args.tile:
        parts.append(f"tile{args.tile}")
    if (args.allocator == "default") != (args.variant in ("stock", "sparse")):
        parts.append(f"{args.allocator}-allocator")
    if args.mkl_avx512:
        parts.append("mkl-avx512")
    if args.bf16:
        parts.append("bf16")
    return "-".join(parts)


def main():
    args = arguments()
    with_settings = {**os.environ, **(ALLOCATOR if args.allocator == "tuned" else {})}
    if args.mkl_avx512:
        if not MKL_AVX512.exists():
            sys.exit(f"--mkl-avx512: {MKL_AVX512} is missing, run bench/peers/setup")
        with_settings["LD_PRELOAD"] = str(MKL_AVX512)
    if with_settings != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], with_settings)

    import numpy as np
    import torch

    from data import batch_times, batches, emit, load_task, precision
    from torch_variants import VARIANTS

    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    if args.variant not in ("stock", "sparse"):
        torch.set_flush_denormal(True)
    if args.bf16:
        torch.set_float32_matmul_precision("medium")
    task = load_task(args)
    begin = time.perf_counter()
    model = VARIANTS[args.variant](task, args)
    prepared = time.perf_counter() - begin
    rng = np.random.default_rng(args.seed)
    total = 0.0
    for epoch in range(1, args.epochs + 1):
        marks = [time.perf_counter()]
        rows = 0
        for batch in batches(task.x.shape[0], args.batch, rng, args.max_batches):
            model.step(batch)
            rows += len(batch)
            marks.append(time.perf_counter())
        seconds = marks[-1] - marks[0]
        total += seconds
        begin = time.perf_counter()
        top = np.concatenate([model.scores(task.x_test[i:i + args.batch]).topk(5).indices.numpy()
                              for i in range(0, task.x_test.shape[0], args.batch)])
        emit(peer="torch", version=torch.__version__, variant=name_of(args), data=task.name, epoch=epoch,
             seconds=round(seconds, 4), seconds_total=round(total, 4), rows=rows,
             **batch_times(marks), eval_seconds=round(time.perf_counter() - begin, 3),
             **precision(top, task.y_test), prepare_seconds=round(prepared, 2), lr=args.lr, batch=args.batch,
             seed=args.seed, init=args.init, threads=args.threads)


if __name__ == "__main__":
    main()
