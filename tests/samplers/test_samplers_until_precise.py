"""Runs until the error bar is met: it covers, the target decides, and the clock does."""

import re
import warnings
from time import perf_counter

import numpy as np
import pytest
from joblib import parallel_config
from scipy.special import softmax
from scipy.stats import binom
from sklearn.base import BaseEstimator, clone

from sgevidence import (
    SGAIS,
    BayesianGMM,
    BayesianLinearRegression,
    EvidenceModelAverager,
    EvidenceWarning,
    compare,
)
from sgevidence.history import Rows
from sgevidence.models import LinearModel
from sgevidence.particles import Weights
from sgevidence.published import PriorSampling
from sgevidence.samplers import Exact, UntilPrecise, answer

ROWS = Rows.of(np.zeros((3, 1)))


class Lottery(BaseEstimator):
    """An unbiased evidence exp(−10) with a lognormal error of ``error`` nats, which it calls ``claim``."""

    def __init__(self, error=0.3, claim=None, seconds=0.0):
        self.error, self.claim, self.seconds = error, claim, seconds

    def run(self, model, rows, rng, progress=None):
        stop = perf_counter() + self.seconds
        while perf_counter() < stop:
            pass
        log_Z = -10.0 - 0.5 * self.error**2 + self.error * rng.standard_normal()
        std = self.error if self.claim is None else self.claim
        theta = np.full((4, 1 if model is None else model.n_params), log_Z)
        return answer(log_Z, std, theta, Weights.ones(4), rows, 0.0, n_likelihoods=12.0)


def run(rng, sampler=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return UntilPrecise(sampler=sampler or Lottery(), **params).run(None, ROWS, rng)


def check_target_and_cover(rng, size=120):
    results = [run(rng, tolerance=0.1, max_seconds=None) for _ in range(size)]
    std = np.array([r.log_evidence_std for r in results])
    assert np.all(std <= 0.1)
    z = (np.array([r.log_evidence for r in results]) + 10.0) / std
    assert 0.75 < z.std() < 1.15
    inside = int(np.sum(np.abs(z) < 1.96))
    assert inside >= binom.ppf(1e-4, size, 0.93)
    # nine runs of 0.3 nats would do if all claimed the same; after eight it asks for the rest
    assert 9 <= np.mean([r.diagnostics["n_runs"] for r in results]) < 14.5


def test_the_target_is_met_and_the_error_covers(rng):
    check_target_and_cover(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("std <= self.tolerance", "std <= 2 * self.tolerance"),
        ("ceil(n * (std / self.tolerance) ** 2) - n", "ceil(n * (std / self.tolerance) ** 4)"),
    ],
)
def test_a_run_that_stops_wrongly_is_seen(right, wrong, rng, install_broken):
    install_broken(UntilPrecise, "_runs_to_go", right, wrong)
    with pytest.raises(AssertionError):
        check_target_and_cover(rng)


def test_runs_are_pooled_by_their_evidence(rng):
    result = run(rng, tolerance=0.25, max_seconds=None)
    log_Z = result.theta[::4, 0]
    assert result.diagnostics["n_runs"] == len(log_Z) >= 2
    assert result.log_evidence == pytest.approx(np.log(np.mean(np.exp(log_Z))))
    np.testing.assert_allclose(result.weights, np.repeat(softmax(log_Z), 4) / 4)
    assert result.n_likelihoods == 12 * len(log_Z)
    assert result.path["log_evidence"].tolist() == [result.log_evidence]


def test_time_ends_it_and_it_says_so(rng):
    start = perf_counter()
    with pytest.warns(EvidenceWarning, match=r"after \d+ runs in 0\.\d s, tolerance=0.001 is not met"):
        result = UntilPrecise(1e-3, max_seconds=0.5, sampler=Lottery(seconds=0.02)).run(None, ROWS, rng)
    assert perf_counter() - start < 0.8  # another machine's hiccups
    assert 3 <= result.diagnostics["n_runs"] <= 26
    assert "is not met" in result.warnings[0]


def test_the_first_run_is_always_finished(rng):
    with pytest.warns(EvidenceWarning, match="1 runs in"):
        result = UntilPrecise(0.1, max_seconds=0.0, sampler=Lottery()).run(None, ROWS, rng)
    assert result.diagnostics["n_runs"] == 1 and result.log_evidence_std == 0.3
    with pytest.warns(EvidenceWarning, match="there was time for one run only"):
        UntilPrecise(0.5, max_seconds=0.0, sampler=Lottery()).run(None, ROWS, rng)


def test_claims_that_are_too_small_are_found_out(rng):
    """But where the first runs agree by chance, and are enough: once in five."""
    found, ratio = 0, []
    for g in rng.spawn(8):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sampler = UntilPrecise(0.05, max_seconds=0.5, sampler=Lottery(error=0.3, claim=0.01))
            result = sampler.run(None, ROWS, g)
        said = [
            re.search(r"runs disagree by .* where their errors claim 0.01", str(w.message)) for w in caught
        ]
        n = result.diagnostics["n_runs"]
        found += any(said)
        ratio += [result.log_evidence_std * np.sqrt(n) / 0.3] if n >= 10 else []
    assert found >= 5 and 0.5 < np.mean(ratio) < 2


