"""Headers compiled into shared libraries, for the tests that compare them with Python."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")
needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion"]

DRIVER = """
static long counted;
#define SHAREBOOST_COUNT(n) (counted += (n))
#include "model.h"
void scores(const {input} *x, int n, float *out);
void predict(const {input} *x, int n, int *out);
long count(const {input} *x);
const char *label(int class_index);
void scores(const {input} *x, int n, float *out)
{{
    for (int i = 0; i < n; ++i)
        {name}_scores(x + i * {name}_n_inputs, out + i * {name}_n_classes);
}}
void predict(const {input} *x, int n, int *out)
{{
    for (int i = 0; i < n; ++i)
        out[i] = {name}_predict(x + i * {name}_n_inputs);
}}
long count(const {input} *x)
{{
    counted = 0;
    (void){name}_predict(x);
    return counted;
}}
const char *label(int class_index)
{{
    return {name}_label(class_index);
}}
"""


class Compiled:
    """A header as functions of arrays."""

    def __init__(self, header, folder, input_type="float32", name="shareboost", flags=("-O1",)):
        self.dtype = np.dtype(input_type)
        self.n_classes = header.split("_n_classes = ", 1)[1].split(" ", 1)[0]
        c_input = {"float32": "float", "uint8": "uint8_t"}[input_type]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.h").write_text(header)
        (folder / "model.c").write_text(DRIVER.format(input=c_input, name=name))
        command = ["gcc", "-std=c99", *WARNINGS, *flags, "-shared", "-fPIC"]
        subprocess.run([*command, "model.c", "-o", "model.so"], cwd=folder, check=True)
        self.library = ctypes.CDLL(str(folder / "model.so"))
        self.library.label.restype = ctypes.c_char_p
        self.library.count.restype = ctypes.c_long

    def scores(self, X):
        out = np.empty((len(X), int(self.n_classes)), dtype=np.float32)
        self.library.scores(self._pointer(X), len(X), out.ctypes.data_as(ctypes.c_void_p))
        return out

    def predict(self, X):
        out = np.empty(len(X), dtype=np.intc)
        self.library.predict(self._pointer(X), len(X), out.ctypes.data_as(ctypes.c_void_p))
        return out

    def count(self, row):
        """Return the multiply-adds of a row."""
        return self.library.count(self._pointer(row[None]))

    def label(self, place):
        return self.library.label(place).decode()

    def _pointer(self, X):
        self.kept = np.ascontiguousarray(X, dtype=self.dtype)
        return self.kept.ctypes.data_as(ctypes.c_void_p)


def size_of(header, folder, name="shareboost"):
    """Return the bytes of code and tables, and of stack, of the function that predicts."""
    (folder / "size.h").write_text(header)
    (folder / "size.c").write_text(
        '#include "size.h"\n'
        "int predict(const float *x);\n"
        f"int predict(const float *x) {{ return {name}_predict(x); }}\n"
    )
    compile_ = ["gcc", "-std=c99", "-Os", "-c", "size.c"]
    subprocess.run([*compile_, "-o", "size.o"], cwd=folder, check=True)
    found = subprocess.run(["size", "size.o"], cwd=folder, check=True, capture_output=True)
    text, data, bss, *_ = map(int, found.stdout.split(b"\n")[1].split()[:3])
    assert bss == 0
    # Without the 128 bytes below the stack that x86-64 may use and not count.
    subprocess.run(
        [*compile_, "-mno-red-zone", "-fstack-usage", "-o", "stack.o"], cwd=folder, check=True
    )
    lines = (folder / "stack.su").read_text().splitlines()
    return text + data, sum(int(line.split("\t")[1]) for line in lines)
