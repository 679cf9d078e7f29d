"""Recipes for MNIST's models, each judged by training images that it was not trained on.

    python benchmarks/mnist_recipes.py --csv FILE [--device cuda] [--parts 0 1] [NAME ...]

The training set is cut into six parts of 10,000; a recipe is trained on all but one and makes its
errors on that. What is in the file already is not measured again. Prints one Markdown table. The
recipes in use are in paper.mnist_recipes. Needs MNIST (see
shareboost.datasets.load_dataset) and, for most recipes, a GPU.
"""

from __future__ import annotations

import argparse
import csv
import gc
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from paper import Lab
from paper.learned_templates import Lessons
from paper.mnist_recipes import BEYOND, Recipe, parts
from paper.provenance import stamp
from shareboost.datasets import load_dataset

HELD_OUT = 10_000
ROUNDS = (75, 150, 305)
FIELDS = ("recipe", "part", *(f"errors {t}" for t in ROUNDS), "log loss", "fit seconds")

E16, E12 = {"elastic_alpha": 16.0}, {"elastic_alpha": 12.0}
TURNED = {"elastic_alpha": 16.0, "rotation": 11.0, "scale": 0.12, "shear": 0.12}
PAPER = Recipe(305, 5)
WEAKER = replace(PAPER, deformation=E16)
SIZES = replace(PAPER, deformation=TURNED, pool={"patch_size": [5, 7, 9]})
UPRIGHT = replace(SIZES, upright=True)
MANY = replace(WEAKER, pool={"n_templates": 3000})
LESSONS = Lessons(305, 60, deformation=TURNED)
RECIPES = {
    "elastic 24": PAPER,
    "elastic 32": replace(PAPER, deformation={"elastic_alpha": 32.0}),
    "elastic 20": replace(PAPER, deformation={"elastic_alpha": 20.0}),
    "elastic 16": WEAKER,
    "elastic 12": replace(PAPER, deformation=E12),
    "elastic 24 of sigma 5": replace(PAPER, deformation={"elastic_sigma": 5.0}),
    "elastic 16, affine x 1.5": replace(PAPER, deformation=TURNED),
    "elastic 16, affine / 2": replace(
        PAPER, deformation={**E16, "rotation": 4.0, "scale": 0.04, "shear": 0.04}
    ),
    "alpha 3e-4": replace(PAPER, parameters={"alpha": 3e-4}),
    "alpha 3e-5": replace(PAPER, parameters={"alpha": 3e-5}),
    "alpha 1e-5": replace(PAPER, parameters={"alpha": 1e-5}),
    "elastic 16, alpha 2e-4": replace(WEAKER, parameters={"alpha": 2e-4}),
    "elastic 16, alpha 3e-5": replace(WEAKER, parameters={"alpha": 3e-5}),
    "elastic 16, margin 0": replace(WEAKER, parameters={"margin": 0.0}),
    "elastic 16, margin 3": replace(WEAKER, parameters={"margin": 3.0}),
    "elastic 16, 15 copies": replace(WEAKER, copies=15),
    "elastic 16, 3000 templates": replace(WEAKER, pool={"n_templates": 3000}),
    "elastic 16, 36 masks": replace(WEAKER, pool={"masks": 6}),
    "elastic 16, masks of sigma 8": replace(WEAKER, pool={"sigma": 8.0}),
    "elastic 16, scale deviation": replace(WEAKER, pool={"scale": "deviation"}),
    "elastic 16, scale none": replace(WEAKER, pool={"scale": "none"}),
    "elastic 16, rule newton": replace(WEAKER, parameters={"rule": "newton"}),
    "elastic 16, swaps": replace(WEAKER, parameters={"swap": True}),
    "size 9": replace(PAPER, pool={"patch_size": 9}),
    "size 11": replace(PAPER, pool={"patch_size": 11}),
    "sizes 5 7 9": replace(PAPER, pool={"patch_size": [5, 7, 9]}),
    "masks of sigma 4": replace(PAPER, pool={"sigma": 4.0}),
    "elastic 16, sizes 5 7 9": replace(WEAKER, pool={"patch_size": [5, 7, 9]}),
    "affine x 1.5, sizes 5 7 9 11, 10 copies": replace(
        SIZES, copies=10, pool={"patch_size": [5, 7, 9, 11]}
    ),
    "affine x 1.5, sizes 5 7 9, margin 3": replace(SIZES, parameters={"margin": 3.0}),
    "affine x 1.5, sizes 5 7 9, margin 3, upright": replace(UPRIGHT, parameters={"margin": 3.0}),
    "affine x 1.5, 1500 of sizes 5 7 9 11, margin 3, upright": replace(
        UPRIGHT,
        pool={"patch_size": [5, 7, 9, 11], "n_templates": 1500},
        parameters={"margin": 3.0},
    ),
    "elastic 16, 3000 templates, margin 3": replace(MANY, parameters={"margin": 3.0}),
    "elastic 16, 3000 templates, rule newton": replace(MANY, parameters={"rule": "newton"}),
    "elastic 16, 3000 templates, rule newton, 10 copies": replace(
        MANY, copies=10, parameters={"rule": "newton"}
    ),
    "edges, sizes 5 7 9": replace(SIZES, directions=8),
    "edges, sizes 5 7 9, upright": replace(UPRIGHT, directions=8),
    "learned": replace(PAPER, lessons=LESSONS),
    "learned, sizes 5 7 9": replace(SIZES, lessons=LESSONS),
    "learned edges, elastic 24, sizes 5 7 9 11": replace(
        BEYOND, pool={"patch_size": [5, 7, 9, 11], "n_templates": 500}
    ),
    "learned edges, elastic 24, sizes 7 9 11 13": BEYOND,
    "learned edges, elastic 24, sizes 7 9 11 13, upright": replace(BEYOND, upright=True),
}


