"""Shows that every network in this folder computes the same training step: two steps of each, on made-up data with rows
without labels and without features, against a plain NumPy version in double precision. Exit 1 if one does not."""
import argparse
import itertools
import os
import sys
from importlib.util import find_spec

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

from data import Task, normalised, row_weights  # noqa: E402

ROWS, FEATURES, LABELS, HIDDEN, BATCH = 48, 60, 37, 16, 20
LR, EPS = 1e-3, 1e-8


def made_up():
    rng = np.random.default_rng(5)
    x = sp.random(ROWS, FEATURES, 0.15, format="lil", dtype=np.float32, random_state=1)
    y = sp.random(ROWS, LABELS, 0.08, format="lil", dtype=np.float32, random_state=2)
    y[3], y[7], x[9] = 0, 0, 0
    x, y = normalised(x.tocsr()), y.tocsr()
    for matrix in (x, y):
        matrix.eliminate_zeros()
    y.data[:] = 1
    weights = [rng.uniform(-0.4, 0.4, shape).astype(np.float32)
               for shape in ((FEATURES, HIDDEN), (HIDDEN,), (HIDDEN, LABELS), (LABELS,))]
    # The same rows twice: then lazy Adam and Adam over all rows are equal.
    rows = np.concatenate(([3, 9], np.setdiff1d(rng.permutation(ROWS), [3, 9])))[:BATCH]
    return Task("made-up", x, y, x, y), weights, [rows, rows]


def expected(task, weights, batches, places):
    """Loss = mean over rows of sum_l t_l (logsumexp(z) - z_l), t = 1/|labels|. Adam adds eps after the bias correction
    ("after": the paper's algorithm, Evener, torch's Adam) or before it ("before": the paper's efficient form, torch's
    SparseAdam, TensorFlow), which differs where gradients are tiny. `places`: for the input layer, for the rest."""
    w = [part.astype(np.float64) for part in weights]
    first, second = [np.zeros_like(p) for p in w], [np.zeros_like(p) for p in w]
    for step, rows in enumerate(batches, 1):
        x, t = task.x[rows].toarray().astype(np.float64), row_weights(task.y)[rows].toarray().astype(np.float64)
        hidden = np.maximum(x @ w[0] + w[1], 0)
        z = hidden @ w[2] + w[3]
        soft = np.exp(z - z.max(1, keepdims=True))
        delta = (soft / soft.sum(1, keepdims=True) * t.sum(1, keepdims=True) - t) / len(rows)
        back = (delta @ w[2].T) * (hidden > 0)
        gradients = x.T @ back, back.sum(0), hidden.T @ delta, delta.sum(0)
        for p, m, v, g, place in zip(w, first, second, gradients, (places[0], *[places[1]] * 3)):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            root = np.sqrt(1 - 0.999 ** step)
            p -= LR * (m / (1 - 0.9 ** step)) / (np.sqrt(v) / root + (EPS if place == "after" else EPS / root))
    return w


def options(**changes):
    return argparse.Namespace(**{**dict(hidden=HIDDEN, lr=LR, batch=BATCH, init="evener", seed=1, embedding="dense",
                                        compile=False, tile=10, xla=False), **changes})


def torch_results(task, weights, batches):
    import torch

    from torch_variants import VARIANTS

    cases = {"stock": ("stock", {}), "sparse": ("sparse", {}), "tuned": ("tuned", {}),
             "tuned-sparse": ("tuned", dict(embedding="sparse")), "manual": ("manual", {}),
             "manual-sparse": ("manual", dict(embedding="sparse")), "by-label": ("by-label", {}),
             "by-label-sparse": ("by-label", dict(embedding="sparse"))}
    for name, (variant, changes) in cases.items():
        model = VARIANTS[variant](task, options(**changes))
        if variant in ("manual", "by-label"):
            parts = [model.weight_in, model.bias_in, model.weight.t(), model.bias_out]
        else:
            parts = [model.net.embed.weight, model.net.bias, model.net.out.weight.t(), model.net.out.bias]
        with torch.no_grad():
            for part, value in zip(parts, weights):
                part.copy_(torch.from_numpy(value))
        for rows in batches:
            model.step(rows)
        yield f"torch {name}", [part.detach().numpy() for part in parts]


def tensorflow_results(task, weights, batches):
    from tf_train import VARIANTS

    for name, variant, changes in (("stock", "stock", {}), ("lookup", "lookup", {}), ("tuned", "tuned", {}),
                                   ("tuned-xla", "tuned", dict(xla=True))):
        model = VARIANTS[variant](task, options(**changes))
        for variable, value in zip(model.variables, weights):
            variable.assign(value)
        for rows in batches:
            model.step(rows)
        yield f"tensorflow {name}", [variable.numpy() for variable in model.variables]


def main():
    task, weights, batches = made_up()
    wanted = {places: expected(task, weights, batches, places)
              for places in itertools.product(("after", "before"), repeat=2)}
    bad = 0
    for package, results in (("torch", torch_results), ("tensorflow", tensorflow_results)):
        if find_spec(package) is None:
            print(f"{package}: not installed, not checked")
            continue
        for name, found in results(task, weights, batches):
            worst = {places: max(float(np.abs(a - b).max()) for a, b in zip(found, reference))
                     for places, reference in wanted.items()}
            places = min(worst, key=worst.get)
            good = worst[places] < 1e-6  # weights move by 2e-3
            bad += not good
            print(f"{name:26} largest difference {worst[places]:.1e} {'ok' if good else 'WRONG'}"
                  f"   eps {places[0]} bias correction in the input layer, {places[1]} it in the rest")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
