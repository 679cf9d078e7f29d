import pytest
from exported_pools import ALL_POOLS

from shareboost import ShareBoostClassifier


@pytest.fixture(scope="session")
def fit(digits):
    """Return the classifier of a pool of that name, trained on the first 500 digits, once."""
    known = {}

    def fit(name):
        if name not in known:
            X, y = digits
            clf = ShareBoostClassifier(12, pool=ALL_POOLS[name], alpha=1e-3)
            known[name] = clf.fit(X[:500], y[:500])
        return known[name]

    return fit
