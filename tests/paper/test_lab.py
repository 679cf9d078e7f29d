"""Parts of an experiment are kept, and what is kept is what a later run reads."""

import json
import os
import warnings
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from paper import Lab


def test_a_part_is_measured_once(tmp_path):
    calls = []

    def measure():
        calls.append(1)
        return {"pair": (1, 2.5)}

    first = Lab("some", tmp_path).part("a part", measure)
    again = Lab("some", tmp_path).part("a part", measure)
    assert len(calls) == 1
    assert first == again == {"pair": [1, 2.5]}  # as JSON has it, in the first run too


def test_what_was_finished_before_a_failure_is_kept(tmp_path):
    lab = Lab("some", tmp_path)
    lab.part("one", lambda: 1)
    with pytest.raises(ZeroDivisionError):
        lab.part("two", lambda: 1 / 0)
    assert list(Lab("some", tmp_path).records) == ["one"]
    assert [file.name for file in tmp_path.iterdir()] == ["some.json"]


def test_a_record_tells_seconds_machine_and_version(tmp_path):
    lab = Lab("some", tmp_path)
    lab.part("one", lambda: 1)
    record = json.loads((tmp_path / "some.json").read_text())["parts"]["one"]
    assert record["value"] == 1
    assert record["seconds"] >= 0
    assert f"{os.cpu_count()} cores" in record["machine"]
    assert record["version"]
    assert set(record) > {"revision", "date"}


def test_parts_of_other_code_are_told(tmp_path, monkeypatch):
    changed = {"0000000": [], "0000001": ["rounds.py", "losses.py"]}
    monkeypatch.setattr("paper.lab.changed_since", changed.get)
    monkeypatch.setattr("paper.lab.revision", lambda: "0000000")
    lab = Lab("some", tmp_path)
    lab.part("one", lambda: 1)
    assert lab.records["one"]["revision"] == "0000000"
    assert lab.stale() == []
    lab.records["two"] = lab.records["one"] | {"revision": None, "committed_with": "0000001"}
    lab.records["three"] = lab.records["one"] | {"revision": None}
    lab.records["four"] = lab.records["one"] | {"revision": "0000000+"}
    assert lab.stale() == [
        "1 of 4 parts were measured at 0000001; 2 files of the library differ since",
        "1 of 4 parts were measured at a revision that is not known",
        "1 of 4 parts were measured at 0000000+, with changes that were not committed",
    ]


def test_parts_that_nobody_asks_for_are_forgotten(tmp_path):
    first = Lab("some", tmp_path)
    first.part("old", lambda: 1)
    first.part("kept", lambda: 2)
    later = Lab("some", tmp_path)
    later.part("kept", lambda: 3)
    later.forget_others()
    assert list(Lab("some", tmp_path).records) == list(later.records) == ["kept"]


def test_searches_that_ended_early_are_recorded_and_other_warnings_shown(tmp_path):
    def measure():
        warnings.warn("not there yet", ConvergenceWarning, stacklevel=1)
        warnings.warn("look here", UserWarning, stacklevel=1)
        return 1

    lab = Lab("some", tmp_path)
    with pytest.warns(UserWarning, match="look here") as shown:
        lab.part("one", measure)
    assert [str(w.message) for w in shown] == ["look here"]
    assert lab.records["one"]["warnings"] == ["not there yet"]


def test_quick_and_full_runs_do_not_mix(tmp_path):
    Lab("some", tmp_path, quick=True).part("one", lambda: 1)
    with pytest.raises(FileExistsError, match="of a quick run and a full one"):
        Lab("some", tmp_path)


def test_what_was_measured_with_other_settings_is_measured_again(tmp_path):
    said = []
    for alpha, expected in ((1.0, 1.0), (2.0, 2.0), (2.0, 2.0)):
        lab = Lab("some", tmp_path, say=said.append)
        assert lab.part("one", lambda a=alpha: a, {"alpha": alpha}) == expected
    assert said == ["one", "one (again: its settings have changed)"]


def test_two_processes_do_not_lose_each_others_parts(tmp_path):
    first, second = Lab("some", tmp_path), Lab("some", tmp_path)
    first.part("one", lambda: 1)
    second.part("two", lambda: 2)
    assert set(Lab("some", tmp_path).records) == {"one", "two"}


def test_a_torn_file_is_named(tmp_path):
    for text in ("", '{"quick": fal', "[]", '{"quick": false}'):
        (tmp_path / "some.json").write_text(text)
        with pytest.raises(ValueError, match=r"some\.json cannot be read .* --fresh"):
            Lab("some", tmp_path)


def test_slow_parts_are_for_a_gpu_unless_they_are_there(tmp_path):
    assert Lab("some", tmp_path, quick=True).measures_slow("one")
    assert Lab("some", tmp_path, device="cuda:0").measures_slow("one")
    lab = Lab("some", tmp_path)
    assert not lab.measures_slow("one")
    lab.part("one", lambda: 1)
    assert lab.measures_slow("one")


def test_lines_of_progress_name_the_part(tmp_path):
    said = []
    lab = Lab("some", tmp_path, say=said.append)
    lab.part("one", lambda: 1)
    lab.part("one", lambda: 1)
    assert said == ["one"]


def test_data_come_from_the_folder_and_the_environment_stays(tmp_path, monkeypatch):
    rows = np.arange(6).reshape(3, 2)
    np.savez(tmp_path / "mnist.npz", X_train=rows, y_train=rows[:, 0], X_test=rows, y_test=rows[0])
    monkeypatch.setenv("SHAREBOOST_DATA", "elsewhere")
    data = Lab("some", tmp_path / "out", data=tmp_path).load("mnist")
    np.testing.assert_array_equal(data.X_train, rows)
    assert os.environ["SHAREBOOST_DATA"] == "elsewhere"
    monkeypatch.delenv("SHAREBOOST_DATA")
    Lab("some", tmp_path / "out", data=tmp_path).load("mnist")
    assert "SHAREBOOST_DATA" not in os.environ


def test_rows_go_to_the_device_and_predictions_come_back(tmp_path):
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert Lab("some", tmp_path).place(rows) is rows
    lab = Lab("some", tmp_path, device="cpu")
    placed = lab.place(rows)
    assert type(placed).__module__ == "torch"
    np.testing.assert_array_equal(lab.fetch(placed), rows)
    np.testing.assert_array_equal(lab.fetch(rows), rows)


def test_data_that_cannot_be_fetched_are_named(tmp_path, monkeypatch):
    def unreachable(name, folder):
        raise URLError("no such host")

    monkeypatch.setattr("paper.lab.load_dataset", unreachable)
    with pytest.raises(OSError, match=r"mnist.npz is in no folder .*--data.* no such host"):
        Lab("some", tmp_path).load("mnist")
