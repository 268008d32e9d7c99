#!/usr/bin/env python3
"""Writes golden.json: training steps and metrics computed independently of the C++ code.

Needs numpy and scikit-learn; run it only to add cases (`python3 make_golden.py`). Everything here
follows the formulas in the comments of evener/nn/network.h, training.h and metrics.h with whole
matrices in double precision, where the C++ reference goes row by row and element by element.
"""

import json
import pathlib

import numpy as np
from sklearn import metrics as sk

RNG = np.random.default_rng(20240229)
STEPS = 5
ROWS, BATCH = 9, 4
MASK_PURPOSE = 0x6D61736B


def f32(x):
    """The double nearest to the float that C++ holds."""
    return np.asarray(x, dtype=np.float32).astype(np.float64)


# ---------------------------------------------------------------- dropout masks (integers only)

M32 = 0xFFFFFFFF


def philox_first(counter, key):
    """First word of Philox4x32-10 (Salmon et al. 2011)."""
    x0, x1, x2, x3 = counter
    k0, k1 = key & M32, key >> 32
    for _ in range(10):
        p0, p1 = x0 * 0xD2511F53, x2 * 0xCD9E8D57
        x0, x1, x2, x3 = (p1 >> 32) ^ x1 ^ k0, p1 & M32, (p0 >> 32) ^ x3 ^ k1, p0 & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return x0


def mix(x):
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & M32
    x = ((x ^ (x >> 15)) * 0x846CA68B) & M32
    return x ^ (x >> 16)


def mask(rate, seed, step, layer, rows, units):
    if rate == 0:
        return np.ones((rows, units))
    key = philox_first((step & M32, step >> 32, layer, MASK_PURPOSE), seed)
    threshold = int(float(np.float32(rate)) * 2**32)
    scale = float(np.float32(1) / (np.float32(1) - np.float32(rate)))
    hashed = [[mix((mix(r ^ key) + u) & M32) for u in range(units)] for r in range(rows)]
    return np.where(np.array(hashed) < threshold, 0.0, scale)


# ---------------------------------------------------------------- network, X (n x f), Y (n x l)

ACTIVATE = {
    "relu": lambda z: np.maximum(z, 0),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
}
DERIVATIVE = {  # of z
    "relu": lambda z: (z > 0) * 1.0,
    "sigmoid": lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2,
    "tanh": lambda z: 1 / np.cosh(z) ** 2,
}


def loss_and_delta(kind, logits, targets):
    """Mean loss over all rows and its derivative by the logits."""
    n = len(logits)
    if kind == "squared":
        return np.sum((logits - targets) ** 2) / 2 / n, (logits - targets) / n
    if kind == "sigmoid":
        p = 1 / (1 + np.exp(-logits))
        terms = targets * np.log(p) + (1 - targets) * np.log(1 - p)
        return -np.sum(terms) / n, (p - targets) / n
    count = targets.sum(axis=1, keepdims=True)
    share = np.divide(targets, count, out=np.zeros_like(targets), where=count > 0)
    e = np.exp(logits)
    p = e / e.sum(axis=1, keepdims=True)
    return -np.sum(share * np.log(p)) / n, (p - share) * (count > 0) / n


def gradients(case, weights, biases, x, y, step):
    """Weights here are inputs x units whatever the layout in memory."""
    t = case["training"]
    rates = [t["input_dropout"]] + [t["dropout"]] * (len(weights) - 1)
    a = x * mask(rates[0], t["seed"], step, 0, *x.shape)
    inputs, sums, masks = [], [], []
    for i, (w, b) in enumerate(zip(weights, biases)):
        inputs.append(a)
        z = a @ w + b
        sums.append(z)
        if i + 1 < len(weights):
            masks.append(mask(rates[i + 1], t["seed"], step, i + 1, *z.shape))
            a = ACTIVATE[case["activation"]](z) * masks[i]
    loss, delta = loss_and_delta(case["loss"], sums[-1], y)
    dw, db = [], []
    for i in reversed(range(len(weights))):
        dw.insert(0, inputs[i].T @ delta)
        db.insert(0, delta.sum(axis=0))
        if i > 0:
            delta = (delta @ weights[i].T) * masks[i - 1]
            delta = delta * DERIVATIVE[case["activation"]](sums[i - 1])
    return loss, dw, db


def clip(norms, limit):
    return np.where(norms > limit, limit / np.maximum(norms, 1e-300), 1.0) if limit else 1.0


