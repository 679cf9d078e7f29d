"""The text of an experiment, and the page of all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from .experiment import Experiment, Row, Verdict
from .lab import Lab, revision_of

_HEAD = """# The paper, reproduced

Every figure and table of S. Shalev-Shwartz, Y. Wexler and A. Shashua, "ShareBoost: Efficient
Multiclass Learning with Feature Sharing" (2011), run again with this library, and beside each
claim of the paper what was measured and whether it holds. `pip install 'shareboost[paper]'`, then
`python -m paper NAME` writes the figures, their points as CSV, a text, and this page.
(The paper's Fig. 1 is a drawing that motivates piece-wise linear functions; there is nothing in it
to measure.)

"""


def text_of(lab: Lab, experiment: Experiment, rows: list[Row], pictures: Iterable[str]) -> str:
    """Return the text of an experiment as Markdown."""
    claims, details = experiment.judge(rows), experiment.details(rows)
    lines = [f"## {experiment.title}", "", experiment.shows, ""]
    lines += ["| the paper claims | there | here | verdict |", "|---|---|---|---|"]
    lines += [f"| {c.claim} | {c.paper} | {c.measured} | **{c.verdict}** |" for c in claims]
    lines += ["", *([details.strip(), ""] if details else [])]
    for name in pictures:
        caption = experiment.captions[name.removesuffix(".png")]
        lines += [f"![{caption}]({name})", "", f"*{caption}*", ""]
    lines += [experiment.chosen.strip(), ""]
    if lab.quick:
        lines += ["A quick run, on samples: its figures say that it works, and no more.", ""]
    option = " --quick" if lab.quick else ""
    lines += [f"`python -m paper {lab.name}{option}`", "", *_effort(lab), ""]
    lines += [f"Points: [{lab.name}.csv]({lab.name}.csv).", ""]
    return "\n".join(lines)


def _effort(lab: Lab) -> list[str]:
    """Return which machine measured for how long."""
    spent: dict[str, list[float]] = defaultdict(list)
    for record in lab.records.values():
        option = f", `--device {record['device']}`" if record["device"] else ""
        at = "committed with" if "committed_with" in record else "at"
        revision = revision_of(record)
        when = f", {at} {revision} on {record['date']}" if revision else ""
        spent[record["machine"] + option + when].append(record["seconds"])
    lines = [
        f"- {machine}: {sum(times):.0f} s for {counted(len(times), 'part')}"
        for machine, times in spent.items()
    ]
    told = sum(len(record["warnings"]) for record in lab.records.values())
    if told:
        some = counted(told, "search", "searches")
        lines.append(f"- {some} ended before reaching the tolerance, as {lab.name}.json tells")
    return lines


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number of things in words."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def write_page(page: Path, names: Iterable[str]) -> None:
    """Write the page of all experiments whose texts are beside it."""
    files = {name: page.parent / f"{name}.md" for name in names}
    texts = {name: file.read_text() for name, file in files.items() if file.exists()}
    page.write_text(_HEAD + _summary(texts) + "\n" + "\n".join(texts.values()))


def _summary(texts: dict[str, str]) -> str:
    """Return how many claims of each experiment hold, as Markdown."""
    lines = [f"| `python -m paper` | | {' | '.join(Verdict)} |", "|---" * (2 + len(Verdict)) + "|"]
    for name, text in texts.items():
        title = text.partition("\n")[0].removeprefix("## ")
        counts = [str(text.count(f"**{verdict}**")) for verdict in Verdict]
        lines.append(f"| `{name}` | {title} | {' | '.join(counts)} |")
    return "\n".join(lines) + "\n"
