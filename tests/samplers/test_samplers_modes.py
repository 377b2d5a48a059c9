"""Modes sought from outside take their exact share of the evidence, whatever the particles hold of them."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from mutants import broken

from sgevidence import SGAIS
from sgevidence.history import Reservoir, Rows
from sgevidence.models import LinearModel, MixtureModel
from sgevidence.particles import Genealogy, Weights, multinomial
from sgevidence.samplers import _modes
from sgevidence.samplers._mode import find_mode
from sgevidence.samplers._modes import (
    Mode,
    added,
    find_modes,
    importance,
    jumped,
    missed_by,
    renewed,
    shared,
)
from sgevidence.samplers._records import Tally
from sgevidence.samplers._schedule import worth_a_search
from sgevidence.samplers._state import SGAISState
from sgevidence.samplers._target import Likelihood, Target

DATA = Path(__file__).parents[1] / "data"
MAKE = runpy.run_path(str(DATA / "make_data.py"))
LOG_Z = json.loads((DATA / "gold.json").read_text())["cases"]["SIM_G_1000"]["logZ"]
MODEL = MixtureModel(5, 2)
ROWS = Rows.of(MAKE["sim_G"](1000)["X"])


@pytest.fixture
def elsewhere(rng):
    """A cloud far from the mode, with all rows at hand and next to no evidence."""
    history = Reservoir(None).absorb(ROWS, rng)
    theta = MODEL.sample_prior(rng, 200)
    return SGAISState(theta, Weights.ones(200), LOG_Z - 1e6, Genealogy.planted(200), 0.0, history)


@pytest.fixture
def mode():
    d = MAKE["sim_G"](1000)
    truth = np.r_[np.log(d["w"] * 5), d["mu"].ravel(), np.log(d["s2"]).ravel()]
    target = Target(MODEL, Likelihood(ROWS))
    a, P = find_mode(target, truth)
    return Mode(a, P, float(target.value(a[None])[0]))


def relabelled(theta, rng):
    """Each point with its components in another order."""
    out = theta.copy()
    for row in out:
        row[MODEL.slots] = row[MODEL.slots[rng.permutation(len(MODEL.slots))]]
    return out


def near(mode, size, rng):
    """Points of the mode's region, in all labellings."""
    z = rng.standard_normal((size, len(mode.a)))
    return relabelled(mode.a + np.linalg.solve(np.linalg.cholesky(mode.P).T, z.T).T, rng)


def check_gold(state, extra=0.0):
    assert abs(state.log_evidence - LOG_Z - extra) < 4 * state.log_evidence_std + 0.01
    assert state.log_evidence_std < 0.3


def test_a_mode_is_a_region_in_all_labellings(mode, rng):
    assert mode.near(MODEL, near(mode, 500, rng)).mean() > 0.99
    assert not mode.near(MODEL, MODEL.sample_prior(rng, 500)).any()


def test_several_modes_are_found():
    """Three components for five groups: several ways to merge them."""
    rng, rows = np.random.default_rng(0), Rows.of(MAKE["sim_G_overlap"](3000, seed=208)["X"])
    modes = find_modes(MixtureModel(3, 2), rows, rng)
    values = [mode.value for mode in modes]
    assert values == sorted(values, reverse=True)
    assert all(not a.contains(MixtureModel(3, 2), b.a[None])[0] for a in modes for b in modes if a is not b)


def test_a_mode_that_no_particle_is_near_is_missed(elsewhere, mode, rng):
    modes = find_modes(MODEL, ROWS, rng)
    assert np.isclose(modes[0].value, mode.value, atol=0.1)
    assert missed_by(MODEL, elsewhere._replace(theta=np.tile(mode.a + 3.0, (200, 1))), ROWS, modes, rng) > 20
    assert missed_by(MODEL, elsewhere._replace(theta=near(mode, 200, rng)), ROWS, modes, rng) == 0.0


def drawn(mode, rng, size=200):
    return importance(MODEL, ROWS, mode, size, rng, Tally(size))


def test_the_evidence_of_a_mode_is_the_gold_value(elsewhere, mode, rng):
    """What the particles hold is nothing beside it, so the sum is the mode's own, 5! labellings and all."""
    draws = drawn(mode, rng)
    state = added(MODEL, elsewhere, mode, draws, rng)
    check_gold(state)
    assert draws.reliable and state.anchor is None and len(state.theta) == 200


