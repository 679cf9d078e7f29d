"""Reports of paths and pools that are out of the ordinary open without a complaint."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from paper.images import edges
from shareboost import ShareBoostClassifier, load_model
from shareboost.inspection.report import write_report
from shareboost.pools import Columns, Pieces, Templates, Union
from shareboost.rivals import OneVsRestGreedyClassifier

SMALL = {"n_templates": 12, "patch_size": 3, "masks": 2, "sigma": 2.0, "n_patches": 2000}


@pytest.fixture
def shown(opened, tmp_path):
    """Open the report of a classifier that is fitted to every second row."""

    def show(clf, X, y, through=lambda clf: clf):
        clf = through(clf.fit(X[::2], y[::2]))
        write_report(clf, X[1::2], y[1::2], tmp_path / "report.html")
        return clf, opened(tmp_path / "report.html")

    return show


def test_a_model_without_its_path(shown, tmp_path):
    def saved(clf):
        clf.save(tmp_path / "model.json", whole_path=False)
        return load_model(tmp_path / "model.json")

    _, page = shown(ShareBoostClassifier(4), *load_wine(return_X_y=True), saved)
    assert page.locator("#slider").is_disabled()
    assert "saved without its path" in page.locator("#chart-note").inner_text()
    assert page.locator("#feature-table tbody tr").count() == 4


def test_a_rival_whose_first_model_has_no_feature(shown):
    clf, page = shown(OneVsRestGreedyClassifier(3), *load_wine(return_X_y=True))
    page.locator("#slider").focus()
    for place, n in enumerate(clf.path_.n_features.tolist()):
        page.keyboard.press("Home" if place == 0 else "ArrowRight")
        assert page.locator("#now strong").inner_text() == f"{n} feature{'s' * (n != 1)}"
        assert page.locator("#feature-table tbody tr").count() == n


def test_two_classes(shown):
    _, page = shown(ShareBoostClassifier(3), *load_breast_cancer(return_X_y=True))
    assert page.locator("#matrix tbody tr").count() == 2


def test_features_of_several_columns_speak_for_what_they_matter_to(shown):
    _, page = shown(
        ShareBoostClassifier(2, pool=Pieces(5, 3), alpha=1e-2), *load_wine(return_X_y=True)
    )
    assert page.locator(".voice.for").count() >= 2
    assert page.locator(".voice.against").count() == 0
    assert "several columns" in page.locator("#features-note").inner_text()


def test_images_of_several_channels_are_shown_without_a_pad(shown):
    X, y = load_digits(return_X_y=True)
    pool = Templates(**SMALL, image_shape=(8, 8, 8))
    _, page = shown(ShareBoostClassifier(3, pool=pool), edges(X[:600]), y[:600])
    assert not page.locator("#draw").is_visible()
    assert page.locator("#template-list li").count() == 3
    sides = page.locator("#template-list canvas").first.evaluate("c => [c.height, c.width]")
    assert sides == [11, 11]  # a grid of 3 x 3 channels
    assert page.locator("#error-list canvas").count() > 0


def test_templates_among_other_features(shown):
    X, y = load_digits(return_X_y=True)
    pool = Union([Columns(), Templates(**SMALL)])
    clf = ShareBoostClassifier(12, pool=pool, include=["templates: template 0 at (2, 2)"])
    clf, page = shown(clf, X[:800], y[:800])
    n_templates = sum(name.startswith("templates") for name in clf.get_feature_names_out())
    assert page.locator("#template-list li").count() == n_templates
    page.locator("#error-list button").first.click()
    assert page.locator("#fired li").count() == 8


def test_no_error_at_all(shown):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 50)
    _, page = shown(
        ShareBoostClassifier(2), rng.normal(size=(100, 3)) + 20.0 * (y == "b")[:, None], y
    )
    assert page.locator("#tiles .figure").first.inner_text() == "0%"


def test_dark_ink_on_light_paper_is_drawn_as_it_is(shown):
    X, y = load_digits(return_X_y=True)
    pool = Templates(30, patch_size=4, masks=3, sigma=2.0, n_patches=5000)
    _, page = shown(ShareBoostClassifier(20, pool=pool), 16.0 - X, y)
    corner = "c => c.getContext('2d').getImageData(0, 0, 1, 1).data[0]"
    assert page.locator("#error-list canvas").first.evaluate(corner) > 200
    page.locator("#pad").focus()
    for key in ["ArrowUp"] * 12 + [" "] + ["ArrowDown"] * 24:
        page.keyboard.press(key)
    page.wait_for_selector("#verdict strong")
    assert page.locator("#seen").evaluate(corner) > 200
    assert page.locator("#verdict strong").inner_text() == "1"
