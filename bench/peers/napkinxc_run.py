"""Trains a probabilistic label tree (napkinXC's PLT) with the settings its authors recommend; a JSON line with P@k."""
import argparse
import tempfile
import time
from importlib.metadata import version

import numpy as np

from data import WORK, add_arguments, emit, load_task, precision


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--cost", type=float, default=10, help="LIBLINEAR's C (the library's default)")
    parser.add_argument("--max-leaves", type=int, default=100, help="labels in a leaf of the tree (the library's default)")
    parser.add_argument("--ensemble", type=int, default=1, help="trees")
    args = parser.parse_args()

    from napkinxc.models import PLT

    task = load_task(args)
    WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as folder:  # the library keeps its model in files, also while training
        plt = PLT(folder, liblinear_c=args.cost, max_leaves=args.max_leaves, ensemble=args.ensemble, seed=args.seed,
                  threads=args.threads)
        begin = time.perf_counter()
        plt.fit(task.x, task.y)
        trained = time.perf_counter()
        found = plt.predict(task.x_test, top_k=5)
        tested = time.perf_counter()
    top = np.array([(labels + [-1] * 5)[:5] for labels in map(list, found)])
    emit(peer="napkinxc", version=version("napkinxc"), variant=f"plt-x{args.ensemble}" if args.ensemble > 1 else "plt",
         data=task.name, seconds=round(trained - begin, 3), seconds_total=round(trained - begin, 3),
         eval_seconds=round(tested - trained, 3), rows=task.x.shape[0], **precision(top, task.y_test),
         tfidf=args.tfidf, cost=args.cost, seed=args.seed, threads=args.threads)


if __name__ == "__main__":
    main()
