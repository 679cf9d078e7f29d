import numpy as np
import pytest

from shareboost.kernels.codes import CHUNK, add_correlations


@pytest.mark.parametrize("k", [1, 2, 5, 10])
@pytest.mark.parametrize("n", [1, 7, CHUNK, CHUNK + 3])
def test_correlations_equal_a_matrix_product(n, k):
    rng = np.random.default_rng(n + k)
    codes = rng.integers(0, 256, size=(9, n)).astype(np.uint8)
    residual = rng.normal(size=(k, n)).astype(np.float32)
    out = np.full((9, k), 2.0)
    add_correlations(codes, residual, out)
    assert np.allclose(out, 2.0 + codes.astype(float) @ residual.T, rtol=1e-4, atol=0.1)
