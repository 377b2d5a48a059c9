"""Units and origins of y, of columns and of the exposure change no log Bayes factor, and no log evidence but
for the Jacobian: all estimators, families, the selection of columns and averages."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from sgevidence import (
    BayesianAutoregression,
    BayesianGLM,
    BayesianGMM,
    BayesianHMM,
    BayesianLinearRegression,
    BayesianSoftmaxRegression,
    EvidenceFeatureSelector,
    EvidenceModelAverager,
    EvidenceSearch,
)
from sgevidence.samplers import Laplace

#: Powers of ten of units, and units by which origins move, at most.
POWERS, ORIGINS = 6.0, 1e6
#: Nats beside the error bars: units are rounded to a part of 2²⁶.
TOLERANCE = 1e-6
ROWS = 40


class Given(NamedTuple):
    """Rows, and what is known of them."""

    X: np.ndarray
    y: np.ndarray | None
    offset: np.ndarray | None = None
    trials: np.ndarray | None = None
    event: np.ndarray | None = None

    @property
    def known(self) -> dict:
        named = {"offset": self.offset, "trials": self.trials, "event": self.event}
        return {name: value for name, value in named.items() if value is not None}


def unit_of(rng, size=None):
    return 10.0 ** rng.uniform(-POWERS, POWERS, size)


def origin(rng, unit):
    return unit * rng.uniform(-ORIGINS, ORIGINS, np.shape(unit))


# -- rows -----------------------------------------------------------------------------------------


def columns(rng):
    """A symmetric column, one of two values, and a skewed one; and a linear predictor."""
    X = np.column_stack([rng.standard_normal(ROWS), rng.integers(0, 2, ROWS), rng.exponential(size=ROWS)])
    return X, 0.8 * X[:, 0] - 0.6 * X[:, 1]


def numbers(rng):
    X, eta = columns(rng)
    return Given(X, eta + 0.7 * rng.standard_t(5, ROWS))


def numbers_with_offset(rng):
    X, eta = columns(rng)
    offset = rng.standard_normal(ROWS)
    return Given(X, eta + offset + 0.7 * rng.standard_normal(ROWS), offset)


def rates(rng):
    X, eta = columns(rng)
    offset = rng.standard_normal(ROWS)
    return Given(X, rng.poisson(np.exp(eta + offset + 1.0)).astype(float), offset)


def positive(rng):
    X, eta = columns(rng)
    return Given(X, rng.gamma(2.0, np.exp(eta)))


def times(rng):
    """Censored by clocks of their own, and paces that differ as an exposure does."""
    X, eta = columns(rng)
    offset = rng.standard_normal(ROWS)
    t, clock = np.exp(eta + offset) * rng.exponential(size=ROWS) ** 0.7, 3.0 * rng.exponential(size=ROWS)
    return Given(X, np.minimum(t, clock), offset, None, t < clock)


def bounded(rng, is_time=False):
    """Two columns: exact, censored on either side, and within bounds."""
    X, eta = columns(rng)
    y = eta + 0.7 * rng.standard_normal(ROWS)
    y = np.exp(y) if is_time else y
    lower, upper = y.copy(), y.copy()
    upper[:10], lower[10:16], upper[16:22] = np.inf, -np.inf, y[16:22] + 0.5
    return Given(X, np.column_stack([lower, upper]))


def shares(rng):
    X, eta = columns(rng)
    return Given(X, rng.beta(4.0 / (1 + np.exp(-eta)), 4.0 / (1 + np.exp(eta))))


def levels(rng):
    X, eta = columns(rng)
    return Given(X, np.digitize(eta + rng.logistic(size=ROWS), [-1.0, 0.5, 2.0]))


def successes(rng):
    X, eta = columns(rng)
    trials = rng.integers(1, 9, ROWS)
    return Given(X, rng.binomial(trials, 1 / (1 + np.exp(-eta))).astype(float), None, trials)


def labels(rng):
    X, eta = columns(rng)
    return Given(X, (rng.random(ROWS) < 1 / (1 + np.exp(-eta))).astype(int))


def classes(rng):
    X, eta = columns(rng)
    return Given(X, np.argmax(np.outer(eta, [1.0, -1.0, 0.0]) + rng.gumbel(size=(ROWS, 3)), axis=1))


def clusters(rng):
    X = rng.standard_normal((10, 2)) * [1.0, 3.0]
    X[:5] += 2.5
    return Given(X, None)


def series(rng):
    X, y = columns(rng)[0][:, :1], np.zeros(ROWS)
    for t in range(1, ROWS):
        y[t] = 0.5 * y[t - 1] + 0.5 * X[t, 0] + rng.standard_normal()
    return Given(X, y)


# -- changes --------------------------------------------------------------------------------------


def moved(given, rng, y, is_centred, one_unit=False):
    """Rows in other units, and the log of the Jacobian; ``y`` says what y is."""
    X, y_, offset, trials, event = given
    unit = unit_of(rng, X.shape[1]) if not one_unit else np.full(X.shape[1], unit_of(rng))
    log_jacobian = -len(X) * float(np.sum(np.log(unit))) if y == "rows" else 0.0
    X = X * unit + (origin(rng, unit) if is_centred else 0.0)
    if y in ("numbers", "positive"):
        t = unit_of(rng)
        far = origin(rng, t) if is_centred and y == "numbers" else 0.0
        n_exact = len(X) if y_.ndim == 1 else np.sum(y_[:, 0] == y_[:, 1])  # a probability has no unit
        y_, log_jacobian = y_ * t + far, -n_exact * float(np.log(t))
        offset = None if offset is None else offset * t + (origin(rng, t) if is_centred else 0.0)
    elif offset is not None and is_centred:  # exposure has a unit
        offset = offset + np.log(unit_of(rng))
    if event is not None:
        t = unit_of(rng)
        y_, log_jacobian = y_ * t, -np.sum(event) * float(np.log(t))
    return Given(X, y_, offset, trials, event), log_jacobian


# -- candidates: log evidences and their errors, and what else does not change --------------------


def fitted(*models):
    def answers(given):
        rows = (given.X,) if given.y is None else (given.X, given.y)
        fits = [model.fit(*rows, **given.known) for model in models]
        return [(fit.log_evidence_, fit.log_evidence_std_) for fit in fits], []

    return answers


def subsets(of, *args, **params):
    """The null model, one column, two and all."""
    return fitted(*(of(*args, columns=some, random_state=0, **params) for some in ([], [0], [0, 2], None)))


def family(name, **params):
    return subsets(BayesianGLM, name, sampler=Laplace(), **params)


def selected(**params):
    def answers(given):
        found = EvidenceFeatureSelector(random_state=0, **params).fit(given.X, given.y, **given.known)
        evidences = [found.log_evidence_, *found.models_.sort_index()["log_evidence"]]
        return [(value, 0.0) for value in evidences], found.inclusion_probabilities_

    return answers


def averaged(method):
    """In two calls, of which the first is held."""

    def answers(given):
        models = [(str(some), BayesianLinearRegression(columns=some)) for some in ([], [0], [0, 1, 2])]
        average = EvidenceModelAverager(models, method=method, random_state=0)
        average.partial_fit(given.X[:5], given.y[:5]).partial_fit(given.X[5:], given.y[5:])
        found = [average.log_evidence_, *average.log_evidences_]
        return [(value, 0.0) for value in found], average.weights_

    return answers


def searched(given):
    search = EvidenceSearch(BayesianAutoregression(max_order=3), {"order": [0, 1, 2, 3]})
    best = search.fit(given.X, given.y).best_estimator_
    return [(best.log_evidence_, best.log_evidence_std_)], [best.order]


class Case(NamedTuple):
    """Rows of one kind, and the candidates for them."""

    rows: Callable
    answers: Callable
    y: str = "no unit"
    one_unit: bool = False


CASES = {
    "linear": Case(numbers, subsets(BayesianLinearRegression), "numbers"),
    "gaussian": Case(numbers_with_offset, family("gaussian"), "numbers"),
    "student_t": Case(numbers_with_offset, family("student_t"), "numbers"),
    "poisson": Case(rates, family("poisson")),
    "poisson, drawn": Case(rates, subsets(BayesianGLM, "poisson")),
    "negative_binomial": Case(rates, family("negative_binomial")),
    "gamma": Case(positive, family("gamma"), "positive"),
    "zero_inflated_negative_binomial": Case(rates, family("zero_inflated_negative_binomial")),
    "hurdle_poisson": Case(rates, family("hurdle_poisson")),
    "beta": Case(shares, family("beta")),
    "ordinal": Case(levels, family("ordinal")),
    "weibull": Case(times, family("weibull")),
    "weibull, drawn": Case(times, subsets(BayesianGLM, "weibull")),
    "lognormal": Case(times, family("lognormal")),
    "tobit": Case(bounded, family("gaussian"), "numbers"),
    "bounds of times": Case(partial(bounded, is_time=True), family("loglogistic"), "positive"),
    "exponential": Case(times, family("exponential")),
    "binomial": Case(successes, family("binomial")),
    "bernoulli": Case(labels, family("bernoulli")),
    "softmax": Case(classes, subsets(BayesianSoftmaxRegression)),
    "diag": Case(clusters, fitted(*(BayesianGMM(K, random_state=0) for K in (1, 2, 3))), "rows"),
    "full": Case(
        clusters,
        fitted(*(BayesianGMM(K, covariance_type="full", random_state=0) for K in (1, 2))),
        "rows",
    ),
    "spherical": Case(
        clusters,
        fitted(*(BayesianGMM(K, covariance_type="spherical", random_state=0) for K in (1, 2))),
        "rows",
        True,
    ),
    "orders": Case(series, fitted(*(BayesianAutoregression(p, max_order=3) for p in range(4))), "numbers"),
    "trends": Case(
        series, fitted(*(BayesianAutoregression(1, trend=kind) for kind in ("c", "ct"))), "numbers"
    ),
    "states": Case(clusters, fitted(*(BayesianHMM(K, random_state=0) for K in (1, 2))), "rows"),
    "search": Case(series, searched, "numbers"),
    "selector": Case(numbers, selected(), "numbers"),
    "selector of counts": Case(rates, selected(estimator=BayesianGLM("poisson", sampler=Laplace()))),
    "bma": Case(numbers, averaged("bma"), "numbers"),
    "stacking": Case(numbers, averaged("stacking"), "numbers"),
    "dynamic": Case(numbers, averaged("dynamic"), "numbers"),
}
WITHOUT_INTERCEPT = {
    "linear": Case(
        numbers,
        fitted(*(BayesianLinearRegression(columns=c, fit_intercept=False) for c in ([0], None))),
        "numbers",
    ),
    "gaussian": Case(
        numbers_with_offset,
        fitted(BayesianGLM("gaussian", fit_intercept=False, sampler=Laplace(), random_state=0)),
        "numbers",
    ),
    "poisson": Case(rates, fitted(BayesianGLM(fit_intercept=False, random_state=0))),
    "softmax": Case(classes, fitted(BayesianSoftmaxRegression(fit_intercept=False, random_state=0))),
    "orders": Case(
        series, fitted(*(BayesianAutoregression(p, max_order=2, trend="n") for p in (1, 2))), "numbers"
    ),
    "selector": Case(numbers, selected(fit_intercept=False), "numbers"),
}


def check(case, rng, is_centred=True):
    given = case.rows(rng)
    other, log_jacobian = moved(given, rng, case.y, is_centred, case.one_unit)
    if case.rows is series:
        log_jacobian *= (ROWS - skipped(case)) / ROWS
    (before, kept), (after, kept_after) = case.answers(given), case.answers(other)
    for (one, error), (two, other_error) in zip(before, after, strict=True):
        assert np.isfinite(one)
        digits = TOLERANCE + np.hypot(error, other_error) + 1e-13 * abs(two)
        assert abs(two - log_jacobian - one) < digits
    np.testing.assert_allclose(kept, kept_after, atol=TOLERANCE)


def skipped(case):
    """Rows of a series that are only conditioned on."""
    return 1 if case is CASES["trends"] else 2 if case is WITHOUT_INTERCEPT["orders"] else 3


#: Cases of five seconds, beside quicker ones of their kind.
LONG = {"zero_inflated_negative_binomial", "ordinal", "lognormal", "beta", "weibull", "tobit"}
LONG |= {"weibull, drawn", "bounds of times", "student_t", "negative_binomial", "hurdle_poisson", "gaussian"}


@pytest.mark.filterwarnings("ignore:the unit of")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in CASES]
)
def test_with_an_intercept_units_and_origins_change_nothing(name, rng):
    check(CASES[name], rng)


@pytest.mark.filterwarnings("ignore:the unit of")
@pytest.mark.parametrize("name", WITHOUT_INTERCEPT)
def test_without_an_intercept_units_change_nothing(name, rng):
    check(WITHOUT_INTERCEPT[name], rng, is_centred=False)


# -- faults that are seen -------------------------------------------------------------------------


#: Candidates have all columns, so that column numbers are those of X.
ALL = {
    "linear": CASES["linear"]._replace(answers=fitted(BayesianLinearRegression())),
    "softmax": CASES["softmax"]._replace(answers=fitted(BayesianSoftmaxRegression(random_state=0))),
    "selector": CASES["selector"],
    "diag": CASES["diag"],
}
