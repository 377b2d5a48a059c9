"""Moves along a path: from anywhere near they end in the tempered posterior, whatever rows they look at."""

import pytest
from moving import MODEL, anchored_path, moved
from scipy.stats import kstest

from sgevidence.samplers import HMC, SGHMC, SGNHT

M = 2000
MOVES = {
    "HMC": HMC(conditional=False),
    "the model's own": HMC(),
    "HMC with a guide": HMC(guide_rows=30),
    "SGHMC": SGHMC(batch_size=50, n_steps=40),
    "SGNHT": SGNHT(batch_size=50, n_steps=40),
}


@pytest.mark.parametrize("lam", [0.3, 1.0])
@pytest.mark.parametrize("capacity", [None, 100], ids=["all rows", "beyond the reservoir"])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_it_ends_in_the_tempered_posterior(rng, move, capacity, lam):
    """From a cloud that is half a width off and half as wide.  On a Gaussian the anchored sums are exact."""
    path, rows = anchored_path(rng, capacity)
    exact = MODEL.exact_posterior(rows[:400].join(rows[400:].scaled(lam)), rng, 50_000)
    start = exact.mean(axis=0) + exact.std(axis=0) * (0.5 + 0.5 * rng.standard_normal((M, 3)))
    result = moved(move, path, start, lam, rng)
    p = [kstest(a, b).pvalue for a, b in zip(result.theta.T, exact.T)]
    assert min(p) > 1e-5, f"p-values {p}"
    assert result.n_refused == 0 and result.n_gradients > 0


@pytest.mark.parametrize("lam", [0.3, 1.0])
def test_the_check_sees_moves_at_another_temperature(rng, lam):
    path, rows = anchored_path(rng)
    exact = MODEL.exact_posterior(rows[:400].join(rows[400:].scaled(lam)), rng, 50_000)
    wrong = moved(HMC(conditional=False), path._replace(chunk=path.chunk.scaled(2.5)), exact[:M], lam, rng)
    assert min(kstest(a, b).pvalue for a, b in zip(wrong.theta.T, exact.T)) < 1e-5
