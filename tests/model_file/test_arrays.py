"""Arrays are bytes of one stated order on every machine."""

import base64
import struct

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from model_files import assert_same_bits

from shareboost import ModelFormatError
from shareboost.model_file.arrays import FLOATS, INTEGERS, SINGLES, TYPES, from_plain, to_plain


def round_trip(array, dtype):
    plain = to_plain(array, dtype)
    plain["base64"] = memoryview(plain["base64"].encode())
    return from_plain(plain, "array", dtype, array.shape)


@pytest.mark.parametrize(("dtype", "code"), [(FLOATS, "<3d"), (INTEGERS, "<3q"), (SINGLES, "<3f")])
def test_the_bytes_are_little_endian_whatever_the_array(dtype, code):
    for order in "<>":
        values = np.array([1, -2, 300]).astype(dtype.newbyteorder(order))
        plain = to_plain(values, dtype)
        assert plain["dtype"].startswith("<")
        assert base64.b64decode(plain["base64"]) == struct.pack(code, 1, -2, 300)
        assert_same_bits(round_trip(values, dtype), values.astype(dtype.newbyteorder("=")))


@given(hnp.arrays(st.sampled_from(list(TYPES.values())), hnp.array_shapes(min_side=0, max_dims=4)))
def test_any_array_comes_back(array):
    found = round_trip(array, array.dtype)
    assert_same_bits(found, array)
    assert found.flags.writeable
    assert found.flags.c_contiguous


def test_long_arrays_come_back_from_their_chunks():
    array = np.random.default_rng(0).normal(size=(3, 100_001))
    assert_same_bits(round_trip(array, FLOATS), array)
    assert_same_bits(round_trip(array[:, ::2].T, FLOATS), array[:, ::2].T.copy())


def test_text_that_is_not_the_base64_of_the_shape_is_refused():
    for text in ("AAAAAAAAAAA", "AAAAAAAAAAAA", "AAAA====AAA=", "AAAAAAAAAA==", "AAAA AAAAAA="):
        plain = {"dtype": "<f8", "shape": [1], "base64": memoryview(text.encode())}
        with pytest.raises(ModelFormatError, match="array has"):
            from_plain(plain, "array", FLOATS, (1,))


def test_padding_between_chunks_is_refused():
    array = np.zeros(1 << 18)
    plain = to_plain(array, FLOATS)
    text = bytearray(plain["base64"].encode())
    text[(1 << 20) - 2 : 1 << 20] = b"=="
    plain["base64"] = memoryview(bytes(text))
    with pytest.raises(ModelFormatError):
        from_plain(plain, "array", FLOATS, (None,))
