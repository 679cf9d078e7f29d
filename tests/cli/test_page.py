"""What docs/command.md shows is what the commands print."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command.md"
SECONDS = re.compile(r"\s+\d+\.\d\d$")  # of the rounds, which differ from run to run


def shown():
    """Each command of the page and the lines below it."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(), flags=re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.strip("\n").splitlines()


@pytest.fixture
def wines(tmp_path, monkeypatch):
    """A folder with the tables of the page."""
    bunch = load_wine(as_frame=True)
    frame = bunch.data.rename(columns=lambda name: name.replace("/", "_"))
    frame["cultivar"] = np.array(["barolo", "grignolino", "barbera"])[bunch.target]
    frame = frame.sample(frac=1, random_state=0)
    frame[:130].to_csv(tmp_path / "wines.csv", index=False)
    frame[130:].to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)


def test_the_page_shows_what_the_commands_print(run, wines):
    n_commands = 0
    for command, lines in shown():
        words = command.split()
        rows = None
        if words[:2] == ["head", "-3"]:
            rows = "".join(Path(words[2]).read_text().splitlines(keepends=True)[:3])
            words = words[4:]
        if words[1] == "report":
            continue
        found = run(*words[1:], input=rows)
        assert found.exit_code == 0, found.stderr
        told = [SECONDS.sub("", line) for line in found.stdout.splitlines()]
        assert told == [SECONDS.sub("", line) for line in lines], command
        n_commands += 1
    assert n_commands == 7
