"""The network D-H-L (relu, softmax against the row's normalised labels, Adam) in PyTorch, written four ways.

stock   as one writes it first: EmbeddingBag, Linear, dense B x L targets, cross_entropy, Adam over everything
sparse  the same with sparse gradients and SparseAdam (only rows that occur are updated, as Evener does) for the input
        layer, fused Adam for the rest
tuned   autograd kept, the rest by hand: loss by logsumexp minus gathered logits (no B x L targets), fused Adam,
        optionally compiled
manual  no autograd: every buffer allocated once, softmax and its gradient in place, input rows gathered, updated lazily
        and written back
Each has step(rows) and scores(x), nothing else is called by the trainer.

They compute the same step, but for one thing: SparseAdam adds eps before the bias correction instead of after it, so
its first steps are smaller where gradients are below about 1e-7. And Adam over everything moves rows of the input layer
that do not occur in a batch, which SparseAdam, `manual` and Evener do not.
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
        self.x, self.y = task.x, row_weights(task.y)
        self.transposed = args.transposed  # the output weights as H x L instead of L x H
        self.weight_in = torch.empty(task.features, args.hidden)
        self.bias_in = torch.zeros(args.hidden)
        self.bias_out = torch.empty(task.labels)
        weight = torch.empty(task.labels, args.hidden)
        start(self.weight_in, weight, self.bias_out, args.init)
        self.weight = weight.t().contiguous() if self.transposed else weight
        self.gradient = torch.empty_like(self.weight)
        self.logits = torch.empty(args.batch, task.labels)
        self.adam_in, self.adam_bias_in, self.adam_out, self.adam_bias_out = (
            AdamState(p, args.lr) for p in (self.weight_in, self.bias_in, self.weight, self.bias_out))

    def by_label(self):
        """The output weights as H x L, whichever way they lie."""
        return self.weight if self.transposed else self.weight.t()

    @torch.no_grad()
    def step(self, rows):
        x, y = self.x[rows], self.y[rows]
        hidden = self.hidden(x)
        delta = self.logits[:len(rows)]
        torch.addmm(self.bias_out, hidden, self.by_label(), out=delta)
        self.to_gradient(delta, y)
        # 1/B goes into the small factor, not into the large matrix: gradients are linear in it.
        scale = 1 / len(rows)
        back = torch.mm(delta, self.by_label().t()).mul_(scale).mul_(hidden > 0)
        if self.transposed:
            torch.mm((hidden * scale).t(), delta, out=self.gradient)
        else:
            torch.mm(delta.t(), hidden * scale, out=self.gradient)
        self.adam_out.update(self.gradient)
        self.adam_bias_out.update(torch.mv(delta.t(), torch.full((len(rows),), scale)))
        self.adam_in.update(*self.input_gradient(x, back))
        self.adam_bias_in.update(back.sum(0))

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
        """X' back for the features that occur, and which those are: the same bag of rows, seen from the features."""
        columns = x.tocsc()
        used = np.flatnonzero(np.diff(columns.indptr))
        offsets = torch.from_numpy(columns.indptr[used])
        gradient = F.embedding_bag(torch.from_numpy(columns.indices), back, offsets, mode="sum",
                                   per_sample_weights=torch.from_numpy(columns.data))
        return gradient, torch.from_numpy(used)

    @torch.no_grad()
    def scores(self, x):
        return torch.addmm(self.bias_out, self.hidden(x), self.by_label())


VARIANTS = {"stock": Stock, "sparse": Sparse, "tuned": Tuned, "manual": Manual}
