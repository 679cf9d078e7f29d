"""Runs exported JavaScript modules under Node."""

import json
import shutil
import subprocess

import numpy as np
import pytest

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

# Answers for rows of float32 numbers: the exports that a test asks for, called on each.
ANSWERS = """\
import { readFileSync } from "node:fs";
import * as model from "./model.mjs";
const [names, n] = [JSON.parse(process.argv[2]), model.nInputs];
const bytes = new Uint8Array(readFileSync("rows.bin"));
const rows = new Float32Array(bytes.buffer);
const answers = {};
for (const name of names) {
  if (typeof model[name] !== "function") answers[name] = model[name];
  else {
    answers[name] = [];
    for (let i = 0; i < rows.length; i += n) {
      const found = model[name](rows.subarray(i, i + n));
      answers[name].push(typeof found === "object" ? Array.from(found) : found);
    }
  }
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


def answers(module, X, folder, *names):
    """Return the module's constants of those names, and what its functions return for rows."""
    (folder / "model.mjs").write_text(module)
    (folder / "rows.bin").write_bytes(np.asarray(X, dtype="<f4").tobytes())
    found = json.loads(run(ANSWERS, folder, json.dumps(names)))
    return [found[name] for name in names]
