"""A reader of model files in plain Python, from docs/model-file.md: no NumPy and no shareboost."""

import base64
import json
import math
import struct

CODES = {"<i8": "q", "<f8": "d", "<f4": "f", "|u1": "B"}


def numbers(array):
    """The numbers of an array, one after the other."""
    code = CODES[array["dtype"]]
    content = base64.b64decode(array["base64"])
    return list(struct.unpack(f"<{len(content) // struct.calcsize(code)}{code}", content))


def nested(array):
    """The numbers of an array as lists of its shape."""
    flat = iter(numbers(array))

    def taken(shape):
        return [taken(shape[1:]) for _ in range(shape[0])] if shape else next(flat)

    return taken(array["shape"])


def single(value):
    """The nearest 32-bit number."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def columns(features, row):
    """The columns of each feature for one row, a list for each."""
    return KINDS[features["kind"]](features, row)


def of_columns(features, row):
    return [[row[j]] for j in numbers(features["columns"])]


def of_groups(features, row):
    flat = iter(numbers(features["columns"]))
    return [[row[next(flat)] for _ in range(size)] for size in numbers(features["sizes"])]


def of_stumps(features, row):
    pairs = zip(numbers(features["columns"]), numbers(features["thresholds"]), strict=True)
    return [[1.0 if row[j] <= threshold else 0.0] for j, threshold in pairs]


def of_hinges(features, row):
    pairs = zip(numbers(features["columns"]), numbers(features["thresholds"]), strict=True)
    above = [row[j] - threshold for j, threshold in pairs]
    below = numbers(features["below"])
    return [[max(0.0, -a if b else a)] for a, b in zip(above, below, strict=True)]


def of_products(features, row):
    pairs = zip(numbers(features["left"]), numbers(features["right"]), strict=True)
    return [[(1.0 if i < 0 else row[i]) * row[j]] for i, j in pairs]


def of_pieces(features, row):
    mean, unit = numbers(features["mean"]), features["unit"]
    point = [single((x - m) / unit) for x, m in zip(row, mean, strict=True)]
    found = []
    for centre, radius in zip(
        nested(features["centres"]), numbers(features["squared_radii"]), strict=True
    ):
        distance = sum((a - b) ** 2 for a, b in zip(point, centre, strict=True))
        if features["form"] == "paper":
            inside = 1.0 if distance < radius else 0.0
            found.append([x * inside for x in row] + [inside])
        else:
            inside = max(0.0, 1.0 - distance / radius)
            origin = [m + unit * c for m, c in zip(mean, centre, strict=True)]
            own = [(x - o) * inside for x, o in zip(row, origin, strict=True)]
            found.append([*own, inside])
    return found


def of_templates(features, row):
    _, width, channels = features["image_shape"]
    unit = features["unit"]
    listed = {
        key: [item for stack in features[key] for item in nested(stack)]
        for key in ("templates", "masks_down", "masks_across")
    }
    found = []
    for template, down, across in zip(
        *(numbers(features[key]) for key in ("template", "down", "across")), strict=True
    ):
        patch = listed["templates"][template]
        best = -math.inf
        for y, weight_down in enumerate(listed["masks_down"][down]):
            for x, weight_across in enumerate(listed["masks_across"][across]):
                response = sum(
                    row[((y + dy) * width + x + dx) * channels + c] / unit * pixel
                    for dy, line in enumerate(patch)
                    for dx, pixels in enumerate(line)
                    for c, pixel in enumerate(pixels)
                )
                best = max(best, response * weight_down * weight_across)
        found.append([unit * best])
    return found


def of_union(features, row):
    members = [iter(columns(member, row)) for member in features["members"]]
    return [next(members[number]) for number in numbers(features["which"])]


KINDS = {
    "columns": of_columns,
    "groups": of_groups,
    "stumps": of_stumps,
    "hinges": of_hinges,
    "products": of_products,
    "pieces": of_pieces,
    "templates": of_templates,
    "union": of_union,
}


def scores(content, rows):
    """The score of every class for each row."""
    document = json.loads(content)
    assert document["format"] == "shareboost model"
    assert document["version"] == 1
    model = document["model"]
    coef, intercept = nested(model["coef"]), numbers(model["intercept"])
    found = []
    for row in rows:
        every = columns(document["features"], row)
        values = [value for place in numbers(model["chosen"]) for value in every[place]]
        found.append(
            [
                sum(w * v for w, v in zip(weights, values, strict=True)) + constant
                for weights, constant in zip(coef, intercept, strict=True)
            ]
        )
    return found
