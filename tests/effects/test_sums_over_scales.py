"""The sum over the scale of a curve of another parameter, of terms that are known, by dense quadrature."""

import numpy as np
import pytest
from effects_by_hand import half_t
from scipy.special import logsumexp
from scipy.stats import norm

from sgevidence.answers import Answer
from sgevidence.effects import EffectsModel, Layout, _answer, _integral, integrate
from sgevidence.history import Rows
from sgevidence.models import Gaussian, Predicted


def over_scale(answer):
    """The sum over τ of the answers of ``answer``, and draws."""
    family = Predicted(Gaussian(), "noise_std", "noise", (1.0,), ((3, 1.0),))
    model = EffectsModel(1, family=family, layout=Layout(np.ones(1), ()), fit_intercept=False)
    rows = Rows.of(np.zeros((3, 6)), np.zeros(3))
    return _answer.over_scale(answer, model, rows, np.random.default_rng(93200), 1000)


def sum_of_known(log_Z, is_answered=lambda tau: True):
    """The sum of terms log Z(τ) ± .01, some of which have no answer; a draw of one is its τ."""

    def answer(given, rows, rng, size, log_rest):
        tau = given.family.scales[-1]
        if not is_answered(tau):
            raise ArithmeticError("points do not suffice")
        return Answer(np.full((size, 1), tau), np.zeros(size), float(log_Z(tau)), 0.01, 1.0)

    return over_scale(answer)


def summed_by_hand(log_Z):
    z = np.linspace(-8, 8, 4001)
    return logsumexp(log_Z(half_t(z)) + norm.logpdf(z)) + np.log(z[1] - z[0])


def bump(tau, at=1.5, width=0.4):
    """Evidence of a curve that is needed."""
    return -50 - 0.5 * ((np.log(tau) - at) / width) ** 2


def check_terms_without_an_answer(is_answered, log_Z=bump):
    found = sum_of_known(log_Z, is_answered)
    error = abs(found.log_evidence - summed_by_hand(log_Z))
    assert error < 4 * found.log_evidence_std + 1e-3
    assert found.doubts or found.log_evidence_std < 0.11
    assert all(is_answered(tau) for tau in found.theta[:, 0])
    return found


@pytest.mark.parametrize("seed", range(93100, 93105))
def test_terms_without_an_answer_count_by_their_share(seed):
    rng = np.random.default_rng(seed)
    at, width, edge = rng.uniform(-1, 2), rng.uniform(0.2, 1.5), rng.uniform(0, 3)

    def log_Z(tau):
        return bump(tau, at, width)

    assert not check_terms_without_an_answer(lambda tau: True, log_Z).doubts
    check_terms_without_an_answer(lambda tau: tau < 0.8 or abs(np.log(tau) - at) > 0.3, log_Z)
    check_terms_without_an_answer(lambda tau: np.log(tau) < max(at, 0.0) + edge * width, log_Z)
    check_terms_without_an_answer(lambda tau: np.log(tau) > min(at, -0.3) - edge * width, log_Z)


def test_a_sum_that_lacks_what_matters_is_doubted():
    found = check_terms_without_an_answer(lambda tau: tau < 4)
    assert "do not suffice at scales" in found.doubts[0]
    with pytest.raises(ArithmeticError):
        sum_of_known(bump, lambda tau: tau > 4)


def sum_of_integrals(log_Z, is_term_of_sum):
    """The sum whose terms are integrals by points along a bent ridge, and known; and their points."""
    n_points = []

    def answer(given, rows, rng, size, log_rest):
        tau = given.family.scales[-1]

        def log_f(x):
            n_points.append(len(x))
            bend = x - np.column_stack([np.zeros(len(x)), 0.5 * x[:, 0] ** 2])
            return log_Z(tau) + norm.logpdf(bend, 0, 0.6).sum(axis=1)

        rest = log_rest if is_term_of_sum else -np.inf
        found = integrate(log_f, np.zeros(2), rng, 256, log_rest=rest)
        return Answer(np.full((size, 1), tau), np.zeros(size), found.log_Z, found.std, 1.0)

    return over_scale(answer), sum(n_points)


def check_small_terms():
    """With fewer points in its small terms a sum is right, and as precise."""

    def log_Z(tau):
        return bump(tau, 1.0, 0.8)

    whole, n_whole = sum_of_integrals(log_Z, False)
    found, n_points = sum_of_integrals(log_Z, True)
    assert abs(found.log_evidence - summed_by_hand(log_Z)) < 4 * found.log_evidence_std
    assert found.log_evidence_std < 1.2 * whole.log_evidence_std
    assert n_points < n_whole


def test_small_terms_of_a_sum_take_fewer_points():
    check_small_terms()


def test_small_terms_that_take_most_points_are_caught(install_broken):
    install_broken(_integral, "importance", "log_rest - log_Z", "log_Z - log_rest")
    with pytest.raises(AssertionError):
        check_small_terms()


def check_what_terms_know():
    """A term is told the logarithm of those before it, in units of its prior."""
    grid, before = np.linspace(-8, 8, 4001), [-np.inf]

    def answer(given, rows, rng, size, log_rest):
        tau = given.family.scales[-1]
        log_prior = norm.logpdf(np.interp(tau, half_t(grid), grid))
        np.testing.assert_allclose(log_rest + log_prior, logsumexp(before), atol=1e-3)
        before.append(bump(tau) + log_prior)
        return Answer(np.full((size, 1), tau), np.zeros(size), float(bump(tau)), 0.01, 1.0)

    over_scale(answer)
    assert len(before) > 5


def test_terms_know_their_share():
    check_what_terms_know()


def test_terms_without_the_prior_in_their_share_are_caught(install_broken):
    install_broken(_answer, "over_scale", "... - log_prior(z)", "... - 0 * log_prior(z)")
    with pytest.raises(AssertionError):
        check_what_terms_know()


def test_terms_without_an_answer_that_count_for_nothing_are_caught(install_broken):
    install_broken(_answer, "sum_of_terms", "... + lost**2", "... + 0 * lost**2")
    with pytest.raises(AssertionError):
        check_terms_without_an_answer(lambda tau: tau < 4)


@pytest.mark.parametrize(
    "log_Z",
    [
        lambda tau: 0.0 * tau,
        lambda tau: 20 * np.log(tau),
        lambda tau: 1e4 * abs(np.log(tau)),
        lambda tau: -1e9 * tau,
    ],
)
def test_a_sum_ends_whatever_its_terms_are(log_Z):
    found = sum_of_known(log_Z)
    assert found.doubts or abs(found.log_evidence - summed_by_hand(log_Z)) < 0.05
    found = sum_of_known(lambda tau: log_Z(tau) if tau < 1 else np.nan)
    assert np.isfinite(found.log_evidence)
    with pytest.raises(ArithmeticError):
        sum_of_known(lambda tau: np.nan)
