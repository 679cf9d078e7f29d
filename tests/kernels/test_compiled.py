import importlib
import os
import pkgutil
import shutil
import signal
import subprocess
import sys

import numba
import pytest
from ctrl_c import heeding_ctrl_c
from numba.core import event
from numba.core.dispatcher import Dispatcher

import shareboost.kernels
from shareboost.kernels import compiled
from shareboost.kernels.compiled import _Cache

SOURCE = """
from shareboost.kernels.compiled import compiled

@compiled()
def double(x):
    return 2 * x
"""


@pytest.fixture(autouse=True)
def no_warning_yet(monkeypatch):
    monkeypatch.setattr(compiled, "_has_warned", False)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The directory of the cache."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def new_kernel(tmp_path, cache, monkeypatch):
    """Return the same kernel each time, as another process finds it."""
    (tmp_path / "doubling.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)

    def made():
        sys.modules.pop("doubling", None)
        return importlib.import_module("doubling").double

    yield made
    sys.modules.pop("doubling", None)


def cached_files(cache, ending):
    return list(cache.glob(f"*/*.{ending}"))


def test_a_kernel_is_cached(new_kernel, cache):
    assert new_kernel()(3) == 6
    assert len(cached_files(cache, "nbi")) == len(cached_files(cache, "nbc")) == 1
    kernel = new_kernel()
    assert kernel(3) == 6
    assert sum(kernel.stats.cache_hits.values()) == 1


def test_without_a_place_for_the_cache_kernels_are_compiled_and_one_warning_says_so():
    namespace = {}
    code = compile(SOURCE, "no such file", "exec")
    with pytest.warns(RuntimeWarning, match="no locator available.*NUMBA_CACHE_DIR"):
        exec(code, namespace)
    assert namespace["double"](3) == 6
    exec(code, namespace)  # no second warning, which would be an error
    assert namespace["double"](3) == 6


def test_a_cache_that_cannot_be_written_does_not_end_the_call(new_kernel, cache):
    kernel = new_kernel()
    shutil.rmtree(cache)
    cache.touch()
    with pytest.warns(RuntimeWarning, match="cache of compiled functions failed"):
        assert kernel(3) == 6
    assert kernel(3.5) == 7.0


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "cut", "no text"])
def test_a_damaged_file_is_replaced(new_kernel, cache, ending, damage):
    new_kernel()(3)
    (path,) = cached_files(cache, ending)
    whole = path.read_bytes()
    damaged = {"empty": b"", "cut": whole[:-20], "no text": b"\x80\x04\x8c\x02\xff\xff"}
    path.write_bytes(damaged[damage])
    with pytest.warns(RuntimeWarning, match="cache of compiled functions failed"):
        assert new_kernel()(3) == 6
    kernel = new_kernel()
    assert kernel(3) == 6
    assert sum(kernel.stats.cache_hits.values()) == 1


def test_every_kernel_can_do_without_the_cache():
    kernels = [
        value
        for module in pkgutil.iter_modules(shareboost.kernels.__path__, "shareboost.kernels.")
        for value in vars(importlib.import_module(module.name)).values()
        if isinstance(value, Dispatcher)
    ]
    assert len(kernels) > 20
    assert {type(kernel._cache) for kernel in kernels} == {_Cache}


class Interrupt(event.Listener):
    def on_start(self, event):
        signal.raise_signal(signal.SIGINT)

    def on_end(self, event):
        pass


def test_ctrl_c_takes_effect_after_a_compilation(new_kernel):
    kernel = new_kernel()
    interrupted = event.install_listener("numba:compile", Interrupt())
    with heeding_ctrl_c(), pytest.raises(KeyboardInterrupt), interrupted:
        kernel(3)
    assert len(kernel.signatures) == 1


WITHOUT_COMPILER = """
from sklearn.datasets import load_iris
from shareboost import ShareBoostClassifier
X, y = load_iris(return_X_y=True)
for pool in "columns", "stumps", "products":
    assert ShareBoostClassifier(3, pool=pool).fit(X, y).score(X, y) > 0.9
"""


def test_fits_run_without_numbas_compiler():
    settings = {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_COMPILER],
        check=True,
        env=os.environ | settings,
    )
