"""Strokes are measured in images of which all is known."""

import numpy as np
import pytest

from shareboost.inspection.report.images import stroke_style


def bars(width, length, n=20, shape=(40, 40), shift=0):
    """Upright bars about the middle, each shifted by another number of columns up to ``shift``."""
    images = np.zeros((n, *shape))
    top, left = (shape[0] - length) // 2, (shape[1] - width) // 2
    for i, image in enumerate(images):
        moved = left + (i * shift) // n
        image[top : top + length, moved : moved + width] = 1.0
    return images[..., None]


def test_a_long_bar_has_its_width_and_length():
    style = stroke_style(bars(3, 30))
    assert style["box"] == 30
    assert style["width"] == pytest.approx(3, rel=0.15)
    assert (style["paper"], style["ink"]) == (0.0, 1.0)
    np.testing.assert_allclose(style["centre"], [19.5, 19.0])


@pytest.mark.parametrize(("paper", "ink"), [(0, 255), (255, 0), (16, 2), (-1, 1)])
def test_paper_and_ink_are_found_whichever_is_darker(paper, ink):
    coverage = bars(4, 20)
    style = stroke_style(paper + (ink - paper) * coverage)
    assert (style["paper"], style["ink"]) == (paper, ink)
    plain = stroke_style(coverage)
    assert (style["width"], style["box"]) == (plain["width"], plain["box"])


def test_images_are_centred_by_what_varies_less():
    images = bars(2, 20)
    # A blot at one end, above or below, moves the mass and not the box.
    for i, image in enumerate(images):
        image[slice(10, 14) if i % 2 else slice(26, 30), 19:22] = 1.0
    assert not stroke_style(images)["by_mass"]
    # A faint dot far away moves the box and hardly the mass.
    images = bars(6, 20)
    images[::2, 2, 2] = 0.2
    assert stroke_style(images)["by_mass"]


def test_blank_images_leave_something_to_draw_with():
    style = stroke_style(np.zeros((5, 8, 8, 1)))
    assert style["ink"] != style["paper"]
    assert np.isfinite([style["box"], style["width"], *style["centre"]]).all()


def test_mnist_is_centred_by_mass_in_a_box_of_twenty(data_set):
    images = data_set("mnist").X_test[:1000].reshape(-1, 28, 28, 1)
    style = stroke_style(images)
    assert style["by_mass"]
    assert style["box"] == 20
    np.testing.assert_allclose(style["centre"], [14, 14], atol=0.5)
    assert (style["paper"], style["ink"]) == (0, 255)
