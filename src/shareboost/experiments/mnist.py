"""Table 1 and Figs. 4 to 6: MNIST with image templates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets import Dataset
from . import mnist_rivals, networks
from .drawing import COLOURS, curve, labelled, panels
from .experiment import Claim, Experiment, Row, verdict
from .lab import Lab
from .mnist_recipes import BEYOND, EXPANDED, PLAIN, Recipe, trained

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEW_ROUNDS = 75
OWN = "ShareBoost"
# Table 1: error in percent and run time in those of ShareBoost.
TABLE = {
    "3NN": (2.7, "14"),
    "Shape Context, 3NN": (0.63, "1000's"),
    "SVM 9-poly, virtual support vectors": (0.56, "38"),
    networks.MULTILAYER.name: (0.35, "2.5"),
}


def measure(lab: Lab) -> list[Row]:
    """Return the errors along the rounds, seed by seed, and the rows of Table 1."""
    data = lab.load("mnist")
    if lab.quick:
        few = np.random.default_rng(0).permutation(len(data.y_train))[:1500]
        data = data._replace(X_train=data.X_train[few], y_train=data.y_train[few])
        data = data._replace(X_test=data.X_test[:1000], y_test=data.y_test[:1000])
    rows = own_models(lab, data)
    rows += [{"table": "rivals", **row} for row in mnist_rivals.measure(lab, data)]
    rows.append({"table": "run time", "method": OWN, **own_run_time(lab, data)})
    return rows


def own_models(lab: Lab, data: Dataset) -> list[Row]:
    """Return the errors of ShareBoost along the rounds, and a row a model."""
    rows: list[Row] = []
    for model, recipe in {"plain": PLAIN, "expanded": EXPANDED, "beyond": BEYOND}.items():
        if model == "beyond" and not (lab.quick or lab.device or f"{model}, seed 0" in lab.records):
            continue  # 30 GB of codes: for a GPU
        recipe = small(recipe) if lab.quick else recipe
        for seed in lab.seeds:
            found = lab.part(f"{model}, seed {seed}", partial(trained, lab, data, recipe, seed))
            rows += curve_rows(model, seed, found)
            rows.append(
                {
                    "table": model,
                    "seed": seed,
                    "method": f"{OWN}, {model}",
                    "error": found["errors"]["test"][-1],
                    "tested": len(data.y_test),
                    "multiply_adds": found["multiply_adds"],
                    "training_seconds": round(found["fit_seconds"], 1),
                    "note": f"{found['recipe']}; {found['shapes']} different templates",
                }
            )
    return rows


def small(recipe: Recipe) -> Recipe:
    """Return a recipe of few rounds, copies and templates."""
    pool = {**recipe.pool, "n_templates": 40, "n_patches": 4000}
    lessons = replace(recipe.lessons, start=40, epochs=1) if recipe.lessons else None
    copies = min(recipe.copies, 1)
    return replace(recipe, rounds=30, copies=copies, pool=pool, lessons=lessons)


def curve_rows(model: str, seed: int, found: Any) -> list[Row]:
    """Return one row a round."""
    pairs = zip(found["errors"]["train"], found["errors"]["test"], strict=True)
    return [
        {"model": model, "seed": seed, "round": t, "train_error": train, "test_error": test}
        for t, (train, test) in enumerate(pairs, start=1)
    ]


def own_run_time(lab: Lab, data: Dataset) -> Row:
    """Return the run time of an image, in one thread as for the rivals.

    Of a model of as many templates that is trained on few images: it depends on nothing else.
    """

    def timed() -> Row:
        recipe = small(PLAIN) if lab.quick else replace(PLAIN, rounds=305)
        clf = recipe.fit(data.X_train[:3000], data.y_train[:3000], 0, None)
        return {"milliseconds": mnist_rivals.milliseconds(clf.predict, data.X_test)}

    found: Row = lab.part("run time of ShareBoost", timed)
    return found


def errors_at(rows: list[Row], model: str, t: int | None) -> np.ndarray[Any, Any]:
    """Return every seed's test error in percent after t rounds, None for the last."""
    found = []
    for seed in sorted({r["seed"] for r in rows if r.get("model") == model}):
        some = [r for r in rows if r.get("model") == model and r["seed"] == seed]
        at = some[-1] if t is None or t > len(some) else some[t - 1]
        found.append(100 * at["test_error"])
    return np.array(found)


def words(errors: np.ndarray[Any, Any]) -> str:
    """Return a mean and a spread."""
    if errors.size == 1:
        return f"{errors[0]:.2f}%, one seed"
    return (
        f"{errors.mean():.3f}% ± {errors.std(ddof=1):.3f} over {errors.size} seeds "
        f"({', '.join(f'{error:.2f}' for error in errors)})"
    )