class Rule:
    """An optimizer with its state for one array; `touched` says which elements take part."""

    def __init__(self, t, shape):
        self.t, self.s, self.v = t, np.zeros(shape), np.zeros(shape)

    def change(self, g, step, touched):
        t = self.t
        if t["optimizer"] == "sgd":
            return t["rate"] * g * touched
        if t["optimizer"] == "momentum":
            self.s = np.where(touched, t["momentum"] * self.s + g, self.s)
            return t["rate"] * self.s * touched
        if t["optimizer"] == "adagrad":
            self.s = np.where(touched, self.s + g**2, self.s)
            return t["rate"] * g / (np.sqrt(self.s) + t["epsilon"]) * touched
        self.s = np.where(touched, t["beta1"] * self.s + (1 - t["beta1"]) * g, self.s)
        self.v = np.where(touched, t["beta2"] * self.v + (1 - t["beta2"]) * g**2, self.v)
        m = self.s / (1 - t["beta1"] ** step)
        v = self.v / (1 - t["beta2"] ** step)
        return t["rate"] * m / (np.sqrt(v) + t["epsilon"]) * touched


def train(case, weights, biases, x, y, batches):
    """Five steps; returns the losses and the weights and biases after them."""
    t = {k: float(f32(v)) if isinstance(v, float) else v for k, v in case["training"].items()}
    weights, biases = [w.copy() for w in weights], [b.copy() for b in biases]
    rules = [(Rule(t, w.shape), Rule(t, b.shape)) for w, b in zip(weights, biases)]
    losses = []
    for step, rows in enumerate(batches, start=1):
        loss, dw, db = gradients(case, weights, biases, x[rows], y[rows], step)
        losses.append(loss)
        for i, (w, b) in enumerate(zip(weights, biases)):
            if i == 0 and case["input"] == "sparse" and len(weights) > 1:
                touched = (x[rows] != 0).any(axis=0)[:, None] & np.ones(w.shape, dtype=bool)
                gw = dw[i] * clip(np.linalg.norm(dw[i], axis=1, keepdims=True), t["clip"])
                gb = db[i] * clip(np.linalg.norm(db[i]), t["clip"])
            else:
                touched = np.ones(w.shape, dtype=bool)
                factor = clip(np.sqrt((dw[i] ** 2).sum(axis=0) + db[i] ** 2), t["clip"])
                gw, gb = dw[i] * factor, db[i] * factor
            gw = gw + t["l2"] * w
            w -= rules[i][0].change(gw, step, touched)
            b -= rules[i][1].change(gb, step, True)
    return losses, weights, biases


def rounded(array):
    """Lists with the digits of a float, to save bytes in the file."""
    return [rounded(a) for a in array] if np.ndim(array) else float(f"{array:.9g}")


def by_layout(case, weights, biases):
    """The layout of the file: one row per feature for the sparse input layer, else one row per unit."""
    sparse = case["input"] == "sparse" and len(weights) > 1
    return [
        {"weight": rounded(w if i == 0 and sparse else w.T), "bias": rounded(b)}
        for i, (w, b) in enumerate(zip(weights, biases))
    ]


def training_case(number, optimizer, loss, activation, inputs, hidden, **options):
    features, labels = 6, 4
    training = {"optimizer": optimizer, "momentum": 0.9, "beta1": 0.9, "beta2": 0.999,
                "epsilon": 1e-8, "l2": 0.0, "clip": 0.0, "dropout": 0.0, "input_dropout": 0.0,
                "seed": 77 + number, "rate": 0.05}
    training.update(options)
    case = {"features": features, "hidden": hidden, "labels": labels, "activation": activation,
            "loss": loss, "input": inputs, "training": training}
    widths = [features] + hidden + [labels]
    weights = [f32(RNG.normal(0, 0.6, (n, m))) for n, m in zip(widths, widths[1:])]
    biases = [f32(RNG.normal(0, 0.2, m)) for m in widths[1:]]
    x = f32(RNG.uniform(0.1, 1.5, (ROWS, features)) * (RNG.random((ROWS, features)) < 0.35))
    x[2] = 0  # a row without features
    y = (RNG.random((ROWS, labels)) < 0.4) * 1.0
    y[0], y[1] = 0, 1  # a row without labels and one with all
    batches = [[int(r) for r in RNG.permutation(ROWS)[:BATCH]] for _ in range(STEPS)]
    batches[0][:2] = [0, 2]
    case["rows"] = [[[int(f), float(np.float32(row[f]))] for f in np.flatnonzero(row)] for row in x]
    case["truth"] = [[int(l) for l in np.flatnonzero(row)] for row in y]
    case["batches"] = batches
    case["start"] = by_layout(case, weights, biases)
    losses, weights, biases = train(case, weights, biases, x, y, batches)
    case["losses"] = rounded(losses)
    case["end"] = by_layout(case, weights, biases)
    return case


