"""The seconds that a pool's kernels take to compile, once a machine, and to load after that.

    python first_use.py POOL FOLDER

FOLDER is where Numba keeps what it compiled: an empty one for the first use. Prints JSON.
"""

from __future__ import annotations

import json
import os
import sys
from time import perf_counter
from typing import Any

POOLS = ("columns", "columns of a sparse X", "stumps", "products", "pieces", "templates")


def main(name: str) -> dict[str, float]:
    import numpy as np
    import scipy.sparse as sp
    from sklearn.datasets import load_digits

    from shareboost import ShareBoostClassifier
    from shareboost.pools import Pieces, Templates

    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    pool: Any = name.split()[0]
    if "sparse" in name:
        X = sp.csr_array(X)
    elif pool == "pieces":
        pool = Pieces(10, 5)
    elif pool == "templates":
        pool = Templates(8, patch_size=3, masks=2, n_patches=500)
    seconds = []
    for _ in range(2):
        began = perf_counter()
        ShareBoostClassifier(3, pool=pool).fit(X, y)
        seconds.append(perf_counter() - began)
    return {"seconds": seconds[0] - seconds[1]}


if __name__ == "__main__":
    os.environ["NUMBA_CACHE_DIR"] = sys.argv[2]
    print(json.dumps(main(sys.argv[1])))
