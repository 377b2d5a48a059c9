"""What ``fit`` takes beyond the rows: no copy of an array that is float64 and contiguous."""

import tracemalloc
from functools import partial

import numpy as np
import pytest

from sgevidence import SGAIS, BayesianGLM, BayesianGMM, BayesianLinearRegression, BayesianSoftmaxRegression
from sgevidence.history import Reservoir, Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import mixture_strata

ESTIMATORS = {
    "linear": BayesianLinearRegression,
    "one": BayesianGMM,
    "poisson": partial(BayesianGLM, "poisson"),
    "softmax": BayesianSoftmaxRegression,
}


def peak_of(call):
    """Bytes beyond what there was."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", [*ESTIMATORS, "memmap"])
def test_fit_does_not_copy_the_rows(name, tmp_path, rng):
    X = rng.standard_normal((150_000, 30))
    if name == "memmap":
        name = "linear"
        on_disk = np.memmap(tmp_path / "X", np.float64, "w+", shape=X.shape)
        on_disk[:] = X
        X = np.memmap(tmp_path / "X", np.float64, "r", shape=X.shape)
    model = ESTIMATORS[name](sampler=SGAIS(reservoir_size=1000), random_state=0)
    y = (rng.random(len(X)) < 0.3).astype(float)
    peak = peak_of(lambda: model.set_params(standardize=False).fit(X, y))
    assert peak < X.nbytes and model.n_samples_seen_ == len(X)
    if name == "poisson":  # in units of the data there is one copy, of whatever model
        assert peak_of(lambda: model.set_params(standardize=True).fit(X, y)) < 1.9 * X.nbytes


def test_rows_that_do_not_stay_are_not_held_as_indices(rng):
    """A long chunk, some rows of which are kept elsewhere."""
    rows, left = Rows(rng.standard_normal((10_000_000, 1)), None, np.ones(10_000_000)), np.arange(0, 4000, 10)
    full = Reservoir(100).absorb(rows[:100], rng)
    peak = peak_of(lambda: full.absorb(rows, rng, left=left))
    assert peak < 1.5 * rows.weight.nbytes  # the weights of those that come are the one copy


def test_rows_that_are_too_many_for_strata_are_not_copied(rng):
    rows, model = Rows.of(rng.standard_normal((60_000, 20))), MixtureModel(20, 2)
    assert peak_of(lambda: mixture_strata(model, rows, rng)) < 0.5 * rows.X.nbytes
