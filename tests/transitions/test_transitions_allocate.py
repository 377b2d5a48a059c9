"""The cloud from allocations: the evidence of all rows, particles of the posterior, and when it declines."""

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken

from sgevidence.history import Memory, Rows
from sgevidence.models import MixtureModel
from sgevidence.particles import Cloud, Genealogy, Weights
from sgevidence.targets import Path
from sgevidence.transitions import Allocate, State, Streams, _allocate

MODEL, M = MixtureModel(2, 1), 400
NEW = Rows.of([[4.0], [1.0]])


def on(rng, rows, seen=5, model=MODEL, capacity=None):
    """A cloud that knows nothing, some rows in the memory and the others to come."""
    memory = Memory.empty(capacity).absorb(rows[:seen], rng)
    cloud = Cloud.planted(model.sample_prior(rng, M))._replace(log_Z=-1e6)
    return State(cloud, memory), Path(model, memory, rows[seen:])


def check_crossed(rng, call=Allocate.__call__):
    """log p(x) of all rows, those in the memory included; and the predictive of new ones by enumeration."""
    rows = Rows.of(4.0 + rng.standard_normal((8, 1)))
    state, path = on(rng, rows)
    step = call(Allocate(first_rows=1), state, path, Streams.spawned(rng))
    after, exact = step.state, enumerated(MODEL, rows)
    assert step.crossed and step.info.n_renewals == 1 and after.cloud.M == M
    assert abs(after.log_evidence - exact) < 4.5 * after.log_evidence_std, "evidence"
    assert 1e-5 < after.log_evidence_std < 0.15, "error bar"
    p = np.exp(MODEL.log_likelihood(after.theta, NEW))
    expected = [np.exp(enumerated(MODEL, rows.join(NEW[i : i + 1])) - exact) for i in range(2)]
    z = (p.mean(axis=0) - expected) / (p.std(axis=0) / np.sqrt(M / 3))  # draws from few parents are dependent
    assert np.abs(z).max() < 5, "particles"


def test_evidence_and_particles_are_those_of_the_posterior(rng):
    check_crossed(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "Cloud(found.theta[parents], Weights.ones(M), ..., ...)",
            "Cloud(found.theta[parents], Weights(found.log_weights[parents]), ..., ...)",
        ),
        ("path.all_rows", "path.chunk"),
        ("found.theta[parents]", "state.theta[parents % len(state.theta)]"),
        ("found.log_evidence_std**2", "0.0 * found.log_evidence_std"),
        ("state._replace(cloud=cloud, ell=None)", "state._replace(ell=None)"),
    ],
    ids=["a weight twice", "the new rows only", "the old particles", "no error", "the old cloud"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    mutant = broken(Allocate.__call__, right, wrong)
    with pytest.raises(AssertionError, match=r"evidence|particles|error bar"):
        for g in rng.spawn(4):
            check_crossed(g, mutant)


@pytest.mark.parametrize(
    "model, seen, settings",
    [(MixtureModel(1, 1), 5, {}), (MODEL, 5, dict(capacity=3)), (MODEL, 0, {})],
    ids=["one component", "rows are gone", "too few rows"],
)
def test_it_declines_without_a_look(rng, monkeypatch, model, seen, settings):
    monkeypatch.setattr(_allocate, "allocation_evidence", None)
    state, path = on(rng, Rows.of(rng.standard_normal((9, 1))), seen or 5, model, **settings)
    allocate = Allocate(first_rows=100 if seen == 0 else 1)
    step = allocate(state, path, Streams.spawned(rng))
    assert not step.crossed and step.state is state


@pytest.mark.parametrize(
    "hopeful, std, searches, crossed",
    [
        ((True, True), 0.6, 2, False),
        ((True, False), 0.4, 2, True),
        ((True, True), 0.4, 2, True),
        ((False,), 0.6, 1, False),
        ((False,), 0.4, 1, True),
    ],
)
def test_searches_that_do_not_agree_are_pooled_but_not_for_ever(
    rng, monkeypatch, hopeful, std, searches, crossed
):
    """Two, or one where another would know no more; where they are not believed, allocations have failed."""
    rows = Rows.of(rng.standard_normal((9, 1)))
    state, path = on(rng, rows)
    one = _allocate.allocation_evidence(MODEL, rows, rng)
    answers = iter(
        one._replace(log_evidence_std=std, reliable=std < 0.5, hopeful=hope, n_likelihoods=10.0)
        for hope in hopeful
    )
    monkeypatch.setattr(_allocate, "allocation_evidence", lambda model, rows, rng: next(answers))
    step = Allocate(first_rows=1)(state, path, Streams.spawned(rng))
    assert step.crossed == crossed and step.info.n_likelihoods == 10.0 * searches
    cloud = step.state.cloud if crossed else step.offered
    assert cloud.log_evidence == pytest.approx(one.log_evidence) and cloud.M == M
    assert cloud.log_evidence_std == pytest.approx(std, abs=0.01)  # of two that are as wide, no less
    assert next(answers, None) is None
    if not crossed:
        assert step.state.cloud is state.cloud and step.state.adaptation.allocations_failed
        assert not Allocate(first_rows=1).applies(step.state, path)


def test_what_was_offered_is_taken_if_particles_claim_clearly_less():
    """By three standard errors of both, and half a nat; or if their error bar is three times as wide."""

    def cloud(value, std):
        return Cloud(np.zeros((3, 1)), Weights.ones(3), value, Genealogy.planted(3, std**2))

    own = cloud(-10.0, 0.0).log_evidence_std
    assert not _allocate.is_better(None, cloud(-10.0, 0.1))
    for std in (0.01, 0.3, 1.0):
        least = max(3 * np.hypot(own, cloud(0.0, std).log_evidence_std), 0.5)
        assert _allocate.is_better(cloud(-9.99 + least, std), cloud(-10.0, 0.0))
        assert not _allocate.is_better(cloud(-10.01 + least, std), cloud(-10.0, 0.0))
        assert not _allocate.is_better(cloud(-30.0, std), cloud(-10.0, 0.0))
    assert _allocate.is_better(cloud(-11.0, 0.1), cloud(-10.0, 0.5))
    assert not _allocate.is_better(cloud(-11.0, 0.2), cloud(-10.0, 0.5))
