"""Figures in texts are those of the files that commands have written, and link to them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages that explain, and take their figures from others.
TEXTS = [
    ROOT / "README.md",
    *(DOCS / f"{name}.md" for name in ("index", "tutorial", "peers", "pools", "algorithm")),
    *(DOCS / f"{name}.md" for name in ("mathematics", "report", "command", "plots")),
    *sorted((DOCS / "how-to").glob("*.md")),
]
UNITS = r"%|ns|µs|ms|s|seconds?|minutes?|hours?|[KMG]iB|[kMG]B|kilobytes?|times"
FIGURE = re.compile(rf"(?<![\w.,=-])(\d[\d,]*(?:\.\d+)?) ?({UNITS})(?![\w=])")
NUMBER = r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?"
# All others hold results: a command writes their tables.
RESULTS = [
    page
    for page in sorted([*DOCS.glob("*.md"), *(DOCS / "paper").glob("*.md")])
    if page not in TEXTS and page.name != "changelog.md"
]
# A paragraph that tells its revision is where the figure stands.
REVISION = r"(?:\b[Rr]evision\s+|\bat\s+|\bwith\s+|\()[0-9a-f]{7}\b"
MEASURED_HERE = re.compile(REVISION)
PROCESSOR = re.compile(r"AMD EPYC|Intel\(R\) Xeon\(R\)|x86_64")
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")
# Settings, sizes by a formula, what was asked for, and what the paper says: none was measured.
SET = {
    "benchmarks.md": "24 GiB, 5%, 8 minutes, 6 GiB, 916 MB, 4 s, 50 times",
    "choosing.md": "14.3%, 14.0%",
    "defaults.md": "70%, 30%, 60%",
    "export.md": "30 kB, 10%",
    "genes.md": "70%, 30%",
    "gpu.md": "70%, 5.8 GB",
    "model-file.md": "200 MB",
    "scaling.md": "24 GiB, 40%, 256 MiB, 15 seconds, 100 MB, 1 GB, 64 MiB, 0.2 ms, 80 MB, 16 times",
    "README.md": "20%, 8%, 5%",
    "jointboost.md": "5%",
    "mixed-norm.md": "5%",
    "mnist.md": "1%, 5%",
    "sharing.md": "20%, 8%",
}
# What was measured once and stands in no table.
TOLD = {
    "benchmarks.md": "4.2 s, 12 times, 30 times, 13 MB, 0.8 minutes, 1.8 GiB, 0.9 GiB",
    "choosing.md": "1.2%, 3.3 MB",
    "defaults.md": "11.7%, 11.6%, 1.3%, 3.46%, 3.14%, 2.89%, 88%, 78%, 55%, 47%",
    "development.md": "88%",
    "gpu.md": "2.08 ms, 65%",
    "scaling.md": "20 s, 220 GB, 60%, 55%, 240 ns, 29%, 804 GB, 600 GB, 404 GB",
}
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


def missing_figures(text, page, sources=(), told=""):
    """Return what a page says of figures that no file holds, a line each."""
    missing = []
    for paragraph in paragraphs(text):
        if MEASURED_HERE.search(paragraph):
            continue
        some = (match for match in FIGURE.finditer(paragraph) if match[0] not in GIVEN)
        figures = {match.groups() for match in some if match[0] not in told.split(", ")}
        files = [*results_linked(paragraph, page), *sources]
        missing += [
            f"{figure} {unit} in “{' '.join(paragraph.split())[:80]}…” is not in "
            + (", ".join(file.name for file in files) or "any file: nothing is linked to")
            for figure, unit in sorted(figures)
            if not any(holds(file, figure, unit) for file in files)
        ]
    return missing


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


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_a_page_names_no_figure_that_no_result_holds(page):
    missing = missing_figures(page.read_text(), page)
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("page", RESULTS, ids=name_of)
def test_what_a_page_of_results_says_is_in_its_tables(page):
    """In those that it holds, or in the points beside it."""
    text = page.read_text()
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    told = ", ".join(some[page.name] for some in (SET, TOLD) if page.name in some)
    missing = missing_figures(prose, page, [page, *results_linked(text, page)], told)
    assert not missing, "\n".join(missing)


def test_every_page_with_a_table_of_measurements_says_how_they_came_about():
    """By which revision, on which processor and when: each table's page, at least once."""
    # The decimal fractions of reliability.md are versions of packages.
    measured = (page for page in RESULTS if measured_lines(page.read_text()))
    pages = [page for page in measured if page.name != "reliability.md"]
    assert {"benchmarks.md", "gpu.md", "scaling.md", "rivals.md", "export.md"} < {
        page.name for page in pages
    }
    for page in pages:
        text = page.read_text()
        for what in (MEASURED_HERE, PROCESSOR, DATE):
            assert what.search(text), f"{page.name} has tables and does not say {what.pattern}"


def measured_lines(text):
    """Return the lines of tables that hold a decimal fraction outside of code."""
    lines = (re.sub(r"`[^`]*`", "", line) for line in text.splitlines() if line.startswith("|"))
    return [line for line in lines if re.search(r"(?<![\w.])\d[\d,]*\.\d+%?(?=[\s|])", line)]


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
