"""The header: comment, tables, the functions of every kind, and the two entry points."""

from __future__ import annotations

from string import Template

import numpy as np
from numpy.typing import NDArray

from .early_exit import SETTLED, predict_code
from .layout import Layout
from .pruning import ROOT
from .step import Step
from .text import comment_text, string_literal, table

HEAD = """\
/* $title
 *
 *     int ${name}_predict(const $input *x);                  the class, from 0
 *     void ${name}_scores(const $input *x, float *scores);   the score of each of $k classes
 *     const char *${name}_label(int class_index);            the label of a class
 *
 * x holds $n_inputs numbers, in the order of the columns that the model was trained on.
$notes */
#ifndef SHAREBOOST_MODEL_${name}_H
#define SHAREBOOST_MODEL_${name}_H

$includes
/* Define it before this header to count multiply-adds: it is called with their number. */
#ifndef SHAREBOOST_COUNT
#define SHAREBOOST_COUNT(n) ((void)0)
#endif

enum { ${name}_n_inputs = $n_inputs, ${name}_n_classes = $k };

"""

ADD = """
/* Adds a value times its weights to the scores. */
static inline void ${name}_add(int column, float value, float *scores)
{
    int q;
    for (q = 0; q < $k; ++q)
        scores[q] += value * $weight;
    SHAREBOOST_COUNT($k);
}
"""

BEST = """
/* The first of the classes with the highest score. */
static inline int ${name}_best(const float *scores)
{
    int q, best = 0;
    for (q = 1; q < $k; ++q)
        if (scores[q] > scores[best])
            best = q;
    return best;
}
"""

SCORES = """
static inline void ${name}_scores(const $input *x, float *scores)
{
    int q;
    for (q = 0; q < $k; ++q)
        scores[q] = ${name}_intercept[q];
$calls}
"""

PREDICT = """
static inline int ${name}_predict(const $input *x)
{
    float scores[$k];
    ${name}_scores(x, scores);
    return ${name}_best(scores);
}
"""

LABEL = """
static inline const char *${name}_label(int class_index)
{
    static const char *const labels[$k] = {
$labels};
    return labels[class_index];
}

#endif
"""


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
        "calls": "".join(_call(step) for step in layout.steps) or "    (void)x;\n",
        "labels": ",\n".join(f"        {string_literal(label)}" for label in plan.classes.tolist()),
    }
    scales = dict(zip([step.prefix for step in layout.steps], layout.scales, strict=True))
    starts = dict(zip([step.prefix for step in layout.steps], layout.starts.tolist(), strict=False))

    def filled(step: Step, text: str) -> str:
        return _filled(step, text, starts[step.prefix], scales[step.prefix], words)

    text = HEAD + "\n".join(table(name, values) for name, values in layout.tables.items())
    text += BEST + (ADD if layout.steps else "")
    if layout.bounds:
        text += SETTLED + (ROOT if layout.matched else "")
    text += "".join(filled(step, step.code) for step in layout.steps) + SCORES
    if layout.bounds:
        every = layout.checked_every
        checks = len(layout.bounds.get(f"{form.name}_rest", ())) // plan.classes.size
        calls = "".join(_call(step) for step in layout.steps if step.kind != "matches")
        text += predict_code(layout.steps, filled, calls, every, checks, int(layout.starts[-1]))
    else:
        text += PREDICT
    return Template(text + LABEL).substitute(words)


def _includes(layout: Layout) -> str:
    matched = layout.matched
    text = ("#include <float.h>\n" if matched else "") + "#include <stdint.h>\n"
    return text + ("#include <string.h>\n" if matched and layout.bounds else "")


def _call(step: Step) -> str:
    if step.kind == "matches":
        return f"    {step.prefix}(x, scores);\n"
    return f"    {step.prefix}(x, 0, {step.n}, scores);\n"


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
