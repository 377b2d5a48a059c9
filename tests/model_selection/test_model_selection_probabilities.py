"""Probabilities of models, their interval, and Bayes factors in words, against closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest
from mutants import broken
from scipy.special import expit, softmax
from scipy.stats import norm

from sgevidence import log_bayes_factor
from sgevidence.model_selection import in_words, log_model_prior, probability_interval


def closed_form(log_Z, std, log_prior, level):
    """Of two models: p = expit(Δ) is monotone in Δ ~ N(Δ, std₁² + std₂²), and so are its quantiles."""
    delta = log_Z[0] + log_prior[0] - log_Z[1] - log_prior[1]
    reach = norm.ppf((1 + level) / 2) * np.hypot(*std)
    return expit(np.array([delta - reach, delta + reach]))


def interval_error(interval, log_Z, std, prior, level):
    """Largest error of the bounds, in standard errors of a quantile of all draws, on the scale of Δ."""
    log_prior = np.log(prior)
    low, high = interval(log_Z, std, log_prior, level=level)[:, 0]
    exact = closed_form(log_Z, std, log_prior, level)
    tail = (1 - level) / 2
    density = norm.pdf(norm.ppf(tail)) / np.hypot(*std)
    error = np.sqrt(tail * (1 - tail) / 10_000) / density  # of that many draws of the evidences
    logit = [np.log(p / (1 - p)) for p in (low, high, *exact)]
    return max(abs(logit[0] - logit[2]), abs(logit[1] - logit[3])) / error


CASES = [
    ([-10.0, -11.0], [0.1, 0.3], [0.5, 0.5], 0.9),
    ([-1e6, -1e6 + 2.0], [0.5, 0.01], [0.8, 0.2], 0.5),
    ([3.0, 3.0], [1.0, 1.0], [0.3, 0.7], 0.95),
]


@pytest.mark.parametrize("case", CASES)
def test_the_interval_of_two_models_is_the_closed_form(case):
    assert interval_error(probability_interval, *case) < 4


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("std * noise", "std**2 * noise"),
        ("std * noise", "std * noise[:, :1]"),
        ("log_Z + np.asarray(log_prior, dtype=float)", "log_Z"),
        ("[(1 - level) / 2, (1 + level) / 2]", "[1 - level, level]"),
    ],
)
def test_a_wrong_interval_is_seen(right, wrong):
    mutant = broken(probability_interval, right, wrong)
    assert max(interval_error(mutant, *case) for case in CASES) > 6


def test_the_interval_is_repeatable_and_holds_the_probability():
    log_Z, std = [-3.0, -3.5, -5.0, -9.0], [0.1, 0.2, 0.1, 0.5]
    low, high = probability_interval(log_Z, std)
    np.testing.assert_array_equal(probability_interval(log_Z, std), [low, high])
    p = softmax(np.array(log_Z))
    assert np.all((low < p) & (p < high)) and p.sum() == pytest.approx(1)
    np.testing.assert_allclose(
        probability_interval([-3.0, -4.0], [0.0, 0.0])[0], softmax(np.array([-3.0, -4.0]))
    )
    assert np.all(np.isnan(probability_interval([-3.0, -4.0], [0.1, np.nan])))


@pytest.mark.parametrize(
    "params, message",
    [(dict(level=1.0), "level must be"), (dict(log_evidences_std=[0.1, -0.1]), "cannot be negative")],
)
def test_bad_input_of_the_interval(params, message):
    params = dict(log_evidences=[0.0, 0.0], log_evidences_std=[0.1, 0.1]) | params
    with pytest.raises(ValueError, match=message):
        probability_interval(**params)


def test_model_priors():
    names = ["a", "b"]
    np.testing.assert_allclose(np.exp(log_model_prior(None, names)), [0.5, 0.5])
    np.testing.assert_allclose(np.exp(log_model_prior({"b": 3, "a": 1}, names)), [0.25, 0.75])
    np.testing.assert_allclose(np.exp(log_model_prior([1e308, 1e308], names)), [0.5, 0.5])
    for wrong in ([1, 2, 3], [1, 0], [1, np.nan], {"a": 1}):
        with pytest.raises(ValueError, match="model_prior"):
            log_model_prior(wrong, names)


def test_words_of_kass_and_raftery():
    limits = [1.0, 3.0, 5.0]  # of log B: 2 log B = 2, 6, 10
    words = ["not worth more than a bare mention", "positive", "strong", "very strong"]
    for limit, below, above in zip(limits, words, words[1:]):
        assert in_words(-limit + 1e-9) == in_words(limit - 1e-9) == below
        assert in_words(limit + 1e-9) == in_words(-limit - 1e-9) == above
    assert in_words(0.0) == words[0] and in_words(np.inf) == words[-1]


def test_log_bayes_factor_is_a_difference_with_both_errors():
    a = SimpleNamespace(log_evidence_=-10.0, log_evidence_std_=0.3, n_samples_seen_=7, data_fingerprint_=1)
    b = SimpleNamespace(log_evidence_=-12.5, log_evidence_std_=0.4, n_samples_seen_=7, data_fingerprint_=1)
    value, std = log_bayes_factor(a, b)
    assert (value, std) == (2.5, pytest.approx(0.5))
    assert log_bayes_factor(b, a).value == -2.5
    assert repr(log_bayes_factor(b, a)) == "log Bayes factor -2.50 ± 0.50 nats"
    b.n_samples_seen_ = 8
    with pytest.raises(ValueError, match="'the second model' has seen another number of rows"):
        log_bayes_factor(a, b)
    with pytest.raises(TypeError, match=r"'the first model' .* no log_evidence_"):
        log_bayes_factor(SimpleNamespace(), b)
