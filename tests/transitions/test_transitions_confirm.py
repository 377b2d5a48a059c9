"""Annealed answers that are tested: when, by what, and what takes their place."""

import autograd.numpy as anp
import numpy as np
import pytest

from sgevidence import SGAIS
from sgevidence.answers import NestedAnswer
from sgevidence.custom import CustomModel
from sgevidence.history import Memory, Rows
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud, Genealogy, systematic
from sgevidence.samplers import ChunkRecord
from sgevidence.samplers._records import doubts_of_records
from sgevidence.targets import Path
from sgevidence.transitions import HMC, Adaptation, Anneal, Proposal, State, Step, Streams
from sgevidence.transitions import _confirm as module
from sgevidence.transitions._base import Checks
from sgevidence.transitions._confirm import confirmed, is_due

M = 400
ANNEAL = Anneal(HMC(), 0.5, systematic, lambda n: M)
ONE_ROW = Rows.of(np.zeros((1, 1)))


def funnel(k=4):
    """v ~ N(0, 3²) is the prior, x | v ~ N(0, e^v) the likelihood; and its log evidence."""
    scale = np.r_[3.0, np.full(k, 30.0)]

    def log_likelihood(theta, X, y):
        v, x = theta[:, 0], theta[:, 1:]
        return (-0.5 * anp.sum(x**2, axis=1) * anp.exp(-v) - 0.5 * k * (v + np.log(2 * np.pi)))[:, None]

    def log_prior(theta):
        return anp.sum(-0.5 * (theta / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi), axis=1)

    model = CustomModel(
        lambda rng, size: rng.standard_normal((size, k + 1)) * scale, log_prior, log_likelihood, k + 1
    )
    v = np.linspace(-24, 24, 4001)
    of_v = -0.5 * v**2 / 9 - 0.5 * np.log(18 * np.pi) - 0.5 * k * np.log(2 * np.pi * (np.exp(v) + 900))
    return model, float(np.log(np.trapezoid(np.exp(of_v), v)))


def lost(exact, low=3.0, k=4):
    """A state as annealing leaves it: without the neck, and too low."""
    rng = np.random.default_rng(0)
    v = np.maximum(3 + 2 * rng.standard_normal(M), -1 + rng.random(M))
    theta = np.column_stack([v, np.exp(v / 2)[:, None] * rng.standard_normal((M, k))])
    cloud = Cloud.planted(theta)._replace(log_Z=exact - low, genealogy=Genealogy.planted(M, 0.1**2))
    return State(cloud, Memory.empty(), Adaptation(checks=Checks(spent=50.0 * M)))


def test_a_density_answers_where_the_neck_was_lost():
    model, exact = funnel()
    path = Path(model, Memory.empty(), ONE_ROW)
    step = confirmed(Step(lost(exact)), path, Streams.one(np.random.default_rng(1)))
    cloud = step.state.cloud
    assert step.info.n_replaced == 1 and step.state.adaptation.checks.confirmed == 1.0
    assert abs(cloud.log_evidence - exact) < 4 * cloud.log_evidence_std < 0.3
    assert cloud.M == M and np.min(cloud.theta[:, 0]) < -3  # in the neck


def doubted(monkeypatch, cases):
    """Whether an answer is that no density confirms, by third derivative and standard error (nats)."""
    model, exact = funnel()
    path = Path(model, Memory.empty(), ONE_ROW)
    for third, std, is_doubted in cases:
        none = NestedAnswer(None, third, 0.0, 0.0)
        monkeypatch.setattr(module, "nested_laplace_answer", lambda *_, none=none: none)
        before = lost(exact, low=1.5)
        cloud = before.cloud._replace(genealogy=Genealogy.planted(M, std**2))
        before = before._replace(cloud=cloud)
        step = confirmed(Step(before), path, Streams.one(np.random.default_rng(2)))
        record = ChunkRecord.of(before, step.state, [step.info])
        said = [words for words in doubts_of_records([record]) if "nothing confirms" in words]
        assert bool(said) is is_doubted and step.state.cloud is before.cloud


def test_an_answer_that_no_density_confirms_is_doubted(monkeypatch):
    doubted(monkeypatch, [(1.0, 0.1, True), (0.1, 0.1, False)])


def test_so_is_an_uncertain_one(monkeypatch, install_broken):
    """The third derivative may be small where fifteen parameters are skew, and the error 0.8 nats."""
    doubted(monkeypatch, [(0.1, 0.7, True)])
    both = "nested.third > NOT_GAUSSIAN or cloud.log_evidence_std > UNCERTAIN_NATS"
    install_broken(module, "confirmed", both, "nested.third > NOT_GAUSSIAN")
    monkeypatch.setitem(globals(), "confirmed", module.confirmed)
    with pytest.raises(AssertionError):
        doubted(monkeypatch, [(0.1, 0.7, True)])


def test_a_density_that_is_far_lower_is_not_taken(monkeypatch):
    """Hardly ever is an estimate without bias much too high, so particles that know more are right."""
    model, exact = funnel()
    path = Path(model, Memory.empty(), ONE_ROW)
    step = confirmed(Step(lost(exact, low=-5.0)), path, Streams.one(np.random.default_rng(3)))
    assert not step.info.n_replaced and step.info.disagreement < -3


@pytest.mark.parametrize(
    "spent, confirmed_at, due", [(50.0, 0.0, True), (5.0, 0.0, False), (50.0, 0.7, False), (50.0, 0.5, True)]
)
def test_it_is_asked_after_annealing_and_when_rows_have_doubled(spent, confirmed_at, due):
    model, exact = funnel()
    adaptation = Adaptation(checks=Checks(spent=spent * M, confirmed=confirmed_at))
    state = lost(exact)._replace(adaptation=adaptation)
    assert is_due(state, Path(model, Memory.empty(), ONE_ROW), ANNEAL) is due


def test_a_model_of_one_mode_is_not_asked():
    model = LinearModel(1, noise_std=1.0)
    result = SGAIS(50, proposal=Proposal()).run(
        model, Rows.of([[1.0]] * 5, [1.0] * 5), np.random.default_rng(0)
    )
    assert np.isnan(result.path["disagreement"]).all() and result.diagnostics["n_replaced"] == 0
