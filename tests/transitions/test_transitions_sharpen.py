"""Annealed answers made sharper: taken, refused, doubted, and what it may cost."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd.scipy.special import gammaln

from sgevidence import SGAIS, BayesianModel, EvidenceWarning
from sgevidence.answers import Answer, NestedAnswer
from sgevidence.history import Memory, Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.particles import Cloud, Genealogy
from sgevidence.targets import Path
from sgevidence.transitions import Adaptation, Proposal, State, Step, Streams
from sgevidence.transitions import _confirm as confirm
from sgevidence.transitions import _sharpen as module
from sgevidence.transitions._base import Checks

#: Gamma(A, B) priors of three rates.
A, B, D = 0.5, 0.3, 3


def sample_prior(rng, size):
    return np.log(np.maximum(rng.gamma(A, 1 / B, size=(size, D)), 1e-300))


def log_prior(theta):
    return anp.sum(A * np.log(B) - gammaln(A) + A * theta - B * anp.exp(theta), axis=1)


def log_likelihood(theta, X, y):
    rate = theta[:, None, :]
    return anp.sum(rate * X - anp.exp(rate) - gammaln(X + 1), axis=2)


def exact(X):
    S, n = X.sum(axis=0), len(X)
    of_rate = A * np.log(B) - gammaln(A) + gammaln(A + S) - (A + S) * np.log(B + n)
    return float(np.sum(of_rate) - np.sum(gammaln(X + 1)))


def fitted(seed, n=30, proposal=Proposal()):  # noqa: B008
    sampler = SGAIS(n_particles=50, max_particles=600, proposal=proposal)
    X = np.random.default_rng(seed).poisson([0.5, 3.0, 40.0], size=(n, D)).astype(float)
    prior = {"sample_prior": sample_prior, "log_prior": log_prior}
    model = BayesianModel(log_likelihood=log_likelihood, **prior, sampler=sampler, random_state=seed)
    return model.fit(X), exact(X)


@pytest.fixture
def only_bridges(monkeypatch):
    """No density answers before a bridge is asked, however sharp annealing is."""
    for each in (module, confirm):
        monkeypatch.setattr(each, "SHARP_ENOUGH", 0.0)
    monkeypatch.setattr(confirm, "nested_laplace_answer", lambda *_: NestedAnswer(None, 0.0, 0.0, 0.0))


def test_custom_models_are_sharp_and_right(only_bridges):
    """Gamma–Poisson in closed form."""
    z = []
    for seed in range(2):
        model, log_Z = fitted(seed)
        assert model.diagnostics_["n_sharpened"] == 1 and model.log_evidence_std_ < 0.03
        assert len(model.particles_) == model.diagnostics_["n_particles"] and not model.warnings_
        z.append((model.log_evidence_ - log_Z) / model.log_evidence_std_)
    assert np.all(abs(np.array(z)) < 4.0) and abs(np.mean(z)) < 2.3, z


def test_without_proposal_it_does_not_run(only_bridges):
    model, log_Z = fitted(0, proposal=None)
    assert model.diagnostics_["n_sharpened"] == 0
    assert abs(model.log_evidence_ - log_Z) < 4 * model.log_evidence_std_


def test_a_disagreement_is_warned_of(only_bridges, monkeypatch):
    """A bridge that gives two nats more than annealing: one of them is wrong."""
    honest = module.cross_fitted_bridge

    def higher(*arguments):
        found = honest(*arguments)
        return found._replace(log_evidence=found.log_evidence + 2.0)

    monkeypatch.setattr(module, "cross_fitted_bridge", higher)
    with pytest.warns(EvidenceWarning, match="nats higher, more than four standard errors"):
        model, log_Z = fitted(1)
    assert model.diagnostics_["n_sharpened"] == 0 and abs(model.log_evidence_ - log_Z) < 0.5
    assert model.evidence_path_["disagreement"][-1] == pytest.approx(2.0, abs=0.5)


# -- one step, of states made by hand ------------------------------------------------------------------------

MODEL = SoftmaxModel(1, 2)
ROWS = Rows.of(np.zeros((10, 1)), np.zeros(10))
STREAMS = Streams.one(np.random.default_rng(0))


def state(log_Z=-5.0, std=0.1, M=400, spent=1e6, **checks):
    theta = np.random.default_rng(1).standard_normal((M, MODEL.n_params))
    cloud = Cloud.planted(theta)._replace(log_Z=log_Z, shared_var=std**2)
    return State(cloud, Memory.empty(), Adaptation(checks=Checks(spent=spent, **checks)))


def path(model=MODEL, memory=None):
    return Path(model, memory or Memory.empty(), ROWS)


def step_with(monkeypatch, answer, function=module.sharpened):
    monkeypatch.setattr(module, "cross_fitted_bridge", lambda *arguments: answer)
    return function(Step(state()), path(), STREAMS, module.Effort(100, 1e4))


def given(log_Z, std):
    return Answer(np.zeros((400, MODEL.n_params)), np.zeros(400), log_Z, std, 7.0, 8.0)


def test_the_sharper_answer_is_taken_if_it_agrees(monkeypatch):
    step = step_with(monkeypatch, given(-5.1, 0.01))
    assert step.info == module.Tested(1, 0.0, 7.0, 8.0)
    assert step.state.log_evidence == pytest.approx(-5.1)
    assert step.state.log_evidence_std == pytest.approx(np.hypot(0.01, 1 / 400)), "what no particle has met"
    assert step.state.adaptation.checks == Checks(sharpened=10.0)


@pytest.mark.parametrize(
    "answer, disagreement", [(None, np.nan), (given(-5.1, 0.2), 0.0), (given(-4.0, 0.01), 1.0)]
)
def test_else_the_annealed_one_stays(monkeypatch, answer, disagreement):
    step = step_with(monkeypatch, answer)
    np.testing.assert_allclose(step.info.disagreement, disagreement)
    assert step.info.n_sharpened == 0 and step.state.log_evidence == pytest.approx(-5.0)
    assert step.state.log_evidence_std == pytest.approx(np.hypot(0.1, 1 / 400), rel=1e-3)


def test_it_costs_half_of_what_moves_have_cost():
    few = module.effort(state(std=0.04, spent=2 * 10 * 2 * 100 * 35.0), path())
    assert few.n_chains == 100 and few.n_gradients == 100 * 35.0, "in each half, of ten rows each"
    many = module.effort(state(spent=1e9), path())
    assert many.n_chains == module.MAX_CHAINS
    assert module.effort(state(std=0.04, spent=2 * 10 * 2 * 100 * 29.0), path()) is None


def test_a_blunt_answer_may_cost_four_times_as_much():
    assert module.effort(state(std=0.1, spent=10 * 100 * 31.0), path()).n_gradients == 100 * 31.0
    assert module.effort(state(std=0.1, spent=10 * 100 * 29.0), path()) is None


def test_when_it_is_not_due():
    assert module.effort(state(), path()) is not None
    assert module.effort(state(sharpened=6.0), path()) is None, "rows have not doubled"
    assert module.effort(state(std=0.01), path()) is None, "sharp enough"
    seen = Memory.empty(5).absorb(ROWS, STREAMS.rows)
    assert module.effort(state(), path(memory=seen)) is None, "rows are gone"
    for model in (LinearModel(1), MixtureModel(2, 1), MixtureModel(1, 1)):
        assert module.effort(state(), path(model)) is None, "these have answers of their own"


def test_halves_share_no_ancestor(rng):
    cloud = Cloud.planted(np.arange(400.0)[:, None])._replace(
        genealogy=Genealogy(np.arange(400) // 4, 100, 0)
    )
    first, second = module.halves(cloud, 200, rng)
    assert len(first) == len(second) == 200
    assert not set(first.ravel() // 4) & set(second.ravel() // 4)
    few = cloud.weighted(np.where(np.arange(400) < 60, 0.0, -np.inf))
    assert module.halves(few, 200, rng) is None, "few particles count"
