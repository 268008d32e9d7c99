"""The network of bench/claims/frameworks.py in any framework: options, start weights, and training for a time.

Hidden layers of sigmoid units, softmax against the row's normalised labels, Adam, dense input. Each line of the
standard input is a job, FOLDER SECONDS RATE SEED, with train.txt[.xz] and test.txt[.xz] in the folder: one run from the
start. It gives one JSON line: the loss of the test rows over the seconds of training. Evaluations and the first step,
which may compile, are outside these seconds.
"""
import argparse
import json
import os
import sys
import time
from dataclasses import dataclass

import numpy as np

from data import load_task, row_weights


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hidden", default="512,512,512,512", help="units of each layer")
    parser.add_argument("--batch", type=int, default=256, help="rows")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--hogwild", action="store_true", help="torch: a process of one thread for each of --threads")
    args = parser.parse_args()
    args.hidden = [int(width) for width in args.hidden.split(",")]
    return args


@dataclass
class Job:
    folder: str
    seconds: float
    rate: float
    seed: int


def jobs():
    for line in sys.stdin:
        folder, seconds, rate, seed = line.split()
        yield Job(folder, float(seconds), float(rate), int(seed))


class Rows:
    """Features and targets as dense float32: with so few features the fastest form for every framework."""

    def __init__(self, folder):
        task = load_task(argparse.Namespace(data=folder, no_normalise=True, tfidf=False))
        self.x, self.t = task.x.toarray(), row_weights(task.y).toarray()
        self.x_test, self.t_test = task.x_test.toarray(), row_weights(task.y_test).toarray()


def start(rows, hidden, seed):
    """Weights and biases with the bounds of evener/nn/initialise.cc."""
    rng = np.random.default_rng(seed)
    widths = [rows.x.shape[1], *hidden, rows.t.shape[1]]
    parameters = []
    for layer, (inputs, units) in enumerate(zip(widths, widths[1:])):
        square = 1 / inputs if layer == len(hidden) else 3 / units if layer == 0 else 6 / (inputs + units)
        parameters += [rng.uniform(-1, 1, (inputs, units)).astype(np.float32) * np.float32(square**0.5),
                       np.zeros(units, np.float32)]
    return parameters


def cpu_seconds():
    times = os.times()
    return times.user + times.system


class Watch:
    """Seconds of training, with pauses, and the curve; processor time from the start to the end, pauses included."""

    def __init__(self, seconds):
        self.left, self.trained, self.curve = seconds, 0.0, []
        self.began, self.cpu = time.perf_counter(), cpu_seconds()

    def over(self):
        return self.trained + time.perf_counter() - self.resumed >= self.left

    def resume(self):
        self.resumed = time.perf_counter()

    def pause(self):
        self.trained += time.perf_counter() - self.resumed

    def evaluated(self, loss):
        self.curve.append([round(self.trained, 4), float(loss)])

    def line(self, job, cpu_of_others=0.0, **fields):
        cpu = cpu_seconds() - self.cpu + cpu_of_others
        wall = time.perf_counter() - self.began
        print(json.dumps({"rate": job.rate, "seed": job.seed, "seconds": self.trained, "curve": self.curve, "cpu": cpu,
                          "wall": wall, **fields}), flush=True)


def batches(count, size, seed, epoch):
    """The row numbers of one epoch's batches; every framework gets the same."""
    order = np.random.default_rng((seed, epoch)).permutation(count)
    return [order[at:at + size] for at in range(0, count, size)]


def train(rows, model, job, args, **fields):
    """`model` has step(x, t) and loss(x, t)."""
    watch = Watch(job.seconds)
    trained, epoch = 0, 0
    while watch.trained < job.seconds:
        watch.resume()
        for batch in batches(len(rows.x), args.batch, job.seed, epoch):
            model.step(rows.x[batch], rows.t[batch])
            trained += len(batch)
            if watch.over():
                break
        watch.pause()
        epoch += 1
        watch.evaluated(model.loss(rows.x_test, rows.t_test))
    watch.line(job, rows=trained, **fields)
