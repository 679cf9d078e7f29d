"""``python -m paper NAME``: run a figure or table of the paper again and compare."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import paper

DESCRIPTION = """
Run a figure or table of the paper again and compare. Writes figures (PNG), their points (CSV) and a
text that compares with the paper. What was measured is kept: an interrupted run goes on where it
ended.

  examples    section 6, features used as classes and blocks grow
  guarantee   theorems 1 and 2 on real data
  sharing     figure 2, features for 2 to 36 letters
  mixed-norm  figure 3, top
  jointboost  figure 3, bottom
  mnist       table 1, figures 4 to 6
  pieces      figure 7
"""


def main(words: list[str] | None = None) -> int:
    """Run the experiments that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m paper",
        description=DESCRIPTION,
        epilog="For instance: python -m paper examples --quick",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=[*paper.NAMES, "all"], help="an experiment, or all")
    parser.add_argument(
        "--data", type=Path, help="folder of the data sets; else $SHAREBOOST_DATA, else OpenML"
    )
    parser.add_argument("--device", help="where ShareBoost and networks run, for instance cuda")
    parser.add_argument("--quick", action="store_true", help="on samples, each within two minutes")
    parser.add_argument(
        "--out", type=Path, default=Path("reproduced"), help="folder for figures, points and texts"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="measure again what was measured before"
    )
    parser.add_argument("--debug", action="store_true", help="show where an error comes from")
    options = parser.parse_args(words)
    folder = options.out / "quick" if options.quick else options.out
    failed = False
    for name in paper.NAMES if options.name == "all" else [options.name]:
        try:
            written = paper.reproduce(
                name,
                folder,
                quick=options.quick,
                device=options.device,
                data=options.data,
                fresh=options.fresh,
                say=partial(_say, name),
            )
        except KeyboardInterrupt:
            print(f"Interrupted: the parts that were finished are in {folder}.", file=sys.stderr)
            return 130
        except Exception as error:  # the others of "all" are run nevertheless
            if options.debug:
                raise
            _say(name, " ".join(str(error).split()))
            failed = True
            continue
        print(written.text.read_text())
        print(f"Written to {folder}: {written}", file=sys.stderr)
    return 2 if failed else 0


def _say(name: str, line: str) -> None:
    """Show a line of progress."""
    print(f"{name}: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
