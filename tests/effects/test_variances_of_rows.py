"""Variances of linear predictors, over which scores of crossed effects are averaged, by dense inverses."""

import numpy as np
import pandas as pd
import pytest

from sgevidence import BayesianGLM
from sgevidence.effects import _answer
from sgevidence.effects._conditional import ConditionalGaussian


@pytest.mark.parametrize("terms", ["x + (1 | a) + (1 | b)", "x + (1 + x | a) + (1 + x | b)", "s(x)"])
def test_variances_are_those_of_a_dense_inverse(terms, monkeypatch):
    rng = np.random.default_rng(20261129)
    n, known = 60, {}
    a, b = rng.integers(9, size=n), rng.integers(4, size=n)
    frame = pd.DataFrame({"x": rng.standard_normal(n), "a": a, "b": b})
    frame["y"] = rng.binomial(1, 0.4, n)

    def seen(model, rows, rng, size, *rest):
        known["f"] = ConditionalGaussian(model, rows)
        return answer(model, rows, rng, size, *rest)

    answer = _answer.conditional_answer
    monkeypatch.setattr(_answer, "conditional_answer", seen)
    BayesianGLM("bernoulli", formula=f"y ~ {terms}", random_state=0).fit(frame)
    f = known["f"]
    z = rng.normal(-0.3, 0.3, (1, f.layout.n_hyperparameters))
    rest, v, *_ = f.modes(z)
    sums, found = f.newton(rest, v, z, [])
    r, size = rest.size, rest.size + v.size * (f.at is not None)
    parts = [np.eye(size)[:, :r], np.zeros((size, *v.shape[1:]))]
    if f.at is not None:
        parts[1] = np.eye(size)[:, r:].reshape(size, *v.shape[1:])
    of_each = [f.eta(rho[None], one[None], z)[0] - f.rows.offset for rho, one in zip(*parts)]
    J = np.array(of_each).T
    h = f.rows.derivatives(f.eta(rest, v, z), [])[1][0]
    precision = np.eye(size)
    precision[range(f.layout.n_fixed), range(f.layout.n_fixed)] = f.layout.fixed_precision
    expected = np.sum((J @ np.linalg.inv(precision + J.T @ (h[:, None] * J))) * J, axis=1)
    np.testing.assert_allclose(f.variances(sums, found)[0], expected, rtol=1e-8)
