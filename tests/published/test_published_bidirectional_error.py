"""Bounds hold the exact value, their means are what the theory says, and the gap closes."""

from itertools import pairwise

import numpy as np
import pytest
from autograd.scipy.special import gammaln
from mutants import broken
from scipy.stats import binom

from sgevidence import (
    BayesianGLM,
    BayesianGMM,
    BayesianLinearRegression,
    BayesianModel,
    BayesianSoftmaxRegression,
)
from sgevidence.history import Rows
from sgevidence.kernels import Coordinates
from sgevidence.models import FarColumns, LinearModel, SoftmaxModel, near
from sgevidence.published import SIR, _bidirectional_error, bidirectional_error
from sgevidence.samplers import AIS, Exact
from sgevidence.targets import Likelihood, Target

SLOW = pytest.mark.slow
#: Priors that rows can be drawn from.
STATED = dict(standardize=False)
LINEAR = BayesianLinearRegression(noise_std=1.0, sampler=Exact(), **STATED)
MODEL = LinearModel(1, noise_std=1.0)
X = np.linspace(-1, 1, 12)[:, None]
ROWS = Rows.of(X, X[:, 0] + np.cos(7 * np.arange(12)))
EXACT = MODEL.exact_log_evidence(ROWS)


def step(new, target):
    """A kernel that forgets only a part, so that the order of kernels matters."""
    return _bidirectional_error.Step(
        new, Target(MODEL, Likelihood(target)), Coordinates(0.4 * np.eye(2)), 0.9
    )


@pytest.fixture(scope="module")
def by_powers():
    lams = [0.0, 0.01, 0.03, 0.07, 0.15, 0.3, 0.6, 1.0]
    return [step(ROWS.scaled(b - a), ROWS.scaled(b)) for a, b in pairwise(lams)]


@pytest.fixture(scope="module")
def by_rows():
    return [step(ROWS[a:b], ROWS[:b]) for a, b in pairwise((0, 1, 2, 4, 8, 12))]


def check_mean(ratio):
    error = np.std(ratio, ddof=1) / np.sqrt(len(ratio))
    assert abs(np.mean(ratio) - 1) < 4.5 * error, f"biased: {np.mean(ratio):.3f} ± {error:.3f}"
    assert error < 0.15, "too uncertain to tell"


def check_forward(steps, rng):
    check_mean(np.exp([_bidirectional_error.forward(steps, MODEL, 500, rng, 0.0) - EXACT for _ in range(40)]))


def check_reverse(steps, rng):
    """Independent exact draws in place of copies of one, to have an error bar."""
    draws = MODEL.exact_posterior(ROWS, rng, 20_000).reshape(40, 500, 2)
    check_mean(np.exp([EXACT - _bidirectional_error.reverse(steps, x, 1, rng) for x in draws]))


def check_conditional(steps, rng):
    """E[1/Ẑ] = 1/Z for any M."""
    ratio = []
    for x in MODEL.exact_posterior(ROWS, rng, 200):
        path = _bidirectional_error.backward_path(steps, x[None], rng)
        ratio.append(EXACT - _bidirectional_error.forward(steps, MODEL, 4, rng, 0.8, path))
    check_mean(np.exp(ratio))


def test_forward_is_unbiased(rng, by_powers, by_rows):
    check_forward(by_powers, rng)
    check_forward(by_rows, rng)


def test_reverse_is_unbiased_for_the_reciprocal(rng, by_powers):
    check_reverse(by_powers, rng)


@pytest.mark.slow
def test_conditional_run_is_unbiased_for_the_reciprocal(rng, by_powers):
    check_conditional(by_powers, rng)


