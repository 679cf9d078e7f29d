"""Triton's kernels compute what torch's own functions do; without a GPU in Triton's interpreter."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():  # before the kernels are defined
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")

from shareboost.backends.torch import kernels, pieces, triton_kernels  # noqa: E402
from shareboost.losses import LogisticLoss  # noqa: E402

# The interpreter subtracts the infinities of a tile beyond the last class.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")


@pytest.fixture
def draw(monkeypatch):
    """Draw tensors on the device of the kernels, and let torch's functions take no kernel."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for module in (kernels, pieces):
        monkeypatch.setattr(module, "fused", lambda device: None)
    random = np.random.default_rng(0)
    return lambda *shape: torch.tensor(
        random.normal(size=shape), dtype=torch.float32, device=device
    )


@pytest.mark.parametrize("k", [2, 5])
def test_loss_and_residual_are_those_of_the_host(draw, k):
    scores, weight = 3 * draw(k, 300), draw(300).abs()
    y = torch.arange(300, device=scores.device) % k
    truth = scores.cpu().numpy().astype(np.float64)
    loss = LogisticLoss().value_and_residual(truth, y.cpu().numpy(), weight.cpu().numpy())
    found = triton_kernels.softmax_residual(scores, y, weight, 1.0)
    assert float(found) == pytest.approx(float(loss), rel=1e-6)
    np.testing.assert_allclose(scores.cpu(), truth, rtol=1e-5, atol=1e-6)


def test_maxima_under_masks(draw):
    found, down, across = draw(3, 6, 7, 5), draw(2, 6).abs(), draw(3, 7).abs()
    expected = kernels.masked_maxima(found, down, across)
    torch.testing.assert_close(triton_kernels.masked_maxima(found, down, across), expected)


@pytest.mark.parametrize("channels", [1, 2])
def test_the_column_of_a_template(draw, channels):
    images, template = draw(9, 8, 7, channels), draw(3, 2, channels)
    mask = draw(6).abs(), draw(6).abs()
    expected, found = torch.empty((2, 9), device=images.device)
    kernels.template_column(images, template, *mask, expected)
    triton_kernels.template_column(images, template, *mask, found)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", [3, 25])
def test_sums_of_codes_are_exact_but_for_the_24_bits_of_a_row(draw, k):
    rows = draw(k, 900)
    codes = (40 * draw(40, 900)).clamp(-127, 127).to(torch.int8)
    found = triton_kernels.code_sums(codes, rows)
    expected = rows.double() @ codes.double().T
    largest = rows.abs().amax(dim=1, keepdim=True).double()
    assert ((found - expected).abs() <= 900 * 127 * largest * 2.0**-24).all()


@pytest.mark.parametrize("power", [0, 1])
def test_moments_of_shells(draw, power):
    n, p, k, height = 100, 4, 3, 16
    points = torch.cat([draw(n, p), torch.ones(n, 1, device=draw(1).device)], dim=1)
    points = torch.cat([points, torch.zeros_like(points[:1])])
    rows = torch.cat([draw(n, k), torch.zeros_like(draw(1, k))])
    radii = torch.tensor([[1.5, 2.5], [1.0, 2.0]], device=points.device)
    centres = draw(2, p)
    distances = torch.cdist(centres, points[:n, :p])
    sizes = torch.tensor([2, 2], device=points.device)
    tiles = pieces.tiled(distances, radii, sizes, height)
    shifts = torch.cat([centres, torch.zeros_like(centres[:, :1])], dim=1).repeat_interleave(2, 0)
    expected = pieces.moments(points, shifts, rows, tiles, power, squares=False)
    edges = torch.as_tensor(np.cumsum([0, *tiles.counts]), device=points.device)
    found = triton_kernels.shell_moments(
        points, shifts, rows, tiles.rows, tiles.depths, edges, power
    )
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-3)
