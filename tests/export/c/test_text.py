"""What is written is what C reads."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shareboost.export.c.text import comment_text, float_literal, string_literal, table, table_bytes


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
def test_strings_are_read_back_exactly(text):
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
