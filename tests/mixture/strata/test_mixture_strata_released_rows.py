"""Rows that are released from an allocation, block by block: sums over all partitions, broken steps."""

import numpy as np
import pytest

from sgevidence.mixture.components import Categorical, DiagonalGaussian, FullGaussian
from sgevidence.mixture.strata import _evidence, _released_rows, _stratum
from sgevidence.mixture.strata._basins import FIRST_KERNELS, by_basin
from sgevidence.mixture.strata._released_rows import _Path, bridged_chains

FAMILIES = [
    (DiagonalGaussian(2), lambda rng: rng.normal(size=(11, 2)) + 2 * rng.integers(2, size=(11, 1)), 0.5),
    (FullGaussian(1), lambda rng: rng.normal(size=(11, 1)), 2.0),
    (Categorical((3, 3, 2, 2), 0.5), lambda rng: rng.integers(2, size=(11, 4)), 1.0),
]


@pytest.fixture(autouse=True)
def uncovered(monkeypatch):
    """As if no bridge covered a stratum, and with steps of few rows."""
    monkeypatch.setattr(_stratum, "WELL_SHARE", np.inf)
    monkeypatch.setattr(_stratum, "_std", lambda stages: np.inf)
    monkeypatch.setattr(_released_rows, "STEP_NATS", 0.7)


def check(family, rows, a, k, seed):
    """A stratum by released rows beside its exact sum, as if chains had met one basin."""
    rng = np.random.default_rng(seed)
    problem = _evidence._problem(family, rows(rng), None, k, a)
    exact, rngs, stages = _evidence.exact_strata(problem, k, rng)[k - 1], rng.spawn(2), []
    for one in rngs:
        stage = by_basin(problem, k, exact.z[0][one.integers(800, size=16)], 5, 2, FIRST_KERNELS, one)
        stages.append(stage._replace(is_tight=False, basin=np.zeros(16, dtype=int), log_B=np.zeros(1)))
    found = _stratum._by_release(problem, k, stages, 1.0, rngs)
    assert found is not None and abs(found.log_B - exact.log_B) < 4 * found.std < 1.0
    assert found.points.shape[0] == k and found.log_w.shape == found.points.shape[1:2]


@pytest.mark.parametrize("k", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family, rows, a", FAMILIES, ids=["diagonal", "full", "classes"])
def test_sums_over_all_partitions(family, rows, a, k):
    check(family, rows, a, k, seed=k)


FIXED = "path.fixed(l) + sample_allocations(c, path.F[l:], rng)[1]"


@pytest.mark.parametrize(
    "owner, name, right, wrong",
    [
        (_Path, "log_last_step", "lgamma(self.k + 1)", "0.0"),
        (_Path, "log_step", "self._log_own(c, l, m)", "0.5 * self._log_own(c, l, m)"),
        (_stratum, "released", FIXED, FIXED.removeprefix("path.fixed(l) + ")),
    ],
)
def test_broken_steps_are_seen(owner, name, right, wrong, install_broken):
    install_broken(owner, name, right, wrong)
    with pytest.raises(AssertionError):
        check(*FAMILIES[1], 2, seed=2)


def test_a_bridge_of_gaussians():
    """N(0, 1) and e² N(1, 1): the ratio, and errors of chains that are the bridge's own."""
    rng, found = np.random.default_rng(3), []
    for _ in range(40):
        low, high = rng.normal(size=(20, 8)), 1.0 + rng.normal(size=(20, 8))
        log_ratio = [2.0 + x.ravel() - 0.5 for x in (low, high)]
        ratio, f, g = bridged_chains(*log_ratio, 8)
        found.append([ratio - 2.0, np.sqrt((np.var(f, ddof=1) + np.var(g, ddof=1)) / 8)])
    error, claimed = np.transpose(found)
    assert abs(error.mean()) < 4 * error.std() / 40**0.5
    assert 0.7 < error.std() / np.sqrt(np.mean(claimed**2)) < 1.4
