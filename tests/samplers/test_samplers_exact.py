"""Exact: the formula's value, draws from the posterior, and a clear no elsewhere."""

import numpy as np
import pytest

from sgevidence import Exact
from sgevidence.history import Rows
from sgevidence.models import LinearModel, MixtureModel, SoftmaxModel

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


@pytest.mark.parametrize(
    "model",
    [MixtureModel(2, 1), SoftmaxModel(1, 2)],
    ids=["two components", "softmax"],
)
def test_models_without_a_formula_are_refused(rng, model):
    with pytest.raises(ValueError, match="only for linear regression and"):
        Exact().run(model, Rows.of(X, np.zeros(8)), rng)