@pytest.mark.parametrize(
    "function, right, wrong, check, steps",
    [
        ("reverse", "reversed(steps)", "steps", check_reverse, "by_powers"),
        (
            "reverse",
            "theta = step.move(theta, rng)",
            "weights = weights.add(-step.log_ratio(theta)); theta = step.move(theta, rng); continue",
            check_reverse,
            "by_powers",
        ),
        pytest.param(
            "backward_path", "path[::-1]", "path", check_conditional, "by_powers", marks=pytest.mark.slow
        ),
        pytest.param(
            "backward_path",
            "reversed(steps)",
            "steps",
            check_conditional,
            "by_powers",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "forward",
            "theta[0] = path[t]",
            "pass",
            check_conditional,
            "by_powers",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["order", "weight before the move", "path backwards", "path by other kernels", "path not kept"],
)
def test_a_mistake_is_seen(rng, install_broken, request, function, right, wrong, check, steps):
    install_broken(_bidirectional_error, function, right, wrong)
    with pytest.raises(AssertionError):
        check(request.getfixturevalue(steps), rng)


def check_markov(excess, p=1e-6):
    """Eq. (3.10): each bound is violated by more than a with a probability of at most e^{−a}."""
    for a in (1.0, 2.0, 3.0):
        assert binom.sf(np.sum(excess > a) - 1, len(excess), np.exp(-a)) > p


@pytest.mark.parametrize("method", [pytest.param("ais", marks=pytest.mark.slow), "sir"])
def test_bounds_hold_the_exact_value(method):
    """Twelve data sets of the linear model."""
    found = bidirectional_error(
        LINEAR, 50, n_features=2, n_repeats=12, method=method, n_temperatures=20, random_state=0
    )
    exact = found.log_evidence
    check_markov(found.lower - exact)
    check_markov(exact - found.upper)
    assert np.abs(found.gap).mean() < 1.0 and np.all(found.log_evidence_std == 0)
    np.testing.assert_array_equal(found.error_at_most >= found.error_at_least, True)


@pytest.mark.slow
def test_the_gap_closes():
    gaps = [
        bidirectional_error(
            LINEAR, 50, n_features=2, n_repeats=8, n_particles=10, n_temperatures=T, random_state=1
        ).gap
        for T in (5, 20, 80)
    ]
    spread = [np.mean(np.abs(g)) for g in gaps]
    assert spread[0] > 2 * spread[1] > 2 * spread[2] and spread[2] < 0.5
    assert np.mean(gaps[0]) > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:only .* draws count")
def test_an_estimator_that_is_wrong_is_found_out():
    settings = dict(n_features=3, n_repeats=3, n_temperatures=60, random_state=0)
    wrong, right = (
        bidirectional_error(
            BayesianLinearRegression(noise_std=1.0, sampler=sampler, **STATED), 200, **settings
        )
        for sampler in (AIS.paper(), SIR(500))
    )
    assert np.all(wrong.error_at_least > 1.0) and np.all(wrong.log_evidence < wrong.lower)
    assert np.all(right.error_at_least < 5 * right.log_evidence_std)


def poisson(**parameters):
    return BayesianModel(
        sample_prior=lambda rng, size: np.log(rng.gamma(1.0, size=(size, 1))),
        log_prior=lambda theta: theta[:, 0] - np.e ** theta[:, 0],
        log_likelihood=lambda theta, X, y: theta * X[:, 0] - np.e**theta - gammaln(X[:, 0] + 1),
        sample_rows=lambda theta, X, rng: rng.poisson(np.exp(theta[:, 0])),
        **parameters,
    )


def test_a_density_of_ones_own():
    found = bidirectional_error(poisson(), 20, n_repeats=3, n_temperatures=20, random_state=0)
    assert np.all(found.error_at_least < 1.0) and np.all(np.abs(found.gap) < 1.0)


@pytest.mark.parametrize(
    "model, settings",
    [
        (BayesianSoftmaxRegression(**STATED), dict(n_features=2, n_classes=3)),
        (BayesianLinearRegression(**STATED), dict(X=np.linspace(-1, 1, 30)[:, None])),
        pytest.param(BayesianGMM(n_components=2, **STATED), dict(n_features=1), marks=pytest.mark.slow),
    ],
    ids=["classes", "given inputs", "density"],
)
def test_all_estimators(model, settings):
    found = bidirectional_error(model, 30, n_repeats=2, n_temperatures=30, random_state=0, **settings)
    assert np.all(found.error_at_least < 1.0) and np.all(found.lower - found.upper < 1.0)
    assert not hasattr(model, "log_evidence_")


@pytest.mark.slow
@pytest.mark.parametrize("of", [BayesianLinearRegression, BayesianGMM])
def test_units_of_a_fitted_estimator(of):
    rng = np.random.default_rng(5)
    X, y = 1e4 + 30 * rng.standard_normal((40, 2)), 1e-3 * rng.standard_normal(40)
    units = of().fit(X, y).units_
    settings = dict(n_repeats=3, n_temperatures=60, random_state=0)
    found = bidirectional_error(of(units=units), 40, **settings)
    given = bidirectional_error(of(units=units), 40, X=X, **settings)
    for one in (found, given):
        check_markov(one.lower - one.log_evidence)
        check_markov(one.log_evidence - one.upper)
        assert np.abs(one.gap).max() < 3.0 and abs(one.log_evidence).min() > 100  # in the data's units
    with pytest.raises(ValueError, match="give units="):
        bidirectional_error(of(), 40)


def check_model(blank, inputs, expected):
    assert blank(BayesianSoftmaxRegression(**STATED), inputs, 3)[1] == expected


def test_a_model_is_made_for_the_inputs_it_gets():
    """Coordinates once came from memory that nobody wrote: columns of 10¹¹⁶, and particles of 10⁸⁴."""
    plain = SoftmaxModel(2, 3)
    near_zero = np.random.default_rng().standard_normal((30, 2))
    far = near_zero + np.array([0.0, 1e9])
    wrong = broken(
        _bidirectional_error._blank,
        "blank._make_model(inputs, None)",
        "blank._make_model(0 * inputs + 3e116, None)",
    )
    check_model(_bidirectional_error._blank, near_zero, plain)
    check_model(_bidirectional_error._blank, far, near(plain, far))
    assert isinstance(near(plain, far), FarColumns)
    for inputs, expected in ((near_zero, plain), (far, near(plain, far))):
        with pytest.raises(AssertionError):
            check_model(wrong, inputs, expected)


def test_the_same_state_gives_the_same():
    a, b = (
        bidirectional_error(LINEAR, 10, n_repeats=2, method="sir", random_state=3, verbose=False)
        for _ in range(2)
    )
    np.testing.assert_array_equal(a, b)


def test_errors():
    with pytest.raises(ValueError, match="X has 3 rows, n_rows is 4"):
        bidirectional_error(LINEAR, 4, X=np.ones((3, 1)))
    with pytest.raises(ValueError, match="cannot simulate"):
        bidirectional_error(poisson().set_params(sample_rows=None), 4)


def test_counts_are_simulated_and_bounded():
    """A blank Poisson regression once asked for an offset that no call had given."""
    est = BayesianGLM("poisson", standardize=False, random_state=0)
    found = bidirectional_error(est, 20, n_features=1, n_repeats=4, n_particles=20, random_state=0)
    assert np.all(np.isfinite(found.lower)) and np.mean(found.upper - found.lower) > -0.5
