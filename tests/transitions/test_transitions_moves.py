"""Moves along a path: from anywhere near they end in the tempered posterior, whatever rows they look at."""

import numpy as np
import pytest
from path_problem import data
from scipy.stats import kstest

from sgevidence import HMC, SGHMC, SGNHT, DivergenceError
from sgevidence.history import Anchor, Memory
from sgevidence.models import LinearModel
from sgevidence.particles import Cloud
from sgevidence.targets import Path
from sgevidence.transitions import Streams, Tuned
from sgevidence.transitions._hmc import correlation

MODEL = LinearModel(2, noise_std=1.0)
M = 2000
MOVES = {
    "HMC": HMC(conditional=False),
    "the model's own": HMC(),
    "HMC with a guide": HMC(guide_rows=30),
    "SGHMC": SGHMC(batch_size=50, n_steps=40),
    "SGNHT": SGNHT(batch_size=50, n_steps=40),
}


def anchored_path(rng, capacity=None, n=400, c=200):
    rows = data(MODEL, n + c, rng)
    anchor = Anchor.of(MODEL, MODEL.exact_posterior(rows[:n], rng, 500).mean(axis=0), rows[:n])
    return Path(MODEL, Memory.empty(capacity).absorb(rows[:n], rng, anchor), rows[n:]), rows


def moved(move, path, theta, lam, rng, times=2):
    along, tuned = move.along(path, Streams.spawned(rng)), Tuned()
    coordinates = along.coordinates(Cloud.planted(theta), lam)
    for _ in range(times):
        result = along(theta, lam, coordinates, tuned)
        theta, tuned = result.theta, result.tuned
    return result


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


def test_hmc_finds_a_step_of_the_acceptance_wanted(rng):
    path, _ = anchored_path(rng)
    start = MODEL.exact_posterior(path.memory.sample, rng, M)
    result = moved(HMC(target_acceptance=0.9, conditional=False), path, start, 1.0, rng, times=8)
    assert 0.8 < result.acceptance <= 1.0 and np.isnan(result.noise_to_injection)
    assert result.tuned.log_eps != 0.0


def test_leapfrog_steps():
    move = HMC(n_steps=16, trajectory_length=1.5)
    assert [move.leapfrog_steps(eps) for eps in (0.5, 0.1, 0.01, 9.0)] == [3, 15, 16, 1]
    assert [move.leapfrog_steps(0.5, repeat) for repeat in (1, 2, 3, 4)] == [3, 6, 12, 16]


def test_correlation_of_a_cloud_with_its_start(rng):
    a, b = rng.standard_normal((2, 20_000, 2))
    assert correlation(a, a) == pytest.approx(1.0) and correlation(a, -3 * a) == pytest.approx(-1.0)
    assert correlation(a, 0.6 * a + 0.8 * b + 5.0) == pytest.approx(0.6, abs=0.03)
    assert correlation(a, np.zeros_like(a)) == 0.0


def test_noise_of_the_gradient_is_measured(rng):
    """None is left on a Gaussian with its anchor; the thermostat measures none."""
    path, _ = anchored_path(rng, 100)
    start = MODEL.exact_posterior(path.memory.sample, rng, 50)
    assert moved(SGHMC(batch_size=50), path, start, 1.0, rng).noise_to_injection < 1e-12
    assert np.isnan(moved(SGNHT(batch_size=50), path, start, 1.0, rng).noise_to_injection)


def test_what_needs_an_anchor():
    assert HMC().needs_anchor and SGHMC().needs_anchor and SGNHT().needs_anchor
    assert not SGHMC(control_variate=False).needs_anchor and not SGNHT(control_variate=False).needs_anchor


def test_noise_is_not_given_where_it_is_measured():
    with pytest.raises(ValueError, match=r"gradient_noise=0\.1 is for control_variate=False"):
        SGHMC(gradient_noise=0.1)._validate_params()
    SGHMC(gradient_noise=0.1, control_variate=False)._validate_params()


@pytest.mark.parametrize("bad", [HMC(n_steps=0), SGHMC(learning_rate=0.0), SGNHT(momentum_decay=2.0)])
def test_parameters_are_checked(bad):
    with pytest.raises(ValueError, match="parameter of"):
        bad._validate_params()


def test_steps_that_are_too_long_are_an_error(rng):
    path, _ = anchored_path(rng)
    plain = SGHMC(control_variate=False, preconditioner=None, learning_rate=1e4)
    start = MODEL.exact_posterior(path.memory.sample, rng, 50)
    with np.errstate(all="ignore"), pytest.raises(DivergenceError, match="Standardise the columns"):
        along = plain.along(path, Streams.spawned(rng))
        for _ in range(50):
            start = along(start, 1.0, None, Tuned()).theta
