"""Modes sought from outside take their exact share of the evidence, whatever the particles hold of them."""

import numpy as np
import pytest
from mixture_mode import LOG_Z, MODEL, ROWS, near, relabelled
from mutants import broken

from sgevidence.history import Anchor, Memory
from sgevidence.particles import Genealogy, Weights, multinomial, siblings
from sgevidence.targets import Path
from sgevidence.transitions import ModeImportance, ModeSearch, State, Step, Streams, _modes

SEARCH = ModeSearch()
ANCHOR = Anchor.empty(np.zeros(MODEL.n_params))


def seen(rng, *modes):
    """All rows in the memory, where these modes have been found; none given: they are sought."""
    memory = Memory.empty().absorb(ROWS, rng)
    found = ModeImportance(SEARCH, Path(MODEL, memory, ROWS[:0]), Streams.one(rng))
    if modes:
        found.modes = list(modes)
    return found


def renewed(cloud, rng, *modes, anchor=None):
    """The step that follows a crossing by the particles."""
    modes = seen(rng, *modes)
    return modes.renewed(Step(State(cloud, modes.path.memory), anchor=anchor))


def jumped(cloud, rng, *modes):
    """The step instead of one; the particles have been weighted by all rows."""
    found = seen(rng, *modes)
    found.modes = list(modes)
    state = State(cloud, found.path.memory, ell=np.zeros(len(cloud.theta)))
    return found(state, found.path, Streams.one(rng))


def check_gold(cloud, extra=0.0):
    assert abs(cloud.log_evidence - LOG_Z - extra) < 4 * cloud.log_evidence_std + 0.01
    assert cloud.log_evidence_std < 0.3


def test_a_mode_that_no_particle_is_near_is_missed(elsewhere, mode, rng):
    modes = seen(rng)
    assert np.isclose(modes.modes[0].value, mode.value, atol=0.1)  # found by the search itself
    assert modes.missed_by(elsewhere._replace(theta=np.tile(mode.a + 3.0, (200, 1)))) > 20
    assert np.isnan(modes.missed_by(elsewhere._replace(theta=near(mode, 200, rng))))


def drawn(mode, rng, size=200):
    return seen(rng, mode).draws(mode, size)


def test_the_evidence_of_a_mode_is_the_gold_value(elsewhere, mode, rng):
    """What the particles hold is nothing beside it, so the sum is the mode's own, 5! labellings and all."""
    draws = drawn(mode, rng)
    cloud = seen(rng, mode).added(elsewhere, mode, draws)
    check_gold(cloud)
    assert draws.are_reliable and len(cloud.theta) == 200


def test_shares_add_up(elsewhere, mode, rng):
    cloud = seen(rng, mode).added(elsewhere._replace(log_Z=LOG_Z), mode, drawn(mode, rng))
    check_gold(cloud, np.log(2))
    assert 60 < mode.near(MODEL, cloud.theta).sum() < 140  # half of them came along


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
    modes = seen(rng, mode)
    state = modes.shared(state, mode, draws, r)
    check_gold(state)
    assert state.log_evidence_std < 0.1


def test_a_share_of_few_families_is_not_well_known(elsewhere, mode, rng):
    draws = drawn(mode, rng)
    theta = near(mode, 200, rng)
    inside = mode.distance(MODEL, theta) < 1.0
    families = Genealogy(np.where(inside, 0, 1), 2, 0.0)  # one in the region, one outside
    state = elsewhere._replace(theta=theta, log_Z=LOG_Z, genealogy=families)
    shared = seen(rng, mode).shared
    assert shared(state, mode, draws, 1.0).log_evidence_std > 0.3
    many = state._replace(genealogy=Genealogy.planted(200))
    assert shared(many, mode, draws, 1.0).log_evidence_std < 0.2


def test_a_blunt_proposal_is_not_relied_on(mode, rng, monkeypatch):
    """Three times too wide in each of 25 directions hits next to nothing."""
    monkeypatch.setattr(_modes, "find_mode", lambda target, a: (mode.a, mode.P / 9))
    assert not drawn(mode, rng).are_reliable


def lucky(elsewhere, mode, rng):
    """Three of 200 particles hold the mode, and their weights make it four nats too good."""
    theta, log_w = elsewhere.theta.copy(), np.full(200, -1e3)
    theta[:3] = near(mode, 3, rng)
    log_w[:3] = np.log(200 / 3) + 4.0
    return elsewhere._replace(theta=theta, weights=Weights(log_w), log_Z=LOG_Z)


