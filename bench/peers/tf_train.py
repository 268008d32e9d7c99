"""Trains the network D-128-L in TensorFlow; a JSON line per epoch with seconds of training (evaluation apart) and P@k.

stock   as one writes it first: sparse_dense_matmul, dense B x L targets, softmax_cross_entropy_with_logits, Keras' Adam
lookup  the same with embedding_lookup_sparse, whose gradient has only the rows that occur
tuned   loss by logsumexp minus gathered logits, the fused Adam kernel for the output layer, input rows gathered, updated
        lazily and written back
"""
import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from data import add_network_arguments, batch_times, batches, emit, load_task, precision, row_weights  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_network_arguments(parser)
    parser.add_argument("--variant", choices=("stock", "lookup", "tuned"), default="stock")
    parser.add_argument("--xla", action="store_true", help="tuned: compile the output layer and loss with XLA")
    return parser.parse_args()


def start(task, args):
    """Evener's start (evener/nn/initialise.cc), or what Keras gives an Embedding and a Dense layer."""
    width = args.hidden
    uniform = lambda shape, bound: tf.random.uniform(shape, -bound, bound, seed=args.seed)  # noqa: E731
    if args.init == "evener":
        bounds = (3 / width) ** 0.5, width ** -0.5
    else:
        bounds = 0.05, (6 / (width + task.labels)) ** 0.5
    weight_in, weight_out = uniform((task.features, width), bounds[0]), uniform((width, task.labels), bounds[1])
    return [tf.Variable(v) for v in (weight_in, tf.zeros(width), weight_out, tf.zeros(task.labels))]


def sparse_of(x):
    rows = np.repeat(np.arange(x.shape[0], dtype=np.int64), np.diff(x.indptr))
    return tf.SparseTensor(np.stack([rows, x.indices.astype(np.int64)], axis=1), x.data, x.shape)


class Stock:
    def __init__(self, task, args):
        self.args = args
        self.x, self.y, self.features, self.labels = task.x, row_weights(task.y), task.features, task.labels
        self.variables = start(task, args)
        self.spec = tf.SparseTensorSpec((None, self.features), tf.float32)
        self.compiled_logits = tf.function(self.logits, input_signature=[self.spec])
        self.compiled = self.prepare_update()

    def prepare_update(self):
        self.adam = tf.keras.optimizers.Adam(self.args.lr, epsilon=1e-8)
        self.adam.build(self.variables)
        return tf.function(self.update, input_signature=[self.spec, tf.TensorSpec((None, self.labels))])

    def inputs(self, x):
        return tf.sparse.sparse_dense_matmul(x, self.variables[0])

    def logits(self, x):
        return tf.nn.relu(self.inputs(x) + self.variables[1]) @ self.variables[2] + self.variables[3]

    def update(self, x, targets):
        with tf.GradientTape() as tape:
            losses = tf.nn.softmax_cross_entropy_with_logits(targets, self.logits(x))
            # Its gradient assumes that targets sum to 1: without the factor, rows without labels would contribute.
            loss = tf.reduce_mean(losses * tf.reduce_sum(targets, 1))
        self.adam.apply(tape.gradient(loss, self.variables), self.variables)

    def step(self, rows):
        self.compiled(sparse_of(self.x[rows]), tf.constant(self.y[rows].toarray()))

    def top(self, x):
        return tf.math.top_k(self.compiled_logits(sparse_of(x)), 5).indices.numpy()


class Lookup(Stock):
    def inputs(self, x):
        ids = tf.SparseTensor(x.indices, x.indices[:, 1], x.dense_shape)
        # Every row must appear in the result, also the one without features.
        return tf.nn.safe_embedding_lookup_sparse(self.variables[0], ids, x, combiner="sum")


def output_loss(hidden, weight, bias, where, weights, has_label):
    """Mean over rows of logsumexp - sum of weighted label logits, and its gradients."""
    with tf.GradientTape() as tape:
        tape.watch([hidden, weight, bias])
        logits = hidden @ weight + bias
        picked = tf.reduce_sum(tf.gather_nd(logits, where) * weights)
        rows = tf.cast(tf.shape(hidden)[0], tf.float32)
        loss = (tf.reduce_sum(tf.reduce_logsumexp(logits, 1) * has_label) - picked) / rows
    return tape.gradient(loss, [hidden, weight, bias])


