"""The command as a program: pipes, signals, exit codes, terminals."""

import gzip
import json
import os
import signal
import subprocess
import sys

import pytest
from ctrl_c import heeding_ctrl_c

from shareboost import load_model

pty = pytest.importorskip("pty", reason="pipes, signals and terminals as Unix has them")


@pytest.fixture
def program(command):
    words, environment = command

    def start(*arguments, **settings):
        return subprocess.run(
            [*words, *map(str, arguments)], capture_output=True, env=environment, **settings
        )

    return start


def test_models_and_rows_go_through_pipes(program, folder, run, model):
    rows = (folder / "iris.csv").read_bytes()
    found = program("fit", "-", "--target", "species", "--out", "-", input=rows)
    assert found.returncode == 0
    assert found.stderr == b""
    assert found.stdout.startswith(b'{"format":"shareboost model"')
    found = program("predict", model, "-", input=rows)
    assert found.returncode == 0
    assert found.stderr == b""
    assert found.stdout.decode() == run("predict", model, folder / "iris.csv").stdout


def test_a_model_goes_from_fit_to_other_commands_through_a_pipe(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("--target", "species", "--features", 2, "--out", "-")
    written = run("fit", folder / "iris.csv", *words).stdout_bytes
    (tmp_path / "m.json").write_bytes(written)
    for rest in (["explain"], ["path"], ["export", "--to", "c", "--out", "-"]):
        piped = run(rest[0], "-", *rest[1:], input=written)
        assert piped.exit_code == 0, piped.stderr
        assert piped.stdout == run(rest[0], "m.json", *rest[1:]).stdout
    refused = run("explain", "-", input=b"{}")
    assert refused.exit_code == 2
    assert "stdin is no model" in refused.stderr
    assert os.listdir(tmp_path) == ["m.json"]


@pytest.mark.parametrize("to", ["c", "js", "onnx"])
def test_exports_go_to_stdout(run, model, tmp_path, monkeypatch, to):
    monkeypatch.chdir(tmp_path)
    assert run("export", model, "--to", to, "--out", "m").exit_code == 0
    piped = run("export", model, "--to", to, "--out", "-")
    assert piped.exit_code == 0
    assert piped.stderr == ""
    assert piped.stdout_bytes == (tmp_path / "m").read_bytes()
    assert os.listdir(tmp_path) == ["m"]


def test_reports_and_their_numbers_go_to_stdout(run, model, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("report", model, "--data", folder / "iris.csv", "--target", "species")
    page = run(*words, "--out", "-")
    assert page.exit_code == 0, page.stderr
    assert page.stdout.startswith("<!doctype html>")
    assert page.stdout.rstrip().endswith("</html>")
    numbers = run(*words, "--out", "r.html", "--json", "-")
    assert numbers.exit_code == 0, numbers.stderr
    assert json.loads(numbers.stdout)["title"]
    assert numbers.stderr == "The report is in r.html.\n"
    assert run(*words, "--out", "-", "--json", "-").exit_code == 2
    assert os.listdir(tmp_path) == ["r.html"]


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "-", "--test", "-", "--target", "y", "--out", "-"),
        ("predict", "-", "-"),
        ("report", "-", "--data", "-", "--out", "-"),
    ],
)
def test_stdin_can_be_read_once(run, words, refused):
    refused(run(*words, input="a,y\n1,2\n"), "both -", "stdin can be read once")


def test_stdin_may_be_another_format(run, model, iris_frame, tmp_path):
    iris_frame.to_parquet(tmp_path / "iris.parquet")
    content = (tmp_path / "iris.parquet").read_bytes()
    answer = run("predict", model, "-", "--format", "parquet", input=content)
    assert answer.exit_code == 0
    assert answer.stdout.count("\n") == 151


def test_stdin_may_be_compressed(run, model, folder):
    content = gzip.compress((folder / "iris.csv").read_bytes())
    answer = run("predict", model, "-", input=content)
    assert answer.stdout == run("predict", model, folder / "iris.csv").stdout


