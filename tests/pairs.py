"""Cases that cover every pair of values, instead of every combination."""

import pytest
from allpairspy import AllPairs


def covering(**axes):
    """Parametrise a test so that every two values of different axes meet in some case.

    ``@covering(pool=[...], rule=[...], weights=[...])`` makes about as many cases as the product
    of the two longest axes. A value's name in the case's id is its text, or its key where the
    values of an axis are given as a dictionary.
    """
    labelled = [
        list(values.items()) if isinstance(values, dict) else [(str(v), v) for v in values]
        for values in axes.values()
    ]
    return pytest.mark.parametrize(
        list(axes),
        [
            pytest.param(*(value for _, value in case), id="-".join(name for name, _ in case))
            for case in AllPairs(labelled)
        ],
    )