def training_cases():
    shapes = [("relu", "sparse", [5]), ("tanh", "sparse", [5, 3]), ("sigmoid", "dense", [5]),
              ("relu", "dense", []), ("tanh", "dense", [4, 3]), ("relu", "sparse", [4, 5, 3])]
    extras = [{}, {"l2": 0.01}, {"clip": 0.05}, {"l2": 0.01, "clip": 0.1}]
    cases = []
    for optimizer in ["sgd", "momentum", "adam", "adagrad"]:
        for loss in ["softmax", "sigmoid", "squared"]:
            n = len(cases)
            cases.append(training_case(n, optimizer, loss, *shapes[n % 6], **extras[n % 4]))
    cases.append(training_case(12, "adam", "softmax", "relu", "sparse", [5, 4], dropout=0.4,
                               input_dropout=0.3, clip=0.2))
    cases.append(training_case(13, "sgd", "sigmoid", "tanh", "dense", [5], dropout=0.25, l2=0.02))
    return cases


# ---------------------------------------------------------------- metrics


def top(scores, k):
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def inverse_propensity(y, a=0.55, b=1.5):
    c = (np.log(len(y)) - 1) * (b + 1) ** a
    return 1 / (1 / (1 + c * np.exp(-a * np.log(y.sum(axis=0) + b))))


def psp(scores, truth, weight, k):
    """Jain et al. 2016 as pyxclib normalises it: by the best that k labels a row could reach."""
    def total(ranking):
        chosen = np.zeros_like(truth)
        np.put_along_axis(chosen, top(ranking, k), 1, axis=1)
        return (chosen * truth * weight).sum() / (k * len(truth))
    return total(scores) / total(truth * weight)


def label_lists(y):
    return [[int(l) for l in np.flatnonzero(row)] for row in y]


def many_labels():
    labels, k = 12, 5
    train = (RNG.random((60, labels)) < 0.5 / np.arange(1, labels + 1)) * 1.0
    truth = (RNG.random((40, labels)) < 0.15) * 1.0
    truth[3] = 0
    scores = f32(0.6 * RNG.random((40, labels)) + 0.4 * truth * RNG.random((40, labels)))
    weight = inverse_propensity(train)
    best = top(scores, k)
    values = {}
    for at in [1, 3, 5]:
        values[f"p@{at}"] = float(np.take_along_axis(truth, best[:, :at], axis=1).mean())
        values[f"ndcg@{at}"] = float(sk.ndcg_score(truth, scores, k=at))
        values[f"psp@{at}"] = float(psp(scores, truth, weight, at))
    return {"name": "many labels", "labels": labels, "k": k, "train": label_lists(train),
            "inverse_propensity": rounded(weight), "truth": label_lists(truth),
            "best": best.tolist(), "scores": rounded(np.take_along_axis(scores, best, axis=1)),
            "losses": [0.0] * len(truth), "values": values}


def two_labels():
    rows = 50
    truth = RNG.integers(0, 2, rows)
    one = np.round(np.clip(0.25 + 0.3 * truth + 0.3 * RNG.normal(size=rows), 0.1, 0.9) * 16) / 16
    scores = np.stack([1 - one, one], axis=1)
    best = top(scores, 2)
    losses = -np.log(np.where(truth == 1, one, 1 - one))
    values = {"auc": float(sk.roc_auc_score(truth, one)),
              "accuracy": float(sk.accuracy_score(truth, best[:, 0])),
              "loss": float(sk.log_loss(truth, scores)),
              "p@1": float(sk.accuracy_score(truth, best[:, 0])),
              "ndcg@1": float(sk.accuracy_score(truth, best[:, 0]))}
    return {"name": "two labels", "labels": 2, "k": 2, "truth": [[int(t)] for t in truth],
            "best": best.tolist(), "scores": rounded(np.take_along_axis(scores, best, axis=1)),
            "losses": rounded(losses), "values": values}


def check_losses():
    """The loss formulas above against scikit-learn's, where it has one."""
    logits = RNG.normal(size=(20, 4))
    classes = np.concatenate([np.arange(4), RNG.integers(0, 4, 16)])
    y = np.eye(4)[classes]
    e = np.exp(logits)
    expected = sk.log_loss(classes, e / e.sum(axis=1, keepdims=True))
    assert abs(loss_and_delta("softmax", logits, y)[0] - expected) < 1e-12
    p = 1 / (1 + np.exp(-logits))
    expected = sum(sk.log_loss(y[:, l], p[:, l]) for l in range(4))
    assert abs(loss_and_delta("sigmoid", logits, y)[0] - expected) < 1e-12


def main():
    check_losses()
    golden = {"training": training_cases(), "metrics": [many_labels(), two_labels()]}
    path = pathlib.Path(__file__).with_name("golden.json")
    lines = []
    for part, cases in golden.items():
        body = ",\n".join("  " + json.dumps(c, separators=(",", ":")) for c in cases)
        lines.append(f' "{part}": [\n{body}\n ]')
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
