"""Hazards by pieces: the Poisson identity, Cox's estimates, breaks, hazards, competing risks."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sgevidence import BayesianGLM, EvidenceWarning, Group
from sgevidence.models import PiecewiseExponential

DATA = Path(__file__).parents[1] / "data"
RNG = np.random.default_rng(4)
X = RNG.standard_normal((80, 2))
T = np.exp(X @ [0.7, -0.4] + 1.0) * RNG.exponential(size=80) ** 0.8
CLOCK = 9.0 * RNG.exponential(size=80)
EVENT, T = T < CLOCK, np.minimum(T, CLOCK)
BREAKS = (0.8, 2.5)


def glm(family="piecewise_exponential", **params):
    return BayesianGLM(**{"family": family, "random_state": 0} | params)


def check_identity(entry=None):
    """Rows split at breaks are Poisson counts of events; the coefficient of a piece's column is N(0, 1)."""
    start = np.zeros(80) if entry is None else entry
    edges = np.r_[0.0, BREAKS, np.inf]
    spent = np.array([np.clip(T, a, b) - np.clip(start, a, b) for a, b in pairwise(edges)]).T
    died = np.array([(a < T) & (b >= T) & EVENT for a, b in pairwise(edges)]).T
    i, k = np.nonzero(spent > 0)
    split = np.column_stack([-X[i], np.eye(3)[k]])
    counts = glm("poisson", standardize=False)
    counts.fit(split, died[i, k].astype(float), offset=np.log(spent[i, k]))
    exact = counts.log_evidence_ - np.sum(np.log(spent[i, k])[died[i, k]])
    given = {} if entry is None else {"entry": entry}
    times = glm(standardize=False, breaks=BREAKS).fit(X, T, event=EVENT, **given)
    assert abs(times.log_evidence_ - exact) < 4 * np.hypot(times.log_evidence_std_, counts.log_evidence_std_)
    np.testing.assert_allclose(times.coef_, counts.coef_[:2], atol=0.02)
    rates = np.log(times.posterior_samples()["rates"]).mean(axis=0)
    np.testing.assert_allclose(rates, counts.coef_[2:], atol=0.1)


def test_a_row_is_a_poisson_count_in_every_piece():
    check_identity()
    check_identity(np.where(T > 0.2, 0.9 * T * RNG.random(80), 0.0))


def test_one_piece_is_exponential():
    """But for its rate, whose prior is that of one more intercept."""
    one = glm(breaks=1, standardize=False, intercept_scale=np.sqrt(3.0)).fit(X, T, event=EVENT)
    plain = glm("exponential", standardize=False, intercept_scale=2.0).fit(X, T, event=EVENT)
    std = np.hypot(one.log_evidence_std_, plain.log_evidence_std_)
    assert abs(one.log_evidence_ - plain.log_evidence_) < 4 * std + 1e-3


#: coxph of R's survival 3.5.3: coefficients and standard errors.
COX = {
    "lung": ([0.011067, -0.552612, 0.463728], [0.009267, 0.167739, 0.113577]),
    "channing": ([0.3219], [0.1733]),
}


@pytest.mark.parametrize("name", COX)
def test_hazard_ratios_are_those_of_cox(name):
    """Within a quarter of a standard error, by which priors and pieces differ from a partial likelihood."""
    rows = np.genfromtxt(DATA / f"{name}.csv", delimiter=",", names=True)
    if name == "lung":
        X = np.column_stack([rows["age"], rows["sex"], rows["phecog"]])
        given = dict(y=rows["time"], event=rows["status"] == 2)
    else:
        X, given = rows["male"][:, None], dict(y=rows["exit"], event=rows["cens"], entry=rows["entry"])
    est, (coef, se) = glm(breaks=8).fit(X, **given), COX[name]
    assert np.all(abs(-est.coef_ - coef) < 0.25 * np.array(se))
    np.testing.assert_allclose(est.coef_std_, se, rtol=0.07)


def test_breaks_hazards_and_frailties():
    est = glm(breaks=4).fit(X, T, event=EVENT)
    events = [np.sum(EVENT & (T <= b)) for b in est._family.plain.breaks]
    assert len(events) == 3 and np.all(abs(np.diff([0, *events, EVENT.sum()]) - EVENT.sum() / 4) < 2)
    at = np.array([0.3, 1.0, 4.0])
    h = 1e-5
    low, high = (est.predict_survival(X[:4], at + sign * h) for sign in (-1, 1))
    np.testing.assert_allclose(est.predict_hazard(X[:4], at), np.log(low / high) / (2 * h), rtol=1e-4)
    draws = est.sample_y(X[:3], 4000, random_state=1)
    np.testing.assert_allclose(
        est.predict_survival(X[:3], at), (draws[:, :, None] > at).mean(axis=1), atol=0.03
    )
    given = glm(breaks=list(BREAKS)).fit(X, T, event=EVENT)
    assert given._family.plain.breaks == BREAKS
    years = glm(breaks=4).fit(X, 365.25 * T, event=EVENT)  # units of time, and breaks with them
    assert years.log_evidence_ == pytest.approx(est.log_evidence_ - EVENT.sum() * np.log(365.25), abs=1e-6)
    frail = glm(breaks=2, terms=[Group(2, scale=1e-4)])
    frail.fit(np.column_stack([X, np.arange(80) % 8]), T, event=EVENT)
    plain = glm(breaks=2).fit(X, T, event=EVENT)
    assert abs(frail.log_evidence_ - plain.log_evidence_) < 4 * frail.log_evidence_std_ + 0.01


def test_a_stream_keeps_its_breaks():
    whole = glm(breaks=3).fit(X, T, event=EVENT)
    est = glm(breaks=list(whole._family.plain.breaks), units=whole.units_)
    est.partial_fit(X[:40], T[:40], event=EVENT[:40]).partial_fit(X[40:], T[40:], event=EVENT[40:])
    assert abs(est.log_evidence_ - whole.log_evidence_) < 4 * est.log_evidence_std_ + 0.02


@pytest.mark.parametrize(
    "params, words",
    [
        (dict(breaks=[2.0, 1.0]), "breaks must be positive times that rise"),
        (dict(breaks=[-1.0, 1.0]), "breaks must be positive times that rise"),
        (dict(breaks=["a", "b"]), "breaks must be|could not convert"),
        (dict(breaks=np.arange(1.0, 40.0)), "30 pieces at most"),
        (dict(breaks=3, family="weibull"), "breaks= are those of family='piecewise_exponential'"),
    ],
)
def test_breaks_that_cannot_be_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        glm(**params).fit(X, T, event=EVENT)
    with pytest.raises(ValueError, match="breaks= could be taken"):
        glm().fit(X, T, event=False)
    with pytest.warns(EvidenceWarning, match="no y is known but by a lower bound"):
        glm(breaks=[1.0]).fit(X, T, event=False)
    with pytest.raises(ValueError, match="scale must be positive"):
        PiecewiseExponential((1.0,), scale=0.0)


def test_breaks_are_checked_where_no_row_has_bounds():
    with pytest.raises(ValueError, match="breaks= are those of"):
        glm("poisson", breaks=3).fit(X, np.round(T))
