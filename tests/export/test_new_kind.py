"""A new kind of features and a new primitive are a class each and a line in a table."""

import json
from dataclasses import dataclass
from typing import Annotated

import jsonschema
import numpy as np
import pytest
from compiled_c import compiled, needs_gcc
from every_pool import some_digits
from exported_pools import assert_near
from model_files import assert_same_bits
from node_module import assert_modules_answer, needs_node
from numpy.typing import NDArray
from onnx_session import assert_onnx_answers

from shareboost import ShareBoostClassifier
from shareboost.arrays import standard_namespace, taken
from shareboost.export import cost_report, quantization_loss
from shareboost.export.primitives import PRIMITIVES
from shareboost.export.primitives.base import CodeBytes
from shareboost.export.primitives.columns import OfOneColumn
from shareboost.io import features, file_schema
from shareboost.io.model_file import content_of, model_of
from shareboost.pools import Features
from shareboost.pools.features import INPUTS, Ids, Integers

C = """
static inline void $prefix(const $input *x, int first, int last, float *scores)
{
    int i;
    for (i = first; i < last; ++i) {
        const float value = (float)x[${prefix}_columns[i]];
        ${name}_add($start + i, ((value < 0.0f ? -value : value)$less)$scaled, scores);
    }
}
"""
JAVASCRIPT = """\
function sizes({ places, columns }, row, values) {
  for (let i = 0; i < places.length; i++) values[places[i]] = Math.abs(row[columns[i]]);
}
"""


@dataclass(frozen=True)
class Sizes(OfOneColumn):
    """Magnitudes of columns."""

    of_any_size = True
    code_bytes = CodeBytes(70, 100, 8, 13)

    def source(self, language):
        return {"c": C, "js": JAVASCRIPT}[language]

    def before_offsets(self, tables, X):
        return np.abs(X[:, self.columns])

    def limits(self, low, high):
        ends = np.abs([low[self.columns], high[self.columns]])
        return 0.0 * ends[0], ends.max(axis=0)

    def add_values(self, nodes, x):
        return nodes.add("Abs", super().add_values(nodes, x))


@dataclass(frozen=True)
class SizeFeatures(Features):
    """Magnitudes of chosen columns."""

    kind = "sizes"

    ids: Ids
    column: Annotated[NDArray[np.intp], Integers("columns", below=INPUTS)]

    def columns(self, X):
        return standard_namespace(X).abs(taken(X, self.column))

    def names(self, input_names):
        return [f"|{input_names[j]}|" for j in self.column]

    def parts(self, places):
        yield "sizes", {"places": places, "columns": self.column}


@pytest.fixture
def sizes(monkeypatch):
    """A model of the magnitudes of columns, and rows of both signs."""
    monkeypatch.setitem(PRIMITIVES, "sizes", Sizes)
    monkeypatch.setitem(features.KINDS, "sizes", SizeFeatures)
    X, y, _, _ = some_digits()
    signs = np.random.default_rng(0).choice([-1.0, 1.0], X.shape)
    clf = ShareBoostClassifier(6, alpha=1e-3).fit(X, y)
    ids, expected = clf.path_.features.ids, clf.decision_function(X)
    clf.path_.features = SizeFeatures(ids, ids)
    X = (X * signs).astype(np.float32)
    assert_near(clf.decision_function(X), expected)
    return clf, X, y


@needs_gcc
@needs_node
def test_it_is_exported_to_every_language(sizes, tmp_path):
    clf, X, y = sizes
    early = {"early_exit": True, "input_range": (-16.0, 16.0)}
    for header in compiled(tmp_path, (clf, {}), (clf, early)):
        assert_near(header.scores(X), clf.decision_function(X))
        np.testing.assert_array_equal(header.predict(X), clf.predict(X))
    assert_modules_answer([clf], X, tmp_path)
    assert_onnx_answers([clf], X)
    assert quantization_loss(clf, X, y, weights="int16").changed == 0
    assert (np.diff(cost_report(clf).flash) > 0).all()


def test_it_is_saved_described_and_read(sizes):
    clf, X, _ = sizes
    content = content_of(clf, False)
    jsonschema.Draft202012Validator(file_schema()).validate(json.loads(content))
    loaded = model_of(content)
    assert type(loaded.path_.features) is SizeFeatures
    assert_same_bits(loaded.decision_function(X), clf.decision_function(X))
    assert loaded.get_feature_names_out()[0].startswith("|x")
