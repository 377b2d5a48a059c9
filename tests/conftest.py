"""Random numbers for all tests: one seed, a stream of its own for each test."""

import inspect
import os
import re
import sys
import zlib
from functools import cache

import numpy as np
import pytest
from mutants import broken
from threadpoolctl import threadpool_limits

# workers share the cores: with two threads each a run takes twice as long
threadpool_limits(limits=1)  # of what is loaded already
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # of what comes: scipy has a library of its own
    os.environ.setdefault(name, "1")

# read when scipy is first imported: without it scikit-learn skips one of its checks
os.environ.setdefault("SCIPY_ARRAY_API", "1")


#: A test of a test breaks the package, or waits for a check to fail.
TESTS_A_TEST = re.compile(r"\b(install_)?broken\(|\braises\(\(?AssertionError")


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items):
    """Tests of tests are slow, if they are not nightly."""
    for item in items:
        if tests_a_test(getattr(item, "function", None)) and not item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.slow)


@cache
def tests_a_test(function) -> bool:
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or {"broken", "install_broken", "raises"}.isdisjoint(names_of(code)):  # sources are slow
        return False
    return bool(TESTS_A_TEST.search(inspect.getsource(function)))


def names_of(code):
    yield from code.co_names
    yield from {"install_broken"} & {*code.co_varnames}  # a fixture is a variable of the test
    for inner in filter(inspect.iscode, code.co_consts):
        yield from names_of(inner)


SEED = int(os.environ.get("SGEVIDENCE_TEST_SEED", "0"))


@pytest.fixture
def rng(request) -> np.random.Generator:
    """Set SGEVIDENCE_TEST_SEED for other draws: tolerances are error bars, so every seed must pass."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.name.encode())])


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    """Matplotlib warns of the twenty-first, in whatever test it comes."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def seed() -> int:
    """For what takes seeds instead of a generator."""
    return SEED


@pytest.fixture
def install_broken(monkeypatch):
    """Breaks a function of an owner for this test: ``install_broken(owner, name, right, wrong)``."""

    def install(owner, name, right, wrong):
        monkeypatch.setattr(owner, name, broken(getattr(owner, name), right, wrong))

    return install


@pytest.fixture
def rows_of_call(monkeypatch):
    """``rows_of_call(n)``: files come in batches of n rows."""
    return lambda n: monkeypatch.setattr("sgevidence.rows._sources.ROWS_OF_CALL", n)


@pytest.fixture
def walk_numbers(monkeypatch):
    """``walk_numbers(n)``: strata are walked where rows × components × numbers of a row are at most n."""
    return lambda n: monkeypatch.setattr("sgevidence.mixture.strata._limits.MAX_WALK_NUMBERS", n)


@pytest.fixture
def run_script(monkeypatch):
    """``run_script(main, *arguments)``: a script's function with these at its command line."""

    def run(main, *arguments):
        monkeypatch.setattr(sys, "argv", ["script.py", *map(str, arguments)])
        return main()

    return run


@pytest.fixture
def double_precision(request, monkeypatch):
    """To compare to ten digits; a test of single precision says so in its name."""
    if "single_precision" not in request.node.name:
        from precision import sum_in_double  # after SCIPY_ARRAY_API is set

        sum_in_double(monkeypatch)
