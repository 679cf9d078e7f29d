"""Figures in texts are those of the files that commands have written, and link to them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages that explain. All others hold results: a command writes their tables.
TEXTS = [
    ROOT / "README.md",
    *(DOCS / f"{name}.md" for name in ("index", "tutorial", "peers", "pools", "algorithm")),
    *(DOCS / f"{name}.md" for name in ("mathematics", "report", "command", "plots")),
    *sorted((DOCS / "how-to").glob("*.md")),
]
UNITS = r"%|ns|µs|ms|s|seconds?|minutes?|hours?|[KMG]iB|[kMG]B|kilobytes?|times"
FIGURE = re.compile(rf"(?<![\w.,=-])(\d[\d,]*(?:\.\d+)?) ?({UNITS})(?![\w=])")
NUMBER = r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
# A paragraph that tells its revision is where the figure stands.
MEASURED_HERE = re.compile(r"\brevision\s+[0-9a-f]{7}\b")
GIVEN = {"0%", "95%", "100%"}  # not measured


def paragraphs(text):
    """Return the paragraphs and list items of a page, without code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.split(r"\n\s*\n|\n(?=[-*] )", text)


def results_linked(paragraph, page):
    """Return the files that a paragraph links to and that hold results."""
    found = (page.parent / link for link in re.findall(r"\]\(([^)#:]+)[^)]*\)", paragraph))
    files = [file.resolve() for file in found if file.suffix in (".md", ".csv", ".json")]
    return [file for file in files if file not in TEXTS and file.is_file()]


def holds(file, figure, unit):
    """Return whether a result is that figure, but for its rounding.

    Of pages the tables count, and percents there have their sign; other files hold shares.
    """
    text = file.read_text()
    percent = unit == "%"
    if file.suffix == ".md":
        text = "\n".join(re.findall(r"^\|.*$", text, flags=re.M))
    found = re.findall(NUMBER + ("%" if percent and file.suffix == ".md" else ""), text)
    factor = 100 if percent and file.suffix != ".md" else 1
    decimals = len(figure.partition(".")[2])
    numbers = (factor * float(number.rstrip("%").replace(",", "")) for number in found)
    return any(f"{number:.{decimals}f}" == figure.replace(",", "") for number in numbers)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_no_figure_that_no_result_holds(page):
    missing = []
    for paragraph in paragraphs(page.read_text()):
        if MEASURED_HERE.search(paragraph):
            continue
        figures = {match.groups() for match in FIGURE.finditer(paragraph) if match[0] not in GIVEN}
        files = results_linked(paragraph, page)
        missing += [
            f"{figure} {unit} in “{' '.join(paragraph.split())[:80]}…” is not in "
            + (", ".join(file.name for file in files) or "any file: nothing is linked to")
            for figure, unit in sorted(figures)
            if not any(holds(file, figure, unit) for file in files)
        ]
    assert not missing, "\n".join(missing)


def test_a_figure_is_found_but_for_its_rounding(tmp_path):
    page, points = tmp_path / "results.md", tmp_path / "points.csv"
    page.write_text("In 5 s.\n\n| 0.857 | 7.18% |\n")
    points.write_text("error\n0.00527\n")
    assert holds(page, "0.86", "s")
    assert not holds(page, "0.85", "s")
    assert not holds(page, "5", "s")  # in no table
    assert holds(page, "7.2", "%")
    assert not holds(page, "0.86", "%")
    assert holds(points, "0.53", "%")
    assert not holds(points, "0.005", "%")


def test_a_figure_without_its_file_is_missed(tmp_path):
    page = tmp_path / "page.md"
    (tmp_path / "results.md").write_text("| 24.1 |")
    linked = "It takes 24 s ([figures](results.md))."
    assert [file.name for file in results_linked(linked, page)] == ["results.md"]
    assert results_linked("It takes 24 s.", page) == []
    assert [match[1] for match in FIGURE.finditer("24 ns, 3.5%, x=4 s, 1,000 MB, 5 columns")] == [
        "24",
        "3.5",
        "1,000",
    ]
