"""Arrays are bytes of one stated order on every machine."""

import base64
import re
import struct
from itertools import product

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from model_files import assert_same_bits

from shareboost import ModelFormatError
from shareboost.io.text import (
    FLAGS,
    FLOATS,
    INTEGERS,
    LARGEST_FILE,
    SINGLES,
    TYPES,
    array_from_plain,
    array_to_plain,
    from_bytes,
    to_bytes,
)


def round_trip(array, dtype):
    plain = array_to_plain(array, dtype)
    plain["base64"] = memoryview(plain["base64"])
    return array_from_plain(plain, "array", dtype, array.shape)


@pytest.mark.parametrize(("dtype", "code"), [(FLOATS, "<3d"), (INTEGERS, "<3q"), (SINGLES, "<3f")])
def test_the_bytes_are_little_endian_whatever_the_array(dtype, code):
    for order in "<>":
        values = np.array([1, -2, 300]).astype(dtype.newbyteorder(order))
        plain = array_to_plain(values, dtype)
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
            array_from_plain(plain, "array", FLOATS, (1,))


def test_padding_between_chunks_is_refused():
    array = np.zeros(1 << 18)
    plain = array_to_plain(array, FLOATS)
    text = bytearray(plain["base64"])
    text[(1 << 20) - 2 : 1 << 20] = b"=="
    plain["base64"] = memoryview(bytes(text))
    with pytest.raises(ModelFormatError):
        array_from_plain(plain, "array", FLOATS, (None,))


def test_a_text_is_read_if_and_only_if_it_is_base64_of_the_length():
    patterns = {1: "[AB/]{2}==", 2: "[AB/]{3}=", 3: "[AB/]{4}"}
    for signs in product("AB/=! ", repeat=4):
        text = "".join(signs)
        for n, pattern in patterns.items():
            plain = {"dtype": "|u1", "shape": [n], "base64": memoryview(text.encode())}
            if re.fullmatch(pattern, text):
                found = array_from_plain(plain, "array", FLAGS, (None,))
                assert found.tobytes() == base64.b64decode(text)
            else:
                with pytest.raises(ModelFormatError, match="array has .*base64"):
                    array_from_plain(plain, "array", FLAGS, (None,))


def test_shapes_without_any_number_are_bounded_too():
    """NumPy multiplies all other lengths of such a shape, however large."""
    most = LARGEST_FILE // 8
    for shape in ([0], [0, 0, 7], [most, 0], [0, most], [0, most // 2, 2]):
        plain = {"dtype": "<f8", "shape": shape, "base64": memoryview(b"")}
        assert array_from_plain(plain, "array", FLOATS, (None,) * len(shape)).shape == tuple(shape)
    for shape in ([2**62, 0], [0, 2**62], [0, most + 1], [0, most // 2, 3], [2**26, 2**26, 0]):
        plain = {"dtype": "<f8", "shape": shape, "base64": memoryview(b"")}
        with pytest.raises(ModelFormatError, match="no file has room for"):
            array_from_plain(plain, "array", FLOATS, (None,) * len(shape))


def test_texts_that_look_like_arrays_come_back_beside_arrays():
    texts = [
        '"base64":7',
        '"base64":',
        '\\"base64":0',
        '{"base64":"AAAA"}',
        "base64",
        '\\\\"base64":1',
    ]
    array = array_to_plain(np.arange(3), INTEGERS)
    document = {
        '"base64":0': texts,
        "a": array,
        "b": {text + "!": text for text in texts},
        "c": array,
    }
    read = from_bytes(to_bytes(document))
    for key in "ac":
        assert array_from_plain(read.pop(key), key, INTEGERS, (3,)).tolist() == [0, 1, 2]
        del document[key]
    assert read == document
