"""The cloud from allocations: the evidence of all rows, particles of the posterior, and when it declines."""

import numpy as np
import pytest
from enumeration import enumerated
from mutants import broken

from sgevidence.history import Memory, Rows
from sgevidence.mixtures import Allocate, _allocate
from sgevidence.models import MixtureModel
from sgevidence.particles import Cloud
from sgevidence.targets import Answer, ComponentEvidence, Path
from sgevidence.transitions import State, Streams, taken

MODEL, M = MixtureModel(2, 1), 400
NEW = Rows.of([[4.0], [1.0]])


def on(rng, rows, seen=5, model=MODEL, capacity=None):
    """A cloud that knows nothing, some rows in the memory and the others to come."""
    memory = Memory.empty(capacity).absorb(rows[:seen], rng)
    cloud = Cloud.planted(model.sample_prior(rng, M))._replace(log_Z=-1e6)
    return State(cloud, memory), Path(model, memory, rows[seen:])


def check_crossed(rng):
    """log p(x) of all rows, those in the memory included; and the predictive of new ones by enumeration."""
    rows = Rows.of(4.0 + rng.standard_normal((8, 1)))
    state, path = on(rng, rows)
    step = Allocate(first_rows=1)(state, path, Streams.spawned(rng))
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
    "function, right, wrong",
    [
        (
            "by_allocations",
            "Cloud(found.theta[parents], Weights.ones(M), ..., ...)",
            "Cloud(found.theta[parents], Weights(found.log_weights[parents]), ..., ...)",
        ),
        ("by_allocations", "found.theta[parents]", "model.sample_prior(rng, M)"),
        ("by_allocations", "found.log_evidence_std**2", "0.0 * found.log_evidence_std"),
        ("__call__", "path.all_rows", "path.chunk"),
        ("taken", "offered.cloud", "step.state.cloud"),
    ],
    ids=["a weight twice", "no particles of it", "no error", "the new rows only", "the old cloud"],
)
def test_a_mistake_is_seen(rng, monkeypatch, function, right, wrong):
    owner = Allocate if function == "__call__" else _allocate
    monkeypatch.setattr(owner, function, broken(getattr(owner, function), right, wrong))
    with pytest.raises(AssertionError, match=r"evidence|particles|error bar"):
        for g in rng.spawn(4):
            check_crossed(g)


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


def strata_of(exact, doubt=None, asked=None, std=0.2):
    """A function that answers from strata; of a wide mixture it is asked first."""

    def answer(model, rows, rng, size):
        if asked is not None:
            asked.append(len(rows))
        one = np.ones(1)
        components = ComponentEvidence(rows.total_weight, exact * one, one[:, None], one, doubt)
        return Answer(model.sample_prior(rng, size), np.zeros(size), exact, std, 10.0, components=components)

    return answer


@pytest.mark.parametrize("doubt, std", [(None, 0.2), (None, 0.4), ("halves differ", 0.2)])
def test_strata_answer_where_draws_of_allocations_do_not(rng, monkeypatch, doubt, std):
    """Without a doubt they cross; else, or with a wide bar, they are offered, and are not asked again."""
    rows = Rows.of(rng.standard_normal((9, 1)))
    state, path = on(rng, rows)
    one = _allocate.allocation_evidence(MODEL, rows, rng)._replace(reliable=False)
    monkeypatch.setattr(_allocate, "allocation_evidence", lambda model, rows, rng: one)
    step = Allocate(1, strata_of(-77.0, doubt, std=std))(state, path, Streams.spawned(rng))
    assert step.crossed == (doubt is None and std < _allocate.BLUNT) and step.info.n_renewals == step.crossed
    cloud = step.state.cloud if step.crossed else step.offered.cloud
    assert cloud.log_evidence == pytest.approx(-77.0) and cloud.M == M
    assert cloud.log_evidence_std == pytest.approx(std)
    if step.crossed:
        assert step.state.adaptation.components.log_evidence == [-77.0]
    else:
        assert step.state.cloud is state.cloud and step.state.adaptation.allocations_failed
        assert not Allocate(1).applies(step.state, path)
        assert taken(step.offered, step).state.adaptation.components.doubt == doubt


@pytest.mark.parametrize("strata", [None, lambda *_: None])
@pytest.mark.parametrize("reliable", [False, True])
def test_where_strata_have_no_answer_draws_of_allocations_are_offered(rng, monkeypatch, strata, reliable):
    rows = Rows.of(rng.standard_normal((9, 1)))
    state, path = on(rng, rows)
    one = _allocate.allocation_evidence(MODEL, rows, rng)._replace(reliable=reliable)
    monkeypatch.setattr(_allocate, "allocation_evidence", lambda model, rows, rng: one)
    step = Allocate(1, strata)(state, path, Streams.spawned(rng))
    assert step.crossed == reliable and (step.offered is None) == reliable
    cloud = step.state.cloud if reliable else step.offered.cloud
    assert cloud.log_evidence == pytest.approx(one.log_evidence)


@pytest.mark.parametrize("p, n_asked", [(_allocate.WIDE - 1, 0), (_allocate.WIDE, 1)])
def test_strata_are_asked_first_of_many_columns(rng, p, n_asked):
    """Their answer stands though they doubt it."""
    asked, model = [], MixtureModel(2, p)
    X = rng.standard_normal((20, p)) + 8.0 * (np.arange(20) % 2)[:, None]
    state, path = on(rng, Rows.of(X), model=model)
    step = Allocate(1, strata_of(-77.0, "halves differ", asked))(state, path, Streams.spawned(rng))
    assert step.crossed and asked == [20] * n_asked
    assert (step.state.log_evidence == pytest.approx(-77.0)) == bool(n_asked)
