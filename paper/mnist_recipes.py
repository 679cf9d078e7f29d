"""ShareBoost's models of MNIST: how each is trained.

benchmarks/mnist_recipes.py compares recipes on held-out training images.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shareboost import ShareBoostClassifier
from shareboost.datasets import Dataset, deform
from shareboost.inspection.comparison import error_curve
from shareboost.pools import Templates

from .images import deskew, edges
from .lab import Lab
from .learned_templates import Lessons, features_of, learn
from .published import TUNED, published
from .samples import sample

SHOWN = 30  # templates of Fig. 5
SIDE = 28  # of images

Array = NDArray[Any]


def data_of(lab: Lab) -> Dataset:
    """Return MNIST, or a sample of it."""
    data = lab.load("mnist")
    return sample(data, 1500, 1000) if lab.quick else data


@dataclass(frozen=True)
class Recipe:
    """How to train a model of templates."""

    rounds: int
    copies: int = 0  # deformed ones of every image
    deformation: dict[str, Any] = field(default_factory=dict)
    pool: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    published: bool = False  # whether it is the paper's Algorithm 1 without any change
    upright: bool = False  # whether images are set upright first
    directions: int = 0  # of the edges that stand for the pixels, if any
    lessons: Lessons | None = None  # by which templates are learned before they are chosen

    def images(self, X: Array) -> Array:
        """Return images as the model sees them."""
        X = deskew(X) if self.upright else X
        return edges(X, self.directions) if self.directions else X

    def rows(self, X: Array, y: Array, seed: int) -> tuple[Array, Array]:
        """Return the training set, expanded."""
        if self.copies:
            more = deform(X, n_copies=self.copies, random_state=seed, **self.deformation)
            X, y = np.vstack([X, more]), np.tile(y, 1 + self.copies)
        return self.images(X), y

    def fit(self, X: Array, y: Array, seed: int, device: str | None) -> ShareBoostClassifier:
        """Return a classifier trained on images as they are in the data."""
        if self.lessons is None:
            return self._classifier(self.rounds, seed, device).fit(*self.rows(X, y, seed))
        # Without copies: what is chosen here is only where the lessons begin.
        first = self._classifier(self.lessons.start, seed, device).fit(self.images(X), y)
        learned = learn(first, X, y, self.lessons, seed, device, self.images)
        # Only under the masks that they were learned for: others would be chosen too soon.
        others = np.setdiff1d(np.arange(learned.n_atoms), learned.atoms)
        last = self._classifier(self.rounds, seed, device, learned.templates, others)
        return last.fit(*self.rows(X, y, seed))

    def _classifier(
        self, n: int, seed: int, device: str | None, templates: Any = None, exclude: Any = None
    ) -> ShareBoostClassifier:
        """Return one of n templates, to be fitted."""
        shape = (SIDE, SIDE, self.directions) if self.directions else None
        pool = Templates(image_shape=shape, random_state=seed, templates=templates, **self.pool)
        if self.published:
            return published(n, pool=pool, device=device)
        parameters = TUNED | {"alpha": 1e-4} | self.parameters | {"device": device}
        return ShareBoostClassifier(n, pool=pool, exclude=exclude, **parameters)


PLAIN = Recipe(266)
PLAIN_PUBLISHED = replace(PLAIN, published=True)
# The paper's pool and number of copies; how strong its deformations were it does not say.
EXPANDED = Recipe(305, 5, {"elastic_alpha": 16.0}, parameters={"margin": 3.0})
EXPANDED_PUBLISHED = Recipe(305, 5, EXPANDED.deformation, published=True)
# Beyond the paper: as many templates, but learned, of edges instead of pixels, of several sizes.
STRONG = {"elastic_alpha": 24.0, "rotation": 11.0, "scale": 0.12, "shear": 0.12}
BEYOND = Recipe(
    305,
    5,
    STRONG,
    {"patch_size": [7, 9, 11, 13], "n_templates": 300, "n_patches": 100_000},
    directions=8,
    lessons=Lessons(305, 60, deformation=STRONG),
)


def parts(n: int) -> list[Array]:
    """Return training images in six parts, drawn: recipes are compared on the first two."""
    return np.array_split(np.random.default_rng(0).permutation(n), 6)


def trained(lab: Lab, data: Dataset, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Return errors along the rounds, what is misclassified, and the first templates."""
    started = time.perf_counter()
    clf = recipe.fit(data.X_train, data.y_train, seed, lab.device)
    seconds = time.perf_counter() - started
    X, y = recipe.rows(data.X_train, data.y_train, seed)
    X_test = recipe.images(data.X_test)
    # Of every sixth row where there are six times as many: its sampling error is 0.03 points.
    some = slice(None, None, 1 + recipe.copies)
    errors = {
        "train": error_curve(clf, lab.place(X[some]), y[some]).errors,
        "test": error_curve(clf, lab.place(X_test), data.y_test).errors,
    }
    predicted = lab.fetch(clf.predict(lab.place(X_test)))
    wrong = np.flatnonzero(predicted != data.y_test)
    features = features_of(clf)
    return {
        "errors": {name: found.tolist() for name, found in errors.items()},
        "wrong": [[int(i), int(predicted[i])] for i in wrong],
        "training_seconds": round(seconds, 1),
        "multiply_adds": multiply_adds(clf),
        "shapes": len({template.tobytes() for template in features.templates}),
        "templates": pictures(clf),
        "recipe": words_of(recipe),
    }


def words_of(recipe: Recipe) -> str:
    """Return a recipe in words."""
    words = [f"{recipe.rounds} rounds", f"{recipe.copies} copies"]
    for some in (recipe.deformation, recipe.pool, recipe.parameters):
        words += [f"{name}={value}" for name, value in some.items()]
    words += ["as published"] if recipe.published else []
    words += ["upright"] if recipe.upright else []
    words += [f"edges in {recipe.directions} directions"] if recipe.directions else []
    words += [str(recipe.lessons)] if recipe.lessons else []
    return ", ".join(words)


def multiply_adds(clf: ShareBoostClassifier) -> int:
    """Return the multiply-adds of one image: convolutions, masks and scores."""
    features = features_of(clf)
    found = int(clf.weights_.size)
    chosen = zip(features.templates, features.down, features.across, strict=True)
    for template, down, across in chosen:
        found += down.size * across.size * (template.size + 1)
    return found


def pictures(clf: ShareBoostClassifier) -> list[dict[str, Any]]:
    """Return the first templates, their masks and their columns of W, as Fig. 5 shows them.

    The weights are those of the whole model, each column over its largest magnitude.
    """
    features = features_of(clf)
    found = []
    for place in range(min(SHOWN, clf.selected_.size)):
        weights = clf.weights_[:, place]
        found.append(
            {
                "template": np.round(features.templates[place][:, :, 0], 3).tolist(),
                "down": np.round(features.down[place], 3).tolist(),
                "across": np.round(features.across[place], 3).tolist(),
                "weights": np.round(weights / np.abs(weights).max(), 3).tolist(),
            }
        )
    return found
