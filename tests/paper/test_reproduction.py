"""Every experiment runs on a sample and writes what it promises."""

import csv
import json
import sys

import pytest
from conftest import need_data_set

from paper import (
    NAMES,
    Claim,
    Experiment,
    Lab,
    Verdict,
    experiment,
    reproduce,
    verdict,
)
from paper.page import text_of, write_page

DATA = {
    "guarantee": ("satimage", "pendigits", "isolet"),
    "sharing": ("chars",),
    "mixed-norm": ("satimage", "pendigits", "isolet"),
    "jointboost": ("satimage", "pendigits", "isolet"),
    "mnist": ("mnist", "chars"),
    "pieces": ("mnist",),
}


CHEAP = ("examples", "guarantee")


@pytest.fixture(autouse=True)
def of_this_code(monkeypatch):
    """Let no part be of other code, whatever was changed in this checkout."""
    monkeypatch.setattr(Lab, "stale", lambda lab: [])


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in CHEAP else pytest.mark.slow) for n in NAMES]
)
def test_a_quick_run_writes_figures_points_and_a_text(name, tmp_path):
    for data in DATA.get(name, ()):
        need_data_set(data)
    written = reproduce(name, tmp_path, quick=True)
    pictures = written.figures
    assert {file.name for file in tmp_path.iterdir()} == set(str(written).split(", "))
    assert pictures
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in pictures)
    with (tmp_path / f"{name}.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) > 1
    text = (tmp_path / f"{name}.md").read_text()
    assert experiment(name).title in text
    assert all(picture.name in text for picture in pictures)
    assert "A quick run" in text
    assert sum(text.count(f"**{v}**") for v in Verdict) >= 2
    assert text in (tmp_path / "README.md").read_text()

    # What was measured is read again: no part is measured, and the text stays the same.
    said = []
    reproduce(name, tmp_path, quick=True, say=said.append)
    assert said == []
    assert (tmp_path / f"{name}.md").read_text() == text


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="'figure 9' is not an experiment"):
        reproduce("figure 9")


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        reproduce("examples", tmp_path, data=tmp_path / "nowhere")


def test_a_device_that_cannot_be_used_is_refused_before_anything_is_measured(tmp_path):
    with pytest.raises(ValueError, match="device='abacus' cannot be used"):
        reproduce("examples", tmp_path / "out", device="abacus")
    assert not (tmp_path / "out").exists()


def test_fresh_measures_again(tmp_path):
    file = tmp_path / "examples.json"
    file.write_text(json.dumps({"quick": False, "parts": {"old": {"value": 1}}}))
    with pytest.raises(FileExistsError):
        reproduce("examples", tmp_path, quick=True)
    said = []
    reproduce("examples", tmp_path, quick=True, fresh=True, say=said.append)
    kept = json.loads(file.read_text())
    assert kept["quick"]
    assert list(kept["parts"]) == said


def test_a_missing_package_is_named_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"needs torch: pip install 'shareboost\[paper\]'"):
        reproduce("mnist", tmp_path / "out", quick=True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="needs matplotlib"):
        reproduce("examples", tmp_path / "out", quick=True)
    assert not (tmp_path / "out").exists()


def an_experiment(details=""):
    return Experiment(
        title="Fig. 0: nothing",
        shows="What nobody saw.",
        measure=lambda lab: [],
        draw=lambda lab, rows: {},
        judge=lambda rows: [Claim("it works", "always", "never", Verdict.FAILS)],
        captions={"nothing": "Nothing at all."},
        chosen="By nobody.",
        details=lambda rows: details,
    )


def test_the_text_tells_claims_effort_and_command(tmp_path):
    lab = Lab("nothing", tmp_path)
    lab.records = {
        "a": {"seconds": 2.0, "machine": "this one", "device": None, "warnings": []},
        "b": {"seconds": 3.0, "machine": "this one", "device": None, "warnings": ["early"]},
        "c": {"seconds": 9.0, "machine": "that one", "device": "cuda", "warnings": []},
    }
    text = text_of(lab, an_experiment("| a | table |"), [], ["nothing.png"])
    assert "| it works | always | never | **does not hold** |" in text
    assert "| a | table |" in text
    assert "![Nothing at all.](nothing.png)\n\n*Nothing at all.*" in text
    assert "this one: 5 s for 2 parts" in text
    assert "that one, `--device cuda`: 9 s for 1 part" in text
    assert "1 search ended before" in text
    assert "`python -m paper nothing`" in text
    assert "quick" not in text


def test_the_page_holds_the_texts_that_are_there_in_the_papers_order(tmp_path):
    (tmp_path / "b.md").write_text("## second\n| a | **holds** |\n| b | **holds** |\n")
    (tmp_path / "a.md").write_text("## first\n| a | **does not hold** |\n")
    write_page(tmp_path / "README.md", ["a", "absent", "b"])
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("# The paper, reproduced")
    assert text.index("## first") < text.index("## second")
    assert "| `a` | first | 0 | 0 | 1 | 0 |" in text
    assert "| `b` | second | 2 | 0 | 0 | 0 |" in text


def test_a_claim_holds_whole_in_part_or_not():
    assert verdict(True, False) is verdict(True, True) is Verdict.HOLDS
    assert verdict(False, True) is Verdict.IN_PART
    assert verdict(False, False) is Verdict.FAILS


def test_a_program_that_is_missing_is_named_before_any_work(tmp_path, monkeypatch):
    need_data_set("mnist")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OSError, match="the program gcc, which is not installed"):
        reproduce("mnist", tmp_path, quick=True)
