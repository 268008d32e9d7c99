"""The network D-H-L (relu, softmax against the row's normalised labels, Adam) in PyTorch, written five ways.

stock   as one writes it first: EmbeddingBag, Linear, dense B x L targets, cross_entropy, Adam over everything
sparse  the same with sparse gradients and SparseAdam (only rows that occur are updated, as Evener does) for the input
        layer, fused Adam for the rest
tuned   autograd kept, the rest by hand: loss by logsumexp minus gathered logits (no B x L targets), fused Adam,
        optionally compiled
manual  no autograd: large buffers allocated once, softmax and its gradient in place
by-label  manual with the scores as L x B, which MKL multiplies faster on some processors; with --tile in tiles that stay
        in the cache between product, exponential and sum
Each has step(rows) and scores(x), nothing else is called by the trainer.

The last three take --embedding: `dense` is Adam over all rows of the input layer, which also moves rows of features that
do not occur in the batch; `sparse` updates only rows that occur, as Evener does. They compute the same step otherwise, but
for one thing: SparseAdam adds eps before the bias correction instead of after it, so its first steps are smaller where
gradients are below about 1e-7.
"""
import numpy as np
import torch
import torch.nn.functional as F

from data import row_weights

ADAM = dict(betas=(0.9, 0.999), eps=1e-8)


def sparse_tensors(x):
    """(indices, offsets, values) of a CSR matrix as EmbeddingBag takes them."""
    return (torch.from_numpy(x.indices), torch.from_numpy(x.indptr[:-1].astype(np.int32)), torch.from_numpy(x.data))


def targets_of(y):
    """(row, label, weight) of every label in the batch."""
    rows = np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))
    return torch.from_numpy(rows), torch.from_numpy(y.indices.astype(np.int64)), torch.from_numpy(y.data)


def start(weight_in, weight_out, bias_out, init):
    """Evener's start (evener/nn/initialise.cc), or EmbeddingBag's N(0, 1) and Linear's uniform one."""
    hidden = weight_in.shape[1]
    with torch.no_grad():
        if init == "evener":
            weight_in.uniform_(-(3 / hidden) ** 0.5, (3 / hidden) ** 0.5)
            bias_out.zero_()
        else:
            weight_in.normal_()
            bias_out.uniform_(-hidden ** -0.5, hidden ** -0.5)
        weight_out.uniform_(-hidden ** -0.5, hidden ** -0.5)


class Net(torch.nn.Module):
    def __init__(self, task, args, sparse):
        super().__init__()
        self.embed = torch.nn.EmbeddingBag(task.features, args.hidden, mode="sum", sparse=sparse)
        self.bias = torch.nn.Parameter(torch.zeros(args.hidden))
        self.out = torch.nn.Linear(args.hidden, task.labels)
        start(self.embed.weight, self.out.weight, self.out.bias, args.init)

    def hidden(self, indices, offsets, values):
        return F.relu(self.embed(indices, offsets, per_sample_weights=values) + self.bias)

    def forward(self, indices, offsets, values):
        return self.out(self.hidden(indices, offsets, values))


class Stock:
    sparse = False

    def __init__(self, task, args):
        self.x, self.y = task.x, row_weights(task.y)
        self.net = Net(task, args, self.sparse)
        self.optimizers = self.make_optimizers(args.lr)

    def make_optimizers(self, lr):
        return [torch.optim.Adam(self.net.parameters(), lr=lr, **ADAM)]

    def loss(self, rows):
        targets = torch.from_numpy(self.y[rows].toarray())
        return F.cross_entropy(self.net(*sparse_tensors(self.x[rows])), targets)

    def step(self, rows):
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        self.loss(rows).backward()
        for optimizer in self.optimizers:
            optimizer.step()

    @torch.no_grad()
    def scores(self, x):
        return self.net(*sparse_tensors(x))


class Sparse(Stock):
    sparse = True

    def make_optimizers(self, lr):
        rest = [self.net.bias, *self.net.out.parameters()]
        return [torch.optim.SparseAdam([self.net.embed.weight], lr=lr, **ADAM),
                torch.optim.Adam(rest, lr=lr, fused=True, **ADAM)]


