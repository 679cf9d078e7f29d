"""Digests of values: the same for the same content, in any layout, process and order."""

import pickle
import subprocess
import sys
import tracemalloc

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from sklearn.linear_model import LogisticRegression

from shareboost import identity
from shareboost.identity import Digests, digest
from shareboost.penalties import Frobenius, SmoothL1, SmoothLinf1
from shareboost.pools import Columns, Stumps, Templates, Union

NUMBERS = st.floats(allow_nan=False)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), NUMBERS, st.text(), st.binary())
nested = st.recursive(
    scalars,
    lambda inside: st.one_of(
        st.lists(inside),
        st.lists(inside).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.booleans()), inside),
    ),
    max_leaves=12,
)
arrays = hnp.arrays(
    dtype=st.one_of(
        hnp.scalar_dtypes(),
        hnp.unicode_string_dtypes(),
        hnp.byte_string_dtypes(),
        hnp.array_dtypes(),
    ),
    shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
)


def spelled(value):
    """Return text that is the same for the same content only: the slow, obvious reference."""
    if isinstance(value, dict):
        return "{" + ",".join(sorted(f"{spelled(k)}:{spelled(v)}" for k, v in value.items())) + "}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({','.join(map(spelled, value))})"
    return f"{type(value).__name__} {value!a}"


@given(nested, nested)
def test_digests_are_the_same_exactly_where_the_content_is(a, b):
    assert (digest(a) == digest(b)) == (spelled(a) == spelled(b))


def test_unlike_values_have_unlike_digests():
    values = [
        *(None, True, False, 0, 1, -1, 10**30, 0.0, -0.0, 1.0, np.nan, np.inf, "", "1", "None"),
        *(b"", b"1", [], (), {}, [1, [2]], [[1], 2], [[1, 2]], [1, 2], (1, 2), [12], ["1", "2"]),
        *([[], []], [[[]]], {"a": 1}, {"a": "1"}, {"b": 1}, {1: "a"}, {"a": {"b": 1}}, ["a", 1]),
        *(np.array([1, 2]), np.array([[1, 2]]), np.array([[1], [2]]), np.array([2, 1])),
        *(np.array([1.0, 2.0]), np.array([1, 2], np.int8), np.array([1, 2], object)),
        *(np.array(["1", "2"]), np.array(["1", "2"], object), np.array(["12"], object)),
        *(np.empty(0), np.empty((0, 3)), np.empty((3, 0)), np.array(1), np.array("1")),
        *(np.array([0, 1], "M8[s]"), np.array([0, 1], "M8[ms]"), np.array([0, 1], "m8[s]")),
        *(np.timedelta64(1, "s"), np.timedelta64(1, "m"), np.datetime64(1, "s")),
        *(sp.csr_array([[1, 2]]), sp.csr_array([[1.0, 2]]), sp.csr_array([[2, 1]])),
        *(sp.csr_array([[1, 2, 0]]), sp.csr_array([[1, 0, 2]]), sp.csr_array([[1], [2]])),
        *(Columns(), Columns(scale="maxabs"), Stumps(), Union([Columns()]), LogisticRegression()),
        *(Frobenius(), SmoothL1(), SmoothL1(50.0), SmoothLinf1(), {"beta": 100.0}),
    ]
    assert len(set(map(digest, values))) == len(values)


@pytest.mark.parametrize(
    ("scalar", "number"),
    [
        *((kind(3), 3) for kind in (np.int8, np.uint16, np.int64, np.uint64)),
        *((kind(0.25), 0.25) for kind in (np.float16, np.float32, np.float64)),
        *((np.bool_(True), True), (np.str_("a"), "a"), (np.bytes_(b"a"), b"a")),
        ({np.int64(1): np.float64(2.0)}, {1: 2.0}),
    ],
)
def test_a_numpy_scalar_is_the_number_it_holds(scalar, number):
    assert digest(scalar) == digest(number)


def test_the_order_of_keys_does_not_count():
    entries = [("a", 1), (1, "a"), (2.5, None), (b"x", [1]), (None, 0), (False, {})]
    assert digest(dict(entries)) == digest(dict(reversed(entries)))


def backwards(array):
    return array[(slice(None, None, -1),) * array.ndim + (...,)]


@given(arrays)
def test_memory_layout_and_byte_order_do_not_count(array):
    wide = np.repeat(array[..., np.newaxis], 2, axis=-1)
    alike = {
        "fortran": np.asfortranarray(array).reshape(array.shape),
        "strided": wide[..., 0],
        "reversed": backwards(backwards(array).copy()),
        "swapped": array.astype(array.dtype.newbyteorder(">")),
        "copied": array.copy(),
    }
    assert {how: digest(other) for how, other in alike.items()} == dict.fromkeys(
        alike, digest(array)
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, ">i4", "U3", "M8[s]", object])
def test_chunks_do_not_count(dtype, monkeypatch):
    array = np.arange(24_000).astype(dtype).reshape(20, 30, 40)
    whole = digest(array)
    monkeypatch.setattr(identity, "CHUNK_BYTES", 100)
    assert digest(array) == whole
    assert digest(np.asfortranarray(array)) == whole
    assert digest(array.transpose(2, 0, 1).copy().transpose(1, 2, 0)) == whole


