"""The two examples of the paper's section 6."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..validation import at_least


def make_shared_bits(
    n_classes: int, n_repeats: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the first example of section 6: rows ``[bin(y), 2 log2(k) e^y]``.

    ``bin(y)`` is y in binary with the alphabet {-1, 1}, the highest bit first;
    ``e^y`` the indicator of the class. The ``ceil(log2(k))`` shared bits suffice for a
    perfect predictor, but the k indicators have a smaller l1 and l2 norm, so those
    penalties use all k of them.

    Parameters
    ----------
    n_classes : int
        k, at least 2.
    n_repeats : int, default=2
        How often the rows of all classes are repeated. At 1 scikit-learn takes the
        labels for those of a regression and warns.

    Returns
    -------
    X : ndarray of shape (n_repeats * k, ceil(log2(k)) + k)
    y : ndarray of shape (n_repeats * k,)
        The classes 0 to k - 1; 0 is the paper's class k.
    """
    y = np.arange(at_least("n_classes", n_classes, 2))
    X = np.hstack([_binary(y, n_classes), 2.0 * np.log2(n_classes) * np.eye(n_classes)])
    n_repeats = at_least("n_repeats", n_repeats, 1)
    return np.tile(X, (n_repeats, 1)), np.tile(y, n_repeats)


def make_redundant_blocks(
    n_blocks: int,
    n_classes: int,
    n_samples: int = 1000,
    zeroed: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the second example of section 6: the same bits over and over.

    A row of class y is ``n_blocks`` copies of ``bin(y)``. In a share ``zeroed`` of the
    rows one block, drawn at random, is set to zero. One block suffices but for the
    rows that lost it; the mixed l-infinity/l1 norm spreads over all of them.

    Parameters
    ----------
    n_blocks : int
        s, at least 1.
    n_classes : int
        k, at least 2.
    n_samples : int, default=1000
        m; the classes come in turn.
    zeroed : float, default=0.1
        The paper's epsilon, from 0 to 1.
    random_state : int, RandomState or None, default=None
        Draws the rows and the blocks set to zero.

    Returns
    -------
    X : ndarray of shape (n_samples, n_blocks * ceil(log2(n_classes)))
    y : ndarray of shape (n_samples,)
    """
    at_least("n_blocks", n_blocks, 1)
    at_least("n_classes", n_classes, 2)
    at_least("n_samples", n_samples, 1)
    if not 0 <= zeroed <= 1:
        raise ValueError(f"zeroed={zeroed!r} is not valid: it takes a number from 0 to 1.")
    random = check_random_state(random_state)
    y = np.arange(n_samples) % n_classes
    bits = _binary(y, n_classes)
    X = np.repeat(bits[:, None, :], n_blocks, axis=1)  # (m, s, bits)
    rows = random.permutation(n_samples)[: round(zeroed * n_samples)]
    X[rows, random.randint(n_blocks, size=rows.size)] = 0.0
    return X.reshape(n_samples, -1), y


def _binary(y: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Return y in binary over {-1, 1}, (m, ceil(log2(k))), the highest bit first."""
    n_bits = max(1, (n_classes - 1).bit_length())
    shifts = np.arange(n_bits)[::-1]
    return np.where((y[:, None] >> shifts) & 1, 1.0, -1.0)
