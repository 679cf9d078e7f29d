"""Every pool's atoms written out as explicit columns: slow, obvious, float64.

Truth for the tests of the pools. Each function takes rows of X and a fitted pool, of which
only what was learned from data is read (centres, templates), and returns one array (atoms,
columns of an atom, rows) or a list of arrays (columns of an atom, rows).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.signal import correlate

from shareboost.pools import Columns, Groups, Hinges, Pieces, Products, Stumps, Templates, Union


def columns(pool, X, X_train, weight, centred):
    return [X[:, [j]].T for j in range(X.shape[1])]


def groups(pool, X, X_train, weight, centred):
    labels = list(pool.groups)
    return [
        np.array([X[:, j] for j in range(X.shape[1]) if labels[j] == label])
        for label in sorted(set(labels))
    ]


def stumps(pool, X, X_train, weight, centred):
    """A stump for any two neighbouring values of a column; NaN lies above all numbers.

    Without an intercept also the constant stump, of a threshold that no number exceeds.
    """
    atoms = []
    for j in range(X.shape[1]):
        numbers = sorted(set(X_train[~np.isnan(X_train[:, j]), j].tolist()))
        cuts = [(a + b) / 2 for a, b in pairwise(numbers)]
        if np.isnan(X_train[:, j]).any() and numbers:
            cuts.append(numbers[-1])
        elif not centred and numbers:
            cuts.append(np.inf)
        atoms += [np.array([[1.0 if v <= cut else 0.0 for v in X[:, j]]]) for cut in cuts]
    return atoms


def hinges(pool, X, X_train, weight, centred):
    """Two hinges for every threshold of a column, which are those that the pool found."""
    atoms = []
    for j in range(X.shape[1]):
        for cut in pool.thresholds_[pool.starts_[j] : pool.starts_[j + 1]]:
            atoms.append(np.array([[max(0.0, v - cut) for v in X[:, j]]]))
            atoms.append(np.array([[max(0.0, cut - v) for v in X[:, j]]]))
    return atoms


def products(pool, X, X_train, weight, centred):
    d = X.shape[1]
    atoms = [X[:, [j]].T for j in range(d)] if pool.linear else []
    for i in range(d):
        for j in range(i if pool.squares else i + 1, d):
            atoms.append((X[:, i] * X[:, j])[None])
    return atoms


def templates(pool, X, X_train, weight, centred):
    height, width, channels = pool.image_shape_
    atoms = []
    for size in pool.sizes_:
        for template in size.templates.astype(float):
            rows, across, _ = template.shape
            responses = [
                sum(
                    correlate(image[:, :, c], template[:, :, c], mode="valid")
                    for c in range(channels)
                )
                for image in X.reshape(-1, height, width, channels).astype(float)
            ]
            for a in range(pool.masks):
                for b in range(pool.masks):
                    n_down, n_across = height - rows + 1, width - across + 1
                    mask = np.array(
                        [
                            [
                                _gauss(y, a, n_down, pool) * _gauss(x, b, n_across, pool)
                                for x in range(n_across)
                            ]
                            for y in range(n_down)
                        ]
                    )
                    atoms.append(np.array([[(r * mask).max() for r in responses]]))
    return atoms


def _gauss(place, number, n_places, pool):
    centre = (number + 0.5) * n_places / pool.masks - 0.5
    return math.exp(-((place - centre) ** 2) / (2 * pool.sigma**2))


def pieces(pool, X, X_train, weight, centred):
    """Every radius of every centre: as many rows inside as make up a quantile's weight."""
    mean, unit = pool.coordinates_
    several = not isinstance(pool.radii, int)
    quantiles = sorted(pool.radii) if several else np.linspace(0.5, 0.01, pool.radii)[::-1]
    atoms = []
    for centre in mean + unit * pool.centres_.astype(float):
        distances = np.sqrt(((X_train - centre) ** 2).sum(axis=1))
        order = np.argsort(distances)
        ordered, reached = distances[order], np.cumsum(weight[order]) / weight.sum()
        radii = []
        for quantile in quantiles:
            n_inside = 1 + next(i for i, share in enumerate(reached) if share >= quantile - 1e-9)
            radii.append((ordered[n_inside - 1] + ordered[n_inside]) / 2)
        for radius in dict.fromkeys(radii):
            d = np.sqrt(((X - centre) ** 2).sum(axis=1))
            if pool.form != "smooth":
                atoms.append(np.array([*X.T, np.ones(len(X))]) * (d < radius))
            else:
                inside = np.maximum(0, 1 - d**2 / radius**2)
                atoms.append(np.array([*(X - centre).T, np.ones(len(X))]) * inside)
    return atoms


def union(pool, X, X_train, weight, centred):
    return [atom for own in pool.pools_ for atom in explicit(own, X, X_train, weight, centred)]


def explicit(pool, X, X_train, weight=None, centred=True):
    """All atoms of a fitted pool on the rows of X, as (columns of the atom, rows) each."""
    known = {
        Columns: columns,
        Groups: groups,
        Stumps: stumps,
        Hinges: hinges,
        Products: products,
        Pieces: pieces,
        Templates: templates,
        Union: union,
    }
    X, X_train = np.asarray(X, dtype=float), np.asarray(X_train, dtype=float)
    weight = np.ones(len(X_train)) if weight is None else weight
    return known[type(pool)](pool, X, X_train, weight, centred)


def naive_scales(pool, X, weight, centred):
    """What the columns of every atom are divided by, by their definitions."""
    X, share = np.asarray(X, dtype=float), weight / weight.sum()
    if isinstance(pool, Union):
        return [s for own in pool.pools_ for s in naive_scales(own, X, weight, centred)]
    if isinstance(pool, Groups):
        each = np.concatenate(naive_scales(Columns(pool.scale), X, weight, centred))
        labels = np.asarray(pool.groups)
        return [each[labels == label] for label in np.unique(labels)]
    atoms = explicit(pool, X, X, weight, centred)
    power = {"root": 0.5, "deviation": 1.0, "none": 0.0}.get(getattr(pool, "scale", None), 0.0)
    if isinstance(pool, Templates):  # there are fewer images than are sampled
        about = [column - column.mean() if centred else column for (column,) in atoms]
        spread = np.array([np.sqrt((column**2).mean()) for column in about])
        return (spread**power * spread.mean() ** (1 - power))[:, None]
    if isinstance(pool, Pieces):
        unit = np.sqrt((share @ (X - share @ X) ** 2).mean())
        units = np.array([unit] * X.shape[1] + [1.0])
        if pool.form != "smooth":
            return [np.ones(X.shape[1] + 1)] * len(atoms)
        mean_squares = [(share @ (atom.T / units) ** 2).mean() for atom in atoms]
        return [units * mean_square**0.25 for mean_square in mean_squares]
    means = [share @ atom[0] * centred for atom in atoms]
    deviations = [np.sqrt(share @ (a[0] - m) ** 2) for a, m in zip(atoms, means, strict=True)]
    useless = [np.ptp(atom) == 0 if centred else not atom.any() for atom in atoms]
    if isinstance(pool, Products) and pool.scale == "maxabs":
        largest = np.abs(X).max(axis=0)
        pairs = [(i, j) for i in range(X.shape[1]) for j in range(i + 1, X.shape[1])]
        found = [largest[i] * largest[j] for i, j in pairs]
    elif pool.scale == "maxabs":
        found = [np.abs(atom).max() for atom in atoms]
    else:
        found = [deviation**power for deviation in deviations]
    return [np.array([1.0 if u else s]) for s, u in zip(found, useless, strict=True)]