def held_out(recipe: Recipe, part: int, lab: Lab) -> dict[str, float]:
    """Return the errors on one part of a model trained on the others."""
    data = load_dataset("mnist")
    held = parts(len(data.y_train))[part]
    kept = np.setdiff1d(np.arange(len(data.y_train)), held)
    started = time.perf_counter()
    clf = recipe.fit(data.X_train[kept], data.y_train[kept], 0, lab.device)
    seconds = time.perf_counter() - started
    X_held, y_held = lab.place(recipe.images(data.X_train[held])), data.y_train[held]
    found = {}
    for t in ROUNDS:
        predicted = lab.fetch(clf.at(min(t, recipe.rounds)).predict(X_held))
        found[f"errors {t}"] = int((predicted != y_held).sum())
    proba = lab.fetch(clf.predict_log_proba(X_held))
    found["log loss"] = round(-float(proba[np.arange(len(y_held)), y_held].mean()), 5)
    found["fit seconds"] = round(seconds, 1)
    return found


def read(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.open())) if file.exists() else []


def table(rows: list[dict[str, str]]) -> None:
    print(f"{stamp()}.\n")
    print("| recipe | parts | " + " | ".join(f"errors at {t}" for t in ROUNDS) + " | log loss |")
    print("|---" * (len(ROUNDS) + 3) + "|")
    for name in dict.fromkeys(row["recipe"] for row in rows):
        some = [row for row in rows if row["recipe"] == name]
        means = [np.mean([float(row[f"errors {t}"]) for row in some]) for t in ROUNDS]
        loss = np.mean([float(row["log loss"]) for row in some])
        errors = " | ".join(f"{100 * mean / HELD_OUT:.3f}%" for mean in means)
        print(f"| {name} | {' '.join(row['part'] for row in some)} | {errors} | {loss:.5f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--csv", type=Path, required=True)
    parser.add_argument("--device")
    parser.add_argument("--parts", nargs="+", type=int, default=[0, 1])
    args = parser.parse_args()
    if unknown := set(args.names) - set(RECIPES):
        parser.error(f"no recipe {unknown}: it takes {', '.join(RECIPES)}")
    lab = Lab("mnist-recipes", args.csv.parent, device=args.device)
    rows = read(args.csv)
    done = {(row["recipe"], int(row["part"])) for row in rows}
    fresh = not args.csv.exists()
    with args.csv.open("a", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        for name in args.names or RECIPES:
            for part in args.parts:
                if (name, part) not in done:
                    found = held_out(RECIPES[name], part, lab)
                    writer.writerow({"recipe": name, "part": part, **found})
                    stream.flush()
                    gc.collect()
    table(read(args.csv))


if __name__ == "__main__":
    main()
