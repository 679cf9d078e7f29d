"""The page is one file that allows itself alone, whatever names it shows."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from itertools import pairwise

import pytest

from shareboost import ShareBoostClassifier
from shareboost.inspection.report import SCRIPTS, asset, page_of, report_data, write_report
from shareboost.pools import Templates

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def clf(fitted_model):
    return fitted_model("columns")


@pytest.fixture(scope="module")
def rows(digits):
    return digits[0][500:600], digits[1][500:600]


@pytest.fixture(scope="module")
def page(fitted_model, rows):
    clf = fitted_model("templates")
    return page_of(report_data(clf, *rows, title=HOSTILE), clf)


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_allows_the_scripts_and_the_style_by_their_hashes_alone(page):
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)[1]
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, flags=re.S)
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.S)
    assert len(scripts) == 2
    hashes = " ".join(f"'sha256-{digest(script)}'" for script in scripts)
    assert policy == (
        f"default-src 'none'; script-src {hashes}; style-src 'sha256-{digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_nothing_is_loaded_and_nothing_is_styled_or_run_inline(page):
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert not re.search(r"<[^>]* (on\w+|style|src)=", page)
    assert "eval(" not in page
    assert "innerHTML" not in page
    assert "new Function" not in page


def test_names_are_escaped(page):
    assert HOSTILE not in page
    assert "alert(1)</script>" not in page
    assert "<title>&lt;/script&gt;&lt;script&gt;alert(1)" in page


def luminance(colour):
    """Relative luminance of #rrggbb, by the Web Content Accessibility Guidelines 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_colours_can_be_told_apart(scheme):
    block = re.findall(r":root \{(.*?)\}", asset("style.css"), flags=re.S)[scheme]
    colours = dict(re.findall(r"--(\w+): (#\w{6});", block))
    for ground in ("page", "panel", "paper"):
        for text in ("ink", "muted", "for", "against"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        assert contrast(colours["field"], colours[ground]) >= 3.0, ground


def test_the_page_has_its_language_and_headings_in_order(page):
    assert '<html lang="en">' in page
    levels = [int(level) for level in re.findall(r"<h(\d)", page.partition("<script")[0])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))


def test_every_field_has_a_label(page):
    body = page.partition("<script")[0]
    for field in re.findall(r"<(?:input|select|canvas)[^>]*>", body):
        name = re.search(r'id="([^"]*)"', field)[1]
        inside = re.search(rf"<label[^>]*>[^<]*{re.escape(field)}", body)
        assert inside or f'for="{name}"' in body or "aria-label=" in field, field


def test_the_data_in_the_page_are_json_again(page):
    text = re.search(r'id="report-data">(.*?)</script>', page, flags=re.S)[1]
    assert json.loads(text)["title"] == HOSTILE


def test_every_script_is_part_of_the_page(page):
    written = {path.stem for path in _folder().glob("*.js")}
    assert written == set(SCRIPTS)
    for name in SCRIPTS:
        for line in re.findall(r"^export .*$", asset(f"{name}.js"), flags=re.M):
            assert line.removeprefix("export ") in page


def _folder():
    from importlib.resources import files

    return files("shareboost.inspection.report") / "assets"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_scripts_are_modules_that_find_what_they_import(tmp_path):
    for path in _folder().glob("*.js"):
        (tmp_path / f"{path.stem}.js").write_text(path.read_text())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    others = [name for name in SCRIPTS if name != "main"]
    code = "\n".join(f'import "./{name}.js";' for name in others)
    run = subprocess.run(
        ["node", "--input-type=module", "--eval", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_both_files_are_written(clf, rows, tmp_path):
    write_report(clf, *rows, tmp_path / "a.html", json_path=tmp_path / "a.json", title="Digits")
    assert "<title>Digits</title>" in (tmp_path / "a.html").read_text()
    data = json.loads((tmp_path / "a.json").read_text())
    assert data == report_data(clf, *rows, title="Digits")


def test_files_that_are_there_are_refused_before_any_work(clf, rows, tmp_path):
    (tmp_path / "a.json").write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_report(None, None, None, tmp_path / "a.html", json_path=tmp_path / "a.json")
    assert not (tmp_path / "a.html").exists()
    write_report(clf, *rows, tmp_path / "a.html", json_path=tmp_path / "a.json", overwrite=True)
    assert (tmp_path / "a.json").read_text() != "mine"


@pytest.mark.parametrize("other", ["a.html", "./folder/../a.html", "link.html"])
def test_one_file_for_both_is_refused_before_any_work(tmp_path, other):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.html").write_text("mine")
    (tmp_path / "link.html").symlink_to(tmp_path / "a.html")
    with pytest.raises(ValueError, match="is the file of path"):
        write_report(
            *(None, None, None, tmp_path / "a.html"),
            json_path=tmp_path / other,
            overwrite=True,
        )
    assert (tmp_path / "a.html").read_text() == "mine"


def test_bars_are_shown_where_they_are_asked_for(clf, rows, tmp_path, capsys):
    train = {"X_train": rows[0], "y_train": rows[1]}
    write_report(clf, *rows, tmp_path / "a.html", **train)
    assert capsys.readouterr().err == ""
    write_report(clf, *rows, tmp_path / "b.html", **train, verbose=1)
    shown = capsys.readouterr().err
    for what in ("classifying held-out rows", "classifying training rows", "counting costs"):
        assert what in shown
    assert shown.count("12/12") == 2


def test_a_model_of_other_features_has_no_exported_model_in_its_page(clf, rows):
    page = page_of(report_data(clf, *rows), clf)
    assert len(re.findall(r'<script type="module">', page)) == 1
    assert "function contributions" not in page


def test_pages_are_the_same_for_the_same_model(clf, rows):
    assert page_of(report_data(clf, *rows), clf) == page_of(report_data(clf, *rows), clf)


@pytest.mark.slow
def test_the_page_of_a_model_of_266_templates_of_mnist_is_below_two_megabytes(data_set):
    mnist = data_set("mnist")
    pool = Templates(100, n_patches=10_000)
    clf = ShareBoostClassifier(266, pool=pool, rule="gradient", alpha=1e-4, margin=1.0, tol=1e-6)
    clf.fit(mnist.X_train[:400], mnist.y_train[:400])
    assert clf.selected_.size == 266
    data = report_data(clf, mnist.X_test[:600], mnist.y_test[:600])
    assert len(data["images"]["errors"]) == 160_000 // 784  # as many as of any number of rows
    assert len(page_of(data, clf).encode()) < 2_000_000
