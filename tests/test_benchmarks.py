"""The report of the benchmarks, on numbers that nobody measured; benchmarks are in no package."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def speed(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import speed.plan
    import speed.report

    yield speed
    for name in [name for name in sys.modules if name.split(".")[0] == "speed"]:
        del sys.modules[name]


def run(seconds, **more):
    return {"seconds": seconds, "processors": 2 * seconds, "megabytes": 300.0} | more


def test_a_line_has_the_median_and_the_range_of_the_ratios_of_one_turn(speed):
    ours = {"title": "ours", "asked": "", "runs": [run(1.0, error=0.1), run(2.0, error=0.1)]}
    peer = {"title": "peer", "asked": "more", "runs": [run(10.0), run(40.0)]}
    once = {"title": "slow", "asked": "", "runs": [run(7.0, loss=0.5)]}
    lines = speed.report.matches_table({"m": {"work": "some", "lines": [ours, peer, once]}})
    assert lines[2].startswith("| some | ours | 1.5 (1 to 2) | 1 | 3 |  | 10.00% |  | 300 MB |")
    assert "| peer | 25 (10 to 40) | 15 (10 to 20) |" in lines[3]
    assert lines[3].endswith("| more |")
    assert "| slow | 7 | 7 | 14 | 0.5000 |" in lines[4]


def test_what_was_not_measured_is_left_out(speed):
    found = {"machine": "a desk.", "revisions": {"dense": "abc"}}
    found |= {"dense": {"ours": [0.2, 0.3], "peer": [0.1, 0.1]}}
    text = speed.report.written(found)
    assert "Measured on a desk. Revision abc." in text
    assert "2.50 (2.00 to 3.00)" in text
    assert "Growth" not in text


def test_growth_is_told_by_factors_and_drawn(speed, tmp_path):
    pytest.importorskip("matplotlib")
    each = {"sizes": [1, 2, 4], "all": [[1.0, 2.0, 5.0]]}
    found = {"rows": each | {"selection": each["all"], "refit": [[1.0, 1.0, 2.0]]}}
    found["rounds"] = found["rows"]
    (line, _) = speed.report.growth_table(found)[2:]
    assert "| 2.00 2.50 | 2.00 2.50 | 1.00 2.00 | at most 2.3 |" in line
    speed.report.growth_plot(found, tmp_path / "growth.svg")
    assert "<svg" in (tmp_path / "growth.svg").read_text()


@pytest.mark.parametrize("quick", [True, False])
def test_ours_comes_first_in_every_match(speed, quick):
    for match in speed.plan.matches(quick):
        assert match.runners[0].name == "shareboost"
        assert match.data in speed.plan.DATA
        assert len({runner.title for runner in match.runners}) == len(match.runners)
