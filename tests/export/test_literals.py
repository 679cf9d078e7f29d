"""Literals are read by JavaScript as the values that they were written from."""

import json

import numpy as np
import pytest
from node_module import needs_node, run

from shareboost.export.fragments import fragments
from shareboost.export.literals import FEW, floats, integers, label, label_type, string


def odd_numbers(dtype, n):
    """Numbers of all sizes: any bits that are finite."""
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    bits = np.random.default_rng(0).integers(0, np.iinfo(unsigned).max, 3 * n, dtype=unsigned)
    values = bits.view(dtype)
    limits = np.finfo(dtype)
    edges = [0.0, -0.0, 1.0, 16777217.0, limits.max, limits.tiny, limits.smallest_subnormal]
    return np.concatenate([np.array(edges, dtype=dtype), values[np.isfinite(values)]])[:n]


@needs_node
def test_floats_are_the_same_to_the_bit(tmp_path):
    arrays = [
        odd_numbers(dtype, n) for dtype in (np.float32, np.float64) for n in (0, 7, FEW, 5000)
    ]
    texts = [floats(values) for values in arrays]
    code = fragments("module.js")
    printed = run(
        f"const found = [{', '.join(texts)}];\n{code['float32']}\n{code['float64']}\n"
        "console.log(JSON.stringify(found.map((values) => [values.constructor.name, "
        "Array.from(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))])));",
        tmp_path,
    )
    for values, text, (name, found) in zip(arrays, texts, json.loads(printed), strict=True):
        assert ("Array([" in text) == (values.size <= FEW)
        assert name == f"Float{8 * values.itemsize}Array"
        assert bytes(found) == values.tobytes()


@needs_node
def test_strings_are_the_same_to_the_character(tmp_path):
    text = "".join(map(chr, range(0x2100))) + "𝄞</script><!--"
    script = f"console.log(JSON.stringify(Array.from({string(text)}, (c) => c.codePointAt(0))))"
    assert string(text).isascii()
    assert "<" not in string(text)
    assert json.loads(run(script, tmp_path)) == [ord(character) for character in text]


def test_small_integers_are_written_shortest_whatever_their_number():
    assert floats(np.zeros(1000, dtype=np.float32)).startswith("new Float32Array([0, 0, ")
    assert integers(np.array([3, -1])) == "[3, -1]"


@pytest.mark.parametrize(
    ("value", "written", "kind"),
    [
        ("a", '"a"', "string"),
        (True, "true", "boolean"),
        (-3, "-3", "number"),
        (2.0, "2", "number"),
        (2**53 - 1, "9007199254740991", "number"),
        (2**53, "9007199254740992n", "bigint"),
    ],
)
def test_labels_have_the_types_of_typescript(value, written, kind):
    assert label(value) == written
    assert label(np.array([value])[0]) == written
    assert label_type(np.array([value])) == kind


def test_mixed_labels_are_of_a_union():
    assert label_type(np.array(["a", 1, "b"], dtype=object)) == "string | number"
