"""Adelie's group-lasso path of multinomial regression, in its own environment.

    python adelie_path.py IN.npz OUT.npz THREADS

IN has X (n, d), the classes y, 0 to k - 1, and alphas, falling; OUT has the seconds, the
coefficients (alphas, d, k) and the intercepts (alphas, k). Used by rivals.py.
"""

from __future__ import annotations

import sys
from time import perf_counter

import adelie as ad
import numpy as np


def main(source: str, target: str, threads: int) -> None:
    given = np.load(source)
    X, y = np.asfortranarray(given["X"]), given["y"]
    k = int(y.max()) + 1
    # Its loss is divided by k, too, and a group's norm counts sqrt(k) times.
    lambdas = given["alphas"] / (k * np.sqrt(k))
    began = perf_counter()
    state = ad.grpnet(
        ad.matrix.dense(X, method="naive", n_threads=threads),
        ad.glm.multinomial(np.eye(k)[y]),
        lmda_path=lambdas,
        early_exit=False,
        progress_bar=False,
        n_threads=threads,
    )
    seconds = perf_counter() - began
    coefs = state.betas.toarray().reshape(len(lambdas), X.shape[1], k)
    np.savez(target, seconds=seconds, coefs=coefs, intercepts=state.intercepts)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
