"""JZS priors against BayesFactor, and against averages over g."""

import numpy as np
import pandas as pd
import pytest
from data_of_r import COLOUR, CYL, DOSE, HP, MPG, PUZZLES, SHAPE, SOLVER, SUPP, TOOTH, WT
from scipy.special import logsumexp

from sgevidence import SGAIS, BayesianLinearRegression, Factor, Group, Interaction, compare
from sgevidence.exceptions import DivergenceError
from sgevidence.hypothesis_tests import anova
from sgevidence.samplers import AIS, Exact, HarmonicMean, NestedSampling

TEETH = pd.DataFrame({"supp": SUPP, "dose": DOSE.astype(str), "len": TOOTH})
CARS = pd.DataFrame({"wt": WT, "hp": HP, "cyl": CYL.astype(str), "mpg": MPG})
HAYS = pd.DataFrame({"shape": SHAPE, "colour": COLOUR, "who": SOLVER, "seconds": PUZZLES})


def jzs(formula, frame, **parameters):
    return BayesianLinearRegression(formula=formula, prior="jzs", random_state=0, **parameters).fit(frame)


#: Log Bayes factors of lmBF, BayesFactor 0.9.12-4.4, against the mean alone; with 10⁶ iterations where their
#: tolerance is above 0.001.
OF_R = [
    ("len ~ supp", TEETH, 0.1813, 1e-3),
    ("len ~ dose", TEETH, 29.2372, 1e-3),
    ("len ~ supp + dose", TEETH, 33.2921, 0.01),
    ("len ~ supp * dose", TEETH, 34.2951, 0.01),
    ("mpg ~ wt + hp", CARS, 20.4857, 1e-3),
    ("mpg ~ wt + hp + cyl", CARS, 21.2947, 0.01),
    ("mpg ~ wt + hp + wt:hp", CARS, 23.9013, 1e-3),
    ("mpg ~ wt + cyl + wt:cyl", CARS, 19.8116, 0.015),
    ("seconds ~ (1 | who)", HAYS, 11.6219, 1e-3),
    ("seconds ~ shape + (1 | who)", HAYS, 12.6679, 0.01),
    ("seconds ~ shape + colour + (1 | who)", HAYS, 14.0873, 0.015),
    ("seconds ~ shape * colour + (1 | who)", HAYS, 13.1108, 0.015),
]


@pytest.mark.parametrize("formula, frame, expected, tolerance", OF_R)
def test_bayes_factors_are_those_of_r(formula, frame, expected, tolerance):
    model = jzs(formula, frame)
    assert model.log_evidence_ == pytest.approx(expected, abs=tolerance + 3 * model.log_evidence_std_)
    assert model.log_evidence_std_ < 0.01


def rows_of(seed=0, n=40):
    rng = np.random.default_rng(seed)
    who, x, dose = rng.integers(0, 6, n), rng.standard_normal(n), rng.choice(["a", "b", "c"], n)
    y = 3 + 0.5 * x + (dose == "b") + rng.standard_normal(6)[who] + rng.standard_normal(n)
    return pd.DataFrame({"x": x, "who": who, "dose": dose, "y": y})


FORMULA = "y ~ x + dose + (1 + x | who)"