def test_shares_add_up(elsewhere, mode, rng):
    state = added(MODEL, elsewhere._replace(log_Z=LOG_Z), mode, drawn(mode, rng), rng)
    check_gold(state, np.log(2))
    assert 60 < mode.near(MODEL, state.theta).sum() < 140  # half of them came along


@pytest.mark.parametrize("r", [1.0, 1.5, 2.0])
def test_particles_at_the_mode_tell_its_share_of_a_region(elsewhere, mode, rng, r):
    """Whatever they believe of Z: the region's evidence over their share of it."""
    draws = drawn(mode, rng, 1000)
    theta = draws.theta[multinomial(draws.weights.W, rng, 1000)]
    state = elsewhere._replace(
        theta=relabelled(theta, rng),
        weights=Weights.ones(1000),
        log_Z=LOG_Z - 50,
        genealogy=Genealogy.planted(1000),
    )
    state = shared(MODEL, state, mode, draws, r)
    check_gold(state)
    assert state.log_evidence_std < 0.1
    wrong = broken(shared, "- np.log(share)", "")(MODEL, state, mode, draws, 1.0)
    assert abs(wrong.log_evidence - LOG_Z) > 4 * wrong.log_evidence_std + 0.01


def test_a_share_of_few_families_is_not_well_known(elsewhere, mode, rng):
    draws = drawn(mode, rng)
    theta = near(mode, 200, rng)
    inside = mode.distance(MODEL, theta) < 1.0
    families = Genealogy(np.where(inside, 0, 1), 2, 0.0)  # one in the region, one outside
    state = elsewhere._replace(theta=theta, log_Z=LOG_Z, genealogy=families)
    assert shared(MODEL, state, mode, draws, 1.0).log_evidence_std > 0.3
    assert (
        shared(MODEL, state._replace(genealogy=Genealogy.planted(200)), mode, draws, 1.0).log_evidence_std
        < 0.2
    )


def test_a_blunt_proposal_is_not_relied_on(mode, rng, monkeypatch):
    """Three times too wide in each of 25 directions hits next to nothing."""
    monkeypatch.setattr(_modes, "find_mode", lambda target, a: (mode.a, mode.P / 9))
    assert not drawn(mode, rng).reliable


def lucky(elsewhere, mode, rng):
    """Three of 200 particles hold the mode, and their weights make it four nats too good."""
    theta, log_w = elsewhere.theta.copy(), np.full(200, -1e3)
    theta[:3] = near(mode, 3, rng)
    log_w[:3] = np.log(200 / 3) + 4.0
    return elsewhere._replace(theta=theta, weights=Weights(log_w), log_Z=LOG_Z)


def test_a_mode_held_by_a_few_lucky_particles_is_renewed(elsewhere, mode, rng):
    state = lucky(elsewhere, mode, rng)
    assert abs(state.log_evidence - LOG_Z - 4) < 0.01
    tally = Tally(200)
    state = renewed(MODEL, state, ROWS, [mode], rng, tally)
    check_gold(state)
    assert tally.n_renewals == 1 and tally.n_likelihoods >= 200 * 1000


def test_a_region_cannot_have_more_evidence_than_there_is(elsewhere, mode, rng, monkeypatch):
    """Particles all over the mode, and an evidence that is three nats too low where they claim 0.14."""
    families = Genealogy.planted(200, 0.02)
    state = elsewhere._replace(theta=near(mode, 200, rng), log_Z=LOG_Z - 3, genealogy=families)
    monkeypatch.setattr(_modes, "RELIABLE", 1.0)  # no importance sampling is that good
    check_gold(renewed(MODEL, state, ROWS, [mode], rng, Tally(200)))
    high = state._replace(log_Z=LOG_Z + 3)  # that may be elsewhere
    assert renewed(MODEL, high, ROWS, [mode, mode], rng, Tally(200)) is high


def test_a_cloud_that_knows_better_is_left_alone(elsewhere, mode, rng):
    """Ten thousand even particles at the right evidence beat two hundred importance draws."""
    state = elsewhere._replace(
        theta=near(mode, 10_000, rng),
        weights=Weights.ones(10_000),
        log_Z=LOG_Z,
        genealogy=Genealogy.planted(10_000),
    )
    assert renewed(MODEL, state, ROWS, [mode], rng, Tally(10_000)) is state


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("np.where(mode.near(model, state.theta), -np.inf, state.weights.log_w)", "state.weights.log_w"),
        ("outside.log_mean, draws.weights.log_mean", "outside.log_mean, draws.weights.log_mean + 1.0"),
    ],
    ids=["region counted twice", "region too heavy"],
)
def test_broken_variants_are_caught(elsewhere, mode, rng, right, wrong):
    state = broken(added, right, wrong)(MODEL, lucky(elsewhere, mode, rng), mode, drawn(mode, rng), rng)
    with pytest.raises(AssertionError):
        check_gold(state)


