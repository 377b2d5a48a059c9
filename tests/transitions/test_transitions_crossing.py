"""Chunk after chunk: the evidence of all rows whichever transitions cross, and in what order."""

import numpy as np
import pytest
from mutants import broken
from path_problem import data

from sgevidence import SGAIS, BayesianGLM, ImpossibleRowsError
from sgevidence.history import Memory, Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel
from sgevidence.particles import RESAMPLING, Cloud, Genealogy, Weights
from sgevidence.samplers._sgais import crossing_of
from sgevidence.transitions import (
    HMC,
    Anneal,
    Crossing,
    FromProposal,
    Info,
    Offer,
    Reweight,
    State,
    Step,
    Streams,
)
from sgevidence.transitions._crossing import MissedModes, is_better
from sgevidence.transitions._watchlist import Usual, Watchlist

MODEL, MIXTURE, M = LinearModel(2, noise_std=1.0), MixtureModel(2, 2), 400
WAYS = {"annealing alone": dict(), "densities at modes": dict(modes=True)}


def crossing(may_search=False, resampling=RESAMPLING["systematic"], asks=False, model=MODEL, modes=False):
    """With ``modes``, nothing answers for all rows, but densities at the modes that particles know."""
    found = crossing_of(model, Anneal(HMC(), 0.5, resampling, lambda n: M), may_search, asks)
    return found._replace(from_all_rows=FromProposal(lambda n: M, None)) if modes else found


def stream(rng, call, settings, sizes=(30, 5, 70, 3, 200)):
    """The states after each chunk, and what was said of each."""
    rows, streams = data(MODEL, sum(sizes), rng), Streams.spawned(rng)
    state, found, start = State(Cloud.planted(MODEL.sample_prior(rng, M)), Memory.empty()), [], 0
    for size in sizes:
        piece = rows[start : start + size]
        state, infos = call(crossing(**settings), state, state.path(MODEL, piece), streams)
        start += size
        found.append((state, infos, rows[:start]))
    return found


def check_stream(rng, settings):
    z = []
    for g in rng.spawn(6):
        for state, _, rows in stream(g, Crossing.__call__, settings):
            assert state.n_rows == len(rows), "rows counted"
            error = state.log_evidence - MODEL.exact_log_evidence(rows)
            z.append(error / max(state.log_evidence_std, 0.02))
    assert np.abs(z).max() < 5 and np.sqrt(np.mean(np.square(z))) < 2, f"evidence off by {np.round(z, 1)}"


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_evidence_of_all_rows_after_each_chunk(rng, settings):
    check_stream(rng, settings)


def kinds(settings, n=1, model=MIXTURE):
    here = crossing(model=model, **settings)
    state = State(Cloud.planted(model.sample_prior(np.random.default_rng(0), 9)), Memory.empty())
    path = state.path(model, Rows.of(np.zeros((max(n, 1), 2)), np.zeros(max(n, 1))))
    return [type(way).__name__ for way in here.ways(state, path)]


def test_the_order_is_that_of_their_price():
    full = dict(may_search=True, asks=True)
    cheap = ["FromProposal", "Reweight"]  # of a mixture, whose modes at hand need not be those that lead
    assert kinds(full, n=250) == [*cheap, "Anneal"]
    assert kinds({}) == ["Reweight", "Anneal"]
    assert kinds(dict(resampling=None)) == ["Anneal"]  # as published: weights accumulate
    assert kinds(full, model=MODEL) == [*cheap, "FromModes", "Anneal"]
    assert crossing(may_search=True).from_all_rows is None
    assert Reweight(0.5).leaves_large


def offering(cloud):
    """A transition that declines, and offers particles that it is not sure of."""
    return lambda state, path, rng: Step(state._replace(offered=Offer(cloud, path.n_rows)), crossed=False)


def planned(monkeypatch, first):
    """Crossings that have one more way."""
    ways = Crossing.ways
    monkeypatch.setattr(Crossing, "ways", lambda self, *of: [first, *ways(self, *of)])


