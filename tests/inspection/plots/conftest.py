import matplotlib
import pytest


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a display, and leave no figure open."""
    import matplotlib.pyplot as plt

    matplotlib.use("agg")
    yield
    plt.close("all")
