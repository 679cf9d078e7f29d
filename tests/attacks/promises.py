"""What the command promises, whatever it is given."""

import warnings

from typer.testing import CliRunner

from shareboost.cli import app


def answer(words, stdin=b""):
    """Run the command in this process, check its promises and return the result.

    The exit code is 0 or 2. Code 2 comes with one line on stderr that is no fault of the program;
    only warnings, a line each, may come before it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as outside of tests
        found = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    told = f"{words}\n{found.exit_code}: {found.stderr[-2000:]}"
    assert found.exit_code in (0, 2), told
    assert isinstance(found.exception, SystemExit | None), told
    for word in ("Traceback", "fault of shareboost"):
        assert word not in found.stderr, told
    if found.exit_code == 2 and words:  # without words it shows the help
        *before, last = found.stderr.splitlines()
        assert last.strip(), told
        assert all(line.startswith("Warning: ") for line in before), told
    return found
