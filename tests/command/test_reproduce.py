"""The command: one line for an error, exit codes, texts on stdout."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import shareboost
from shareboost import experiments
from shareboost.command import app
from shareboost.experiments.reproduction import Written

run = CliRunner().invoke


def test_it_is_installed_and_tells_its_version():
    found = subprocess.run(
        [sys.executable, "-c", "from shareboost.command import app; app()", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == shareboost.__version__


def test_help_names_every_experiment():
    text = run(app, ["reproduce", "--help"]).stdout
    assert all(name in text for name in experiments.NAMES)


def test_an_unknown_experiment_is_one_line_and_exit_code_2():
    found = run(app, ["reproduce", "figure-9"])
    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert "'figure-9'" in found.stderr


def test_an_error_is_one_line_without_a_traceback(tmp_path):
    found = run(app, ["reproduce", "pieces", "--data", str(tmp_path / "nowhere")])
    assert found.exit_code == 2
    assert found.stderr.startswith("pieces: data=")
    assert found.stderr.count("\n") == 1


def test_debug_shows_the_error_itself(tmp_path):
    found = run(app, ["reproduce", "pieces", "--data", str(tmp_path / "nowhere"), "--debug"])
    assert found.exit_code == 2
    assert "Traceback" in found.stderr
    assert "FileNotFoundError: data=" in found.stderr


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Experiments that write a line, but for one that fails."""

    def reproduce(name, folder, **settings):
        if name == "sharing":
            raise ValueError("no\nletters")
        folder.mkdir(parents=True, exist_ok=True)
        text = folder / f"{name}.md"
        text.write_text(f"text of {name}, quick={settings['quick']}")
        return Written(folder, folder, [], text, folder)

    monkeypatch.setattr(experiments, "reproduce", reproduce)


def test_all_runs_the_others_where_one_fails(made_up, tmp_path):
    found = run(app, ["reproduce", "all", "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert "sharing: no letters\n" in found.stderr
    assert all(f"text of {n}," in found.stdout for n in experiments.NAMES if n != "sharing")


def test_quick_runs_have_a_folder_of_their_own(made_up, tmp_path):
    found = run(app, ["reproduce", "pieces", "--quick", "--out", str(tmp_path)])
    assert found.exit_code == 0
    assert "quick=True" in found.stdout
    assert (tmp_path / "quick" / "pieces.md").exists()


def test_an_interrupt_says_what_is_kept(monkeypatch, tmp_path):
    def reproduce(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "reproduce", reproduce)
    found = run(app, ["reproduce", "pieces", "--out", str(tmp_path)])
    assert found.exit_code == 130
    assert str(tmp_path) in found.stderr
