"""Exact: the formula's value, draws from the posterior, and a clear no elsewhere."""

import re

import numpy as np
import pytest

from sgevidence.exceptions import DivergenceError
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.samplers import Exact

X = np.linspace(-1, 1, 8)[:, None]
LINEAR = LinearModel(1, noise_std=0.5), Rows.of(X, 1 + X[:, 0])
NOISE = LinearModel(1), LINEAR[1]
MIXTURE = MixtureModel(1, 1), Rows.of(1 + X)


@pytest.mark.parametrize("model, rows", [LINEAR, NOISE, MIXTURE], ids=["linear", "unknown noise", "mixture"])
def test_value_and_draws(rng, model, rows):
    result = Exact(20_000).run(model, rows, rng)
    assert result.log_evidence == model.exact_log_evidence(rows)
    assert type(result.log_evidence_std) is float and result.log_evidence_std == 0.0
    assert result.theta.shape == (20_000, model.n_params) and np.all(result.weights == 1 / 20_000)
    assert (result.n_likelihoods, result.n_gradients) == (0.0, 0.0)
    assert result.path["n_samples"].tolist() == [8]


@pytest.mark.parametrize("value", [1e100, 1e200, -1e300])
@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("model", [LINEAR[0], MIXTURE[0]], ids=["linear", "mixture"])
def test_rows_too_large_are_named_and_never_an_answer(rng, model, where, value):
    rows = Rows.of(X.copy(), None if model is MIXTURE[0] else X[:, 0].copy())
    (rows.X[:, 0] if where == "X" or rows.y is None else rows.y)[3] = value
    if value == 1e100:  # its square is a double
        assert np.isfinite(Exact(10).run(model, rows, rng).log_evidence)
    else:
        words = re.escape(f"is not a number: row 3 has the value {value:.3g};") + "|StandardScaler"
        with pytest.raises((ValueError, DivergenceError), match=words):
            Exact(10).run(model, rows, rng)


@pytest.mark.parametrize(
    "model",
    [MixtureModel(2, 1), SoftmaxModel(1, 2)],
    ids=["two components", "softmax"],
)
def test_models_without_a_formula_are_refused(rng, model):
    with pytest.raises(ValueError, match="only for linear regression and"):
        Exact().run(model, Rows.of(X, np.zeros(8)), rng)
