import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def shifted():
    """240 rows of 8 columns, of which two carry the signal, and 3 labels of text."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(240, 8)), np.arange(240) % 3
    X[:, 2] += 3 * (y == 1)
    X[:, 5] += 3 * (y == 2)
    return X, np.array(["ape", "bee", "cat"])[y]


@pytest.fixture(scope="session")
def named(shifted):
    """The same rows as a frame, with an index that is no range."""
    X, y = shifted
    return pd.DataFrame(X, columns=list("abcdefgh"), index=np.arange(240) + 1000), y


@pytest.fixture(scope="session")
def two_classes():
    """240 rows of 6 columns, one of which carries a noisy signal, and the labels 0 and 1."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 6))
    return X, (X[:, 4] + 0.5 * rng.normal(size=240) > 0.8).astype(int)