def test_a_mode_held_by_a_few_lucky_particles_is_renewed(elsewhere, mode, rng):
    state = lucky(elsewhere, mode, rng)
    assert abs(state.log_evidence - LOG_Z - 4) < 0.01
    step = renewed(state, rng, mode, anchor=ANCHOR)
    check_gold(step.state)
    assert step.info.n_renewals == 1 and step.info.n_likelihoods >= 200 * 1000
    assert step.anchor is None  # of particles that are gone


def test_a_region_cannot_have_more_evidence_than_there_is(elsewhere, mode, rng, monkeypatch):
    """Particles all over the mode, and an evidence that is three nats too low where they claim 0.14."""
    families = Genealogy.planted(200, 0.02)
    state = elsewhere._replace(theta=near(mode, 200, rng), log_Z=LOG_Z - 3, genealogy=families)
    monkeypatch.setattr(_modes, "MIN_REGION_SHARE", 1.0)  # no importance sampling is that good
    check_gold(renewed(state, rng, mode).state)
    high = state._replace(log_Z=LOG_Z + 3)  # that may be elsewhere
    step = renewed(high, rng, mode, mode, anchor=ANCHOR)
    assert step.state.cloud is high and step.info.n_renewals == 0 and step.anchor is ANCHOR


def test_a_cloud_that_knows_better_is_left_alone(elsewhere, mode, rng):
    """Ten thousand even particles at the right evidence beat two hundred importance draws."""
    state = elsewhere._replace(
        theta=near(mode, 10_000, rng),
        weights=Weights.ones(10_000),
        log_Z=LOG_Z,
        genealogy=Genealogy.planted(10_000),
    )
    assert renewed(state, rng, mode).state.cloud is state


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "np.where(mode.near(self.path.model, cloud.theta), -np.inf, cloud.weights.log_w)",
            "cloud.weights.log_w",
        ),
        ("draws.weights.log_mean", "draws.weights.log_mean + 1.0"),
    ],
    ids=["region counted twice", "region too heavy"],
)
def test_broken_variants_are_caught(elsewhere, mode, rng, right, wrong):
    added = broken(ModeImportance.added, right, wrong)
    cloud = added(seen(rng, mode), lucky(elsewhere, mode, rng), mode, drawn(mode, rng))
    with pytest.raises(AssertionError):
        check_gold(cloud)


def test_modes_alone_will_do_where_importance_sampling_is_precise(elsewhere, mode, rng):
    step = jumped(elsewhere, rng, mode)
    check_gold(step.state)
    assert step.crossed and step.info.n_renewals == 1 and step.state.log_evidence_std < 0.1


def test_modes_alone_will_not_do_beside_particles_that_matter(elsewhere, mode, rng):
    """Half of the evidence is elsewhere, with one particle: that has to be annealed."""
    weights = Weights(np.r_[0.0, np.full(199, -50.0)])
    state = elsewhere._replace(weights=weights, log_Z=LOG_Z + np.log(200))
    assert not jumped(state, rng, mode).crossed
    assert not jumped(elsewhere, rng).crossed


def test_a_proposal_that_hits_nothing_changes_nothing(elsewhere, mode, rng, monkeypatch):
    monkeypatch.setattr(_modes, "find_mode", lambda target, a: (mode.a + 100.0, mode.P))
    draws = drawn(mode, rng)
    assert not draws.are_reliable and seen(rng, mode).added(elsewhere, mode, draws) is elsewhere
    step = jumped(elsewhere, rng, mode)
    assert not step.crossed and step.state.cloud is elsewhere


def test_duplicates_share_a_root():
    parents = np.array([0, 0, 0, 5, 5, 9])
    genealogy = siblings(parents, 0.5)
    assert genealogy.M0 == 3 and np.isclose(genealogy.variance(np.full(6, 1 / 6)), 0.5)
    uneven = np.array([1, 1, 1, 0, 0, 0]) / 3
    assert genealogy.variance(uneven) > 0.5


def test_where_rows_are_gone_modes_are_only_reported(elsewhere, mode, rng):
    """Importance sampling needs all rows."""
    modes = seen(rng, mode)
    modes.path = modes.path._replace(memory=Memory.empty(500).absorb(ROWS, rng))
    alike = mode.a.copy()  # a climb from there cannot tell the components apart
    alike[MODEL.slots] = mode.a[MODEL.slots].mean(axis=0)
    far = elsewhere._replace(theta=np.tile(alike, (200, 1)))
    step = modes.renewed(Step(State(far, modes.path.memory), anchor=ANCHOR))
    assert step.info.missed_mode > 20 and step.info.n_renewals == 0
    assert step.state.cloud is far and step.anchor is ANCHOR
    assert not modes(State(far, modes.path.memory), modes.path, Streams.one(rng)).crossed