@pytest.mark.parametrize("more, taken", [(5.0, True), (0.0, False), (-5.0, False)])
def test_what_was_offered_counts_where_the_others_find_clearly_less(rng, monkeypatch, more, taken):
    rows = data(MODEL, 30, rng)
    theta, streams = MODEL.sample_prior(rng, M), Streams.spawned(rng)
    exact, bar = MODEL.exact_log_evidence(rows), Genealogy.planted(M, 0.2**2)
    offered = Cloud.planted(theta)._replace(log_Z=exact + more, genealogy=bar)
    planned(monkeypatch, offering(offered))
    state = State(Cloud.planted(theta), Memory.empty())
    state, infos = crossing()(state, state.path(MODEL, rows), streams)
    assert (state.log_evidence == offered.log_evidence) == taken
    assert sum(getattr(info, "n_renewals", 0) for info in infos) == taken and state.n_rows == 30


def check_taken_back(rng, monkeypatch):
    """Modes from outside that claim clearly less than what was offered, and were sure of it."""
    rows = data(MODEL, 30, rng)
    theta, streams = MODEL.sample_prior(rng, M), Streams.spawned(rng)
    offered = Cloud.planted(theta)._replace(
        log_Z=MODEL.exact_log_evidence(rows), genealogy=Genealogy.planted(M, 0.1**2)
    )

    def lower(self, step):
        """A repair that makes things worse."""
        cloud = step.state.cloud._replace(log_Z=step.state.cloud.log_Z - 2.0)
        return Step(step.state._replace(cloud=cloud), Info(n_renewals=1), is_from_outside=True)

    planned(monkeypatch, offering(offered))
    monkeypatch.setattr(MissedModes, "is_due", lambda state, path: True)
    monkeypatch.setattr(MissedModes, "renewed", lower)
    state, infos = crossing(may_search=True)(
        State(Cloud.planted(theta), Memory.empty()), path_of(rows), streams
    )
    assert state.log_evidence == offered.log_evidence
    assert sum(getattr(info, "n_renewals", 0) for info in infos) == 2


def path_of(rows):
    return State(Cloud.planted(np.zeros((1, MODEL.n_params))), Memory.empty()).path(MODEL, rows)


def test_modes_that_know_less_than_what_was_offered_are_taken_back(rng, monkeypatch):
    check_taken_back(rng, monkeypatch)


def test_a_blunt_answer_is_weighed_against_particles_that_were_carried_along(rng):
    """The first rows have no others; later ones do, and a blunt answer is taken if it claims clearly more."""
    rows, asked = Rows.of(rng.standard_normal((300, 1))), []

    class Blunt(MixtureModel):
        @staticmethod
        def own_answer(model, rows, rng, size):
            asked.append(MixtureModel.own_answer(model, rows, rng, size))
            more = asked[-1].log_evidence + 9.0 * (len(asked) > 1)
            return asked[-1]._replace(log_evidence=more, log_evidence_std=1.0)

    model = Blunt(2, 1)
    sampler = SGAIS(max_particles=200)
    state, _ = sampler.update(sampler.init(model, rng), model, rows[:140], rng)
    assert len(asked) == 1 and state.log_evidence == pytest.approx(asked[0].log_evidence)
    state, _ = sampler.update(state, model, rows[140:], rng)
    assert len(asked) == 2 and state.n_rows == 300
    assert state.log_evidence == pytest.approx(asked[1].log_evidence + 9.0)


def test_rows_that_only_weigh_wait(rng):
    """Five after thirty weigh; the rows before them are history; together they are what was seen."""
    (_, _, _), (state, infos, rows), *_ = stream(rng, Crossing.__call__, {}, sizes=(100, 3))
    assert len(state.pending) == 3 and state.memory.n_rows == 100 and len(infos) == 1
    np.testing.assert_allclose(state.ell, MODEL.sum_log_likelihood(state.theta, rows[100:]))