def test_a_reader_that_leaves_early_is_no_error(command, model, iris_frame, tmp_path):
    words, environment = command
    many = tmp_path / "many.csv"
    # Answers of more bytes than a pipe holds.
    iris_frame.sample(20_000, replace=True, random_state=0).to_csv(many, index=False)
    with subprocess.Popen(
        [*words, "predict", str(model), str(many), "--proba"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout.readline().startswith(b"prediction")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_errors_are_one_line_and_exit_code_2_and_debug_shows_more(program, run, folder):
    words = ("predict", folder / "iris.csv", folder / "iris.csv")
    found = program(*words)
    assert found.returncode == 2
    assert found.stdout == b""
    assert found.stderr.count(b"\n") == 1
    shown = run(*words, "--debug")
    assert shown.exit_code == 2
    assert "Traceback" in shown.stderr
    assert "ModelFormatError" in shown.stderr


@pytest.mark.parametrize(
    ("closed", "rows", "code", "line"),
    [
        ("<&-", "-", 2, b"stdin is empty: CSV takes a header and rows.\n"),
        (">&-", "iris.csv", 2, b"stdout is closed: send it to a file, or to /dev/null.\n"),
        ("2>&-", "iris.csv", 0, b""),
        ("2>&-", "missing.csv", 2, b""),
    ],
)
def test_closed_streams_are_told_or_not_needed(command, folder, model, closed, rows, code, line):
    words, environment = command
    found = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *words, "predict", str(model), rows],
        capture_output=True,
        env=environment,
        cwd=folder,
    )
    assert (found.returncode, found.stderr) == (code, line)
    assert found.stdout.count(b"\n") == (151 if code == 0 else 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_full_disk_behind_a_stream_is_exit_code_2(command, folder, model, stream):
    words, environment = command
    rows = "iris.csv" if stream == "stdout" else "missing.csv"
    with open("/dev/full", "wb") as full:
        found = subprocess.run(
            [*words, "predict", str(model), rows],
            env=environment,
            cwd=folder,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: full},
        )
    assert found.returncode == 2
    if stream == "stdout":
        assert found.stderr == b"No space left on device.\n"


def test_no_arguments_show_the_help(program):
    found = program()
    assert found.returncode == 2
    assert b"demo" in found.stdout + found.stderr


def on_a_terminal(words, environment, ctrl_c_at=None):
    """Run on a terminal, with Ctrl-C once it shows some bytes; return its exit code and text."""
    main, other = pty.openpty()
    with (
        heeding_ctrl_c(),
        subprocess.Popen(
            words, stdout=other, stderr=other, env=environment, start_new_session=True
        ) as process,
    ):
        os.close(other)
        shown = b""
        while True:
            try:
                shown += os.read(main, 4096)
            except OSError:  # closed: the program ended
                break
            if ctrl_c_at is not None and ctrl_c_at in shown:
                process.send_signal(signal.SIGINT)
                ctrl_c_at = None
        code = process.wait()
    os.close(main)
    return code, shown.decode()


# The command, but it does not go on after its second round.
STOPS_AFTER_ROUND_2 = """
import os, time
from shareboost.cli import app
from shareboost.progress import RoundsBar

finished = []

def advance(bar, round_):
    finished.append(round_)
    if len(finished) == 2:
        os.write(1, b"after round 2")
        while True:
            time.sleep(0.01)  # a signal just before one long sleep would not end it

RoundsBar.advance = advance
app()
"""


def test_ctrl_c_saves_the_finished_rounds_and_says_so(command, folder, tmp_path):
    _, environment = command
    path = tmp_path / "m.json"
    arguments = ["fit", str(folder / "iris.csv"), "--target", "species", "--holdout", "0.1"]
    code, shown = on_a_terminal(
        [sys.executable, "-c", STOPS_AFTER_ROUND_2, *arguments, "--out", str(path)],
        environment | {"COLUMNS": "160", "TERM": "xterm"},
        ctrl_c_at=b"after round 2",
    )
    assert code == 130, shown
    clf = load_model(path)
    assert len(clf.path_) == clf.selected_.size == 2
    assert "Interrupted: the 2 finished rounds are saved." in shown
    assert clf.path_.stop_reason == "interrupted"
    assert "Traceback" not in shown


def test_bars_show_round_loss_error_and_time_on_a_terminal(command, folder, tmp_path):
    words, environment = command
    arguments = ["fit", str(folder / "iris.csv"), "--target", "species", "--holdout", "0.2"]
    code, shown = on_a_terminal(
        [*words, *arguments, "--out", str(tmp_path / "m.json")],
        environment | {"COLUMNS": "160", "TERM": "xterm"},
    )
    assert code == 0, shown
    for part in ("reading", "rounds", "4/4", "loss", "held-out error", "left"):
        assert part in shown


def test_ctrl_c_before_any_round_writes_nothing(command, tmp_path):
    words, environment = command
    out = tmp_path / "m.json"
    with (
        heeding_ctrl_c(),
        subprocess.Popen(
            [*words, "fit", "-", "--target", "y", "--out", str(out)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        ) as process,
    ):
        process.stdin.write(b"a,y\n1,2\n" * 20_000)  # more than a pipe holds: it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        # A signal just before a read does not end it, but the end of the table does.
        process.stdin.close()
        line = process.stderr.read()
    assert process.returncode == 130
    assert line == b"Interrupted.\n"
    assert not out.exists()
