"""Which genes tell cell types apart: ShareBoost against marker genes, on single cells.

Each of five random 70% of the cells choose genes; then a logistic regression, whose C
cross-validation on the same cells has chosen, is fitted on these genes and measured on the other
cells. ShareBoost with its defaults takes no setting from these data.

    pip install scanpy scGeneFit   # not required otherwise
    python benchmarks/genes.py [--jobs 2] [--splits 5] [--out docs/genes.csv]
    python benchmarks/genes.py --only ShareBoost --out docs/genes.csv  # only these rows anew
    python benchmarks/genes.py --read docs/genes.csv    # print the tables of an earlier run again
    python benchmarks/genes.py --tries                  # other settings, on no held-out cell

- t-test, Wilcoxon: scanpy's rank_genes_groups, every type against all other cells. The best genes
  of all types are taken in turns: first the best of each type, in the order of their scores, then
  the second best, until there are enough.
- scGeneFit: get_markers with method="centers", sampling_rate=1 and otherwise its defaults.

Prints mean accuracies in % as Markdown, with the standard error over splits, and where ShareBoost
is behind. `--tries` divides the 70% of each split once more, and compares settings of ShareBoost
and the other methods on a third of these cells: the held-out cells decide nothing. Needs
zeisel.npz and citeseq.npz (see penalty.py) in $SHAREBOOST_DATA.
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
from shareboost.pools import Columns

BUDGETS = (10, 25, 50, 100)
SPLITS = 5
PROBLEMS = {
    "7 cell types": ("zeisel", "cell_type"),
    "47 cell subtypes": ("zeisel", "cell_subtype"),
    "13 blood cell types": ("citeseq", "cell_type"),
}


def shareboost(X, y, **parameters):
    clf = ShareBoostClassifier(max(BUDGETS), **parameters).fit(X, y)
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


TRIES = {
    "the default": {},
    "shortlist=50": {"shortlist": 50},
    "shortlist=None": {"shortlist": None},
    "swap=True": {"swap": True},
    'Columns("none")': {"pool": Columns("none")},
    'Columns("maxabs")': {"pool": Columns("maxabs")},
    'alpha="2*auto"': {"alpha": "2*auto"},
    'alpha="5*auto"': {"alpha": "5*auto"},
}


@threadpool_limits.wrap(limits=1)
def measure(problem, method, seed, inner=False, budgets=BUDGETS):
    warnings.filterwarnings("ignore")
    X, y = cells(*PROBLEMS[problem])
    X_fit, X_held, y_fit, y_held = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=seed
    )
    if inner:
        X_fit, X_held, y_fit, y_held = train_test_split(
            X_fit, y_fit, test_size=1 / 3, stratify=y_fit, random_state=seed
        )
    started = process_time()
    genes = METHODS[method](X_fit, y_fit) if method in METHODS else None
    if genes is None:
        genes = shareboost(X_fit, y_fit, **TRIES[method])
    seconds = process_time() - started
    classes = np.unique(y_fit)
    return [
        (problem, method, seed, n, 1 - judged(p, y_held, classes)[0], seconds)
        for n in budgets
        for p in [tuned(genes[n], X_fit, y_fit, X_held)]
    ]


def read(file):
    """The lines of an earlier run."""
    with file.open(newline="") as stream:
        return [
            (problem, method, int(seed), int(n), float(accuracy), float(seconds))
            for problem, method, seed, n, accuracy, seconds in list(csv.reader(stream))[1:]
        ]


def accuracies(found, problem, method, n):
    """In % of each split."""
    return np.array(
        [100 * line[4] for line in sorted(found) if line[:2] == (problem, method) and line[3] == n]
    )


def table(found, methods, budgets):
    row("problem", "genes chosen by", *(f"{n} genes" for n in budgets), "processor seconds")
    print("|---" * (len(budgets) + 3) + "|")
    for problem in PROBLEMS:
        for method in methods:
            own = [line for line in found if line[:2] == (problem, method)]
            if not own:
                continue
            entries = []
            for n in budgets:
                values = accuracies(found, problem, method, n)
                entries.append(
                    f"{values.mean():.1f} ± {values.std(ddof=1) / np.sqrt(len(values)):.1f}"
                )
            row(problem, method, *entries, f"{np.mean([line[5] for line in own]):.1f}")


def behind(found, first, methods, budgets):
    """Print where the first method is behind, on average over the splits."""
    row("problem", "genes", "behind", "points", "standard error")
    print("|---" * 5 + "|")
    n_compared = n_behind = 0
    for problem in PROBLEMS:
        for method, n in ((m, n) for m in methods if m != first for n in budgets):
            theirs = accuracies(found, problem, method, n)
            if not theirs.size:
                continue
            gaps = theirs - accuracies(found, problem, first, n)
            n_compared += 1
            if gaps.mean() > 0:
                n_behind += 1
                error = gaps.std(ddof=1) / np.sqrt(len(gaps))
                row(problem, n, method, f"{gaps.mean():.2f}", f"{error:.2f}")
    print(f"\n{first} is behind in {n_behind} of {n_compared} comparisons.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--read", type=Path)
    parser.add_argument("--tries", action="store_true")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--only", nargs="+", help="methods, or settings of --tries")
    options = parser.parse_args()
    methods, problems, budgets = list(METHODS), list(PROBLEMS), BUDGETS
    if options.tries:
        methods, problems, budgets = [*TRIES, *methods[1:]], problems[:2], BUDGETS[2:]
    asked = [m for m in methods if not options.only or m in options.only]
    if options.tries:
        methods = asked
    if options.read:
        found = read(options.read)
    else:
        done = Parallel(options.jobs)(
            delayed(measure)(p, m, s, options.tries, budgets)
            for p in problems
            for m in asked
            for s in range(options.splits)
        )
        found = [line for lines in done for line in lines]
        if options.only and options.out and options.out.exists():
            found += [line for line in read(options.out) if line[1] not in asked]
        print(f"{stamp()}.\n")
    if options.out:
        with options.out.open("w", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(("problem", "genes by", "split", "genes", "accuracy", "seconds"))
            writer.writerows(line[:4] + tuple(f"{v:.5g}" for v in line[4:]) for line in found)
    table(found, methods, budgets)
    print()
    behind(found, methods[0], methods, budgets)