def judge(rows: list[Row]) -> list[Claim]:
    """Compare with section 7.4."""
    plain, expanded = (errors_at(rows, model, None) for model in ("plain", "expanded"))
    few = {model: errors_at(rows, model, FEW_ROUNDS) for model in ("plain", "expanded")}
    best = min(few.values(), key=np.mean)
    last = [r for r in rows if r.get("model") == "expanded"][-1]
    claims = [
        Claim(
            "266 rounds on the 60,000 images",
            "0.71%",
            words(plain),
            verdict(plain.mean() <= 0.71, bool((plain <= 0.71).any())),
        ),
        Claim(
            "305 rounds with five deformed copies of each",
            "0.47%",
            words(expanded),
            verdict(expanded.mean() <= 0.47, bool((expanded <= 0.47).any())),
        ),
        Claim(
            f"{FEW_ROUNDS} rounds are enough for less than 1%",
            "< 1%",
            "; ".join(f"{model}: {words(errors)}" for model, errors in few.items()),
            verdict(best.mean() < 1.0, best.mean() < 1.05),
        ),
        Claim(
            "the training error on deformed images stays above the test error (Fig. 4)",
            "a curve, no number",
            f"{last['train_error']:.2%} against {last['test_error']:.2%} after the last round",
            verdict(last["train_error"] > last["test_error"]),
        ),
        *_run_times(rows),
    ]
    beyond = errors_at(rows, "beyond", None)
    if beyond.size:
        claims.append(
            Claim(
                "beyond the paper: at most 0.40% with 305 templates, of several sizes, of upright "
                "images",
                "not pursued",
                f"{words(beyond)}; after {FEW_ROUNDS} rounds "
                + words(errors_at(rows, "beyond", FEW_ROUNDS)),
                verdict(beyond.mean() <= 0.40, beyond.mean() <= 0.47),
            )
        )
    return claims


def _run_times(rows: list[Row]) -> list[Claim]:
    """How run times compare, counted and measured."""
    count, milliseconds = own_cost(rows)
    claims = []
    for row in (r for r in rows if r.get("table") == "rivals" and r["method"] in TABLE):
        counted, measured = row["multiply_adds"] / count, row["milliseconds"] / milliseconds
        claims.append(
            Claim(
                f"{row['method']} takes more time than ShareBoost",
                f"x {TABLE[row['method']][1]}",
                f"x {counted:.3g} in multiply-adds, x {measured:.3g} in measured time",
                verdict(counted > 1 and measured > 1, counted > 1 or measured > 1),
            )
        )
    return claims


def own_cost(rows: list[Row]) -> tuple[float, float]:
    """Return the multiply-adds and the milliseconds of one image."""
    counts = [r["multiply_adds"] for r in rows if r.get("table") == "expanded"]
    time = next(r["milliseconds"] for r in rows if r.get("table") == "run time")
    return float(np.mean(counts)), float(time)


