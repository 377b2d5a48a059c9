"""Strata answer for mixtures of a family: which, for how many rows, and with what."""

import numpy as np
import pytest
from mixture_kinds import FullMixture, SphericalMixture

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.strata import SharedWalk, mixture_answer, mixture_strata
from sgevidence.models import LinearModel
from sgevidence.samplers import sharing
from sgevidence.samplers._sgais import affordable_rows, answers_of

MODEL = FullMixture(2, 2)


@pytest.mark.parametrize("model", [MODEL, SphericalMixture(3, 1), LinearModel(2)])
def test_strata_answer_for_mixtures_alone(model):
    """A regression may have a family, too."""
    assert (answers_of(model) is mixture_answer) == model.has_components


def test_an_answer_has_draws_of_the_posterior_and_every_number_of_components(rng):
    rows = Rows.of(rng.normal(size=(8, 2)))
    found = mixture_answer(MODEL, rows, rng, 400)
    assert found.theta.shape == (400, MODEL.n_params) and not found.log_w.any()
    assert found.components.n == 8 and found.components.log_evidence[-1] == found.log_evidence
    one = FullMixture(1, 2).exact_log_evidence(rows)
    assert found.components.log_evidence[0] == pytest.approx(one, abs=1e-8)
    q = found.theta  # of the prior times the likelihood: the harmonic identity with a Gaussian inside
    log_joint = MODEL.log_joint(q, rows)
    assert np.all(np.isfinite(log_joint)) and found.components.in_use.sum() == pytest.approx(1)


def test_rows_that_have_no_answer(rng, walk_numbers):
    X = rng.normal(size=(100, 2))
    assert mixture_answer(FullMixture(11, 2), Rows.of(X), rng, 2) is None
    assert affordable_rows(MODEL, Rows.of(X)) == 100
    assert affordable_rows(LinearModel(2), Rows.of(X, X[:, 0])) == 0
    walk_numbers(40 * 2 * 6)
    assert affordable_rows(MODEL, Rows.of(X)) == 25  # by halves


def test_sgais_without_a_proposal_does_not_ask(rng):
    sampler = SGAIS(n_particles=30, max_particles=30, proposal=None)
    state, records = sampler.update(sampler.init(MODEL, rng), MODEL, Rows.of(rng.normal(size=(8, 2))), rng)
    assert state.components is None and records[-1].n_proposals == 0


def test_a_walk_is_shared_by_models_of_the_same_rows_alone(rng):
    """By numbers of components up to the largest; with digits that do not tell who asked first."""
    X, walks = rng.normal(size=(9, 2)), [SharedWalk([2, 4], np.random.default_rng(3)) for _ in range(2)]
    rows, other = Rows.of(X), Rows.of(X[::-1])
    found = []
    for walk, numbers in zip(walks, ([2, 4], [4, 2])):
        with sharing(walk):
            strata = {K: mixture_strata(FullMixture(K, 2), rows, rng) for K in numbers}
            assert strata[2] is strata[4] and strata[2].n_components == 4
            assert mixture_strata(FullMixture(2, 2), other, rng) is not strata[2]
            assert mixture_strata(SphericalMixture(2, 2), rows, rng).problem.family != MODEL.family
            assert len(walk.known) == 3
        found.append(strata[2].posterior(3, 1, rng).log_evidence)
    assert np.array_equal(*found)
    assert mixture_strata(FullMixture(2, 2), rows, rng).n_components == 2
