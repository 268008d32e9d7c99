"""Trains PECOS' XR-Linear (a tree of linear models) with the library's recommended settings; a JSON line with P@k."""
import argparse
import time
from importlib.metadata import version

import numpy as np
import scipy.sparse as sp

from data import add_arguments, emit, load_task, precision


def best_labels(scores, k):
    """The k best labels of each row of a CSR matrix, best first; -1 where there are fewer."""
    top = np.full((scores.shape[0], k), -1, dtype=np.int64)
    for row in range(scores.shape[0]):
        part = slice(scores.indptr[row], scores.indptr[row + 1])
        order = np.argsort(-scores.data[part], kind="stable")[:k]
        top[row, :order.size] = scores.indices[part][order]
    return top


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--negatives", default="tfn",
                        help="negative samples: tfn (the library's default), or tfn+man: the matcher's mistakes too, slower")
    parser.add_argument("--threshold", type=float, default=0.1, help="weights below it are dropped (the library's default)")
    parser.add_argument("--beam", type=int, default=10, help="beam while training and predicting (the library's default)")
    args = parser.parse_args()

    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    task = load_task(args)
    x, y = sp.csr_matrix(task.x, dtype=np.float32), sp.csr_matrix(task.y, dtype=np.float32)
    begin = time.perf_counter()
    embedding = LabelEmbeddingFactory.create(y, x, method="pifa")
    chain = Indexer.gen(embedding, indexer_type="hierarchicalkmeans", seed=args.seed, threads=args.threads)
    model = XLinearModel.train(x, y, C=chain, threshold=args.threshold, negative_sampling_scheme=args.negatives,
                               threads=args.threads, pred_kwargs=dict(beam_size=args.beam, only_topk=10))
    trained = time.perf_counter()
    scores = model.predict(sp.csr_matrix(task.x_test, dtype=np.float32), only_topk=5, beam_size=args.beam,
                           threads=args.threads)
    tested = time.perf_counter()
    emit(peer="pecos", version=version("libpecos"), variant=f"xr-linear-{args.negatives}", data=task.name,
         seconds=round(trained - begin, 3), seconds_total=round(trained - begin, 3),
         eval_seconds=round(tested - trained, 3), rows=x.shape[0], **precision(best_labels(scores.tocsr(), 5), task.y_test),
         tfidf=args.tfidf, seed=args.seed, threads=args.threads)


if __name__ == "__main__":
    main()