def test_without_the_labellings_the_evidence_is_too_small(elsewhere, mode, rng):
    draws = broken(importance, "lgamma(len(model.slots) + 1)", "0.0")(MODEL, ROWS, mode, 200, rng, Tally(200))
    with pytest.raises(AssertionError):
        check_gold(added(MODEL, elsewhere, mode, draws, rng))


def test_modes_alone_will_do_where_importance_sampling_is_precise(elsewhere, mode, rng):
    state = jumped(MODEL, elsewhere, ROWS, [mode], rng, Tally(200))
    check_gold(state)
    assert state.log_evidence_std < 0.1


def test_modes_alone_will_not_do_beside_particles_that_matter(elsewhere, mode, rng):
    """Half of the evidence is elsewhere, with one particle: that has to be annealed."""
    weights = Weights(np.r_[0.0, np.full(199, -50.0)])
    state = elsewhere._replace(weights=weights, log_Z=LOG_Z + np.log(200))
    assert jumped(MODEL, state, ROWS, [mode], rng, Tally(200)) is None
    assert jumped(MODEL, elsewhere, ROWS, [], rng, Tally(200)) is None


def test_a_proposal_that_hits_nothing_changes_nothing(elsewhere, mode, rng, monkeypatch):
    monkeypatch.setattr(_modes, "find_mode", lambda target, a: (mode.a + 100.0, mode.P))
    draws = drawn(mode, rng)
    assert not draws.reliable and added(MODEL, elsewhere, mode, draws, rng) is elsewhere
    assert jumped(MODEL, elsewhere, ROWS, [mode], rng, Tally(200)) is None


def test_duplicates_share_a_root():
    parents = np.array([0, 0, 0, 5, 5, 9])
    genealogy = _modes._siblings(parents, 0.5)
    assert genealogy.M0 == 3 and np.isclose(genealogy.variance(np.full(6, 1 / 6)), 0.5)
    uneven = np.array([1, 1, 1, 0, 0, 0]) / 3
    assert genealogy.variance(uneven) > 0.5


def test_a_search_is_worth_it_at_250_rows_and_each_time_they_have_doubled():
    pairs = [(0, 240), (200, 400), (400, 480), (400, 800), (800, 900), (0, 9000)]
    assert [worth_a_search(MODEL, *pair) for pair in pairs] == [False, True, False, True, False, True]
    assert not worth_a_search(MixtureModel(1, 2), 0, 1e6) and not worth_a_search(LinearModel(2), 0, 1e6)


@pytest.mark.parametrize("seed", [3, 4])
def test_two_components_for_five_groups(seed):
    """One of three seeds used to end 28 nats below the others, in a worse way to merge the groups."""
    result = SGAIS().run(MixtureModel(2, 2), ROWS, np.random.default_rng(seed))
    assert abs(result.log_evidence + 4643.6) < 4 * result.log_evidence_std + 0.2


def test_particles_go_on_from_a_renewed_mode(rng):
    """Two calls on: an error of the evidence's bookkeeping would show."""
    model, state, records = MODEL, SGAIS().init(MODEL, rng), []
    for part in (ROWS[:700], ROWS[700:]):
        state, new = SGAIS(max_particles=300).update(state, model, part, rng)
        records += new
    assert abs(state.log_evidence - LOG_Z) < 4 * state.log_evidence_std + 0.05
    assert np.isclose(sum(r.log_predictive for r in records), state.log_evidence)


@pytest.mark.slow
def test_a_mode_lost_by_all_particles_is_recovered():
    """K = 3 on five groups: without the search this seed is off by 130 nats."""
    rows = Rows.of(MAKE["sim_G_overlap"](10_000, seed=208)["X"])
    result = SGAIS().run(MixtureModel(3, 2), rows, np.random.default_rng(208))
    assert abs(result.log_evidence + 39607.77) < 4 * result.log_evidence_std + 0.1
