"""How rows are cut and how many particles see them: each row once, doublings, and bounds."""

import numpy as np
import pytest
from mixture_kinds import FullMixture

from sgevidence import SGAIS
from sgevidence.history import Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.mixture.strata import mixture_answer
from sgevidence.models import GLMModel, LinearModel, NegativeBinomial
from sgevidence.samplers import chunk_edges, pieces
from sgevidence.samplers._sgais import FIRST_CHUNK_ROWS, crossing_of, particles, particles_of_mixture
from sgevidence.transitions import HMC, Anneal


def numbered(n, weight=None):
    return Rows.of(np.arange(n)[:, None], None, weight)


def check_pieces(rng, cut=pieces, n=0.0, size=1000, weight=None, shuffle=True):
    """Each row once; totals after the pieces are 100, 200, 400, … and at last all."""
    rows = numbered(size, weight)
    found = list(cut(rows, n, None, shuffle, rng))
    everything = np.concatenate([piece.X[:, 0] for piece in found])
    np.testing.assert_array_equal(np.sort(everything), np.arange(size), err_msg="rows")
    totals = n + np.cumsum([piece.total_weight for piece in found])
    doublings = FIRST_CHUNK_ROWS * 2.0 ** np.arange(20)
    expected = doublings[(doublings > n) & (doublings < totals[-1])]
    heaviest = 0.0 if weight is None else 2 * size**0.5 * np.max(weight)  # random rows of uneven weight
    assert len(found) == len(expected) + 1, "number"
    np.testing.assert_allclose(totals[:-1], expected, atol=heaviest, err_msg="totals")
    return found


@pytest.mark.parametrize("n", [0.0, 30.0, 250.0, 5000.0])
@pytest.mark.parametrize("size", [1, 60, 1000])
@pytest.mark.parametrize("shuffle", [True, False])
def test_pieces_double_the_rows(rng, n, size, shuffle):
    found = check_pieces(rng, n=n, size=size, shuffle=shuffle)
    in_order = np.concatenate([piece.X[:, 0] for piece in found])
    assert np.all(np.diff(in_order) > 0) == (not shuffle or len(found) == 1)


def test_pieces_of_weighted_rows(rng):
    check_pieces(rng, weight=rng.uniform(0.5, 1.5, 1000))


def test_subsets_are_random(rng):
    """Which rows come first is a matter of chance: each with the same probability."""
    first = np.zeros(400)
    for _ in range(600):
        piece = next(pieces(numbered(400), 0.0, None, True, rng))
        first[piece.X[:, 0].astype(int)] += 1
    z = (first - 150) / np.sqrt(600 * 0.25 * 0.75)
    assert np.abs(z).max() < 5 and abs(np.mean(z**2) - 1) < 0.4


def test_a_size_that_is_given_is_kept(rng):
    assert [len(piece) for piece in pieces(numbered(25), 7.0, 10, True, rng)] == [10, 10, 5]


def test_particles():
    """Many while rows are few and cheap, then as 1/√n."""
    linear = LinearModel(3)
    assert particles(linear, 0.0, 100, None) == particles(linear, 250.0, 100, None) == 2000
    assert particles(linear, 1000.0, 100, None) == 1000 and particles(linear, 1e6, 100, None) == 400
    assert particles(linear, 0.0, 25, None) == 500 and particles(linear, 0.0, 300, None) == 2000
    assert particles(linear, 0.0, 100, 150) == 150 and particles(linear, 1e9, 100, 50) == 100
    assert particles(MixtureModel(3, 2), 0.0, 100, None) == particles_of_mixture(3, 15)
    found = [particles_of_mixture(K, d) for K, d in ((1, 5), (2, 10), (2, 200), (3, 15), (5, 25), (9, 90))]
    assert found == [1000, 1000, 400, 1500, 2000, 3000]


def check_edges():
    """20 rows until a quarter of those seen is more, then that, then 500 at a time (as published)."""
    found = chunk_edges(0.0, 5000.0, 20, 0.25, 500)
    steps = np.diff(found)
    expected = [min(max(20, np.floor(0.25 * n)), 500) for n in found[:-1]]
    np.testing.assert_array_equal(steps, expected)
    assert found[0] == 0.0 and found[-1] > 5000.0
    assert chunk_edges(100.0, 100.0, 20, 0.25, 500)[0] == 100.0


def test_edges_of_the_published_chunks():
    check_edges()


# -- ways across ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, asks_strata",
    [
        (MixtureModel(2, 2), True),
        (MixtureModel(1, 2), False),
        (FullMixture(2, 2), True),
        (LinearModel(2), False),
    ],
)
def test_mixtures_of_several_components_ask_strata_before_particles_are_weighed(model, asks_strata):
    anneal = Anneal(HMC(), 0.5, None, lambda n: 10)
    found = crossing_of(model, anneal, False, True).from_all_rows
    assert crossing_of(model, anneal, False, False).from_all_rows is None
    assert (found.answers is mixture_answer) == (found.first_after < np.inf) == asks_strata


def test_a_small_tolerance_asks_a_regression_for_draws_and_is_no_reason_to_anneal(rng):
    model, X = GLMModel(3, NegativeBinomial()), rng.standard_normal((60, 3))
    rows = Rows.of(X, rng.poisson(np.exp(X[:, 0]) * rng.gamma(0.5, 2.0, 60)).astype(float))
    rough, default, fine = (
        SGAIS(tolerance=one).run(model, rows, np.random.default_rng(1)) for one in (1.0, 0.03, 0.001)
    )
    assert rough.n_likelihoods <= default.n_likelihoods < fine.n_likelihoods
    assert fine.diagnostics["n_proposals"] == 1 and fine.log_evidence_std < 0.03
    for one in (rough, default):
        std = np.hypot(one.log_evidence_std, fine.log_evidence_std)
        assert abs(one.log_evidence - fine.log_evidence) < 4 * std