def gathered_loss(hidden, weight, bias, rows, labels, weights, has_label):
    """Mean over rows of logsumexp - sum of weighted label logits; a row without labels has neither."""
    logits = F.linear(hidden, weight, bias)
    normaliser = torch.logsumexp(logits, 1) * has_label
    return (normaliser.sum() - (logits[rows, labels] * weights).sum()) / hidden.shape[0]


class Tuned(Stock):
    def __init__(self, task, args):
        self.sparse = args.embedding == "sparse"
        super().__init__(task, args)
        self.output_loss = gathered_loss
        if args.compile:
            self.compile_for(task, args)

    def compile_for(self, task, args):
        """Static shapes but for the number of labels, so padding is not needed; both batch sizes are compiled here."""
        torch._dynamo.config.cache_size_limit = 16
        self.output_loss = torch.compile(gathered_loss, dynamic=None)
        labelled = np.flatnonzero(np.diff(self.y.indptr))
        for size in {args.batch, task.x.shape[0] % args.batch} - {0}:
            for shift in (0, 7):  # the second shape of the labels makes them dynamic
                self.loss(labelled[shift:shift + size]).backward()
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def make_optimizers(self, lr):
        if self.sparse:
            return Sparse.make_optimizers(self, lr)
        return [torch.optim.Adam(self.net.parameters(), lr=lr, fused=True, **ADAM)]

    def loss(self, rows):
        y = self.y[rows]
        has_label = torch.from_numpy((np.diff(y.indptr) > 0).astype(np.float32))
        hidden = self.net.hidden(*sparse_tensors(self.x[rows]))
        return self.output_loss(hidden, self.net.out.weight, self.net.out.bias, *targets_of(y), has_label)


class AdamState:
    """Fused Adam of one tensor; `rows` restricts the update to some rows of it."""

    def __init__(self, parameter, lr):
        self.parameter, self.lr = parameter, lr
        self.first, self.second = torch.zeros_like(parameter), torch.zeros_like(parameter)
        self.steps = torch.zeros(())

    def update(self, gradient, rows=None):
        parts = [self.parameter, self.first, self.second]
        if rows is not None:
            parts = [part.index_select(0, rows) for part in parts]
        self.steps += 1
        torch._fused_adam_([parts[0]], [gradient], [parts[1]], [parts[2]], [], [self.steps], lr=self.lr, beta1=0.9,
                           beta2=0.999, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False)
        if rows is not None:
            for whole, part in zip([self.parameter, self.first, self.second], parts):
                whole.index_copy_(0, rows, part)


