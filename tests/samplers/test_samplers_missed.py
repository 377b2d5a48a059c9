"""A mode that no particle has found is found from outside and added with its exact share of the evidence."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from sgevidence import SGAIS
from sgevidence.history import Reservoir, Rows
from sgevidence.models import LinearModel, MixtureModel
from sgevidence.particles import Genealogy, Weights
from sgevidence.samplers._missed import Mode, missed_mode, with_mode
from sgevidence.samplers._mode import find_mode
from sgevidence.samplers._schedule import worth_a_search
from sgevidence.samplers._state import SGAISState
from sgevidence.samplers._target import Likelihood, Target

DATA = Path(__file__).parents[1] / "data"
MAKE = runpy.run_path(str(DATA / "make_data.py"))
GOLD = json.loads((DATA / "gold.json").read_text())["cases"]
MODEL = MixtureModel(5, 2)


@pytest.fixture
def elsewhere(rng):
    """A cloud far from the mode, with all rows at hand and next to no evidence."""
    history = Reservoir(None).absorb(Rows.of(MAKE["sim_G"](1000)["X"]), rng)
    theta = MODEL.sample_prior(rng, 200)
    return SGAISState(theta, Weights.ones(200), -1e6, Genealogy.planted(200), 0.0, history)


def truth():
    d = MAKE["sim_G"](1000)
    return np.r_[np.log(d["w"] * 5), d["mu"].ravel(), np.log(d["s2"]).ravel()]


def test_a_better_mode_is_found(rng):
    """Three components for five groups: several ways to merge them are modes."""
    model, rows = MixtureModel(3, 2), Rows.of(MAKE["sim_G_overlap"](3000, seed=208)["X"])
    target = Target(model, Likelihood(rows))
    modes = [find_mode(target, start) for start in model.starts(rows, 24, rng)]
    value = np.array([target.value(a[None])[0] if P is not None else -np.inf for a, P in modes])
    worse = modes[np.argmax(np.where(value < value.max() - 20, value, -np.inf))][0]
    theta = worse + 0.01 * rng.standard_normal((200, model.n_params))
    history = Reservoir(None).absorb(rows, rng)
    state = SGAISState(theta, Weights.ones(200), 0.0, Genealogy.planted(200), 0.0, history)
    mode = missed_mode(model, state, rng)
    assert mode is not None and mode.gain > 20


def test_nothing_is_missed_where_the_particles_are_at_the_mode(elsewhere, rng):
    theta = truth() + 0.03 * rng.standard_normal((200, MODEL.n_params))
    assert missed_mode(MODEL, elsewhere._replace(theta=theta), rng) is None


def test_the_evidence_of_a_mode_is_the_gold_value(elsewhere, rng):
    """What the particles hold is nothing beside it, so the sum is the mode's own, 5! labellings and all."""
    state = with_mode(MODEL, elsewhere, Mode(truth(), 1.0), rng)
    assert abs(state.log_evidence - GOLD["SIM_G_1000"]["logZ"]) < 4 * state.log_evidence_std + 0.01
    assert state.log_evidence_std < 0.3
    assert state.anchor is None and len(state.theta) == 200


def test_equal_shares_add_up(elsewhere, rng):
    log_Z = GOLD["SIM_G_1000"]["logZ"]
    state = with_mode(MODEL, elsewhere._replace(log_Z=log_Z), Mode(truth(), 1.0), rng)
    assert abs(state.log_evidence - log_Z - np.log(2)) < 4 * state.log_evidence_std + 0.01
    near = np.sum((state.theta - truth()) ** 2, axis=1) < 5
    assert 60 < near.sum() < 140  # half of them came along


def test_a_search_is_worth_it_at_a_thousand_rows_and_each_time_they_have_quadrupled():
    passes = [
        worth_a_search(MODEL, a, b) for a, b in [(0, 900), (800, 1600), (1600, 3200), (3200, 6400), (0, 9000)]
    ]
    assert passes == [False, True, False, True, True]
    assert not worth_a_search(MixtureModel(2, 2), 0, 1e6) and not worth_a_search(LinearModel(2), 0, 1e6)


@pytest.mark.slow
def test_a_mode_lost_by_all_particles_is_recovered():
    """K = 3 on five groups: without the search this seed is off by 130 nats."""
    rows = Rows.of(MAKE["sim_G_overlap"](10_000, seed=208)["X"])
    result = SGAIS().run(MixtureModel(3, 2), rows, np.random.default_rng(208))
    assert abs(result.log_evidence + 39607.77) < 4 * result.log_evidence_std + 0.1
