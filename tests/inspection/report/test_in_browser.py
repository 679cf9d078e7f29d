"""The page in a real browser shows what Python computed."""

import math
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest
from browser import ARTEFACTS
from sklearn.datasets import load_digits

from shareboost import ShareBoostClassifier
from shareboost.inspection.report import page_of, report_data, write_report
from shareboost.model import LEAST_SHARE
from shareboost.pools import Templates

HOSTILE = "<script>alert('name')</script>"
EVIL_CLASS = "<img src=x onerror=alert('class')>"


@pytest.fixture(scope="module")
def halves():
    X, y = load_digits(return_X_y=True)
    return X[:1200], y[:1200], X[1200:], y[1200:]


@pytest.fixture(scope="module")
def of_images(halves, tmp_path_factory):
    """A report of templates: its file and its data."""
    pool = Templates(60, patch_size=4, masks=3, sigma=2.0, n_patches=5_000)
    clf = ShareBoostClassifier(20, pool=pool, rule="gradient").fit(*halves[:2])
    path = tmp_path_factory.mktemp("images") / "report.html"
    train = {"X_train": halves[0], "y_train": halves[1]}
    write_report(clf, *halves[2:], path, title="Digits of 8 by 8", **train)
    return path, report_data(clf, *halves[2:], **train)


@pytest.fixture(scope="module")
def of_columns(tmp_path_factory):
    """A report of columns whose names, and a class, are hostile."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.normal(size=(200, 6)), columns=[HOSTILE, *"bcdef"])
    score = X[HOSTILE] + 0.5 * X["b"] - 0.3 * X["c"] + 0.5 * rng.normal(size=200)
    y = np.array([EVIL_CLASS, "middle", "high"])[np.digitize(score, [-0.5, 0.5])]
    clf = ShareBoostClassifier(5).fit(X[:120], y[:120])
    path = tmp_path_factory.mktemp("columns") / "report.html"
    write_report(clf, X[120:], y[120:], path, title="</title><script>alert('title')</script>")
    return path, report_data(clf, X[120:], y[120:])


def go_to(page, index):
    page.locator("#slider").evaluate(
        "(slider, i) => { slider.value = i; slider.dispatchEvent(new Event('input')); }", index
    )


def matrix_shown(page):
    cells = page.locator("#matrix tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(td => td.textContent))"
    )
    return [[int(cell.replace(",", "") or 0) for cell in row] for row in cells]


def tile(page, name):
    return page.locator("#tiles div", has_text=name).locator(".figure").inner_text()


def percent(share):
    """A share as the page writes it: halves go up, as in JavaScript."""
    value = 100 * share
    digits = Decimal("0.1") if value >= 9.95 else Decimal("0.01")
    return f"{Decimal(value).quantize(digits, ROUND_HALF_UP)}%" if value else "0%"


def stroke(page, points):
    """Draw a line through points, in shares of the pad."""
    pad = page.locator("#pad")
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place)
    page.mouse.up()
    settle(page)


def settle(page):
    """Wait until what was drawn is classified, which happens once a frame."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")


def circle():
    angles = np.linspace(0, 2 * math.pi, 24)
    return [(0.5 + 0.2 * math.sin(a), 0.5 - 0.32 * math.cos(a)) for a in angles]


def test_the_slider_moves_all_numbers_to_those_of_python(opened, of_images):
    path, data = of_images
    page = opened(path)
    for index in (19, 0, 7):
        go_to(page, index)
        model = data["models"][index]
        assert matrix_shown(page) == model["confusion"]
        assert tile(page, "Held-out error") == percent(model["error"])
        assert tile(page, "Training error") == percent(model["train_error"])
        assert tile(page, "Multiply-adds") == f"{model['costs']['multiply_adds']:,}"
        recalls = page.locator("#recall tbody td:nth-child(3)").all_inner_texts()
        counts = np.array(model["confusion"])
        assert recalls == [percent(r) for r in np.diag(counts) / counts.sum(axis=1)]
        assert page.locator("#feature-table tbody tr").count() == model["n_features"]
        assert page.locator("#template-list li").count() == model["n_features"]