def over_prior(model, frame, rng, draws=20_000):
    """Log Bayes factor, and means of the coefficient and σ², by dense covariances at g of the prior."""
    n, y = len(frame), frame["y"].to_numpy() - frame["y"].mean()
    x = frame["x"].to_numpy() - frame["x"].mean()
    scale = [8**-0.5, 0.5, 1.0, 1.0]
    who = np.equal.outer(frame["who"].to_numpy(), frame["who"].to_numpy())
    dose = np.equal.outer(frame["dose"].to_numpy(), frame["dose"].to_numpy())
    K = [np.outer(x, x) / np.var(x), 1.0 * dose, 1.0 * who, who * np.outer(x, x) / np.var(x)]
    Q = np.linalg.svd(np.eye(n) - 1 / n)[0][:, : n - 1].T  # flat mean
    log_w, coef, var = [], [], []
    for _ in range(20):
        g = np.square(scale) / rng.chisquare(1, (draws // 20, 4))
        S = np.eye(n - 1) + np.einsum("mt,tij->mij", g, [Q @ one @ Q.T for one in K])
        solved = np.linalg.solve(S, np.tile((Q @ y)[:, None], (len(g), 1, 1)))[..., 0]
        left = solved @ (Q @ y)
        log_w.append(-0.5 * np.linalg.slogdet(S)[1] - 0.5 * (n - 1) * np.log(left / (y @ y)))
        coef.append(g[:, 0] / np.var(x) * (solved @ (Q @ x)))
        var.append(left / (n - 3))
    log_w, coef, var = map(np.concatenate, (log_w, coef, var))
    W = np.exp(log_w - logsumexp(log_w))
    std = np.sqrt(np.sum(W**2) - 1 / len(W))
    return logsumexp(log_w) - np.log(len(W)), std, W @ coef, W @ var


def check_against_the_prior(seed=0):
    frame = rows_of(seed)
    model = jzs(FORMULA, frame)
    expected, std, coef, var = over_prior(model, frame, np.random.default_rng(1))
    assert abs(model.log_evidence_ - expected) < 4 * np.hypot(std, model.log_evidence_std_)
    assert abs(model.coef_[0] - coef) < 0.15 * model.coef_std_[0]
    sigma = model.posterior_samples()["noise_std"]
    assert np.mean(sigma**2) == pytest.approx(var, rel=0.05)


def test_four_scales_are_an_average_over_their_priors():
    check_against_the_prior()


def test_streams_units_and_new_levels():
    frame = rows_of()
    whole = jzs(FORMULA, frame)
    part = BayesianLinearRegression(formula=FORMULA, prior="jzs", random_state=0, units=whole.units_)
    columns = ["x", "who", "dose"]
    for rows in (frame.iloc[:20], frame.iloc[20:]):
        part.partial_fit(rows[columns], rows["y"])
    assert part.log_evidence_ == pytest.approx(whole.log_evidence_, abs=0.2)  # covariates by the first rows
    moved = frame.assign(x=24 * frame["x"] - 400, y=1000 * frame["y"] + 7)
    assert jzs(FORMULA, moved).log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    known, new = frame[columns].iloc[:1], frame[columns].iloc[:1].assign(who=99)
    (_, std), (_, std_of_new) = (whole.predict(rows, return_std=True) for rows in (known, new))
    assert std_of_new > std
    assert list(whole.effects_["term"])[:3] == ["dose"] * 3


def test_terms_are_a_formula_and_the_null_is_zero():
    frame = rows_of()
    terms = [Factor("dose"), Interaction("x", Factor("dose", categories=["a", "b", "c"])), Group("who")]
    model = BayesianLinearRegression(terms=terms, prior="jzs", random_state=0)
    model.fit(frame[["x", "dose", "who"]], frame["y"])
    same = jzs("y ~ x * dose + (1 | who)", frame)
    assert model.log_evidence_ == pytest.approx(same.log_evidence_, abs=1e-9)
    assert model.posterior_samples()["fixed_effects"].shape[1] == 6
    assert jzs("y ~ 1", frame).log_evidence_ == 0.0
    assert "JZS" in repr(model.summary()) and "dose r = 0.5" in repr(model.summary())


def test_relative_evidences_are_compared_with_their_like():
    found = compare([jzs(f"seconds ~ {terms}(1 | who)", HAYS) for terms in ("shape + ", "")])
    both = anova(PUZZLES, {"shape": SHAPE}, subjects=SOLVER)["log_bayes_factor"][0]
    assert both == pytest.approx(-found["difference"].min(), abs=1e-6)
    assert both == pytest.approx(1.05, abs=0.01)
    proper = BayesianLinearRegression(formula="seconds ~ shape", random_state=0).fit(HAYS)
    with pytest.raises(ValueError, match="relative"):
        compare([jzs("seconds ~ shape", HAYS), proper])


def test_anova_with_subjects():
    found = anova(PUZZLES, {"shape": SHAPE, "colour": COLOUR}, subjects=SOLVER)
    np.testing.assert_allclose(found["log_bayes_factor"], [1.0525, 1.0525, 2.4756, 1.485], atol=0.01)
    assert (found["log_bayes_factor_std"] < 0.01).all()


def test_samplers_that_ask_for_a_prior_are_refused():
    for sampler in (AIS(n_particles=20), NestedSampling(), HarmonicMean(), SGAIS(proposal=None)):
        with pytest.raises(TypeError, match="improper"):
            jzs("seconds ~ shape", HAYS, sampler=sampler)
    exact, default = (jzs("seconds ~ shape", HAYS, sampler=sampler) for sampler in (Exact(), None))
    assert exact.log_evidence_ == default.log_evidence_ == default.evidence_path_["log_evidence"][-1]


def test_scales_that_jzs_has_not_are_refused():
    for parameters in ({"noise_std": 1.0}, {"coef_scale": 2.0}):
        with pytest.raises(ValueError, match="scales of its own"):
            jzs("seconds ~ shape", HAYS, **parameters)


@pytest.mark.parametrize("prior", ["normal", "jzs"])
@pytest.mark.parametrize("source", ["x", "who"])
def test_rows_without_noise_are_said_to_be_so(prior, source):
    frame = rows_of()
    model = BayesianLinearRegression(formula="y ~ x + (1 | who)", prior=prior, random_state=0)
    with pytest.raises(DivergenceError, match="fit y exactly"):
        model.fit(frame.assign(y=2.0 * frame[source] + 1))


def test_zeros_are_fitted_exactly_in_plain_units_too():
    frame = rows_of()
    model = BayesianLinearRegression(formula="y ~ x + (1 | who)", standardize=False, random_state=0)
    with pytest.raises(DivergenceError, match="fit y exactly"):
        model.fit(frame.assign(y=0.0))
