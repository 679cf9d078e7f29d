"""Change the source at random places and count how many changes the tests notice.

``make mutants`` runs it. Every mutant is one operator, comparison, sign or constant changed in a
copy of the source; the tests nearest to it then run until one fails. A mutant that no test notices
survives: either a test is missing, or the change makes no difference to any answer. Those of the
second kind are listed with the reason in ``equivalent.txt`` and do not count.

The mutants are drawn with a fixed seed, so the same source gives the same mutants.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src/shareboost")
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
SLOWER = 8  # times as long as without a mutant: it loops for ever, which is noticed too

# What is mutated: sources below src/shareboost, how many mutants, and the tests to run on them.
AREAS = {
    "losses": (["losses.py"], 10, ["test_losses.py", "test_algorithm.py"]),
    "algorithm": (
        ["algorithm.py"],
        12,
        ["test_algorithm.py", "test_path.py", "test_early_stopping.py", "selection"],
    ),
    "selection": (["selection"], 14, ["selection", "test_algorithm.py", "pools/test_union.py"]),
    "solvers": (
        ["solvers"],
        14,
        ["solvers", "selection/test_rules.py", "test_algorithm.py", "test_path.py"],
    ),
    "gram": (["gram.py"], 10, ["test_gram.py", "solvers", "test_rows.py"]),
    "pools": (["pools"], 20, ["pools", "test_as_published.py"]),
    "kernels": (["kernels"], 14, ["kernels", "datasets", "pools"]),
    "penalties": (["penalties.py"], 10, ["test_penalties.py", "solvers"]),
    "bounds": (["bounds.py"], 8, ["test_bounds.py"]),
    "export": (["export"], 20, ["export"]),
    "model file": (
        [
            f"io/{name}.py"
            for name in (
                *("reader", "fields", "arrays", "features", "rounds"),
                *("paths", "text", "labels", "parameters"),
            )
        ],
        14,
        ["io"],
    ),
}

SWAPPED_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
SWAPPED_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
# Arguments that say how something is computed or checked, not what: changing them shows nothing.
HOW = {"cache", "strict", "nogil", "inline", "fastmath", "error_model", "copy", "slots", "frozen"}


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    area: str
    file: str  # below src/shareboost
    function: str
    line: int
    span: tuple[int, int, int, int]  # first line and column, last line and column
    before: str
    after: str
    statement: bool
    occurrence: int  # among the same changes of the function

    @property
    def key(self) -> str:
        """What names it in the list of equivalent mutants, whatever moves around it."""
        return self.change + (f" [{self.occurrence}]" if self.occurrence > 1 else "")

    @property
    def change(self) -> str:
        """What is changed to what, and in which function."""
        return f"{self.file}::{self.function}: {self.before} -> {self.after}"

    def applied_to(self, source: str) -> str:
        """Return the source with the change."""
        lines = source.encode().split(b"\n")
        first, column, last, end = self.span
        head, tail = lines[first - 1][:column], lines[last - 1][end:]
        after = self.after if self.statement else f"({self.after})"
        lines[first - 1 : last] = [head + after.encode() + tail]
        return b"\n".join(lines).decode()


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what an expression may become."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in SWAPPED_OPERATORS:
        yield _with(node, op=SWAPPED_OPERATORS[type(node.op)]())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in SWAPPED_COMPARISONS.get(type(node.ops[0]), ()):
            yield _with(node, ops=[other()])
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield _with(node, value=not node.value)
        elif isinstance(node.value, int):
            yield _with(node, value=node.value + 1)
        elif isinstance(node.value, float):
            yield _with(node, value=2 * node.value if node.value else 1.0)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def mutants_of(area: str, file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    tree = ast.parse((ROOT / PACKAGE / file).read_text())
    seen: Counter[tuple[str, str, str]] = Counter()

    def visit(node: ast.AST, function: str) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
            bodies: list[ast.AST] = list(node.body)
            if isinstance(node, ast.FunctionDef):
                bodies += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            for part in bodies:
                yield from visit(part, function)
            return
        # Messages, types and text have no arithmetic of interest.
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert | ast.ImportFrom):
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                yield from visit(node.value, function)
            return
        if isinstance(node, ast.keyword) and node.arg in HOW:
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, ast.expr | ast.AugAssign) and node.end_lineno is not None:
            span = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset or 0)
            statement = isinstance(node, ast.AugAssign)
            for changed in changes(node):
                before, after = ast.unparse(node), ast.unparse(changed)
                seen[function, before, after] += 1
                n = seen[function, before, after]
                yield Mutant(area, file, function, node.lineno, span, before, after, statement, n)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(tree, "")


def drawn(seed: int, share: float) -> list[Mutant]:
    """Return the mutants of all areas, as many of each as the table says times the share.

    Those of the smallest hashes are drawn, so that a change of the source leaves the others drawn.
    """
    chosen = []
    for area, (places, number, _) in AREAS.items():
        paths = [ROOT / PACKAGE / place for place in places]
        files = [f for path in paths for f in (sorted(path.rglob("*.py")) or [path])]
        names = [str(file.relative_to(ROOT / PACKAGE)) for file in files]
        mutants = [mutant for name in names for mutant in mutants_of(area, name)]
        by_hash = {
            sha256(f"{seed} {m.change} {m.occurrence}".encode()).digest(): m for m in mutants
        }
        chosen += [by_hash[h] for h in sorted(by_hash)[: round(number * share)]]
    return chosen


def equivalent() -> dict[str, str]:
    """Return the reasons of the mutants that change no answer, by their keys."""
    lines = EQUIVALENT.read_text().splitlines()
    pairs = [line.split(" # ", 1) for line in lines if line and not line.startswith("#")]
    return {key.strip(): reason for key, reason in pairs}


class Workshop:
    """A copy of the project in which one mutant at a time is tested."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("src", "tests", "pyproject.toml", "README.md"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name)  # with what Numba has compiled
            else:
                shutil.copy2(source, folder / name)

    def noticed(self, mutant: Mutant, seconds: float) -> str:
        """Return the first test that fails with a mutant, or nothing where all pass."""
        path = self.folder / PACKAGE / mutant.file
        source, times = path.read_text(), path.stat()
        shared = path.name == "__init__.py"  # by kernels, which Numba does not see
        path.write_text(mutant.applied_to(source))
        try:
            if shared:
                self.forget_compiled(path.parent)
            return self.failure(mutant.area, seconds, path.stem)
        finally:
            path.write_text(source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            if shared:
                self.forget_compiled(path.parent)

    def forget_compiled(self, folder: Path) -> None:
        """Remove what Numba has compiled of the sources in a folder."""
        for compiled in folder.glob("__pycache__/*.nb?"):
            compiled.unlink()

    def failure(self, area: str, seconds: float | None = None, module: str = "") -> str:
        """Return the first test of an area that fails, or nothing where all pass in time.

        The tests that are named for a module come first: they are likely to notice.
        """
        places = [self.folder / "tests" / test for test in AREAS[area][2]]
        files = [f for place in places for f in (sorted(place.rglob("test_*.py")) or [place])]
        files.sort(key=lambda file: file.stem != f"test_{module}")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-n", "0"]
        command += ["-m", "not slow", *map(str, files)]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        environment = {**os.environ, **threads, "PYTHONPATH": str(self.folder / "src")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(
            command, cwd=self.folder, env=environment, start_new_session=True, **pipes
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # and what the tests started
                return "it did not end"
        if process.returncode == pytest.ExitCode.OK:
            return ""
        if process.returncode == pytest.ExitCode.NO_TESTS_COLLECTED:
            sys.exit(f"There are no tests of {area!r}.")
        failures = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failures[0] if failures else output[-300:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the mutants of every area")
    parser.add_argument("--area", choices=AREAS, help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="write what became of each mutant here")
    options = parser.parse_args()

    known = equivalent()
    mutants = [m for m in drawn(options.seed, options.share) if options.area in (None, m.area)]
    tested = [m for m in mutants if m.key not in known]
    with tempfile.TemporaryDirectory() as folder:
        free: SimpleQueue[Workshop] = SimpleQueue()
        for job in range(options.jobs):
            free.put(Workshop(Path(folder) / str(job)))

        def seconds_of(area: str) -> float:
            workshop, started = free.get(), perf_counter()
            try:
                if failure := workshop.failure(area):
                    sys.exit(f"A test fails without any mutant: {failure}")
            finally:
                free.put(workshop)
            return perf_counter() - started

        def changed(mutant: Mutant) -> str:
            workshop = free.get()
            try:
                failure = workshop.noticed(mutant, SLOWER * seconds[mutant.area])
            finally:
                free.put(workshop)
            outcome = "caught  " if failure else "SURVIVED"
            print(f"{outcome} {mutant.key} (line {mutant.line})", flush=True)
            return failure

        with ThreadPoolExecutor(options.jobs) as pool:
            areas = list(dict.fromkeys(mutant.area for mutant in tested))
            seconds = dict(zip(areas, pool.map(seconds_of, areas), strict=True))
            failures = list(pool.map(changed, tested))
    if options.json:
        found = [{"mutant": m.key, "failure": f} for m, f in zip(tested, failures, strict=True)]
        options.json.write_text(json.dumps(found, indent=1))
    caught = Counter(m.area for m, f in zip(tested, failures, strict=True) if f)
    for area, number in Counter(m.area for m in tested).items():
        print(f"{area}: {caught[area]} of {number}")
    share = caught.total() / max(1, len(tested))
    print(f"{caught.total()} of {len(tested)} caught, {share:.0%}", end="; ")
    print(f"{len(mutants) - len(tested)} more change no answer: {EQUIVALENT.name} says why")
    if share < 0.9:
        sys.exit("Fewer than 90% of the mutants were caught.")


if __name__ == "__main__":
    main()
