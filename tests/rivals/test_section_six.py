"""The examples of the paper's section 6, where ShareBoost and mixed norms part."""

import numpy as np
import pytest

from shareboost import ShareBoostClassifier
from shareboost.datasets import make_redundant_blocks, make_shared_bits
from shareboost.rivals import MixedNormClassifier


def evenly_redundant_blocks(n_blocks, n_classes, zeroed):
    """The second example of section 6 with all rows that may be drawn, weighted by chance."""
    whole, y = make_redundant_blocks(n_blocks, n_classes, n_samples=n_classes, zeroed=0.0)
    rows, weight = [whole], [np.full(n_classes, 1.0 - zeroed)]
    for lost in np.split(np.arange(whole.shape[1]), n_blocks):
        rows.append(whole.copy())
        rows[-1][:, lost] = 0.0
        weight.append(np.full(n_classes, zeroed / n_blocks))
    return np.vstack(rows), np.tile(y, n_blocks + 1), np.concatenate(weight)


@pytest.mark.parametrize("n_blocks", [2, 10])
def test_the_mixed_norm_spreads_over_all_blocks_where_shareboost_needs_one(n_blocks):
    """Section 6: by Jensen's inequality all blocks alike are better than any one of them."""
    bits = 3
    X, y, weight = evenly_redundant_blocks(n_blocks, 8, zeroed=0.1)
    clf = MixedNormClassifier(path=30, path_ratio=1e-3).fit(X, y, weight)
    for step in clf.path_.steps[1:]:
        assert len(step.atoms) == n_blocks * bits
        sizes = np.abs(step.W[:, 1:]).max(axis=0)
        assert np.allclose(sizes, sizes.mean(), rtol=0.05)
    share = ShareBoostClassifier(bits, alpha=3e-5).fit(X, y, weight)
    assert sorted(share.selected_ % bits) == list(range(bits))  # every bit once
    # It tells all rows but those that lost its block, which it tells by half of their bits.
    assert 1 - share.score(X, y, weight) <= 0.1 / n_blocks
    assert clf.path_.losses[-1] < share.path_.losses[-1]


@pytest.mark.parametrize("n_blocks", [2, 5])
def test_so_it_does_on_drawn_rows_at_every_alpha_that_fits_as_well_as_one_block(n_blocks):
    bits = 3
    X, y = make_redundant_blocks(n_blocks, 8, n_samples=2000, zeroed=0.1, random_state=0)
    clf = MixedNormClassifier(path=30, path_ratio=1e-3).fit(X, y)
    share = ShareBoostClassifier(bits).fit(X, y)
    fits = clf.path_.losses <= share.path_.losses[-1]
    assert fits.sum() >= 10
    assert (clf.path_.n_features[fits] == n_blocks * bits).all()
    assert len(share.selected_) == bits
    assert sorted(share.selected_ % bits) == list(range(bits))


@pytest.mark.parametrize("k", [4, 16])
def test_the_mixed_norm_finds_the_shared_bits(k):
    """The first example of section 6: for some weight of the norm the bits alone are used."""
    X, y = make_shared_bits(k)
    bits = int(np.log2(k))
    clf = MixedNormClassifier(path=20, path_ratio=1e-2).fit(X, y)
    sets = [set(step.atoms) for step in clf.path_]
    place = sets.index(set(range(bits)))
    assert (list(clf.staged_predict(X))[place] == y).all()
