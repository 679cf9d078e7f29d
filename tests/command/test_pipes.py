"""The command as a program: pipes, signals, exit codes, terminals."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest

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


def test_a_model_goes_from_fit_to_other_commands_through_a_pipe(program, folder, tmp_path):
    words = ("--target", "species", "--features", 2, "--out", "-")
    written = program("fit", folder / "iris.csv", *words).stdout
    (tmp_path / "m.json").write_bytes(written)
    for rest in (["explain"], ["path"], ["export", "--to", "c", "--out", "-"]):
        found = program(rest[0], "-", *rest[1:], input=written, cwd=tmp_path)
        assert found.returncode == 0, found.stderr
        own = program(rest[0], "m.json", *rest[1:], cwd=tmp_path)
        assert found.stdout == own.stdout
    found = program("explain", "-", input=b"{}")
    assert found.returncode == 2
    assert b"stdin is no model" in found.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize("to", ["c", "js", "onnx"])
def test_exports_go_to_stdout(program, model, tmp_path, to):
    assert program("export", model, "--to", to, "--out", tmp_path / "m").returncode == 0
    found = program("export", model, "--to", to, "--out", "-", cwd=tmp_path)
    assert found.returncode == 0
    assert found.stderr == b""
    assert found.stdout == (tmp_path / "m").read_bytes()
    assert not (tmp_path / "-").exists()


def test_reports_and_their_numbers_go_to_stdout(program, model, folder, tmp_path):
    words = ("report", model, "--data", folder / "iris.csv", "--target", "species")
    found = program(*words, "--out", "-", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(b"<!doctype html>")
    assert found.stdout.rstrip().endswith(b"</html>")
    found = program(*words, "--out", "r.html", "--json", "-", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["title"]
    assert found.stderr == b"The report is in r.html.\n"
    found = program(*words, "--out", "-", "--json", "-", cwd=tmp_path)
    assert found.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_the_demo_writes_its_page_alone_to_stdout(program, tmp_path):
    found = program("demo", "--features", 1, "--out", "-", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(b"<!doctype html>")
    assert b"round" in found.stderr
    assert not list(tmp_path.iterdir())


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


def test_stdin_may_be_another_format_and_compressed(program, folder, model, iris_frame, tmp_path):
    iris_frame.to_parquet(tmp_path / "iris.parquet")
    content = (tmp_path / "iris.parquet").read_bytes()
    found = program("predict", model, "-", "--format", "parquet", input=content)
    assert found.returncode == 0
    assert found.stdout.count(b"\n") == 151


def test_a_reader_that_leaves_early_is_no_error(command, model, iris_frame, tmp_path):
    words, environment = command
    many = tmp_path / "many.csv"
    iris_frame.sample(200_000, replace=True, random_state=0).to_csv(many, index=False)
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


def test_errors_are_one_line_and_exit_code_2_and_debug_shows_more(program, folder):
    words = ("predict", folder / "iris.csv", folder / "iris.csv")
    found = program(*words)
    assert found.returncode == 2
    assert found.stdout == b""
    assert found.stderr.count(b"\n") == 1
    found = program(*words, "--debug")
    assert found.returncode == 2
    assert b"Traceback" in found.stderr
    assert b"ModelFormatError" in found.stderr


def test_no_arguments_show_the_help(program):
    found = program()
    assert found.returncode == 2
    assert b"demo" in found.stdout + found.stderr


@pytest.fixture
def many_rounds(tmp_path):
    """A table whose rounds take a good while."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 400)).astype(np.float32)
    y = (X[:, :40] @ rng.normal(size=(40, 8)) + rng.gumbel(size=(4000, 8))).argmax(axis=1)
    np.savez(tmp_path / "many.npz", X=X, y=y)
    return tmp_path / "many.npz"


def on_a_terminal(words, environment, until):
    """Run on a terminal, Ctrl-C once it has shown something; return the exit code and all shown."""
    main, other = pty.openpty()
    with subprocess.Popen(
        words, stdout=other, stderr=other, env=environment, start_new_session=True
    ) as process:
        os.close(other)
        shown = b""
        sent = False
        while True:
            try:
                shown += os.read(main, 4096)
            except OSError:  # closed: the program ended
                break
            if until is not None and not sent and until(shown):
                process.send_signal(signal.SIGINT)
                sent = True
        code = process.wait()
    os.close(main)
    return code, shown.decode()


def test_ctrl_c_saves_the_finished_rounds_and_says_so(command, many_rounds, tmp_path):
    words, environment = command
    path = tmp_path / "m.json"
    arguments = ["fit", str(many_rounds), "--features", "400", "--holdout", "0.1"]
    code, shown = on_a_terminal(
        [*words, *arguments, "--out", str(path)],
        environment | {"COLUMNS": "160", "TERM": "xterm"},
        lambda shown: b"held-out error" in shown,
    )
    assert code == 130, shown
    clf = load_model(path)
    assert 0 < clf.selected_.size < 400
    assert f"Interrupted: the {clf.selected_.size} finished rounds are saved." in shown
    assert clf.path_.stop_reason == "interrupted"
    assert "Traceback" not in shown


def test_bars_show_round_loss_error_and_time_on_a_terminal(command, folder, tmp_path):
    words, environment = command
    arguments = ["fit", str(folder / "iris.csv"), "--target", "species", "--holdout", "0.2"]
    code, shown = on_a_terminal(
        [*words, *arguments, "--out", str(tmp_path / "m.json")],
        environment | {"COLUMNS": "160", "TERM": "xterm"},
        None,
    )
    assert code == 0, shown
    for part in ("reading", "rounds", "4/4", "loss", "held-out error", "left", "Next: shareboost"):
        assert part in shown


def test_ctrl_c_before_any_round_writes_nothing(command, tmp_path):
    words, environment = command
    out = tmp_path / "m.json"
    with subprocess.Popen(
        [*words, "fit", "-", "--target", "y", "--out", str(out)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        process.stdin.write(b"a,y\n1,2\n" * 20_000)  # more than a pipe holds: it is being read
        process.stdin.flush()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        line = process.stderr.read()
        process.stdin.close()
    assert process.returncode == 130
    assert line == b"Interrupted: nothing was written.\n"
    assert not out.exists()
