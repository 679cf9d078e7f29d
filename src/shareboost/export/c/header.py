"""The header: comment, tables, the functions of every kind, and the two entry points."""

from __future__ import annotations

from string import Template

import numpy as np
from numpy.typing import NDArray

from ..fragments import fragments, functions
from .early_exit import predict_code
from .layout import Layout
from .step import Step
from .text import comment_text, string_literal, table

C = "c/header.c"


def header_of(layout: Layout, notes: list[str]) -> str:
    """Return the whole header; the notes go into its first comment, a line each."""
    plan, form = layout.plan, layout.form
    words = {
        "name": form.name,
        "input": form.c_input,
        "k": plan.classes.size,
        "n_inputs": plan.n_inputs,
        "title": f"A classifier of {plan.classes.size} classes, exported by shareboost.",
        "notes": "".join(f" * {comment_text(note)}".rstrip() + "\n" for note in notes),
        "includes": _includes(layout),
        "weight": f"{'' if form.weights == 'float32' else '(float)'}{form.name}_weights[column][q]",
        "calls": "".join(step.call for step in layout.steps) or "    (void)x;\n",
        "labels": ",\n".join(f"        {string_literal(label)}" for label in plan.classes.tolist()),
    }
    scales = dict(zip([step.prefix for step in layout.steps], layout.scales, strict=True))
    starts = dict(zip([step.prefix for step in layout.steps], layout.starts.tolist(), strict=False))

    def filled(step: Step, text: str) -> str:
        return _filled(step, text, starts[step.prefix], scales[step.prefix], words)

    text = fragments(C)["head"] + "\n\n"
    text += "\n".join(table(name, values) for name, values in layout.tables.items())
    text += functions(C, "best", *(["add"] if layout.steps else []))
    if layout.bounds:
        text += functions("c/early_exit.c", "settled")
        text += functions("primitives/pruning.c", "root") if layout.searched else ""
    text += "".join(filled(step, step.code) for step in layout.steps) + functions(C, "scores")
    if layout.bounds:
        every = layout.checked_every
        checks = len(layout.bounds.get(f"{form.name}_rest", ())) // plan.classes.size
        calls = "".join(step.call for step in layout.steps if not step.part.searched)
        text += predict_code(layout.steps, filled, calls, every, checks, int(layout.starts[-1]))
    else:
        text += functions(C, "predict")
    return Template(text + functions(C, "label")).substitute(words)


def _includes(layout: Layout) -> str:
    searched = layout.searched
    text = ("#include <float.h>\n" if searched else "") + "#include <stdint.h>\n"
    return text + ("#include <string.h>\n" if searched and layout.bounds else "")


def _filled(
    step: Step,
    text: str,
    start: int,
    scales: NDArray[np.float32] | None,
    words: dict[str, object],
) -> str:
    """Return a text of a step with its own words filled in."""
    scale = f"{step.prefix}_scales[i]"
    own = {
        "prefix": step.prefix,
        "start": start,
        "scaled": "" if scales is None else f" * {scale}",
        "one": "1.0f" if scales is None else scale,
    }
    code = Template(text).safe_substitute(step.words)
    return Template(code).safe_substitute(words | own)