def test_features_speak_for_the_classes_of_their_largest_weights(opened, of_columns):
    path, data = of_columns
    page = opened(path)
    for index in (0, 4):
        go_to(page, index)
        model = data["models"][index]
        rows = page.locator("#feature-table tbody tr").all()
        for row, place, weights in zip(rows, model["features"], model["weights"], strict=True):
            shares = np.abs(weights) / np.abs(weights).max()
            loud = shares >= LEAST_SHARE
            clear = np.abs(shares - LEAST_SHARE) > 0.02
            feature = data["features"][place]
            assert row.locator("td").nth(0).inner_text() == str(feature["round"])
            assert row.locator(".name").inner_text() == feature["name"]
            for column, sign in ((4, 1), (5, -1)):
                names = set(row.locator("td").nth(column).locator(".voice").all_inner_texts())
                for name, weight, is_loud, is_clear in zip(
                    data["classes"], weights, loud, clear, strict=True
                ):
                    if is_clear:
                        assert (name in names) == (is_loud and sign * weight > 0)


def test_keys_move_the_slider_and_it_says_where_it_is(opened, of_columns):
    path, data = of_columns
    page = opened(path)
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    error = percent(data["models"][0]["error"])
    assert page.locator("#slider").get_attribute("aria-valuetext") == f"1 feature, {error} error"
    page.keyboard.press("ArrowRight")
    assert page.locator("#now").inner_text().startswith("2 features")


def test_a_press_on_the_curve_goes_there(opened, of_columns):
    path, _ = of_columns
    page = opened(path)
    box = page.locator("#chart svg").bounding_box()
    page.mouse.move(box["x"] + 62, box["y"] + 100)
    assert page.locator(".tip").inner_text().count("1 feature") == 1
    page.mouse.click(box["x"] + 62, box["y"] + 100)
    assert page.locator("#now").inner_text().startswith("1 feature ")


