"""The scores of a plan, one row and one value at a time."""

import numpy as np

from shareboost.export.primitives import Balls, Hinges, Matches, Products, Reads, Thresholds


def values(part, row):
    """Return the values of a part for one row, in the order of its places."""
    match part:
        case Reads():
            return row[part.columns]
        case Thresholds():
            return (row[part.columns] <= part.thresholds).astype(float)
        case Hinges():
            above = row[part.columns] - part.thresholds
            return np.maximum(np.where(part.below, -above, above), 0.0)
        case Products():
            return np.where(part.left < 0, 1.0, row[part.left]) * row[part.right]
        case Balls():
            z = (row - part.mean) / part.unit
            found = []
            for centre, radius, origin in zip(
                part.centres, part.squared_radii, origins(part), strict=True
            ):
                distance = np.square(z - centre).sum()
                if part.hard:
                    found += [*(row * (distance < radius)), float(distance < radius)]
                else:
                    inside = max(0.0, 1.0 - distance / radius)
                    found += [*((row - origin) * inside), inside]
            return np.array(found)
        case Matches():
            return np.array([match_of(part, i, row) for i in range(part.template.size)])


def origins(balls):
    """Return the centres in units of the input, (n, p)."""
    return balls.mean + balls.unit * balls.centres.astype(float)


def match_of(part, i, row):
    """Return the largest masked response."""
    image = row.reshape(part.image_shape) / part.unit
    template = part.templates[part.template[i]].astype(float)
    rows, columns, _ = template.shape
    down, across = part.masks_down[part.down[i]], part.masks_across[part.across[i]]
    return part.unit * max(
        float(down[y]) * float(across[x]) * (image[y : y + rows, x : x + columns] * template).sum()
        for y in range(down.size)
        for x in range(across.size)
    )


def scores(plan, X):
    """Return the scores of the rows of X, (n, k)."""
    found = np.zeros((len(X), plan.offsets.size))
    for part in plan.parts:
        found[:, part.places] = [values(part, np.asarray(row, dtype=float)) for row in X]
    return (found - plan.offsets) @ plan.weights.T + plan.intercept
