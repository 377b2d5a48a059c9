"""Priors that summaries and reports state, against those that the models have."""

import re

import numpy as np
import pytest
from scipy import stats

from sgevidence import BayesianGLM, BayesianLinearRegression, compare
from sgevidence.models import FAMILIES, Gamma, Gaussian, NegativeBinomial, PiecewiseExponential

Z = np.linspace(-2.0, 2.0, 9)
#: Names of priors, and what they mean.
MEANING = {
    r"half-t\(3, (.+)\)": lambda scale: stats.t(3, scale=scale),
    r"Exp\((.+)\)": lambda rate: stats.expon(scale=1 / rate),
    r"Gamma\((.+), rate (.+)\)": lambda shape, rate: stats.gamma(shape, scale=1 / rate),
    r"U\(0, 1\)": stats.uniform,
    r"Lomax\((.+)\)": stats.lomax,
    r"lognorm\(s=(.+)\)": stats.lognorm,
}


def quantiles(name):
    """Quantiles at Φ(Z) of the prior that a name states."""
    for pattern, law in MEANING.items():
        if found := re.fullmatch(pattern, name):
            p = stats.norm.cdf(Z)
            return law(*map(float, found.groups())).ppf((1 + p) / 2 if name.startswith("half") else p)
    raise AssertionError(f"{name} is not known")


OTHERS = [
    Gamma(shape=stats.lognorm(s=0.5)),
    NegativeBinomial(dispersion=type(NegativeBinomial().dispersion)(0.25)),
    Gaussian(noise_std=type(Gaussian().noise_std)(2.0)),
]


@pytest.mark.parametrize(
    "family",
    [*FAMILIES.values(), *OTHERS],
    ids=lambda family: getattr(family, "__name__", type(family).__name__),
)
def test_names_are_those_of_the_priors(family):
    family = family() if isinstance(family, type) else family
    if not family.own:
        return
    names = [entry.partition(" ") for entry in family.prior_names()]
    assert [name for name, _, _ in names] == list(family.own)
    values = family.own_of(np.repeat(Z[:, None], len(names), axis=1))
    for (_, _, prior), value in zip(names, values):
        np.testing.assert_allclose(value[:, 0], quantiles(prior), rtol=1e-6)


def test_rates_of_pieces():
    family = PiecewiseExponential(breaks=(1.0,), scale=0.5)
    assert family.prior_names() == ["log rates N(0, 0.5²)"]
    np.testing.assert_allclose(np.log(family.own_of(np.array([[1.0, -2.0]]))), [[[0.5]], [[-1.0]]])


def test_levels_have_no_intercept():
    X, y = np.arange(30.0)[:, None], np.arange(30) % 3
    model = BayesianGLM("ordinal", random_state=0).fit(X, y)
    for text in (str(model.summary()), compare([model]).report()):
        assert "intercept N" not in text and "Dirichlet(1)" in " ".join(text.split())


@pytest.mark.parametrize(
    ("parameters", "stated"),
    [
        ({}, "noise_std half-t(3, 1)"),
        ({"noise_scale": 0.5}, "noise_std half-t(3, 0.5)"),
        ({"noise_prior": (2.0, 3.0)}, "noise_std² InvGamma(2, 3)"),
        ({"noise_std": 4.0}, "known noise_std 4"),
    ],
)
def test_noise_of_a_linear_regression(parameters, stated):
    x = np.arange(20.0)
    model = BayesianLinearRegression(**parameters).fit(x[:, None], np.sin(x))
    assert stated in " ".join(str(model.summary()).split())
