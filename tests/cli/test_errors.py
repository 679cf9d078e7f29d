"""Errors of all commands: what is told, and what is not."""

import sys
import warnings

import pytest


def test_a_fault_of_the_program_is_told_as_such(run, model, monkeypatch, refused):
    def broken(path):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("shareboost.load_model", broken)
    refused(run("explain", model), "ZeroDivisionError: by nothing", "--debug shows where")
    shown = run("explain", model, "--debug")
    assert shown.exit_code == 2
    assert "Traceback" in shown.stderr
    assert "ZeroDivisionError: by nothing" in shown.stderr


def test_a_missing_library_is_one_line_that_names_the_extra(
    run, model, folder, monkeypatch, refused
):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    refused(run("predict", model, folder / "iris.csv"), "pyarrow", "shareboost[command]")


def test_tables_with_names_need_pandas_and_say_so(run, folder, tmp_path, monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "pandas", None)
    words = ("--target", "species", "--out", tmp_path / "m.json")
    refused(run("fit", folder / "iris.csv", *words), "pandas", "shareboost[command]")


def test_a_warning_is_one_line(run, model, monkeypatch):
    def warned(path):
        warnings.simplefilter("always")
        warnings.warn("take\ncare", stacklevel=1)
        raise ValueError("after all")

    monkeypatch.setattr("shareboost.load_model", warned)
    found = run("explain", model)
    assert found.stderr == "Warning: take care\nafter all\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--nope",), "No such option"),
        (("nope",), "No such command"),
        (("predict",), "Missing argument"),
        (("export", "m.json", "--out", "x"), "--to"),
    ],
)
def test_a_command_that_makes_no_sense_is_one_line_that_names_the_help(
    run, words, message, refused
):
    refused(run(*words), message, "--help")


def test_a_folder_is_no_table(run, model, tmp_path, refused):
    refused(run("predict", model, tmp_path, "--format", "csv"), "Is a directory")
