import numpy as np
import pytest

from shareboost.kernels.codes import CHUNK, MIDDLE, add_moments


@pytest.mark.parametrize(("n", "k"), [(1, 3), (7, 1), (CHUNK, 3), (CHUNK + 3, 1)])
def test_moments_equal_matrix_products(n, k):
    rng = np.random.default_rng(n + k)
    codes = rng.integers(0, 256, size=(9, n)).astype(np.uint8)
    rows = rng.uniform(size=(k, n)).astype(np.float32)
    out = np.full((2, k, 9), 2.0)
    add_moments(codes, rows, out)
    values = codes.T.astype(float) - MIDDLE
    assert np.allclose(out[0], 2.0 + rows @ values, rtol=1e-5, atol=0.1)
    assert np.allclose(out[1], 2.0 + rows @ values**2, rtol=1e-6)
