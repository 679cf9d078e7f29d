"""What is written is what JavaScript and C read."""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_module import needs_node, run

from shareboost.export.text import (
    FEW,
    comment_text,
    float_literal,
    floats,
    fragments,
    label,
    label_type,
    literal,
    quoted,
    string_literal,
    table,
    table_bytes,
)


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
    script = f"console.log(JSON.stringify(Array.from({quoted(text)}, (c) => c.codePointAt(0))))"
    assert quoted(text).isascii()
    assert "<" not in quoted(text)
    assert json.loads(run(script, tmp_path)) == [ord(character) for character in text]


def test_small_integers_are_written_shortest_whatever_their_number():
    assert floats(np.zeros(1000, dtype=np.float32)).startswith("new Float32Array([0, 0, ")
    assert literal(np.array([3, -1])) == "[3, -1]"


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


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_literals_are_read_back_exactly(value):
    literal = float_literal(value)
    assert re.fullmatch(r"-?(\d+\.\d*|\.\d+|\d+(?=e))(e-?\d+)?f", literal)
    assert np.float32(literal.removesuffix("f")) == np.float32(value)


@given(st.text())
def test_no_text_leaves_a_comment(text):
    shown = comment_text(text)
    assert shown.isascii()
    assert shown.isprintable()
    assert not any(sign in shown for sign in ("*/", "/*", "??", "\\"))


@given(st.text(alphabet="*/\\?"))
def test_no_sequence_of_signs_leaves_a_comment(text):
    assert not any(sign in comment_text(text) for sign in ("*/", "/*", "??", "\\"))


@given(st.text())
def test_strings_of_c_are_read_back_exactly(text):
    literal = string_literal(text)
    inside = literal[1:-1]
    assert literal.isascii()
    assert '"' not in inside
    assert "??" not in inside
    found = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), inside)
    assert found.encode("latin-1") == text.encode("utf-8", "backslashreplace")


@pytest.mark.parametrize(
    ("values", "start", "n_bytes"),
    [
        (np.array([1, 255]), "static const uint8_t t[2]", 2),
        (np.array([[256]]), "static const uint16_t t[1][1]", 2),
        (np.array([(1 << 16) - 1]), "static const uint16_t t[1]", 2),
        (np.array([1 << 16, 0]), "static const uint32_t t[2]", 8),
        (np.array([-3, 4, 5], dtype=np.int8), "static const int8_t t[3]", 3),
        (np.array([[-3], [4]], dtype=np.int16), "static const int16_t t[2][1]", 4),
        (np.array([0.5], dtype=np.float32), "static const float t[1]", 4),
    ],
)
def test_tables_take_the_narrowest_type(values, start, n_bytes):
    assert table("t", values).startswith(start)
    assert table_bytes(values) == n_bytes


@pytest.mark.parametrize("width", range(1, 8))
def test_tables_hold_all_numbers_in_lines_of_a_hundred_characters(width):
    """Full to the last place: numbers of one width, with their commas, as many as fit."""
    values = np.full(250, 10 ** (width - 1))
    _, *lines = table("t", values).removesuffix("};\n").splitlines()
    assert max(map(len, lines)) == 100 // (width + 1) * (width + 1)
    assert [int(number) for number in ("".join(lines)).split(",")] == values.tolist()