def check_rivalled(rng, call=Crossing.__call__):
    """Rows that only weighed become history when a rival has caught up, and are counted once."""
    rows, streams, way = data(MODEL, 105, rng), Streams.spawned(rng), crossing(may_search=True)
    state = State(Cloud.planted(MODEL.sample_prior(rng, M)), Memory.empty())
    for piece in (rows[:100], rows[100:103]):
        state, _ = way(state, state.path(MODEL, piece), streams)
    assert len(state.pending) == 3
    theta = MODEL.sample_prior(rng, 1)
    ahead = Watchlist(theta, np.array([-1e6]), Usual.of(MODEL, theta, rows))
    rivalled = state._replace(adaptation=state.adaptation._replace(rivals=ahead))
    after, _ = call(way, rivalled, rivalled.path(MODEL, rows[103:]), streams)
    assert after.pending is None and after.ell is None and after.memory.n_rows == 105
    error = after.log_evidence - MODEL.exact_log_evidence(rows)
    assert abs(error) < 5 * after.log_evidence_std, f"evidence off by {error:.2f}"


def test_rows_wait_no_longer_when_a_rival_has_caught_up(rng):
    check_rivalled(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "step._replace(state=state.absorbed)",
            "step._replace(state=state._replace(pending=None, ell=None))",
        ),
        (
            "not (looks_now or offer or due)",
            "not (offer or due)",
        ),
    ],
)
def test_rows_that_wait_too_long_or_are_lost_are_seen(rng, right, wrong):
    with pytest.raises((AssertionError, ValueError)):
        for g in rng.spawn(3):
            check_rivalled(g, broken(Crossing.__call__, right, wrong))


def test_impossible_rows_are_refused_before_anything_else(rng):
    bad = Rows.of(np.ones((1, 2)), [1e200])
    state = State(Cloud.planted(MODEL.sample_prior(rng, M)), Memory.empty())
    with np.errstate(all="ignore"), pytest.raises(ImpossibleRowsError):
        crossing()(state, state.path(MODEL, bad), Streams.spawned(rng))


def test_at_once_is_for_mixtures_whose_allocations_will_do(rng):
    """However many rows: one step, and none of them pending; else nothing has happened."""
    model, rows = MixtureModel(2, 2), data(MixtureModel(2, 2), 60, rng)
    state = State(Cloud.planted(model.sample_prior(rng, M)), Memory.empty())
    streams = Streams.spawned(rng)
    after, infos = crossing(asks=True, model=model).at_once(state, model, rows, streams)
    assert (
        after.offered is None
        and len(infos) == 1
        and after.n_rows == 60
        and after.pending is None
        and after.cloud.M == M
    )
    for way in (crossing(model=model), crossing(may_search=True, model=model)):
        assert way.at_once(state, model, rows, streams) == (state, [])
    way = crossing(asks=True, model=model)
    assert way.at_once(after, model, rows[:30], streams) == (after, [])


# -- which of two answers is better -----------------------------------------------------------------


def test_what_was_offered_is_taken_if_particles_claim_clearly_less():
    """By three standard errors of both, and half a nat; or if their error bar is three times as wide."""

    def cloud(value, std):
        return Cloud(np.zeros((3, 1)), Weights.ones(3), value, Genealogy.planted(3, std**2))

    def offer(value, std):
        return Offer(cloud(value, std), 0)

    own = cloud(-10.0, 0.0).log_evidence_std
    for std in (0.01, 0.3, 1.0):
        least = max(3 * np.hypot(own, cloud(0.0, std).log_evidence_std), 0.5)
        assert is_better(offer(-9.99 + least, std), cloud(-10.0, 0.0))
        assert not is_better(offer(-10.01 + least, std), cloud(-10.0, 0.0))
        assert not is_better(offer(-30.0, std), cloud(-10.0, 0.0))
    assert is_better(offer(-11.0, 0.1), cloud(-10.0, 0.5))
    assert not is_better(offer(-11.0, 0.2), cloud(-10.0, 0.5))


def test_sums_of_few_rows_wait_until_others_come(rng):
    """Then they are of every row once, at a point near the mode."""
    X, y = rng.standard_normal((40, 2)), rng.poisson(3.0, 40)
    estimator = BayesianGLM("poisson", random_state=0).fit(X[:30], y[:30])
    assert estimator._stream.state.memory.anchor is None
    estimator.partial_fit(X[30:], y[30:])
    memory, model = estimator._stream.state.memory, estimator._model
    sums = memory.sums
    np.testing.assert_allclose(sums.S, model.sum_log_likelihood(sums.a[None], memory.at_hand)[0])
    assert memory.anchor_distance(estimator._stream.state.cloud.mean) < 0.5