class Manual:
    def __init__(self, task, args):
        self.lazy = args.embedding == "sparse"
        self.x, self.y = task.x, row_weights(task.y)
        self.weight_in = torch.empty(task.features, args.hidden)
        self.bias_in = torch.zeros(args.hidden)
        self.bias_out = torch.empty(task.labels)
        self.weight = torch.empty(task.labels, args.hidden)
        start(self.weight_in, self.weight, self.bias_out, args.init)
        self.gradient = torch.empty_like(self.weight)
        self.scratch = torch.empty(args.batch * task.labels)
        self.adam_in, self.adam_bias_in, self.adam_out, self.adam_bias_out = (
            AdamState(p, args.lr) for p in (self.weight_in, self.bias_in, self.weight, self.bias_out))

    @torch.no_grad()
    def step(self, rows):
        x, y = self.x[rows], self.y[rows]
        hidden = self.hidden(x)
        back, bias_gradient = self.output_gradients(hidden, y)
        back.mul_(hidden > 0)
        self.adam_out.update(self.gradient)
        self.adam_bias_out.update(bias_gradient)
        self.adam_in.update(*self.input_gradient(x, back))
        self.adam_bias_in.update(back.sum(0))

    def output_gradients(self, hidden, y):
        """Gradients of the hidden layer and of the output's bias; that of the weights is left in self.gradient."""
        rows, labels = hidden.shape[0], self.weight.shape[0]
        delta = self.scratch[:rows * labels].view(rows, labels)
        torch.addmm(self.bias_out, hidden, self.weight.t(), out=delta)
        self.to_gradient(delta, y)
        # 1/B goes into the small factor, not into the large matrix: gradients are linear in it.
        torch.mm(delta.t(), hidden / rows, out=self.gradient)
        return torch.mm(delta, self.weight).div_(rows), torch.mv(delta.t(), torch.full((rows,), 1 / rows))

    def hidden(self, x):
        indices, offsets, values = sparse_tensors(x)
        sums = F.embedding_bag(indices, self.weight_in, offsets, mode="sum", per_sample_weights=values)
        return sums.add_(self.bias_in).relu_()

    def to_gradient(self, logits, y):
        """Logits to softmax minus targets, in place; zero for rows without labels."""
        torch.softmax(logits, 1, out=logits)
        unlabelled = np.flatnonzero(np.diff(y.indptr) == 0)
        if unlabelled.size:
            logits[torch.from_numpy(unlabelled)] = 0
        row, label, weight = targets_of(y)
        logits.view(-1).index_add_(0, row * logits.shape[1] + label, weight, alpha=-1)

    def input_gradient(self, x, back):
        """X' back, the same bag of rows seen from the features: for the features that occur, and which those are, if the
        update is lazy; for all, and None, if not."""
        columns = x.tocsc()
        used = np.flatnonzero(np.diff(columns.indptr)) if self.lazy else None
        offsets = torch.from_numpy(columns.indptr[used] if self.lazy else columns.indptr[:-1])
        gradient = F.embedding_bag(torch.from_numpy(columns.indices), back, offsets, mode="sum",
                                   per_sample_weights=torch.from_numpy(columns.data))
        return gradient, torch.from_numpy(used) if self.lazy else None

    @torch.no_grad()
    def scores(self, x):
        return torch.addmm(self.bias_out, self.hidden(x), self.weight.t())


class ByLabel(Manual):
    def __init__(self, task, args):
        super().__init__(task, args)
        tile = args.tile or task.labels
        self.tiles = [slice(at, min(at + tile, task.labels)) for at in range(0, task.labels, tile)]

    def exponentials(self, hidden, scores):
        """scores = exp(logits - m) with m the greatest logit of a row so far; returns the m of each tile and the logarithm
        of the normaliser."""
        rows = hidden.shape[0]
        most, total = torch.full((rows,), -float("inf")), torch.zeros(rows)
        mosts = []
        for tile in self.tiles:
            part = scores[tile]
            torch.addmm(self.bias_out[tile, None], self.weight[tile], hidden.t(), out=part)
            seen = torch.maximum(most, part.amax(0))
            part.sub_(seen).exp_()
            total.mul_(torch.exp(most - seen)).add_(part.sum(0))
            most = seen
            mosts.append(seen)
        return mosts, most + total.log_()

    def output_gradients(self, hidden, y):
        rows, labels = hidden.shape[0], self.weight.shape[0]
        scores = self.scratch[:rows * labels].view(labels, rows)
        mosts, normaliser = self.exponentials(hidden, scores)
        row, label, weight = targets_of(y)
        share = torch.zeros(rows).index_add_(0, row, weight).div_(rows)  # 1/B, or 0 for a row without labels
        back, bias_gradient = torch.zeros_like(hidden), torch.empty(labels)
        for tile, most in zip(self.tiles, mosts):
            factor = torch.exp(most - normaliser).mul_(share)  # makes the tile's exponentials softmax / B
            torch.mm(scores[tile], hidden * factor[:, None], out=self.gradient[tile])
            torch.mv(scores[tile], factor, out=bias_gradient[tile])
            back.addcmul_(torch.mm(scores[tile].t(), self.weight[tile]), factor[:, None])
        # The targets' part of the gradient touches few weights: it is applied without the large matrix.
        weight = weight / rows
        self.gradient.index_add_(0, label, hidden[row] * weight[:, None], alpha=-1)
        bias_gradient.index_add_(0, label, weight, alpha=-1)
        back.index_add_(0, row, self.weight[label] * weight[:, None], alpha=-1)
        return back, bias_gradient


VARIANTS = {"stock": Stock, "sparse": Sparse, "tuned": Tuned, "manual": Manual, "by-label": ByLabel}