class Tuned(Stock):
    def prepare_update(self):
        self.first = [tf.Variable(tf.zeros_like(v)) for v in self.variables]
        self.second = [tf.Variable(tf.zeros_like(v)) for v in self.variables]
        self.powers = tf.Variable(0.9), tf.Variable(0.999)
        self.output = tf.function(output_loss, jit_compile=True) if self.args.xla else output_loss
        # XLA compiles for fixed shapes, so labels are padded to the most that a batch can have.
        longest = np.sort(np.diff(self.y.indptr))[::-1][:self.args.batch].sum()
        self.padding = int(longest) if self.args.xla else 0
        flat = lambda dtype: tf.TensorSpec((None,), dtype)  # noqa: E731
        sparse = tf.SparseTensorSpec((None, None), tf.float32)
        return tf.function(self.update, input_signature=[sparse, sparse, flat(tf.int64), tf.TensorSpec((None, 2), tf.int64),
                                                         flat(tf.float32), flat(tf.float32)])

    def dense_adam(self, i, gradient):
        tf.raw_ops.ResourceApplyAdam(
            var=self.variables[i].handle, m=self.first[i].handle, v=self.second[i].handle, beta1_power=self.powers[0],
            beta2_power=self.powers[1], lr=self.args.lr, beta1=0.9, beta2=0.999, epsilon=1e-8, grad=gradient)

    def lazy_adam(self, used, gradient):
        first = 0.9 * tf.gather(self.first[0], used) + 0.1 * gradient
        second = 0.999 * tf.gather(self.second[0], used) + 0.001 * gradient * gradient
        scale = self.args.lr / (1 - self.powers[0])
        change = scale * first / (tf.sqrt(second / (1 - self.powers[1])) + 1e-8)
        self.first[0].scatter_update(tf.IndexedSlices(first, used))
        self.second[0].scatter_update(tf.IndexedSlices(second, used))
        self.variables[0].scatter_sub(tf.IndexedSlices(change, used))

    def update(self, x, columns, used, where, weights, has_label):
        sums = tf.sparse.sparse_dense_matmul(x, tf.gather(self.variables[0], used))
        hidden = tf.nn.relu(sums + self.variables[1])
        back, weight_gradient, bias_gradient = self.output(hidden, self.variables[2].read_value(),
                                                           self.variables[3].read_value(), where, weights, has_label)
        back *= tf.cast(hidden > 0, tf.float32)
        self.dense_adam(2, weight_gradient)
        self.dense_adam(3, bias_gradient)
        self.dense_adam(1, tf.reduce_sum(back, 0))
        self.lazy_adam(used, tf.sparse.sparse_dense_matmul(columns, back))
        self.powers[0].assign(self.powers[0] * 0.9)
        self.powers[1].assign(self.powers[1] * 0.999)

    def step(self, rows):
        x, y = self.x[rows], self.y[rows]
        counts = np.bincount(x.indices, minlength=self.features)
        used = np.flatnonzero(counts)
        places = np.zeros(self.features, dtype=x.indices.dtype)
        places[used] = np.arange(used.size)
        x = type(x)((x.data, places[x.indices], x.indptr), shape=(len(rows), used.size))
        where = np.stack([np.repeat(np.arange(len(rows)), np.diff(y.indptr)), y.indices], axis=1)
        extra = max(0, self.padding - where.shape[0])
        self.compiled(sparse_of(x), sparse_of(x.T.tocsr()), tf.constant(used),
                      tf.constant(np.pad(where, ((0, extra), (0, 0)))), tf.constant(np.pad(y.data, (0, extra))),
                      tf.constant((np.diff(y.indptr) > 0).astype(np.float32)))


VARIANTS = {"stock": Stock, "lookup": Lookup, "tuned": Tuned}


def main():
    args = arguments()
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.random.set_seed(args.seed)
    task = load_task(args)
    model = VARIANTS[args.variant](task, args)
    rng = np.random.default_rng(args.seed)
    total = 0.0
    for epoch in range(1, args.epochs + 1):
        marks, rows = [time.perf_counter()], 0
        for batch in batches(task.x.shape[0], args.batch, rng, args.max_batches):
            model.step(batch)
            rows += len(batch)
            marks.append(time.perf_counter())
        seconds = marks[-1] - marks[0]
        total += seconds
        begin = time.perf_counter()
        top = np.concatenate([model.top(task.x_test[i:i + args.batch]) for i in range(0, task.x_test.shape[0], args.batch)])
        emit(peer="tensorflow", version=tf.__version__, variant=args.variant + ("-xla" if args.xla else ""), data=task.name,
             epoch=epoch, seconds=round(seconds, 4), seconds_total=round(total, 4), rows=rows, **batch_times(marks),
             eval_seconds=round(time.perf_counter() - begin, 3), **precision(top, task.y_test), lr=args.lr,
             batch=args.batch, seed=args.seed, init=args.init, threads=args.threads)


if __name__ == "__main__":
    main()
