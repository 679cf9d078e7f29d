"""The tables and the plot of what was measured, as Markdown."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from paper.provenance import processor

from .plan import LIMITS

Found = dict[str, Any]


def machine() -> str:
    """Return a line on where and with what this is measured."""
    import numba
    import scipy
    import sklearn

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}; Python "
        f"{platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, Numba {numba.__version__}; two threads allowed to "
        "all."
    )


def spread(values: list[float], form: str = "{:.3g}") -> str:
    """Return the median and, in brackets, the range."""
    text = form.format(median(values))
    if len(values) > 1:
        text += f" ({form.format(min(values))} to {form.format(max(values))})"
    return text


def row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def head(*cells: str) -> list[str]:
    return [row(*cells), "|---" * len(cells) + "|"]


def of_runs(runs: list[Found], key: str, form: str) -> str:
    values = [run[key] for run in runs if key in run]
    return form.format(median(values)) if values else ""


def matches_table(found: Found) -> list[str]:
    """Return a line for every contestant; ratios are those of runs of one turn."""
    lines = head(
        "work",
        "who",
        "seconds",
        "times ours",
        "processor seconds",
        "loss",
        "test error",
        "features",
        "peak",
        "asked",
    )
    for match in found.values():
        if "lines" not in match:
            continue
        ours = [run["seconds"] for run in match["lines"][0]["runs"]]
        for place, line in enumerate(match["lines"]):
            runs = line["runs"]
            ratios = [run["seconds"] / mine for run, mine in zip(runs, ours, strict=False)]
            lines.append(
                row(
                    match["work"] if place == 0 else "",
                    line["title"],
                    spread([run["seconds"] for run in runs]),
                    spread(ratios) if place else "1",
                    of_runs(runs, "processors", "{:.3g}"),
                    of_runs(runs, "loss", "{:.4f}"),
                    of_runs(runs, "error", "{:.2%}"),
                    of_runs(runs, "features", "{:.0f}"),
                    of_runs(runs, "megabytes", "{:.0f} MB"),
                    line["asked"],
                )
            )
    return lines


def limits_table(found: Found) -> list[str]:
    """Return a line for every step beside its limit; ours over the limit's seconds."""
    lines = head("step", "beside", "ours, ms", "its, ms", "ours / its", "asked")
    for limit in LIMITS:
        if limit.name not in found:
            continue
        ours, its = found[limit.name]["ours"], found[limit.name]["peer"]
        ratios = [a / b for a, b in zip(ours, its, strict=True)]
        in_ms = [[1000 * value for value in values] for values in (ours, its)]
        cells = [spread(values) for values in in_ms]
        lines.append(row(limit.work, limit.against, *cells, spread(ratios, "{:.2f}"), limit.asked))
    if "stumps" in found:
        first, *others = found["stumps"]["lines"]
        (trees,) = (line for line in others if line["title"].startswith("LightGBM"))
        mine, its = ([1000 * run["round"] for run in line["runs"]] for line in (first, trees))
        ratios = [a / b for a, b in zip(mine, its, strict=True)]
        lines.append(
            row(
                "stumps selection from the residual, MNIST's pixels, median of a run",
                "a round of LightGBM, 10 one-split trees, median of a run",
                spread(mine),
                spread(its),
                spread(ratios, "{:.2f}"),
                "at most half of its time",
            )
        )
    return lines


def alone_lines(found: Found) -> list[str]:
    """Return what has no peer: the large sparse fit, memory, first uses."""
    lines = []
    if "sparse_fit" in found:
        fit = found["sparse_fit"]
        lines.append(
            f"- Sparse 100000 x 20000, 5% filled, 50 classes, {fit['features']} features: "
            f"{fit['seconds'] / 60:.1f} minutes in all, peak {fit['megabytes'] / 1024:.1f} GiB, of "
            f"which {fit['megabytes before'] / 1024:.1f} GiB, the rows, before the fit began "
            f"(asked: at most 8 minutes and 6 GiB). Training loss {fit['loss']:.3f}."
        )
    if "memory" in found:
        fit = found["memory"]
        added = fit["megabytes"] - fit["megabytes before"]
        lines.append(
            f"- Memory: the fit of a float32 matrix of {fit['matrix']:.0f} MB, 60000 x 4000, adds "
            f"{added:.0f} MB to what is held (asked: no second copy)."
        )
    if "first_use" in found:
        lines += [
            "",
            *head("first use of", "seconds, once a machine", "of a later process", "compilation"),
        ]
        for pool, seconds in found["first_use"].items():
            first, later = seconds["first"], seconds["later"]
            lines.append(row(pool, f"{first:.1f}", f"{later:.2f}", f"{first - later:.1f}"))
        lines.append(
            "\nBoth uses import Numba; compilation is their difference. Asked: at most 4 s."
        )
    return lines


def growth_table(found: Found) -> list[str]:
    """Return the factors by which the time grows from each size to the next."""
    lines = head("doubled", "sizes", "seconds", "all", "selection", "refit", "asked")
    for name, each in found.items():
        seconds = np.median(each["all"], axis=0)
        # Ratios of neighbours in one repeat, then the median over repeats.
        factors = [
            " ".join(f"{factor:.2f}" for factor in np.median(ratios(each[kind]), axis=0))
            for kind in ("all", "selection", "refit")
        ]
        sizes = " ".join(map(str, each["sizes"]))
        asked = "at most 3 for the refit" if name == "rounds" else "at most 2.3"
        lines.append(
            row(name, sizes, " ".join(f"{value:.2f}" for value in seconds), *factors, asked)
        )
    return lines


def ratios(seconds: list[list[float]]) -> Any:
    values = np.array(seconds)
    return values[:, 1:] / values[:, :-1]


def growth_plot(found: Found, target: Path) -> None:
    """Draw the seconds against the sizes, both on logarithmic axes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "shareboost"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(12, 3.2), sharey=True)
    for axis, (name, each) in zip(axes, found.items(), strict=True):
        for kind, style in (("all", "o-"), ("refit", "s--"), ("selection", "^:")):
            axis.loglog(each["sizes"], np.median(each[kind], axis=0), style, label=kind, base=2)
        start = np.median(each["all"], axis=0)[0]
        sizes = np.array(each["sizes"])
        axis.loglog(sizes, start * sizes / sizes[0], color="0.7", label="in proportion", base=2)
        axis.set_xlabel(name)
        axis.set_xticks(sizes, [str(size) for size in sizes])
        axis.minorticks_off()
    axes[0].set_ylabel("seconds")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)


def written(found: Found) -> str:
    """Return all tables."""
    revisions = ", ".join(sorted(set(found["revisions"].values())))
    dates = ", ".join(sorted(set(found["dates"].values())))
    lines = [f"Measured on {found['machine']} Revision {revisions}; {dates}.", ""]
    lines += [*matches_table(found), ""]
    lines += ["## Single steps", "", *limits_table(found), "", *alone_lines(found)]
    if "growth" in found:
        lines += ["", "## Growth", "", *growth_table(found["growth"])]
    return "\n".join(lines) + "\n"
