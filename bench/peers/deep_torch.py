"""The network of bench/claims/frameworks.py in PyTorch, with fused Adam. --hogwild: processes of one thread each step
on one model in shared memory without locks, and each has its own moments, as in PyTorch's own Hogwild example."""
import torch
import torch.multiprocessing as processes

import deep


class Model:
    def __init__(self, parameters, rate):
        self.parameters = parameters
        self.adam = torch.optim.Adam(parameters, lr=rate, fused=True)

    def losses(self, x, t):
        for weight, bias in zip(self.parameters[:-2:2], self.parameters[1:-2:2]):
            x = torch.sigmoid(torch.addmm(bias, x, weight))
        logits = torch.addmm(self.parameters[-1], x, self.parameters[-2])
        return -(t * torch.log_softmax(logits, 1)).sum(1).mean()

    def step(self, x, t):
        self.adam.zero_grad()
        self.losses(torch.from_numpy(x), torch.from_numpy(t)).backward()
        self.adam.step()

    def loss(self, x, t):
        with torch.no_grad():
            return self.losses(torch.from_numpy(x), torch.from_numpy(t)).item()


def parameters_of(rows, args, seed):
    return [torch.from_numpy(part).requires_grad_() for part in deep.start(rows, args.hidden, seed)]


def warm_up(rows, args):
    model = Model(parameters_of(rows, args, 0), 1e-3)
    model.step(rows.x[:args.batch], rows.t[:args.batch])
    model.loss(rows.x_test, rows.t_test)


def hogwild(rank, rows, args, job, parameters, barrier, ended, trained, cpu):
    """One process: every args.threads-th batch. The first one evaluates while the others wait."""
    torch.set_num_threads(1)
    warm_up(rows, args)
    model = Model(parameters, job.rate)
    barrier.wait()
    watch, epoch = deep.Watch(job.seconds), 0
    while not ended.value:
        barrier.wait()
        watch.resume()
        for batch in deep.batches(len(rows.x), args.batch, job.seed, epoch)[rank::args.threads]:
            model.step(rows.x[batch], rows.t[batch])
            trained[rank] += len(batch)
            if watch.over():
                break
        barrier.wait()
        watch.pause()
        epoch += 1
        if rank == 0:
            watch.evaluated(model.loss(rows.x_test, rows.t_test))
            ended.value = watch.trained >= job.seconds
        barrier.wait()
    cpu[rank] = deep.cpu_seconds() - watch.cpu
    barrier.wait()
    if rank == 0:
        watch.line(job, rows=sum(trained), cpu_of_others=sum(cpu[1:]), version=torch.__version__)


def run_hogwild(rows, args, job):
    """Forked, which is safe while this process has not computed anything: importing torch again would take seconds."""
    context = processes.get_context("fork")
    parameters = parameters_of(rows, args, job.seed)
    for part in parameters:
        part.share_memory_()
    shared = (context.Barrier(args.threads), context.Value("b", 0), context.Array("l", args.threads),
              context.Array("d", args.threads))
    processes.start_processes(hogwild, (rows, args, job, parameters, *shared), args.threads, start_method="fork")


def main():
    args = deep.arguments(__doc__)
    torch.set_num_threads(1 if args.hogwild else args.threads)
    data = {}
    for job in deep.jobs():
        if job.folder not in data:
            data[job.folder] = deep.Rows(job.folder)
        rows = data[job.folder]
        if args.hogwild:
            run_hogwild(rows, args, job)
            continue
        warm_up(rows, args)
        deep.train(rows, Model(parameters_of(rows, args, job.seed), job.rate), job, args, version=torch.__version__)


if __name__ == "__main__":
    main()
