import os
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from shareboost.cli import app

COMMAND = [sys.executable, "-c", "from shareboost.cli import app; app()"]
PLAIN = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.fixture(scope="session")
def run():
    """Run the command in this process; arguments may be paths."""

    def invoke(*arguments, **settings):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)

    return invoke


@pytest.fixture(scope="session")
def iris_frame():
    """The irises in random order, with a column of text that tells something."""
    bunch = load_iris(as_frame=True)
    frame = bunch.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
    frame["colour"] = np.where(bunch.target == 0, "red", "blue, light")
    frame.loc[::7, "colour"] = "green"
    frame["species"] = bunch.target_names[bunch.target]
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="session")
def folder(tmp_path_factory, iris_frame):
    """Tables, and models of them."""
    place = tmp_path_factory.mktemp("tables")
    iris_frame.to_csv(place / "text.csv", index=False)
    iris_frame.drop(columns="colour").to_csv(place / "iris.csv", index=False)
    return place


@pytest.fixture(scope="session")
def model(run, folder):
    """A model of the irises, with its path."""
    path = folder / "iris.json"
    found = run(
        *("fit", folder / "iris.csv", "--target", "species", "--features", 3),
        *("--holdout", 0.2, "--out", path),
    )
    assert found.exit_code == 0, found.stderr
    return path


@pytest.fixture(scope="session")
def text_model(run, folder):
    """A model that reads a column of text."""
    path = folder / "text.json"
    found = run(
        *("fit", folder / "text.csv", "--target", "species", "--one-hot", 3),
        *("--include", "colour", "--features", 4, "--out", path),
    )
    assert found.exit_code == 0, found.stderr
    return path


def assert_refused(found, *parts):
    """One line on stderr, exit code 2, nothing on stdout."""
    assert found.exit_code == 2, found.output
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1, found.stderr
    for part in parts:
        assert part in found.stderr, found.stderr


@pytest.fixture
def refused():
    return assert_refused


@pytest.fixture(scope="session")
def command():
    """The command as a program of its own: words to run, and its environment."""
    return COMMAND, PLAIN
