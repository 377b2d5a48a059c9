"""What ``fit`` takes beyond the rows: no copy of an array that is float64 and contiguous."""

import tracemalloc

import numpy as np
import pytest

from sgevidence import SGAIS, BayesianGMM, BayesianLinearRegression

ESTIMATORS = {"linear": BayesianLinearRegression, "one": BayesianGMM}


@pytest.mark.parametrize("mapped", [False, True], ids=["array", "memmap"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_fit_does_not_copy_the_rows(name, mapped, tmp_path, rng):
    X = rng.standard_normal((150_000, 30))
    if mapped:
        on_disk = np.memmap(tmp_path / "X", np.float64, "w+", shape=X.shape)
        on_disk[:] = X
        X = np.memmap(tmp_path / "X", np.float64, "r", shape=X.shape)
    model = ESTIMATORS[name](sampler=SGAIS(reservoir_size=1000), random_state=0)
    tracemalloc.start()
    model.fit(X, (X[:, 0] > 0).astype(float))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes and model.n_samples_seen_ == len(X)
