"""Evidence of terms that data make hard against the dense n × n normal, integrated over τ on a grid."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm, t

from sgevidence import BayesianLinearRegression, Factor, Group, Interaction

NOISE = 1.2


@pytest.fixture(scope="module")
def frame():
    """Groups of one row, a constant column, a level that no row has, x at 10⁶ ± 1, y in thousands."""
    rng = np.random.default_rng(20261127)
    g = np.repeat(np.arange(7), [15, 1, 1, 2, 7, 1, 9])
    x, f = 1e6 + rng.standard_normal(36), rng.choice(["a", "b", "d"], 36)
    y = 1000 * (2 * (x - 1e6) * (f == "a") + 2 * rng.standard_normal(7)[g] + NOISE * rng.standard_normal(36))
    weight = rng.choice([0.5, 1.0, 2.0], 36)
    return pd.DataFrame({"x": x, "constant": 3.7, "f": f, "g": g, "y": y, "weight": weight})


def fitted(frame):
    f = Factor("f", categories=["d", "c", "b", "a"])
    terms = [f, Interaction("x", f), Group("g")]
    model = BayesianLinearRegression(terms=terms, noise_std=1000 * NOISE, prior="normal", random_state=0)
    return model.fit(frame[["x", "constant", "f", "g"]], frame["y"], sample_weight=frame["weight"])


def by_dense_normals(frame):
    """log p(y), of whose density each row has the power of its weight."""
    w, one = frame["weight"].to_numpy(), np.ones(36)

    def centred(z):
        return z - w @ z / w.sum()

    def unit(z):
        return np.sqrt(w @ centred(z) ** 2 / w.sum())

    x = centred(frame["x"].to_numpy() - 1e6)
    x, scale = x / unit(x), unit(frame["y"].to_numpy())
    levels = (frame["f"].to_numpy()[:, None] == ["a", "b", "c", "d"]) @ (np.eye(4) - 0.25) / np.sqrt(2)
    fixed = np.column_stack([x, one, centred(levels), centred(x[:, None] * levels)])
    same = frame["g"].to_numpy()[:, None] == frame["g"].to_numpy()
    variance, z = (1000 * NOISE / scale) ** 2, np.linspace(-6, 6, 241)
    values = [
        multivariate_normal(cov=fixed @ fixed.T + np.diag(variance / w) + tau**2 * same).logpdf(
            centred(frame["y"].to_numpy()) / scale
        )
        for tau in t(3).ppf(0.5 + 0.5 * norm.cdf(z))
    ]
    power = np.sum((1 - w) * np.log(2 * np.pi * variance) - np.log(w)) / 2
    return logsumexp(values + norm.logpdf(z)) + np.log(z[1] - z[0]) + power - w.sum() * np.log(scale)


def test_hard_columns_have_the_evidence_of_the_dense_normal(frame):
    model = fitted(frame)
    assert model.log_evidence_std_ < 0.01
    assert abs(model.log_evidence_ - by_dense_normals(frame)) < max(4 * model.log_evidence_std_, 1e-6)
