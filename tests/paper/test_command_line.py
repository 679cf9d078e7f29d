"""The command line: one line for an error, exit codes, texts on stdout."""

import pytest

import paper
from paper.__main__ import main
from paper.reproduction import Written


def test_help_names_every_experiment(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in paper.NAMES)


def test_an_unknown_experiment_is_exit_code_2(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["figure-9"])
    assert ended.value.code == 2
    assert "'figure-9'" in capsys.readouterr().err


def test_an_error_is_one_line_without_a_traceback(tmp_path, capsys):
    assert main(["pieces", "--data", str(tmp_path / "nowhere")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("pieces: data=")
    assert told.count("\n") == 1


def test_debug_shows_the_error_itself(tmp_path):
    with pytest.raises(FileNotFoundError, match="data="):
        main(["pieces", "--data", str(tmp_path / "nowhere"), "--debug"])


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

    monkeypatch.setattr(paper, "reproduce", reproduce)


def test_all_runs_the_others_where_one_fails(made_up, tmp_path, capsys):
    assert main(["all", "--out", str(tmp_path)]) == 2
    found = capsys.readouterr()
    assert "sharing: no letters\n" in found.err
    assert all(f"text of {n}," in found.out for n in paper.NAMES if n != "sharing")


def test_quick_runs_have_a_folder_of_their_own(made_up, tmp_path, capsys):
    assert main(["pieces", "--quick", "--out", str(tmp_path)]) == 0
    assert "quick=True" in capsys.readouterr().out
    assert (tmp_path / "quick" / "pieces.md").exists()


def test_an_interrupt_says_what_is_kept(monkeypatch, tmp_path, capsys):
    def reproduce(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(paper, "reproduce", reproduce)
    assert main(["pieces", "--out", str(tmp_path)]) == 130
    assert str(tmp_path) in capsys.readouterr().err
