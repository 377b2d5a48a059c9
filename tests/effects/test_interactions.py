"""Interactions of any number of factors and columns, and the formulas within one."""

import copy
import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from sgevidence import (
    BayesianGLM,
    BayesianLinearRegression,
    EvidenceSearch,
    Factor,
    Interaction,
    sub_formulas,
)

LEVELS = {"a": ["k", "m"], "b": ["u", "v", "w"], "c": ["x", "y", "z"]}


def frame_of(seed=0, n=80):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice(levels, n) for name, levels in LEVELS.items()})
    frame["t"] = rng.normal(40.0, 3.0, n)
    size = 0.5 * (frame["a"] == "m") * (frame["b"] == "u") * (1 + (frame["c"] == "z"))
    return frame.assign(y=size + 0.1 * frame["t"] + rng.standard_normal(n), k=rng.poisson(np.exp(size)))


def by_kernels(frame):
    """Density of y under a*b*c by covariances: contrasts of a factor have the kernel scale² (same − 1/K)."""
    n, S = len(frame), np.eye(len(frame))
    one = {
        name: 0.5 * (np.equal.outer(*[frame[name].to_numpy()] * 2) - 1 / len(levels))
        for name, levels in LEVELS.items()
    }
    for names in ("a", "b", "c", "ab", "ac", "bc", "abc"):
        S = S + np.prod([one[name] for name in names], axis=0)
    return multivariate_normal(np.zeros(n), S).logpdf(frame["y"])


def check_three_factors():
    frame = frame_of()
    a, b, c = map(Factor, "abc")
    terms = [a, b, c, *(Interaction(*some) for some in [(a, b), (c, a), (b, c), (b, a, c)])]
    model = BayesianLinearRegression(terms=terms, noise_std=1.0, fit_intercept=False, standardize=False)
    assert model.fit(frame[["a", "b", "c"]], frame["y"]).log_evidence_ == pytest.approx(by_kernels(frame))


def test_three_factors_are_products_of_kernels():
    check_three_factors()


@pytest.mark.parametrize("formula", ["y ~ a*b*c + t", "y ~ a*b*t", "k ~ t + a:b:t", "y ~ a*b*c + (1 | b)"])
def test_orders_and_units_are_nothing(formula):
    kind = BayesianGLM("poisson") if formula[0] == "k" else BayesianLinearRegression()
    frame = frame_of()
    right = kind.set_params(formula=formula, random_state=0).fit(frame).log_evidence_
    turned = frame.sample(frac=1, random_state=2).assign(t=lambda f: 9 * f["t"] - 4000)
    turned = turned.assign(b=turned["b"].map({"u": "q", "v": "p", "w": "o"}))[turned.columns[::-1]]
    reverse = {"a*b*c": "c*b*a", "a*b*t": "t*b*a", "a:b:t": "t:a:b"}
    for old, new in reverse.items():
        formula = formula.replace(old, new)
    other = kind.set_params(formula=formula).fit(turned)
    assert other.log_evidence_ == pytest.approx(right, abs=1e-3 + 4 * other.log_evidence_std_)


def test_every_formula_within_three_factors_fits():
    formulas = sub_formulas("y ~ a*b*c")
    assert len(formulas) == 19 and formulas[0] == "y ~ 1"
    assert formulas[-1] == "y ~ a + b + a:b + c + a:c + b:c + a:b:c"
    search = EvidenceSearch(BayesianLinearRegression(random_state=0), {"formula": formulas}).fit(frame_of())
    assert np.isfinite(search.comparison_["log_evidence"]).all() and len(search.comparison_) == 19
    model = BayesianLinearRegression(formula=formulas[-1]).fit(frame_of())
    assert model.effects_.loc["a[k]:b[u]:c[z]", "level"] == "k:u:z"
    assert model.effects_.groupby("term")["mean"].sum().abs().max() < 1e-9
    assert model.predict(frame_of(1)).shape == (80,)


def heredity(formula, size):
    found = sub_formulas(formula)
    assert len(found) == size
    for text in found:
        terms = [frozenset(term.split(":")) for term in text.removeprefix("y ~ ").split(" + ")]
        assert all(
            frozenset(part) in terms for term in terms if len(term) == 3 for part in permutations(term, 2)
        )


@pytest.mark.parametrize("formula, size", [("y ~ a*b*c", 19), ("y ~ b:a + c + a*c + b + c:b + c:b:a", 19)])
def test_interactions_come_with_those_within_them(formula, size):
    heredity(formula, size)


def test_four_factors_have_167_formulas_and_five_too_many():
    assert len(sub_formulas("y ~ a*b*c*d")) == 167
    with pytest.raises(ValueError, match="more than 4096 formulas"):
        sub_formulas("y ~ a*b*c*d*e")


def test_interactions_are_copied_and_refused():
    term = Interaction("t", Factor("a"), Factor("b"))
    assert copy.deepcopy(term) == term == pickle.loads(pickle.dumps(term))
    assert repr(Interaction("t", 2)) == "Interaction('t', 2)"
    with pytest.raises(ValueError, match="two or more"):
        BayesianLinearRegression(terms=[Interaction("t")]).fit(frame_of()[["t"]], frame_of()["y"])
