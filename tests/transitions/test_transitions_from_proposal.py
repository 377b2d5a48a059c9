"""Evidence and posterior from a density that covers it: when it is asked, and the cloud that it leaves."""

from itertools import pairwise

import numpy as np
import pytest

from sgevidence import SGAIS, BayesianGLM, BayesianLinearRegression
from sgevidence.answers import Answer, exact_answer
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel
from sgevidence.samplers import _sgais
from sgevidence.transitions import _from_proposal, without_history

LINEAR, ONE = LinearModel(2, noise_std=1.0), MixtureModel(1, 2)


def rows_of(rng, n):
    X = rng.standard_normal((n, 2))
    return Rows.of(X, X.sum(axis=1) + rng.standard_normal(n))


def test_a_cloud_without_history_has_the_error_of_the_answer(rng):
    """Of uneven weights, and of none: the weights tell a part of the error, the answer all of it."""
    theta, log_w = rng.standard_normal((100, 2)), rng.standard_normal(100)
    cloud = without_history(Answer(theta, log_w, -12.0, 0.5))
    assert cloud.log_evidence == pytest.approx(-12.0) and cloud.log_evidence_std == pytest.approx(0.5)
    np.testing.assert_allclose(cloud.W, np.exp(log_w) / np.exp(log_w).sum())
    exact = without_history(Answer(theta, np.zeros(100), -12.0, 0.0))
    assert exact.log_evidence == -12.0 and exact.log_evidence_std == 0.0


@pytest.mark.parametrize("model", [LINEAR, LinearModel(2), ONE], ids=["known", "unknown", "component"])
@pytest.mark.parametrize("chunk_size", [None, 30])
def test_a_closed_form_answers_at_every_call(rng, model, chunk_size):
    rows, sampler = rows_of(rng, 200), SGAIS(chunk_size=chunk_size)
    state, seen = sampler.init(model, rng), 0
    for size in (1, 99, 1, 5, 94):
        state, records = sampler.update(state, model, rows[seen : seen + size], rng)
        seen += size
        exact = model.exact_log_evidence(rows[:seen])
        assert state.log_evidence == pytest.approx(exact, abs=1e-9) and state.log_evidence_std == 0.0
        assert state.n_rows == seen and state.pending is None
        assert all(r.n_proposals == 1 for r in records)


def test_what_is_no_closed_form_is_asked_when_the_rows_have_doubled(rng, monkeypatch):
    asked = []

    def answers(model, rows, rng, size):
        asked.append(len(rows))
        return None

    monkeypatch.setattr(_sgais, "proposal", lambda model, tolerance: answers)
    monkeypatch.setattr(_from_proposal.FromProposal, "is_closed_form", staticmethod(lambda model: False))
    rows, sampler = rows_of(rng, 400), SGAIS(max_particles=200)
    state, _ = sampler.update(sampler.init(LINEAR, rng), LINEAR, rows[:100], rng)
    again = state.adaptation.checks.asked * _from_proposal.KEPT_GROWTH  # LINEAR has one mode
    assert asked == [100] and again == pytest.approx(200)  # once, though it is in both places
    for start in range(100, 400, 30):
        state, _ = sampler.update(state, LINEAR, rows[start : start + 30], rng)
    assert all(later >= 2 * earlier for earlier, later in pairwise(asked)) and len(asked) <= 3
    z = (state.log_evidence - LINEAR.exact_log_evidence(rows)) / state.log_evidence_std
    assert abs(z) < 4


@pytest.mark.parametrize("seed", [1, 7])
def test_a_density_that_declines_few_rows_is_asked_by_the_next_one(seed):
    """Two rows of four coefficients leave a wall, and the third is in a new direction (0.25 too high)."""
    X = np.array([[2187.0, 102.0, 103.0], [328.0, 99.0, 98.0], [-1479.0, 100.0, 101.0]])
    settings = dict(coef_scale=0.1, standardize=False)
    model = BayesianGLM("poisson", **settings, random_state=seed)
    for i, y in enumerate([0.0, 2.0, 1.0]):
        model.partial_fit(X[[i]], [y])
    whole = BayesianGLM("poisson", **settings, random_state=seed).fit(X, [0.0, 2.0, 1.0])
    assert model.log_evidence_std_ < 0.03
    bar = np.hypot(model.log_evidence_std_, whole.log_evidence_std_)
    assert abs(model.log_evidence_ - whole.log_evidence_) < 4 * bar


