"""Strata answer for mixtures of a family: which, for how many rows, and with what."""

import numpy as np
import pytest

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.models import FullMixtureModel, LinearModel, SphericalMixtureModel
from sgevidence.samplers._mixture_answers import affordable_rows, mixture_answer
from sgevidence.samplers._ways import answers_of

MODEL = FullMixtureModel(2, 2)


@pytest.mark.parametrize("model", [MODEL, SphericalMixtureModel(3, 1), LinearModel(2)])
def test_strata_answer_for_mixtures_alone(model):
    """A regression may have a family, too."""
    assert (answers_of(model) is mixture_answer) == model.has_components


def test_an_answer_has_draws_of_the_posterior_and_every_number_of_components(rng):
    rows = Rows.of(rng.normal(size=(8, 2)))
    found = mixture_answer(MODEL, rows, rng, 400)
    assert found.theta.shape == (400, MODEL.n_params) and not found.log_w.any()
    assert found.components.n == 8 and found.components.log_evidence[-1] == found.log_evidence
    one = FullMixtureModel(1, 2).exact_log_evidence(rows)
    assert found.components.log_evidence[0] == pytest.approx(one, abs=1e-8)
    q = found.theta  # of the prior times the likelihood: the harmonic identity with a Gaussian inside
    log_joint = MODEL.log_joint(q, rows)
    assert np.all(np.isfinite(log_joint)) and found.components.in_use.sum() == pytest.approx(1)


def test_rows_that_have_no_answer(rng, monkeypatch):
    X = rng.normal(size=(100, 2))
    assert mixture_answer(FullMixtureModel(11, 2), Rows.of(X), rng, 2) is None
    assert affordable_rows(MODEL, Rows.of(X)) == 100
    assert affordable_rows(LinearModel(2), Rows.of(X, X[:, 0])) == 0
    monkeypatch.setattr("sgevidence.mixtures._evidence.MOST_NUMBERS", 40 * 2 * 6)
    assert affordable_rows(MODEL, Rows.of(X)) == 25  # by halves


def test_sgais_without_a_proposal_does_not_ask(rng):
    sampler = SGAIS(n_particles=30, max_particles=30, proposal=None)
    state, records = sampler.update(sampler.init(MODEL, rng), MODEL, Rows.of(rng.normal(size=(8, 2))), rng)
    assert state.adaptation.components is None and records[-1].n_proposals == 0