def table(rows: list[Row]) -> str:
    """Return Table 1 as Markdown."""
    count, milliseconds = own_cost(rows)
    lines = [
        "| Table 1 | error there | error here | 95% interval | tested on | run time there | "
        "multiply-adds | x | ms an image | x | training, s | |",
        "|---" * 12 + "|",
    ]
    for row in (r for r in rows if r.get("table") == "rivals"):
        error, times = TABLE.get(row["method"], (None, ""))
        cells = [
            row["method"],
            f"{error}%" if error else "",
            f"{row['error']:.2%}",
            f"{row['error_low']:.2%} to {row['error_high']:.2%}",
            f"{row['tested']:,}",
            f"x {times}" if times else "",
            f"{row['multiply_adds']:.3g}",
            f"{row['multiply_adds'] / count:.3g}",
            f"{row['milliseconds']:.3g}",
            f"{row['milliseconds'] / milliseconds:.3g}",
            f"{row['training_seconds']:.0f}",
            row["note"].replace("|", "\\|"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    own = errors_at(rows, "expanded", None).mean() / 100
    found = [r for r in rows if r.get("table") == "expanded"]
    tested = found[0]["tested"]
    mean = mnist_rivals.row(OWN, round(own * tested), tested)
    between = f"{mean['error_low']:.2%} to {mean['error_high']:.2%}"
    seconds = np.mean([r["training_seconds"] for r in found])
    lines.append(
        f"| {OWN}, 305 rounds | 0.47% | {own:.2%} | {between} | {tested:,} | x 1 | "
        f"{count:.3g} | 1 | {milliseconds:.3g} | 1 | {seconds:.0f} | {found[0]['note']} |"
    )
    return "\n".join(lines)


def draw(lab: Lab, rows: list[Row]) -> dict[str, Figure]:
    """Return Figs. 4, 5 and 6."""
    first = lab.records["expanded, seed 0"]["value"]
    return {
        "mnist-convergence": convergence(rows),
        "mnist-templates": leading(first["templates"]),
        "mnist-errors": mistakes(lab, first["wrong"]),
    }


def convergence(rows: list[Row]) -> Figure:
    """Return Fig. 4: errors against rounds, whole and zoomed in."""
    figure = panels(1, 2)
    for colour, model in enumerate(("expanded", "plain", "beyond")):
        some = [r for r in rows if r.get("model") == model]
        rounds = sorted({r["round"] for r in some})
        for kind, style in (("train", "--"), ("test", "-")):
            means = [
                100 * np.mean([r[f"{kind}_error"] for r in some if r["round"] == t]) for t in rounds
            ]
            if not means or (kind == "train" and model != "expanded"):
                continue
            for ax in figure.axes:
                curve(ax, rounds, means, f"{model}, {kind}", colour, style)
    labelled(figure.axes[0], "Convergence on MNIST", "rounds", "error, %")
    labelled(figure.axes[1], "Zoomed in", "rounds", "error, %", legend=False)
    for level in (0.47, 0.71):
        figure.axes[1].axhline(level, color=COLOURS[5], linewidth=0.8, linestyle=":")
    figure.axes[1].set_ylim(0.2, 2.0)
    return figure


def leading(templates: list[dict[str, Any]]) -> Figure:
    """Return Fig. 5: the first templates with their masks, and their columns of W."""
    figure = panels(1, 2, size=(5.6, 5.0))
    left, right = figure.axes
    across, side = 6, 24
    height = -(-len(templates) // across) * side
    sheet = np.full((height, across * 2 * side), np.nan)
    for place, one in enumerate(templates):
        row, column = (place // across) * side, (place % across) * 2 * side
        mask = np.outer(one["down"], one["across"])
        template = np.kron(np.array(one["template"]), np.ones((2, 2)))
        for picture, shift in ((template, 0), (2 * mask - 1, side)):
            span = np.abs(picture).max() or 1.0
            high, wide = min(side - 2, picture.shape[0]), min(side - 2, picture.shape[1])
            sheet[row : row + high, column + shift : column + shift + wide] = (
                picture[:high, :wide] / span
            )
    left.imshow(sheet, cmap="gray")
    left.set_axis_off()
    left.set_title(f"(a) Leading {len(templates)} selected features")
    W = np.array([one["weights"] for one in templates])
    right.imshow(W, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    right.grid(visible=False)
    right.set_xticks(range(W.shape[1]))
    labelled(right, "(b) Corresponding columns of W", "digit", "feature", legend=False)
    return figure


def mistakes(lab: Lab, wrong: list[list[int]]) -> Figure:
    """Return Fig. 6: the misclassified digits, each with its prediction and its label."""
    data = lab.load("mnist")
    across, wrong = 10, wrong[:80]
    down = max(1, -(-len(wrong) // across))
    figure = panels(down, across, size=(0.75, 0.85))
    for ax in figure.axes:
        ax.set_axis_off()
    for ax, (index, predicted) in zip(figure.axes, wrong, strict=False):
        ax.imshow(data.X_test[index].reshape(28, 28), cmap="gray_r")
        ax.set_title(f"{predicted} ({data.y_test[index]})", fontsize=7, pad=2)
    return figure


EXPERIMENT = Experiment(
    title="Table 1 and Figs. 4 to 6: MNIST",
    shows="Image templates under masks as features: 1000 centres of 7 x 7 patches, 16 masks. 266 "
    "rounds on the 60,000 training images, 305 with five deformed copies of each; the convergence "
    "curve, the first 30 templates with their columns of W, and what is misclassified, prediction "
    "first and label in brackets. Table 1's rivals are trained and timed here.",
    measure=measure,
    draw=draw,
    judge=judge,
    details=table,
    chosen="""
Everything was chosen on training images. The pool's form and `alpha=1e-4` were chosen before on
10,000 held-out ones ([defaults](../defaults.md)). Of the deformations the paper says only that they
are fairly strong. Their strength and the margin of the expanded model, and all of the model beyond
the paper, with several sizes of templates and images set upright by `deskew`, are those with the
fewest errors on parts of 10,000 training images, held out in turn, of the recipes that
`benchmarks/mnist_recipes.py` lists ([their errors](mnist-recipes.csv)). Only then the test set was
looked at, once a seed. A seed draws patches, their clustering and deformations; the spread is the
standard deviation over seeds. The sampling error of 10,000 test images, 0.07 points at 0.5%, comes
on top.

Multiply-adds are those of convolutions, masks and scores. 305 templates of 7 x 7 at all 22 x 22
places alone are 7.2 million; the paper's count of 3.3 million must leave places out. Templates that
were chosen with several masks are counted once.

"""
    + mnist_rivals.CHOSEN,
)
