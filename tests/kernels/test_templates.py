import numpy as np
import pytest
from scipy.signal import correlate

from shareboost.kernels.templates import (
    CHUNK,
    MIDDLE,
    add_moments,
    masked_maxima,
    quantise,
    template_column,
    template_columns,
)


def test_masked_maxima_equal_their_twin():
    rng = np.random.default_rng(0)
    responses = rng.normal(size=(5, 6, 7)).astype(np.float32)
    responses[:, :, 2] = -np.abs(responses[:, :, 2])  # never a positive response
    down, across = rng.uniform(0.1, 1, (2, 5)), rng.uniform(0.1, 1, (3, 6))
    down, across = down.astype(np.float32), across.astype(np.float32)
    out = np.empty((2, 3, 7), dtype=np.float32)
    masked_maxima(responses, down, across, out)
    masks = down[:, None, :, None] * across[None, :, None, :]  # (a, b, y, x)
    twin = (masks[..., None] * responses).max(axis=(2, 3))
    assert np.allclose(out, twin)


def test_quantise_rounds_and_stays_within_a_byte():
    values = np.array([[0.0, 1.0], [2.49, 9.0], [-5.0, 1e6]], dtype=np.float32)
    low, step = np.array([0.0, 1.0], np.float32), np.array([0.5, 2.0], np.float32)
    codes = np.empty((2, 3), dtype=np.uint8)
    quantise(values, low, step, codes)
    assert codes.tolist() == [[0, 5, 0], [0, 4, 255]]


def test_quantise_codes_every_feature_of_every_image():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 131)).astype(np.float32)
    low, step = rng.uniform(-1, 0, 131), rng.uniform(0.001, 0.02, 131)
    low, step = low.astype(np.float32), step.astype(np.float32)
    codes = np.full((131, 5), 77, dtype=np.uint8)
    quantise(values, low, step, codes)
    exact = ((values.astype(float) - low) / step).T
    assert np.abs(codes - exact.clip(0, 255)).max() < 0.501


@pytest.mark.parametrize(
    ("rows", "columns", "channels"), [(2, 3, 1), (2, 3, 3), (6, 1, 1), (6, 8, 3), (1, 8, 1)]
)
def test_a_templates_column_equals_its_twin(rows, columns, channels):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(9, 6, 8, channels)).astype(np.float32)
    template = rng.normal(size=(rows, columns, channels)).astype(np.float32)
    down = rng.uniform(0.1, 1, 6 - rows + 1).astype(np.float32)
    across = rng.uniform(0.1, 1, 8 - columns + 1).astype(np.float32)
    out = np.empty(9, dtype=np.float32)
    template_column(images, template, down, across, out)
    twin = [
        (correlate(image, template, mode="valid")[:, :, 0] * np.outer(down, across)).max()
        for image in images.astype(float)
    ]
    assert np.allclose(out, twin, rtol=1e-4, atol=1e-5)


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


@pytest.mark.parametrize(
    ("shape", "rows", "columns"), [((6, 8, 1), 2, 3), ((6, 8, 3), 2, 3), ((9, 9, 2), 9, 1)]
)
def test_responses_of_many_templates_equal_those_of_each_to_the_last_bit(shape, rows, columns):
    rng = np.random.default_rng(0)
    f, channels = 21, shape[2]
    images = rng.normal(size=(9, *shape)).astype(np.float32)
    images[rng.uniform(size=images.shape) < 0.5] = 0.0  # such as the paper around a digit
    images[0] = 0.0
    templates = rng.normal(size=(f, rows, columns, channels)).astype(np.float32)
    down = rng.uniform(0.1, 1, (f, shape[0] - rows + 1)).astype(np.float32)
    across = rng.uniform(0.1, 1, (f, shape[1] - columns + 1)).astype(np.float32)
    y, x, c = np.indices((rows, columns, channels)).reshape(3, -1)
    offsets = (y * shape[1] + x) * channels + c
    out, truth = np.empty((9, f), np.float32), np.empty((9, f), np.float32)
    arrays = [np.ascontiguousarray(own.reshape(f, -1).T) for own in (templates, down, across)]
    template_columns(images, arrays[0], offsets, *arrays[1:], out)
    for j in range(f):
        template_column(images, templates[j], down[j], across[j], truth[:, j])
    assert np.array_equal(out, truth)
