"""Small model files, and random changes of them: of their bytes, and of what they hold."""

import base64
import copy
import zlib
from functools import cache

import numpy as np
import pandas as pd
from model_files import document_of, file_of

from shareboost import ShareBoostClassifier
from shareboost.pools import Columns, Groups, Pieces, Products, Stumps, Templates, Union

TEMPLATES = {"image_shape": (4, 2), "patch_size": [2, (3, 1)], "masks": 2, "sigma": 1.0}
POOLS = {
    "columns": Columns(),
    "groups": Groups(["a", "b", "a", "c", "b", "c", "d", "d"]),
    "stumps": Stumps(),
    "products": Products(linear=True),
    "pieces": Pieces(4, 3),
    "templates": Templates(2, **TEMPLATES, n_patches=50),
    "union": Union([Columns(), ("u", Union([Stumps(), Products()])), Templates(2, **TEMPLATES)]),
}
# What may be put in the place of anything.
HOSTILE = [
    *(None, True, False, 0, -1, 1, 2, 255, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63)),
    *(10**19, 10**25, 0.5, -0.0, 1e-320, 1e308, -1e308, 1e999, -1e999, float("nan")),
    *(
        "",
        "x",
        "columns",
        "union",
        "Union",
        "<f8",
        "|O",
        "AAAA",
        "\ud800",
        "\0",
        "é" * 50,
        "a" * 999,
    ),
    *(
        [],
        {},
        [[]],
        [0],
        [1, 2, 3],
        [2**40],
        [2**40] * 3,
        [2**62, 0],
        [2**26, 0, 2**26, 2**26],
        [-1],
        {"list": []},
        {"a": 1},
    ),
    {"dtype": "<f8", "shape": [0], "base64": ""},
    {"dtype": "<i8", "shape": [1], "base64": "AAAAAAAAAAA="},
    {"dtype": "<i8", "shape": [2**60], "base64": ""},
    {"dtype": "<f4", "shape": [2**25, 0, 1, 1], "base64": ""},
    {"dtype": "<f4", "shape": [2**26, 2**26, 2**26, 0], "base64": ""},
    {"pool": "Union", "parameters": {"pools": {"list": []}}},
    {"penalty": "SmoothL1", "parameters": {"beta": -1}},
]
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e-320, 1e38, 1e300, -1e300]
INTEGERS = [-(2**63), -2, -1, 0, 1, 7, 8, 100, 2**31, 2**62, 2**63 - 1]


@cache
def documents():
    """The documents of one small model of every kind, with its path and without."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(40, 8))
    y = np.array(["no", "yes", "perhaps"])[(X[:, 0] > 0.5).astype(int) + (X[:, 3] > 0.6)]
    found = []
    for number, pool in enumerate(POOLS.values()):
        clf = ShareBoostClassifier(3, pool=pool, alpha=1e-2, swap=number % 2 == 1).fit(X, y)
        found += [document_of(clf), document_of(clf, whole_path=False)]
    return [*found, document_with_levels(X, y)]


def document_with_levels(X, y):
    """The document of a model that was trained on numbers and a column of text."""
    names = ["a", "b", *(f"c={text}" for text in "uvwxyz")]
    clf = ShareBoostClassifier(3, alpha=1e-2).fit(pd.DataFrame(X, columns=names), y)
    clf.levels_in_ = [None, None, *(("c", text) for text in "uvwxyz")]
    return document_of(clf, whole_path=False)


def mutated(rng):
    """A file that is not as it was saved, in one of many ways."""
    document = documents()[rng.integers(len(documents()))]
    if rng.random() < 0.4:
        content = changed_bytes(bytearray(file_of(document)), rng)
        return with_right_checksum(content) if rng.random() < 0.7 else content
    document = copy.deepcopy(document)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        changed_value(document, rng)
    return file_of(document)


def changed_bytes(content, rng):
    start, stop = np.sort(rng.integers(len(content) + 1, size=2))
    near = min(stop, start + rng.integers(1, 20))
    match rng.integers(7):
        case 0:
            for place in rng.integers(len(content), size=rng.integers(1, 4)):
                content[place] ^= 1 << rng.integers(8)
        case 1:
            del content[start:]
        case 2:
            content[start:start] = rng.bytes(rng.integers(1, 9))
        case 3:
            del content[start:near]
        case 4:
            content[start:start] = content[start:near]
        case 5:
            piece = rng.choice(
                [b"[", b"{", b'"', b",", b":", b"\\u", b"1e999", b"NaN", b"-", b"\n"]
            )
            content[start:near] = bytes(piece) * int(rng.integers(1, 50))
        case 6:  # an object with a key that comes twice
            place = content.find(b'": ', start)
            key = content[content.rfind(b'"', 0, max(place, 0)) : place + 1]
            content[place + 3 : place + 3] = b"0, " + key + b": "
    return bytes(content)


def with_right_checksum(content):
    head, newline, rest = content.partition(b"\n")
    place = head.find(b'"crc32": "')
    if place < 0 or not newline:
        return content
    told = b"%08x" % zlib.crc32(rest)
    return head[: place + 10] + told + head[place + 18 :] + newline + rest


def changed_value(document, rng):
    parents = places(document)
    parent, key = parents[rng.integers(len(parents))]
    value = parent[key]
    match rng.integers(8):
        case 0 | 1:
            parent[key] = copy.deepcopy(HOSTILE[rng.integers(len(HOSTILE))])
        case 2:
            del parent[key]
        case 3:
            other, place = parents[rng.integers(len(parents))]
            parent[key] = copy.deepcopy(other[place])
        case 4 if isinstance(parent, dict):
            parent[str(rng.choice(["extra", "kind", "base64", "pool", "list"]))] = value
        case 5 if type(value) in (int, float) and value == value and abs(value) < 2**60:
            parent[key] = value + int(rng.integers(-3, 4))
        case _:
            arrays = [
                found for found, _ in parents if isinstance(found, dict) and "base64" in found
            ]
            if arrays:
                changed_array(arrays[rng.integers(len(arrays))], rng)


def places(value):
    """Every place in a document, as what holds it and its key there."""
    found = []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        found.append((value, key))
        if isinstance(item, (dict, list)):
            found += places(item)
    return found


def changed_array(plain, rng):
    """Change numbers of an array, its shape, or its type."""
    try:
        array = np.frombuffer(base64.b64decode(plain["base64"]), dtype=plain["dtype"]).copy()
    except (KeyError, TypeError, ValueError):  # changed before
        return
    n = array.size
    if n and rng.random() < 0.7:
        few = rng.integers(n, size=rng.integers(1, 4))
        chosen = NUMBERS if array.dtype.kind == "f" else INTEGERS
        with np.errstate(all="ignore"):
            new = np.array(chosen).astype(array.dtype)
        array[few] = (
            rng.choice(new, size=few.size) if rng.random() < 0.7 else rng.permutation(array[few])
        )
    else:
        array = [array[:-1], np.append(array, array[:1]), array[::-1], array[:0]][rng.integers(4)]
        if rng.random() < 0.6 and plain.get("shape") == [n]:
            plain["shape"] = [array.size]
    if rng.random() < 0.1:
        array = array.astype(">f8")
        plain["dtype"] = str(rng.choice(["<f8", "<f4", "<i8", "|u1", ">f8"]))
    plain["base64"] = base64.b64encode(array.tobytes()).decode()
