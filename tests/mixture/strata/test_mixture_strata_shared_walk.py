"""Strata answer for mixtures of a family: which, for how many rows, and with what."""

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from mixture_kinds import FullMixture, SphericalMixture

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.strata import SharedWalk, _answer, mixture_answer, mixture_strata
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
    """With digits that do not tell who asked first."""
    X, walks = rng.normal(size=(9, 2)), [SharedWalk(np.random.default_rng(3)) for _ in range(2)]
    rows, other = Rows.of(X), Rows.of(X[::-1])
    found = []
    for walk, numbers in zip(walks, ([2, 4], [4, 2])):
        with sharing(walk):
            strata = {K: mixture_strata(FullMixture(K, 2), rows, rng) for K in numbers}
            assert strata[4].n_components == 4 and (strata[2] is strata[4]) == (numbers[0] == 4)
            assert mixture_strata(FullMixture(2, 2), other, rng) is not strata[2]
            assert mixture_strata(SphericalMixture(2, 2), rows, rng).problem.family != MODEL.family
            assert len(walk.known) == 3
        found.append([strata[K].posterior(2, 1, rng).log_evidence for K in (2, 4)])
    assert np.ptp(found, axis=(0, 1)).max() == 0
    assert mixture_strata(FullMixture(2, 2), rows, rng).n_components == 2


@pytest.mark.parametrize("n", [9, pytest.param(20, marks=pytest.mark.slow)])
def test_a_walk_goes_on_to_the_digits_of_one_of_its_own(n):
    """For more components than were asked for first, and for fewer."""
    X = np.random.default_rng(7).normal(size=(n, 1)) + 4 * np.arange(n)[:, None] % 2
    rows, walk, found = Rows.of(X), SharedWalk(), []
    for K in (2, 4, 3):
        with sharing(walk):
            shared = mixture_answer(FullMixture(K, 1), rows, np.random.default_rng(1), 50)
        alone = mixture_answer(FullMixture(K, 1), rows, np.random.default_rng(1), 50)
        assert shared.log_evidence == alone.log_evidence and shared.log_evidence_std == alone.log_evidence_std
        assert np.array_equal(shared.components.in_use, alone.components.in_use)
        found.append(shared.log_evidence)
    assert len(walk.known) == 1
    with sharing(walk):
        other = mixture_answer(FullMixture(2, 1), rows, np.random.default_rng(2), 50)
    assert len(walk.known) == 2 and (n < 15 or other.log_evidence != found[0])


def test_a_search_for_fewer_components_has_the_digits_of_one_for_more():
    """Though those that fall behind are not taken as far."""
    rows, found = Rows.of(np.random.default_rng(7).normal(size=(30, 2))), []
    for K in (5, 3):
        strata = SharedWalk(np.random.default_rng(1)).strata(SphericalMixture(K, 2), rows, None)
        found.append(strata.posterior(3, 1, np.random.default_rng(0)).log_evidence)
    assert np.array_equal(*found)


def asked_by_threads(walk):
    def ask(i):
        return walk.strata(MODEL, Rows.of(np.full((3, 1), float(i))), np.random.default_rng(0))

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, range(4000)))


@pytest.mark.slow
def test_threads_of_a_grid_share_walks(monkeypatch):
    """They forget the oldest walk at the same time."""
    monkeypatch.setattr(_answer, "strata_up_to", lambda family, X, K, *_: SimpleNamespace(n_components=K))
    monkeypatch.setattr(SharedWalk, "MAX_WALKS", 3)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for walk in [SharedWalk() for _ in range(10)]:
            assert all(strata.n_components == 2 for strata in asked_by_threads(walk))
            assert len(walk.known) == 3
    finally:
        sys.setswitchinterval(interval)
