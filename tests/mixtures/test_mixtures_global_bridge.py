"""Where components overlap: a bridge between draws and chains that have spread, and how well they have."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.history import Rows
from sgevidence.mixtures import _allocation_proposal, _global_bridge
from sgevidence.mixtures import _allocations as target
from sgevidence.mixtures._allocations import allocation_evidence
from sgevidence.models import MixtureModel

#: Eight draws of each of 400 chains, 6400 sweeps from one to the next: −588.662, −588.663, −588.681.
TRUTH = -588.665
OVERLAPPING = Rows.of(
    1.5 * np.array([[0, 0], [1, 1], [-1, 1], [1, -1], [-1, -1]])[np.arange(150) % 5]
    + np.random.default_rng(5).standard_normal((150, 2))
)


def check_overlap(rng, seeds=6):
    """K = 3 on five groups in one; some of these bridges have fewer effective draws than strata ask for."""
    error, std = [], []
    for g in rng.spawn(seeds):
        found = allocation_evidence(MixtureModel(3, 2), OVERLAPPING, g)
        assert found.log_evidence_std < 0.3
        w = np.exp(found.log_weights)
        assert len(found.theta) == len(w) and np.log(w.mean()) == pytest.approx(found.log_evidence, abs=1e-6)
        error.append(found.log_evidence - TRUTH)
        std.append(np.hypot(found.log_evidence_std, 0.02))
    z = np.array(error) / std
    assert np.all(abs(z) < 4) and abs(z.mean()) < 3.5 / np.sqrt(seeds), (error, std)


@pytest.mark.slow
def test_overlapping_components(rng):
    check_overlap(rng)


@pytest.mark.parametrize("wrong", ["draws of q alone", "chains where they start"])
def test_power_of_what_overlaps(rng, monkeypatch, wrong):
    """Importance sampling is 0.2 too low, and so are chains that have not spread."""
    if wrong == "draws of q alone":
        monkeypatch.setattr(_global_bridge, "SAME", 0.0)
    else:
        monkeypatch.setattr(_allocation_proposal, "SWEEPS", 1)
        monkeypatch.setattr(_allocation_proposal, "SPREAD", 1)
        bridged = broken(
            _global_bridge._bridged,
            "is_still = before is not None and drift < max(SHARE * estimate.std, STILL)",
            "drift, is_still = 0.0, True or drift < max(SHARE * estimate.std, STILL)",
        )
        monkeypatch.setattr(_global_bridge, "_bridged", bridged)
    with pytest.raises(AssertionError):
        check_overlap(rng)


def check_one_chain(rng, monkeypatch):
    """A bridge that rests on two chains, six nats above what draws of q say."""
    right = _global_bridge._bridged

    def too_high(*args):
        chains, estimate, n_sweeps = right(*args)
        return chains, estimate._replace(log_Z=estimate.log_Z + 6, n_effective=2.0), n_sweeps

    monkeypatch.setattr(_global_bridge, "_bridged", too_high)
    found = allocation_evidence(MixtureModel(3, 2), OVERLAPPING, rng)
    assert not found.reliable and found.log_evidence_std > 2.5


def test_a_bridge_to_few_chains_is_in_doubt(rng, monkeypatch):
    """404 rows in two columns, K = 8: ten nats too high at a claimed two."""
    check_one_chain(rng, monkeypatch)


def test_power_of_a_bridge_to_few_chains(rng, monkeypatch):
    monkeypatch.setattr(
        target,
        "global_bridge",
        broken(
            _global_bridge.global_bridge,
            "estimate.n_effective < MIN_EFFECTIVE_CHAINS",
            "estimate.n_effective < 0",
        ),
    )
    with pytest.raises(AssertionError):
        check_one_chain(rng, monkeypatch)


@pytest.fixture
def costly(monkeypatch):
    monkeypatch.setattr(_global_bridge, "MOST_SWEPT", 0)


@pytest.mark.slow
def test_costly_chains_go_on_once(rng, costly):
    """However costly sweeps are: where chains move to is the error bar of how they have spread."""
    check_overlap(rng)


def test_power_of_going_on_once(rng, costly, monkeypatch):
    once = broken(
        _global_bridge._bridged,
        "before is not None and 2 * n_sweeps * LENGTH * problem.cost > MOST_SWEPT",
        "2 * n_sweeps * LENGTH * problem.cost > MOST_SWEPT",
    )
    monkeypatch.setattr(_global_bridge, "_bridged", once)
    with pytest.raises(AssertionError):
        check_overlap(rng)
