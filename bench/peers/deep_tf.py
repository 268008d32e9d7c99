"""The network of bench/claims/frameworks.py in TensorFlow: one tf.function for a step, with the fused Adam kernel."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402

import deep  # noqa: E402


class Model:
    """`reset` starts again, so that only the first run compiles."""

    def __init__(self, rows, args):
        self.rows, self.args = rows, args
        self.variables = [tf.Variable(part) for part in deep.start(rows, args.hidden, 0)]
        self.first = [tf.Variable(tf.zeros_like(part)) for part in self.variables]
        self.second = [tf.Variable(tf.zeros_like(part)) for part in self.variables]
        self.powers, self.rate = [tf.Variable(0.9), tf.Variable(0.999)], tf.Variable(0.0)
        inputs = [tf.TensorSpec((None, part.shape[1]), tf.float32) for part in (rows.x, rows.t)]
        self.compiled_step = tf.function(self.update, input_signature=inputs)
        self.compiled_loss = tf.function(self.losses, input_signature=inputs)

    def reset(self, rate, seed):
        for variable, part in zip(self.variables, deep.start(self.rows, self.args.hidden, seed)):
            variable.assign(part)
        for variable in self.first + self.second:
            variable.assign(tf.zeros_like(variable))
        for variable, value in zip([*self.powers, self.rate], (0.9, 0.999, rate)):
            variable.assign(value)

    def losses(self, x, t):
        for weight, bias in zip(self.variables[:-2:2], self.variables[1:-2:2]):
            x = tf.sigmoid(x @ weight + bias)
        losses = tf.nn.softmax_cross_entropy_with_logits(t, x @ self.variables[-2] + self.variables[-1])
        # Its gradient assumes that targets sum to 1: without the factor, rows without labels would contribute.
        return tf.reduce_mean(losses * tf.reduce_sum(t, 1))

    def update(self, x, t):
        with tf.GradientTape() as tape:
            loss = self.losses(x, t)
        for variable, first, second, gradient in zip(self.variables, self.first, self.second,
                                                     tape.gradient(loss, self.variables)):
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle, m=first.handle, v=second.handle, beta1_power=self.powers[0],
                beta2_power=self.powers[1], lr=self.rate, beta1=0.9, beta2=0.999, epsilon=1e-8, grad=gradient)
        self.powers[0].assign(self.powers[0] * 0.9)
        self.powers[1].assign(self.powers[1] * 0.999)

    def step(self, x, t):
        self.compiled_step(tf.constant(x), tf.constant(t))

    def loss(self, x, t):
        return self.compiled_loss(tf.constant(x), tf.constant(t)).numpy()


def main():
    args = deep.arguments(__doc__)
    tf.config.threading.set_intra_op_parallelism_threads(args.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    models = {}
    for job in deep.jobs():
        if job.folder not in models:
            rows = deep.Rows(job.folder)
            models[job.folder] = Model(rows, args)
            models[job.folder].step(rows.x[:args.batch], rows.t[:args.batch])
            models[job.folder].loss(rows.x_test, rows.t_test)
        model = models[job.folder]
        model.reset(job.rate, job.seed)
        deep.train(model.rows, model, job, args, version=tf.__version__)


if __name__ == "__main__":
    main()
