"""Pooled seeds: fits that differ in their seeds only, what they say together, and who is told."""

import warnings

import numpy as np
import pytest
from estimator_cases import data, estimator
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sgevidence import SGAIS, BayesianLinearRegression, EvidenceWarning, compare, replicate
from sgevidence.samplers import DOUBTFUL_P_VALUE, Exact


class Lottery(BaseEstimator):
    """An unbiased evidence exp(−10) with a lognormal error of ``error`` nats, which it calls ``claim``."""

    def __init__(self, error=0.3, claim=0.3, random_state=None):
        self.error, self.claim, self.random_state = error, claim, random_state

    def fit(self, X, y=None, sample_weight=None):
        noise = np.random.default_rng(self.random_state).standard_normal()
        self.log_evidence_ = -10.0 - 0.5 * self.error**2 + self.error * noise
        self.log_evidence_std_, self.n_samples_seen_, self.data_fingerprint_ = self.claim, len(X), 1
        return self


class Planned(BaseEstimator):
    """Evidences and errors in the order in which fits ask."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        self.log_evidence_, self.log_evidence_std_ = next(self.plan)
        return self


def planned(monkeypatch, log_Z, s):
    monkeypatch.setattr(Planned, "plan", zip(log_Z, s), raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return replicate(Planned(), np.zeros((3, 1)), n=len(s), random_state=0)


def test_the_mean_of_evidences_by_hand(monkeypatch):
    pool = planned(monkeypatch, [np.log(2.0), np.log(4.0)], [0.5, 0.25])
    assert pool.log_evidence_ == pytest.approx(np.log(3.0))
    u = np.array([1 / 3, 2 / 3])
    x = np.log([2.0, 4.0]) + np.array([0.125, 0.03125])
    Q = (x[1] - x[0]) ** 2 / (0.25 + 0.0625)  # two values: difference over its error
    claimed = np.sqrt((u[0] * 0.5) ** 2 + (u[1] * 0.25) ** 2)
    assert pool.log_evidence_std_ == pytest.approx(claimed * max(1, np.sqrt(Q)))
    assert pool.disagreement_ == pytest.approx(np.log(2.0) / np.sqrt(2))
    assert pool.claimed_ == pytest.approx(np.sqrt((0.25 + 0.0625) / 2))


def test_seeds_are_distinct_and_repeatable_however_many_run_at_a_time():
    model, (X, y) = estimator("linear", sampler=SGAIS(30, proposal=None)), data("linear")
    one = replicate(model, X, y, n=3, random_state=5)
    with parallel_config("threading"):
        two = replicate(model, X, y, n=3, random_state=5, n_jobs=2)
    np.testing.assert_array_equal(one.log_evidences_, two.log_evidences_)
    assert len(set(one.log_evidences_.tolist())) == 3
    assert not hasattr(model, "log_evidence_") and model.random_state == 0
    again = clone(model).set_params(random_state=one.estimators_[1].random_state).fit(X, y)
    assert again.log_evidence_ == one.log_evidences_[1]


def test_replicates_of_a_regression_agree_with_the_closed_form():
    X, y = data("linear")
    weight = np.arange(90) % 3
    params = dict(n=4, random_state=1, sample_weight=weight)
    exact = BayesianLinearRegression(0.5, sampler=Exact()).fit(X, y, weight)
    annealing = SGAIS(1000, max_particles=1000, proposal=None)  # the closed form has no seed
    model = estimator("linear", noise_std=0.5, sampler=annealing)
    for one in (model, make_pipeline(FunctionTransformer(), make_pipeline("passthrough", model))):
        pool = replicate(one, X, y, **params)
        assert abs(pool.log_evidence_ - exact.log_evidence_) < 3 * pool.log_evidence_std_ < 1.5
        assert pool.n_samples_seen_ == 60
        table = compare({"pool": pool, "exact": exact})
        assert table["log_evidence_std"]["pool"] == pool.log_evidence_std_


def test_honest_seeds_are_silent_and_overconfident_ones_are_told():
    X = np.zeros((5, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = replicate(Lottery(), X, n=6, random_state=2)
        replicate(BayesianLinearRegression(1.0, sampler=Exact(), standardize=False), X, np.zeros(5), n=2)
    assert quiet.p_value_ > DOUBTFUL_P_VALUE and quiet.warnings_ == []
    with pytest.warns(EvidenceWarning, match=r"6 seeds disagree by \d.* where their errors claim 0.01"):
        loud = replicate(Lottery(claim=0.01), X, n=6, random_state=2)
    honest = loud.disagreement_ / np.sqrt(6)  # the error of a mean of six
    assert 0.5 * honest < loud.log_evidence_std_ < 2 * honest
    assert compare({"a": loud})["warnings"].iloc[0] == loud.warnings_[0]


def test_it_prints_what_matters(monkeypatch):
    lines = repr(planned(monkeypatch, [-1.0, -1.1], [0.1, 0.2])).splitlines()
    assert lines[0] == "Replicates of Planned, 2 seeds"
    assert lines[1].split() == ["log", "evidence", "-1.049", "±", "0.109", "nats"]
    assert "-1.00 ± 0.10, -1.10 ± 0.20" in lines[2] and "0.071 nats, claimed 0.158 (p = " in lines[3]


@pytest.mark.parametrize("n", [1, 0, 2.5, None])
def test_one_seed_is_no_replicate(n):
    with pytest.raises(ValueError, match="n must be an integer of at least 2"):
        replicate(Lottery(), np.zeros((3, 1)), n=n)


def test_what_has_no_seed_is_refused():
    with pytest.raises(ValueError, match="FunctionTransformer has no random_state"):
        replicate(FunctionTransformer(), np.zeros((3, 1)))
