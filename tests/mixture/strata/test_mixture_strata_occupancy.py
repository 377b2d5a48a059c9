"""Ratios of strata from chains that lose and regain components: sums over all partitions, refusals."""

import numpy as np
import pytest
from mutants import broken
from test_mixture_strata_evidence import FAMILIES, strata_by_enumeration

from sgevidence.mixture.components import DiagonalGaussian
from sgevidence.mixture.strata import _evidence, _stratum, mixture_evidence
from sgevidence.mixture.strata._stratum import occupancy


def ratio(family, X, a, k, seed=0, S=16):
    """The occupancy of two halves whose chains begin with rows in k components."""
    rngs = np.random.default_rng(seed).spawn(3)
    z = [rng.permuted(np.arange(len(X)) % k * np.ones((S, 1), dtype=int), axis=1) for rng in rngs[:2]]
    problem = _evidence._problem(family, X, None, k, a)
    return occupancy(problem, k, [half.astype(np.int16) for half in z], rngs[2])


@pytest.mark.parametrize("family, X, a", FAMILIES[1::2], ids=["full", "categorical"])
def test_ratios_are_those_of_sums_over_all_allocations(family, X, a):
    exact = np.diff(strata_by_enumeration(family, X, a, 4))
    for k in (2, 3):
        found = ratio(family, X, a, k)
        for j, one in ((k, found), (k + 1, found.ahead)):
            assert abs(one.log_ratio - exact[j - 2]) < 4 * one.std and one.std < 0.2
            assert one.points.shape[0] == j and one.points.shape[1] > 50


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("_step", "log_odds + np.log(...)", "log_odds"),
        ("_followed", "... == np.array(...)", "... >= np.array(...)"),
    ],
)
def test_wrong_ratios_are_seen(name, right, wrong, monkeypatch):
    monkeypatch.setattr(_stratum, name, broken(getattr(_stratum, name), right, wrong))
    with pytest.raises(AssertionError):
        test_ratios_are_those_of_sums_over_all_allocations(*FAMILIES[1])


def test_components_that_never_lose_their_rows_have_no_ratio():
    X = np.repeat([[-30.0], [30.0]], 40, axis=0) + np.random.default_rng(0).normal(size=(80, 1))
    assert ratio(DiagonalGaussian(1), X, 1.0, 2) is None


def asked_after_the_first_stage(monkeypatch, log_ratio=0.0):
    """Strata of which no first stage is good enough, and ratios that are off."""
    monkeypatch.setattr(_stratum, "FRESH_SHARE", 2.0)
    monkeypatch.setattr(_stratum, "_std", lambda stages: 1.0)
    found = []

    def noted(*arguments):
        one = occupancy(*arguments)
        found.append(one._replace(log_ratio=one.log_ratio + log_ratio))
        return found[-1]

    monkeypatch.setattr(_stratum, "occupancy", noted)
    return found


@pytest.mark.usefixtures("never_summed")
def test_strata_that_are_linked_share_their_errors(monkeypatch):
    family, X, a = FAMILIES[1]
    exact, asked = strata_by_enumeration(family, X, a, 3), asked_after_the_first_stage(monkeypatch)
    found = mixture_evidence(family, X, 3, a, np.random.default_rng(0), n_draws=10)
    assert len(asked) == 1 and np.all(np.diff(found.log_strata_std) > 0)  # one walk answers for both
    assert np.all(np.abs(found.log_strata - exact) < 4 * found.log_strata_std + 1e-9)
    assert found.log_strata_std[2] == pytest.approx(np.hypot(asked[0].std, asked[0].ahead.std))
    shares = found.in_use[2, 1:]
    second, third = asked[0].std, asked[0].ahead.std
    expected = (shares.sum() * second) ** 2 + (shares[1] * third) ** 2
    assert found.covariance[2, 2] == pytest.approx(expected)
    assert np.linalg.eigvalsh(found.covariance).min() > -1e-12


@pytest.mark.usefixtures("never_summed")
def test_a_ratio_below_the_bridge_is_not_taken(monkeypatch):
    family, X, a = FAMILIES[1]
    asked = asked_after_the_first_stage(
        monkeypatch, log_ratio=-2.0
    )  # as if chains had not met the best basin
    found = mixture_evidence(family, X, 2, a, np.random.default_rng(0), n_draws=10)
    exact = strata_by_enumeration(family, X, a, 2)
    assert asked and abs(found.log_strata[1] - exact[1]) < 0.1
