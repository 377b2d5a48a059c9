"""Random numbers for all tests: one seed, a stream of its own for each test."""

import os
import zlib

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

# workers share the cores: with two threads each a run takes twice as long
threadpool_limits(limits=1)  # of what is loaded already
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # of what comes: scipy has a library of its own
    os.environ.setdefault(name, "1")

# read when scipy is first imported: without it scikit-learn skips one of its checks
os.environ.setdefault("SCIPY_ARRAY_API", "1")


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items):
    """A test that breaks the package, to see whether checks notice, is slow: it tests the tests."""
    for item in items:
        if "broken" in names(getattr(item, "function", None)):
            item.add_marker(pytest.mark.slow)


def names(function) -> set[str]:
    """Names that a function uses, and functions inside it."""
    code = getattr(function, "__code__", None)
    todo, found = [code] if code else [], set()
    while todo:
        code = todo.pop()
        found.update(code.co_names)
        todo += [constant for constant in code.co_consts if hasattr(constant, "co_names")]
    return found


SEED = int(os.environ.get("SGEVIDENCE_TEST_SEED", "0"))


@pytest.fixture
def rng(request) -> np.random.Generator:
    """Set SGEVIDENCE_TEST_SEED for other draws: tolerances are error bars, so every seed must pass."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.name.encode())])


@pytest.fixture
def seed() -> int:
    """For what takes seeds instead of a generator."""
    return SEED


@pytest.fixture
def double_precision(request, monkeypatch):
    """To compare to ten digits; a test of single precision says so in its name."""
    if "single_precision" not in request.node.name:
        from precision import sum_in_double  # after SCIPY_ARRAY_API is set

        sum_in_double(monkeypatch)
