"""Runs exported JavaScript modules under Node."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from exported_pools import assert_near
from scipy.special import softmax

from shareboost.export import to_js

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

# Answers for rows of float32 numbers: the exports that a test asks for, called on each.
ANSWERS = """\
import { readFileSync } from "node:fs";
const [nModules, names] = JSON.parse(process.argv[2]);
const bytes = new Uint8Array(readFileSync("rows.bin"));
const rows = new Float32Array(bytes.buffer);
const answers = [];
for (let number = 0; number < nModules; ++number) {
  const model = await import(`./model${number}.mjs`);
  answers.push(names.map((name) => {
    if (typeof model[name] !== "function") return model[name];
    const found = [];
    for (let i = 0; i < rows.length; i += model.nInputs) {
      const answer = model[name](rows.subarray(i, i + model.nInputs));
      found.push(typeof answer === "object" ? Array.from(answer) : answer);
    }
    return found;
  }));
}
console.log(JSON.stringify(answers));
"""


def run(script, folder, *arguments):
    """Return what a script prints, a module in a folder."""
    (folder / "script.mjs").write_text(script)
    done = subprocess.run(
        ["node", "script.mjs", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def answers(modules, X, folder, *names):
    """Return the constants of those names of each module, and its functions' results for rows."""
    for number, module in enumerate(modules):
        (folder / f"model{number}.mjs").write_text(module)
    (folder / "rows.bin").write_bytes(np.asarray(X, dtype="<f4").tobytes())
    return json.loads(run(ANSWERS, folder, json.dumps([len(modules), names])))


def assert_modules_answer(models, X, folder):
    """Check scores to 1e-5 of a row's largest one, probabilities, and the class of every row."""
    X = np.asarray(X, dtype=np.float32)
    functions = ("scores", "predict", "predictIndex", "probabilities")
    found = answers([to_js(clf) for clf in models], X, folder, *functions)
    for clf, (scores, labels, best, probabilities) in zip(models, found, strict=True):
        truth = clf._scores(X)
        assert_near(np.array(scores), truth)
        np.testing.assert_array_equal(labels, clf.predict(X))
        np.testing.assert_array_equal(best, truth.argmax(axis=1))
        linked = softmax(clf._logits(np.array(scores)), axis=1)
        np.testing.assert_allclose(probabilities, linked, rtol=1e-6, atol=1e-12)
