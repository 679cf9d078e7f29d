import pytest
from checkpoint_files import save


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


@pytest.fixture
def saved(path):
    """The path of a checkpoint with one state."""
    save(path)
    return path