@given(arrays.filter(lambda array: array.size and array.dtype.itemsize), st.data())
def test_any_changed_element_counts(array, data):
    other = array.copy()
    place = data.draw(st.integers(0, array.size - 1))
    other.reshape(-1)[place] = data.draw(hnp.from_dtype(array.dtype))
    same = array.tobytes() == other.tobytes()
    assert (digest(array) == digest(other)) == same


@pytest.mark.quiet
def test_a_large_array_is_not_copied():
    array = np.zeros((3000, 1000))
    for laid_out in (array, np.asfortranarray(array), array[:, ::2]):
        tracemalloc.start()
        digest(laid_out)
        assert tracemalloc.get_traced_memory()[1] < 1e6
        tracemalloc.stop()


FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_the_format_of_a_sparse_matrix_does_not_count(kind):
    matrix = kind(np.array([[0, 1.5, 0, 0], [2, 0, 0, -3], [0, 0, 0, 0]]))
    digests = {digest(matrix.asformat(name)) for name in FORMATS}
    assert len(digests) == 1
    assert digests != {digest(matrix.toarray())}


def test_order_duplicates_zeros_and_index_type_of_entries_do_not_count():
    tidy = sp.csr_array(np.array([[3.0, 0.0, 5.0], [0.0, 7.0, 0.0]]))
    entries = np.array([5.0, 1.0, 2.0, 0.0, 7.0])
    columns, starts = np.array([2, 0, 0, 0, 1]), np.array([0, 3, 5])
    for index in (np.int32, np.int64):
        untidy = sp.csr_array((entries, columns.astype(index), starts.astype(index)), (2, 3))
        assert digest(untidy) == digest(tidy)
        assert digest(sp.csc_array(untidy)) == digest(tidy)
        # Not even a flag of it has changed.
        assert not {"_has_canonical_format", "_has_sorted_indices"} & vars(untidy).keys()
        assert untidy.data.tolist() == entries.tolist()
        assert untidy.indices.tolist() == columns.tolist()


def test_sparse_matrices_without_entries_differ_by_shape():
    shapes = [(0, 3), (3, 0), (2, 3), (3, 2)]
    assert len({digest(sp.csr_array(shape)) for shape in shapes}) == len(shapes)


def test_a_pool_counts_by_its_parameters_and_not_by_its_fit():
    X = np.random.default_rng(0).random((30, 4))
    pool = Union([("first", Columns()), Stumps()], costs=[1.0, 2.0])
    before = digest(pool)
    pool.fit(X)
    assert digest(pool) == before
    assert digest(Union([("first", Columns()), Stumps()], costs=[1.0, 3.0])) != before
    assert digest(Union([("first", Columns("maxabs")), Stumps()], costs=[1.0, 2.0])) != before


class Own(SmoothL1):
    """A penalty of a user's own that holds what no pickle does."""

    def __init__(self):
        self.__dict__["sharpness"] = lambda: 3.0


def test_what_cannot_be_told_is_refused_by_name():
    for value in (Own(), [0, lambda: None], {"a": Own()}):
        with pytest.raises(TypeError, match=r"penalty holds what cannot be told from other"):
            digest(value, "penalty")


def test_random_states_count_by_their_state():
    states = [np.random.RandomState(0), np.random.RandomState(0), np.random.RandomState(1)]
    one, same, other = (digest(Templates(random_state=state)) for state in states)
    assert one == same != other
    states[0].random()
    assert digest(Templates(random_state=states[0])) != one


def test_digests_are_computed_once_and_only_when_they_are_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(identity, "digest", lambda value, name: asked.append(name) or digest(value))
    digests = Digests({"a": 1, "b": Own()})
    assert not asked
    assert dict(digests) == dict(digests) == {"a": digest(1)}  # without what cannot be told
    assert asked == ["a", "b"]
    assert pickle.loads(pickle.dumps(Digests({"a": 1}))) == {"a": digest(1)}


def test_another_process_gives_the_same_digest():
    code = (
        "import numpy as np; from shareboost.identity import digest;"
        "from shareboost.pools import Stumps;"
        "print(digest([{'a': 1, 'b': 2.5, 'c': {'d', }.pop()}, np.arange(5), Stumps(), None]))"
    )
    here = digest([{"c": "d", "b": 2.5, "a": 1}, np.arange(5), Stumps(), None])
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == here
