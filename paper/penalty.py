"""The weight of a penalty, chosen on training rows that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sklearn.model_selection import train_test_split

from shareboost.datasets import Dataset


def chosen_alpha(
    data: Dataset,
    share: float,
    alphas: Sequence[float],
    error: Callable[[Dataset, float], float],
) -> float:
    """Return the weight of the least error on held-out training rows; of equals, the largest.

    Parameters
    ----------
    data : Dataset
        Its test rows are not looked at.
    share : float
        Of the training rows that is held out, drawn at random from each class.
    alphas : sequence of float
    error : callable
        Given the rows to train on, with the held-out ones as test rows, and a weight.
    """
    X, X_held, y, y_held = train_test_split(
        data.X_train, data.y_train, test_size=share, stratify=data.y_train, random_state=0
    )
    held = Dataset(X, y, X_held, y_held)
    errors = {alpha: error(held, alpha) for alpha in alphas}
    return min(alphas, key=lambda alpha: (errors[alpha], -alpha))
