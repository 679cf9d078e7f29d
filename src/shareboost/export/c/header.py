"""The header: comment, tables, the functions of every kind, and the two entry points."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

import numpy as np
from numpy.typing import NDArray

from ..plan import Balls, Matches, Plan, Products, Reads, Thresholds
from .balls import balls
from .lanes import by_size
from .matches import matches
from .plain_kinds import products, reads, thresholds
from .quantisation import Codes, encode
from .step import Form, Step
from .text import comment_text, float_literal, string_literal, table, table_bytes

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

SCORES = """
static inline void ${name}_scores(const $input *x, float *scores)
{
    int q;
    for (q = 0; q < $k; ++q)
        scores[q] = ${name}_intercept[q];
$calls}

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


@dataclass(frozen=True)
class Layout:
    """A plan as the steps of a header, with the weights that it has there."""

    plan: Plan
    form: Form
    steps: list[Step]
    weights: list[Codes]  # of each step, a feature a row
    intercept: NDArray[np.float64]

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where the columns of each step start, and the number of all."""
        return np.cumsum([0, *(len(step.weights) for step in self.steps)])

    @property
    def scales(self) -> list[NDArray[np.float32] | None]:
        """What the values of each step's features are multiplied by; None for 1."""
        found: list[NDArray[np.float32] | None] = []
        for step, codes in zip(self.steps, self.weights, strict=True):
            factor = codes.scales * (1.0 if step.factor is None else step.factor)
            found.append(None if np.all(factor == 1.0) else factor.astype(np.float32))
        return found

    @property
    def tables(self) -> dict[str, NDArray[np.generic]]:
        """All tables by their names in C."""
        name, k = self.form.name, self.intercept.size
        found: dict[str, NDArray[np.generic]] = {
            f"{name}_intercept": self.intercept.astype(np.float32)
        }
        if self.steps:
            weights = [codes.codes.reshape(-1, k) for codes in self.weights]
            found[f"{name}_weights"] = np.concatenate(weights)
        for step, scales in zip(self.steps, self.scales, strict=True):
            own = step.tables | ({} if scales is None else {"scales": scales})
            found |= {f"{step.prefix}_{what}": values for what, values in own.items()}
        return found

    @property
    def table_bytes(self) -> int:
        """What all tables take."""
        return sum(map(table_bytes, self.tables.values()))


def layout_of(plan: Plan, form: Form) -> Layout:
    """Return the steps of a plan: cheap features first."""
    steps: list[Step] = []
    for kind in (Reads, Thresholds, Products, Balls, Matches):
        for part in plan.parts:
            if not isinstance(part, kind):
                continue
            prefix = f"{form.name}_{kind.__name__.lower()}{len(steps)}"
            match part:
                case Reads():
                    steps.append(reads(part, plan, prefix, form))
                case Thresholds():
                    steps.append(thresholds(part, plan, prefix, form))
                case Products():
                    steps.append(products(part, plan, prefix, form))
                case Balls():
                    steps.append(balls(part, plan, prefix, form))
                case Matches():
                    for i, of_size in enumerate(by_size(part)):
                        steps.append(matches(of_size, plan, f"{prefix}_{i}", form))
    weights = [encode(step.weights.reshape(step.n, -1), form.weights) for step in steps]
    intercept = plan.intercept + sum((step.bias for step in steps), np.zeros(len(plan.intercept)))
    return Layout(plan, form, steps, weights, intercept)


def header_of(layout: Layout, notes: list[str]) -> str:
    """Return the whole header; the notes go into its first comment, a line each."""
    plan, form = layout.plan, layout.form
    words = {
        "name": form.name,
        "input": form.c_input,
        "k": plan.classes.size,
        "n_inputs": plan.n_inputs,
        "title": f"A classifier of {plan.classes.size} classes, exported by shareboost.",
        "notes": "".join(f" * {comment_text(note)}\n" for note in notes),
        "includes": _includes(layout),
        "weight": f"{'' if form.weights == 'float32' else '(float)'}{form.name}_weights[column][q]",
        "calls": "".join(_call(step) for step in layout.steps) or "    (void)x;\n",
        "labels": ",\n".join(f"        {string_literal(label)}" for label in plan.classes.tolist()),
    }
    text = HEAD + "\n".join(table(name, values) for name, values in layout.tables.items())
    text += ADD if layout.steps else ""
    for step, start, scales in zip(layout.steps, layout.starts[:-1], layout.scales, strict=True):
        text += _code(step, int(start), scales, words)
    return Template(text + SCORES + PREDICT + LABEL).substitute(words)


def _includes(layout: Layout) -> str:
    matched = any(step.kind == "matches" for step in layout.steps)
    return ("#include <float.h>\n" if matched else "") + "#include <stdint.h>\n"


def _call(step: Step) -> str:
    if step.kind == "matches":
        return f"    {step.prefix}(x, scores);\n"
    return f"    {step.prefix}(x, 0, {step.n}, scores);\n"


def _code(
    step: Step, start: int, scales: NDArray[np.float32] | None, words: dict[str, object]
) -> str:
    """Return the code of a step with its own words filled in."""
    scale = f"{step.prefix}_scales[i]"
    own = {
        "prefix": step.prefix,
        "start": start,
        "scaled": "" if scales is None else f" * {scale}",
        "one": "1.0f" if scales is None else scale,
    }
    code = Template(step.code).safe_substitute(step.words)
    return Template(code).safe_substitute(words | own)