def test_a_closed_form_needs_one_run(rng):
    model, rows = LinearModel(1, noise_std=1.0), Rows.of(np.ones((4, 1)), np.zeros(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = UntilPrecise(sampler=Exact()).run(model, rows, rng)
    assert result.diagnostics["n_runs"] == 1
    assert result.log_evidence == model.exact_log_evidence(rows)


def linear_rows(rng, n=60):
    X = rng.standard_normal((n, 2))
    return X, X @ [1.0, -0.5] + rng.standard_normal(n)


def test_in_an_estimator_a_search_and_a_comparison(rng):
    X, y = linear_rows(rng)
    sampler = UntilPrecise(tolerance=0.02, sampler=SGAIS(n_particles=100, max_particles=300, proposal=None))
    model = BayesianLinearRegression(1.0, sampler=sampler, random_state=0, standardize=False).fit(X, y)
    exact = BayesianLinearRegression(1.0, sampler=Exact(), standardize=False).fit(X, y)
    assert model.log_evidence_std_ <= 0.02
    assert abs(model.log_evidence_ - exact.log_evidence_) < 4.5 * model.log_evidence_std_
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=6 * exact.coef_std_.max() / np.sqrt(300))
    assert model.n_samples_seen_ == 60 and model.diagnostics_["n_runs"] > 1
    assert model.evidence_path_["n_samples"].tolist() == [60]
    assert not hasattr(model, "partial_fit")
    table = compare({"pooled": model, "exact": exact})
    assert table["log_evidence_std"]["pooled"] <= 0.02
    average = EvidenceModelAverager([("pooled", clone(model)), ("exact", exact)], random_state=1).fit(X, y)
    assert average.log_evidence_std_ <= 0.02
    again = clone(model).set_params(sampler__sampler__n_particles=50, sampler__tolerance=10.0).fit(X, y)
    assert again.diagnostics_["n_runs"] == 2 and UntilPrecise().sampler.n_particles == 100


def test_the_result_does_not_depend_on_n_jobs():
    X = np.random.default_rng(0).standard_normal((50, 1))
    sampler = UntilPrecise(0.01, max_seconds=None, sampler=Lottery(error=0.03))
    one = BayesianGMM(1, sampler=sampler, random_state=0, standardize=False).fit(X)
    with parallel_config("threading"):
        two = clone(one).set_params(sampler__n_jobs=2).fit(X)
    assert (one.log_evidence_, one.log_evidence_std_) == (two.log_evidence_, two.log_evidence_std_)
    np.testing.assert_array_equal(one.particles_, two.particles_)


@pytest.mark.parametrize(
    "wrong", [dict(tolerance=0.0), dict(max_seconds=-1), dict(sampler=3), dict(n_jobs=1.5)]
)
def test_bad_parameters(wrong, rng):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        UntilPrecise(**wrong).run(None, ROWS, rng)


def test_what_single_runs_doubt_is_counted(rng):
    model, rows = LinearModel(2, noise_std=0.3), Rows.of(*linear_rows(rng))
    sampler = UntilPrecise(
        3.0, max_seconds=None, sampler=SGAIS(n_particles=4, max_particles=4, proposal=None)
    )
    with pytest.warns(EvidenceWarning):
        result = sampler.run(model, rows, rng)
    assert any(f" of {result.diagnostics['n_runs']} runs: " in one for one in result.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.05])
def test_the_error_of_200_fits_covers_the_closed_form(target, rng):
    """SGAIS on a regression: 95 % intervals, by the rule that ended each fit."""
    X, y = linear_rows(rng)
    exact = BayesianLinearRegression(1.0, sampler=Exact(), standardize=False).fit(X, y).log_evidence_
    sampler = UntilPrecise(
        target, max_seconds=None, sampler=SGAIS(n_particles=50, max_particles=200, proposal=None)
    )
    fits = [
        BayesianLinearRegression(1.0, sampler=sampler, random_state=int(seed), standardize=False).fit(X, y)
        for seed in rng.integers(0, 2**31, 200)
    ]
    std = np.array([fit.log_evidence_std_ for fit in fits])
    z = (np.array([fit.log_evidence_ for fit in fits]) - exact) / std
    assert np.all(std <= target)
    assert np.sum(np.abs(z) < 1.96) >= binom.ppf(1e-3, 200, 0.93)
    assert z.std() > 0.6


def test_doubts_of_runs_name_the_line_of_the_user(rng):
    """Through joblib, too; a draw or two of the prior say little."""
    rows = Rows.of(rng.standard_normal((50, 3)), rng.standard_normal(50))
    with pytest.warns(EvidenceWarning, match="draws count") as given:
        UntilPrecise(1e9, sampler=PriorSampling(4)).run(LinearModel(3, noise_std=1.0), rows, rng)
    assert {one.filename for one in given} == {__file__}
