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
FIGURE = re.compile(rf"(?<![\w.,=-])(\d[\d,]*(?:\.\d+)?) ?(?:{UNITS})(?![\w=])")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# A paragraph that tells its revision is where the figure stands.
MEASURED_HERE = re.compile(r"\brevision [0-9a-f]{7}\b")
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


def holds(text, figure):
    """Return whether a number of a text is that figure, but for its rounding."""
    figure = figure.replace(",", "")
    decimals = len(figure.partition(".")[2])
    numbers = (float(found.replace(",", "")) for found in NUMBER.findall(text))
    # Shares are percents in texts, and seconds may be milliseconds.
    sizes = (number * factor for number in numbers for factor in (1, 100, 1000, 0.001))
    return any(f"{size:.{decimals}f}" == figure for size in sizes)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_names_no_figure_that_no_result_holds(page):
    missing = []
    for paragraph in paragraphs(page.read_text()):
        if MEASURED_HERE.search(paragraph):
            continue
        figures = {match[1] for match in FIGURE.finditer(paragraph) if match[0] not in GIVEN}
        files = results_linked(paragraph, page)
        texts = [file.read_text() for file in files]
        missing += [
            f"{figure} in “{' '.join(paragraph.split())[:80]}…” is not in "
            + (", ".join(file.name for file in files) or "any file: nothing is linked to")
            for figure in sorted(figures)
            if not any(holds(text, figure) for text in texts)
        ]
    assert not missing, "\n".join(missing)


def test_a_figure_is_found_but_for_its_rounding():
    assert holds("took 0.857 s", "0.86")
    assert holds("| 0.00527 |", "0.527")
    assert not holds("took 0.847 s", "0.86")
    assert not holds("1.86%", "0.86")


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