def counts_in_chunks(rng, tolerance):
    X = rng.standard_normal((900, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0] + 0.2)).astype(float)
    model = BayesianGLM("poisson", sampler=SGAIS(tolerance=tolerance), random_state=0)
    for start in range(0, 900, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    whole = BayesianGLM("poisson", random_state=1, units=model.units_).fit(X, y)
    assert abs(model.log_evidence_ - whole.log_evidence_) < 5 * np.hypot(
        model.log_evidence_std_, whole.log_evidence_std_
    )
    return model.evidence_path_


def test_one_mode_is_looked_at_again_where_particles_know_less():
    kept, carried = (counts_in_chunks(np.random.default_rng(0), tolerance) for tolerance in (0.01, 1e9))
    assert np.median(kept["log_evidence_std"]) < 0.01 < carried["log_evidence_std"][-1]
    assert kept["n_proposals"].sum() > carried["n_proposals"].sum()


def test_switched_off(rng):
    rows, sampler = rows_of(rng, 60), SGAIS(proposal=None)
    state, records = sampler.update(sampler.init(LINEAR, rng), LINEAR, rows, rng)
    assert records[-1].n_proposals == 0 and state.log_evidence_std > 0.0
    z = (state.log_evidence - LINEAR.exact_log_evidence(rows)) / state.log_evidence_std
    assert abs(z) < 4


def test_what_ran_is_told(rng):
    rows = rows_of(rng, 60)
    model = BayesianLinearRegression(random_state=0).fit(rows.X, rows.y)
    assert model.diagnostics_["n_proposals"] == 1 and model.diagnostics_["n_moves"] == 0


def closed_form(asked, wrong=0.0):
    """What stands for strata: the posterior of all rows, and how many were asked for."""

    def answers(model, rows, rng, size):
        asked.append(len(rows))
        found = exact_answer(model, model.sums(rows), rng, size)
        return found._replace(log_evidence=found.log_evidence + wrong)

    return answers


@pytest.fixture
def as_a_mixture(monkeypatch):
    """The linear model as if it were a mixture whose components are known, without a closed form."""
    asked = []
    monkeypatch.setattr(_from_proposal.FromProposal, "is_closed_form", staticmethod(lambda model: False))
    monkeypatch.setattr(_sgais, "proposal", lambda model, tolerance: None)
    monkeypatch.setattr(LinearModel, "own_answer", staticmethod(closed_form(asked)))
    monkeypatch.setattr(_sgais, "affordable_rows", lambda model, rows: 0)
    return asked


@pytest.mark.parametrize("size", [7, 50])
def test_a_stream_of_a_mixture_asks_first_when_the_rows_have_grown_by_a_quarter(rng, as_a_mixture, size):
    """Also where rows of the calls before are still pending: no row is lost, and none counts twice."""
    rows, sampler = rows_of(rng, 350), SGAIS(max_particles=400)
    state, buffer = sampler.init(LINEAR, rng), None
    for start in range(0, 350, size):
        buffer = rows[start : start + size].copy()
        state, _ = sampler.update(state, LINEAR, buffer, rng)
        buffer.X[:] = np.nan  # the caller's own
        exact = LINEAR.exact_log_evidence(rows[: start + size])
        assert state.n_rows == start + size
        assert abs(state.log_evidence - exact) < 4 * state.log_evidence_std + 1e-9
        assert (
            state.adaptation.checks.asked
            <= state.n
            < _sgais.PROPOSAL_ROW_GROWTH * state.adaptation.checks.asked + size
        )
    assert as_a_mixture[0] == size and len(as_a_mixture) < 30


def test_too_many_rows_begin_with_as_many_as_have_an_answer(rng, as_a_mixture, monkeypatch):
    known = closed_form(as_a_mixture)
    few = lambda model, rows, *more: known(model, rows, *more) if len(rows) <= 60 else None  # noqa: E731
    monkeypatch.setattr(_sgais, "affordable_rows", lambda model, rows: 60)
    monkeypatch.setattr(LinearModel, "own_answer", staticmethod(few))
    rows, sampler = rows_of(rng, 400), SGAIS(max_particles=400)
    state, records = sampler.update(sampler.init(LINEAR, rng), LINEAR, rows, rng)
    assert as_a_mixture == [60] and records[0].n_samples == 60 and state.n_rows == 400
    assert abs(state.log_evidence - LINEAR.exact_log_evidence(rows)) < 4 * state.log_evidence_std
