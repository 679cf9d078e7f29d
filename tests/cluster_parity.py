"""A fit on a cluster beside the local fit on the same rows."""

import dask.array as da
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

# Of unequal blocks, one of them empty.
SIZES = (120, 0, 150, 30)
# Of the losses: gathered columns are those of a local fit, but sums over blocks are rounded
# otherwise, and a refit ends anywhere within its tolerance.
TOLERANCES = {"gathered": 1e-6, "summed": 2e-5}


def spread(X):
    """Return rows, labels or weights as an array of Dask in blocks."""
    if sp.issparse(X):
        kind = type(X)
        return spread(X.toarray()).map_blocks(kind, meta=kind((0, 0), dtype=X.dtype))
    return da.from_array(X, chunks=(SIZES, *X.shape[1:]))


def as_local(clf, X, y, *, given=None, mode="gathered", spread_weight=True, **beside):
    """Return both fits, the local one first, and assert that they are alike.

    Refits by summed gradients end elsewhere within their tolerance: then both go on further.
    """
    if mode.startswith("summed"):
        clf = clone(clf).set_params(refit_tol=1e-3)
    local = clone(clf).fit(X, y, **beside)
    if spread_weight and beside.get("sample_weight") is not None:
        beside["sample_weight"] = spread(beside["sample_weight"])
    fitted = clone(clf).fit(spread(X) if given is None else given, spread(y), **beside)
    assert_alike(fitted, local, TOLERANCES[mode.partition(",")[0]])
    return local, fitted


def assert_alike(fitted, local, tolerance=1e-6):
    """Assert that two classifiers chose alike and come to the same losses."""
    assert np.array_equal(fitted.selected_, local.selected_)
    assert np.array_equal(fitted.classes_, local.classes_)
    assert fitted.classes_.dtype == local.classes_.dtype
    found, wanted = fitted.path_.losses, local.path_.losses
    if in_few_steps(fitted):
        tolerance = max(tolerance, 0.5 * local.refit_tol)
    assert np.allclose(found, wanted, rtol=tolerance, atol=tolerance)
    assert np.array_equal(fitted.path_.costs, local.path_.costs)
    assert fitted.path_.stop_reason == local.path_.stop_reason
    assert fitted.path_.n_rows == local.path_.n_rows


def in_few_steps(fitted):
    """Return whether refits were steps to minima of a sample, tilted."""
    return (
        hasattr(fitted, "cluster_")
        and "summed" in fitted.cluster_.refit
        and (fitted.solver == "lbfgs")
    )