def one_column(errors, tmp_path):
    """A page of models with those errors, for what the curve makes of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, len(errors)))
    y = (X.sum(axis=1) > 0).astype(int)
    clf = ShareBoostClassifier(len(errors)).fit(X, y)
    data = report_data(clf, X, y)
    for model, error in zip(data["models"], errors, strict=True):
        model.update(error=error, interval=[error / 2, error + 0.05])
    path = tmp_path / "report.html"
    path.write_text(page_of(data, clf))
    return path


def test_the_curve_says_where_it_goes(opened, tmp_path):
    for errors, words in (
        ((0.3, 0.1, 0.2), "falls from 30.0% with 1 feature to 20.0% with 3 features."),
        ((0.1, 0.3, 0.2), "rises from 10.0% with 1 feature to 20.0% with 3 features."),
        ((0.2, 0.3, 0.2), "is 20.0% with 1 feature and with 3 features."),
        ((0.2,), "is 20.0% with 1 feature."),
    ):
        page = opened(one_column(errors, tmp_path))
        label = page.locator("#chart svg").get_attribute("aria-label")
        assert label.startswith(f"Held-out error {words}")


@pytest.mark.parametrize("errors", [(0.4, 0.2, 0.01, 0.0), (0.4, 0.2, 0.02, 0.01), (0.0, 0.0)])
def test_no_error_has_a_line_of_its_own_on_the_logarithmic_scale(opened, tmp_path, errors):
    page = opened(one_column(errors, tmp_path))
    page.locator("#log").check()
    points = page.locator("#chart polyline.held-out").get_attribute("points").split()
    y = [float(point.partition(",")[2]) for point in points]
    axis = float(page.locator("#chart line.axis").get_attribute("y1"))
    assert [at == axis for at in y] == [error == 0 for error in errors]
    gap = page.locator("#chart line.break")
    assert gap.count() == (0.0 in errors)
    labels = page.locator("#chart text.tick[text-anchor=end]").all_text_contents()
    assert ("0%" in labels) == (0.0 in errors)
    positive = [at for at, error in zip(y, errors, strict=True) if error > 0]
    assert positive == sorted(positive)
    if gap.count():
        assert all(at < float(gap.get_attribute("y1")) for at in positive)


def test_the_table_is_sorted_and_filtered(opened, of_columns):
    path, data = of_columns
    page = opened(path)
    names = page.locator("#feature-table tbody .name")
    page.get_by_role("button", name="Feature").click()
    shown = names.all_inner_texts()
    assert shown == sorted(shown)
    assert page.locator('th[aria-sort="ascending"]').inner_text().startswith("Feature")
    page.get_by_role("button", name="Loss saved").click()
    by_saving = sorted(data["features"], key=lambda one: -one["loss_saved"])
    assert names.all_inner_texts() == [one["name"] for one in by_saving]
    page.get_by_label("Name contains").fill("SCRIPT")
    assert names.all_inner_texts() == [HOSTILE]
    assert page.locator("#filter-count").inner_text() == "1 of 5 features"
    page.get_by_label("Name contains").fill("")
    page.get_by_label("Speaks for or against").select_option(label="middle")
    for row in page.locator("#feature-table tbody tr").all():
        assert "middle" in row.locator(".voice").all_inner_texts()


def test_hostile_names_are_text(opened, of_columns):
    path, data = of_columns
    page = opened(path)
    page.locator("#heat").focus()
    assert HOSTILE in page.locator("#feature-table .name").all_inner_texts()
    assert page.locator("h1").inner_text() == "</title><script>alert('title')</script>"
    heads = page.locator("#matrix thead th").all_text_contents()
    assert heads == data["classes"]
    assert EVIL_CLASS in heads
    assert page.locator("img").count() == 0
    assert page.locator("body script").count() == 2  # the data and the page's own


def test_what_is_injected_is_not_run(opened, of_columns):
    """Were a name to become markup after all, the policy would stop it."""
    page = opened(of_columns[0])
    page.evaluate(
        """() => {
            globalThis.violations = [];
            document.addEventListener("securitypolicyviolation", (event) => {
                event.stopImmediatePropagation();
                globalThis.violations.push(event.effectiveDirective);
            });
            const script = document.createElement("script");
            script.textContent = "globalThis.isRun = true";
            document.body.append(script);
        }"""
    )
    page.wait_for_function("globalThis.violations.length > 0")
    assert page.evaluate("[globalThis.isRun, globalThis.violations]") == [None, ["script-src-elem"]]
    (told,) = opened.complaints
    assert "Executing inline script violates" in told
    opened.complaints.clear()


def test_the_heat_map_reads_out_its_weights(opened, of_columns):
    path, data = of_columns
    page = opened(path)
    page.locator("#heat").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    weight = data["models"][4]["weights"][1][1]
    said = page.locator("#heat-now").inner_text()
    assert said.startswith(data["features"][1]["name"])
    assert ("speaks for" if weight > 0 else "speaks against") + f" {data['classes'][1]}:" in said
    number = float(said.rpartition(": ")[2].replace("\u2212", "-"))
    assert number == pytest.approx(weight, rel=0.03)


def test_a_stroke_is_classified(opened, of_images):
    page = opened(of_images[0])
    for points, digit in ((circle(), "0"), ([(0.5, 0.15), (0.5, 0.85)], "1")):
        assert page.locator("#verdict").inner_text() == "Nothing drawn yet."
        assert page.locator("#fired li").count() == 0
        stroke(page, points)
        assert page.locator("#verdict strong").inner_text() == digit
        assert page.locator("#scores .best th").inner_text() == digit
        assert page.locator("#fired li").count() == 8
        page.get_by_role("button", name="Clear").click()


def test_a_finger_draws_too(opened, of_images):
    page = opened(of_images[0], viewport={"width": 390, "height": 844}, has_touch=True)
    pad = page.locator("#pad")
    pad.scroll_into_view_if_needed()
    pad.tap()
    settle(page)
    assert page.locator("#verdict strong").inner_text() in "0123456789"


def test_keys_draw_too(opened, of_images):
    page = opened(of_images[0])
    page.locator("#pad").focus()
    for key in ["ArrowUp"] * 12 + [" "] + ["ArrowDown"] * 24:
        page.keyboard.press(key)
    settle(page)
    assert page.locator("#verdict strong").inner_text() == "1"
    page.keyboard.press("Escape")
    assert page.locator("#verdict").inner_text() == "Nothing drawn yet."


def test_misclassified_images_are_those_of_the_model_and_are_explained(opened, of_images):
    path, data = of_images
    page = opened(path)
    for index in (19, 10):
        go_to(page, index)
        expected = [
            f"{error['label']} → {data['classes'][error['predicted'][index]]}"
            for error in data["images"]["errors"]
            if error["label"] != data["classes"][error["predicted"][index]]
        ]
        assert page.locator("#error-list .caption").all_inner_texts() == expected[:120]
    go_to(page, 19)
    page.locator("#error-list button").first.click()
    taken_for = page.locator("#error-list .caption").first.inner_text().partition(" → ")[2]
    assert page.locator("#verdict strong").inner_text() == taken_for


def test_an_image_of_an_earlier_model_is_explained_by_the_model_that_is_named(opened, of_images):
    path, data = of_images
    page = opened(path)
    go_to(page, 5)
    errors = data["images"]["errors"]
    shown = [one for one in errors if data["classes"][one["predicted"][5]] != one["label"]][:120]
    place, changed = next(
        (i, one) for i, one in enumerate(shown) if one["predicted"][5] != one["predicted"][19]
    )
    assert "the model of 20 features, which may take it for another" in (
        page.locator("#errors-note").inner_text()
    )
    page.locator("#error-list button").nth(place).click()
    taken_for = data["classes"][changed["predicted"][19]]
    verdict = page.locator("#verdict").inner_text()
    assert verdict == f"The model of 20 features takes it for {taken_for}."


def test_a_stroke_that_is_taken_back_while_it_is_drawn_ends(opened, of_images):
    page = opened(of_images[0])
    pad = page.locator("#pad")
    pad.scroll_into_view_if_needed()
    pad.focus()
    box = pad.bounding_box()
    for key in ("Escape", "Backspace"):
        page.mouse.move(box["x"] + 50, box["y"] + 50)
        page.mouse.down()
        page.keyboard.press(key)
        page.mouse.move(box["x"] + 80, box["y"] + 90)
        settle(page)
        assert page.locator("#verdict").inner_text() == "Nothing drawn yet."
        page.mouse.up()


def test_the_drawing_is_scaled_and_centred_as_the_images_are(opened, of_images):
    path, data = of_images
    page = opened(path)
    stroke(page, [(0.1, 0.1), (0.1, 0.3)])  # small, and in a corner
    style = data["images"]["strokes"]
    shares = np.array(
        page.locator("#seen").evaluate(
            """canvas => {
                const data = canvas.getContext("2d").getImageData(0, 0, 8, 8).data;
                return Array.from({ length: 64 }, (_, i) => 255 - data[4 * i]);
            }"""
        )
    ).reshape(8, 8)
    inked = np.flatnonzero(shares.max(axis=1) > 40)
    assert inked[-1] - inked[0] + 1 == pytest.approx(style["box"], abs=1)
    columns = shares.sum(axis=0) @ np.arange(8) / shares.sum()
    assert columns == pytest.approx(style["centre"][1], abs=0.6)


@pytest.mark.parametrize(
    ("which", "scheme", "width"),
    [
        ("of_images", "dark", 1280),
        ("of_columns", "light", 390),
        pytest.param("of_images", "light", 1280, marks=pytest.mark.slow),
        pytest.param("of_images", "light", 390, marks=pytest.mark.slow),
        pytest.param("of_columns", "light", 1280, marks=pytest.mark.slow),
        pytest.param("of_columns", "dark", 1280, marks=pytest.mark.slow),
    ],
)
def test_the_page_passes_axe(opened, axe, request, which, scheme, width):
    size = {"width": width, "height": 900}
    page = opened(request.getfixturevalue(which)[0], color_scheme=scheme, viewport=size)
    if which == "of_images":
        stroke(page, circle())
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    told = [
        (one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found["violations"]
    ]
    assert told == []


def test_pictures_follow_the_colours_even_while_they_are_not_shown(opened, of_images):
    page = opened(of_images[0], color_scheme="light")
    go_to(page, 0)
    page.emulate_media(color_scheme="dark")
    go_to(page, 19)
    corner = "c => c.getContext('2d').getImageData(0, 0, 1, 1).data[0]"
    for picture in page.locator("#error-list canvas").all()[:5]:
        assert picture.evaluate(corner) < 60
    paper = [c.evaluate(corner) for c in page.locator("#template-list canvas").all()]
    assert min(paper) < 60


@pytest.mark.parametrize("which", ["of_images", "of_columns"])
def test_the_page_is_never_wider_than_the_screen(opened, request, which):
    path, _ = request.getfixturevalue(which)
    for width in (320, 390, 768):
        page = opened(path, viewport={"width": width, "height": 800}, is_mobile=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_printed_has_no_controls(opened, of_images):
    page = opened(of_images[0])
    page.emulate_media(media="print")
    assert not page.locator("#slider").is_visible()
    assert not page.locator("#draw").is_visible()
    assert page.locator("#feature-table").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("which", ["of_images", "of_columns"])
def test_screenshots_are_kept(opened, request, which):
    path, _ = request.getfixturevalue(which)
    folder = ARTEFACTS / "report"
    folder.mkdir(parents=True, exist_ok=True)

    def keep(page, name):
        page.screenshot(path=folder / f"{which}-{name}.png", full_page=True)

    keep(opened(path), "desktop")
    keep(opened(path, color_scheme="dark"), "dark")
    keep(opened(path, viewport={"width": 390, "height": 844}, is_mobile=True), "phone")
    page = opened(path)
    page.emulate_media(media="print")
    keep(page, "print")
