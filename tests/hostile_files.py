"""Files made to take much memory: each claims, nests or repeats too much.

As a program, with the folder of two small files: loads each in a process of its own, and prints
the growth of memory that it took, and what came of it.
"""

import base64
import json
import os
import sys
from pathlib import Path

import numpy as np
from model_files import file_of

from shareboost import ModelFormatError, load_model
from shareboost.io.text import LARGEST_FILE, LARGEST_TEXT, MOST_VALUES

ROOM = (LARGEST_FILE - (1 << 16)) // 4 * 3 // 24 * 24  # bytes of arrays that a file has room for
HALF = ROOM // 48  # numbers in half of them
N_ROUNDS = 9_999
N_GROUPS = 2_000_000
EVERY_ROUND = {
    **dict.fromkeys(("loss", "objective", "seconds", "cost", "score", "gradient"), "<f8"),
    **dict.fromkeys(("tolerance", "validation"), "<f8"),
    **dict.fromkeys(("atom", "iterations", "advice", "n_atoms", "n_swaps"), "<i8"),
}


def array(values, dtype="<i8"):
    values = np.asarray(values, dtype=dtype)
    text = base64.b64encode(values.tobytes()).decode()
    return {"dtype": dtype, "shape": list(values.shape), "base64": text}


def zeros(n_bytes, shape, dtype="<f8"):
    """An array of zero bytes as large as asked for, whatever its shape says."""
    return {"dtype": dtype, "shape": shape, "base64": "A" * (n_bytes // 3 * 4)}


def files(whole, alone):
    """What makes each file, by name, from the documents of a small model of three columns."""

    def changed(document=whole, **changes):
        document = {k: v for k, v in json.loads(json.dumps(document)).items() if k != "crc32"}
        for name, value in changes.items():
            *parents, last = name.split("__")
            target = document
            for parent in parents:
                target = target[parent]
            target[last] = value
        return file_of(document)

    return {
        "brackets": lambda: b"[" * LARGEST_FILE,
        "fewer brackets": lambda: b"[" * (MOST_VALUES - 9),
        "objects in objects": lambda: b'{"a":' * 100_000,
        "empty lists": lambda: b"[" + b"[]," * (MOST_VALUES // 3 - 1) + b"[]]",
        "too many lists": lambda: b"[" + b"[]," * (LARGEST_TEXT // 3 - 1) + b"[]]",
        "small objects": lambda: b"[" + b'{"a":0},' * (MOST_VALUES // 3 - 1) + b"{}]",
        "small numbers": lambda: b"[" + b"0.5," * (MOST_VALUES - 9) + b"0]",
        "a long integer": lambda: b'{"format":' + b"7" * (LARGEST_TEXT - 20) + b"}",
        "a long number": lambda: b'{"format":0.' + b"7" * (LARGEST_TEXT - 20) + b"}",
        "a long text": lambda: b'{"format":"\\ud83d\\ude00' + b"a" * (LARGEST_TEXT - 40) + b'"}',
        "backslashes": lambda: b'"' + b"\\" * (LARGEST_TEXT - 2) + b'"',
        "many arrays": lambda: b'{"base64":"",' * (LARGEST_FILE // 13),
        "an array of spaces": lambda: b'{"base64"' + b" " * (LARGEST_FILE - 9),
        "an array of the file's size": lambda: changed(model__coef=zeros(ROOM, [3, ROOM // 24])),
        "a claim of much": lambda: changed(model__coef=zeros(24, [3, 1 << 60])),
        "a claim of nothing by much": lambda: changed(model__coef=zeros(0, [0, 1 << 62])),
        "many weights": lambda: changed(path__weights__values=zeros(ROOM, [ROOM // 8])),
        "many atoms in a round": lambda: changed(
            path__rounds__atoms=zeros(ROOM, [ROOM // 8], "<i8"),
            path__rounds__n_atoms=array([0, ROOM // 8, 0, 0, 0]),
        ),
        "many swaps": lambda: changed(
            path__rounds__swaps=zeros(ROOM, [ROOM // 16, 2], "<i8"),
            path__rounds__n_swaps=array([0, ROOM // 16, 0, 0, 0]),
        ),
        "rounds without features": lambda: changed(
            **{
                f"path__rounds__{key}": zeros(8 * N_ROUNDS, [N_ROUNDS], dtype)
                for key, dtype in EVERY_ROUND.items()
            },
            path__rounds__fell_back=zeros(N_ROUNDS, [N_ROUNDS], "|u1"),
            path__rounds__has_plain=zeros(N_ROUNDS, [N_ROUNDS], "|u1"),
            path__rounds__atoms=array([]),
            path__weights={
                "n_columns": array(np.ones(N_ROUNDS)),
                "values": array(np.zeros(3 * N_ROUNDS), "<f8"),
            },
            path__finished=False,
            model__chosen=array([]),
            model__coef=array(np.zeros((3, 0)), "<f8"),
        ),
        "groups of one": lambda: changed(
            inputs={"number": 1 << 24, "names": None},
            features={
                "kind": "groups",
                "ids": array(range(N_GROUPS)),
                "labels": {"dtype": "<i8", "values": []},
                "sizes": array(np.ones(N_GROUPS)),
                "columns": array(range(N_GROUPS)),
            },
        ),
        "templates of one pixel": lambda: changed(
            features={
                **{key: array([]) for key in ("ids", "numbers", "template", "down", "across")},
                **{"kind": "templates", "image_shape": [4, 2, 1], "unit": 1.0},
                "centres": array(np.zeros((0, 2)), "<f8"),
                "templates": [zeros(ROOM, [ROOM // 4, 1, 1, 1], "<f4")],
                **{"masks_down": [], "masks_across": []},
            }
        ),
        "templates without pixels": lambda: changed(
            features={
                **{key: array([]) for key in ("ids", "numbers", "template", "down", "across")},
                **{"kind": "templates", "image_shape": [4, 2, 1], "unit": 1.0},
                "centres": array(np.zeros((0, 2)), "<f8"),
                "templates": [zeros(0, [1 << 24, 0, 1, 1], "<f4")],
                **{"masks_down": [], "masks_across": []},
            }
        ),
        "many columns": lambda: changed(inputs__number=1 << 60),
        "as many columns as may be": lambda: changed(inputs__number=1 << 24),
        "wide labels": lambda: changed(classes={"dtype": "<U9999999", "values": ["a", "b", "c"]}),
        "many labels": lambda: changed(
            classes={"dtype": "<i8", "values": list(range(MOST_VALUES - 9999))}, document=alone
        ),
        "many labels of text": lambda: changed(
            groups={"dtype": "|O", "values": [f"{i:06}" for i in range(MOST_VALUES - 9999)]}
        ),
        "many names": lambda: changed(
            inputs={
                "number": (MOST_VALUES - 9999),
                "names": [f"c{i}" for i in range(MOST_VALUES - 9999)],
            }
        ),
        "many losses": lambda: changed(training__losses=zeros(ROOM, [ROOM // 8])),
        "many late rounds": lambda: changed(training__not_converged=[0] * (MOST_VALUES - 9999)),
        "many parameters": lambda: changed(parameters__costs={"list": [0] * (MOST_VALUES - 9999)}),
        "two large arrays": lambda: changed(
            path__weights__values=zeros(HALF * 24, [HALF * 3]),
            training__losses=zeros(HALF * 24, [HALF * 3]),
        ),
    }


def measured(path):
    """The growth of memory in bytes and the outcome of a load, told by a child."""
    import resource  # which not every system has

    reader, writer = os.pipe()
    if child := os.fork():
        os.close(writer)
        with open(reader) as told:
            found = told.read()
        assert os.waitpid(child, 0)[1] == 0, f"{path}: {found}"
        return json.loads(found)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        load_model(path)
        told = "loaded"
    except ModelFormatError as error:
        told = str(error).partition("be read: ")[2]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    os.write(writer, json.dumps([grown, told]).encode())
    os._exit(0)


def main(folder):
    whole, alone = (json.loads((folder / name).read_bytes()) for name in ("whole", "alone"))
    load_model(folder / "whole")
    for name, make in files(whole, alone).items():
        (folder / "hostile").write_bytes(make())
        print(json.dumps([name, *measured(folder / "hostile")]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
