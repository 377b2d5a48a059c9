"""Bridges from a density to a posterior, against masses that are known."""

import numpy as np
import pytest
from scipy.special import gammaln

from sgevidence.answers import _ladder
from sgevidence.answers._ladder import Rung, climb


class LogGammas:
    """log Gamma variables of some shape: skew, of known mass, in coordinates around their mode."""

    def __init__(self, shape, d):
        self.shape, self.width = shape, shape**-0.5
        self.log_mass = d * (gammaln(shape) - shape * np.log(shape) - np.log(self.width))

    def __call__(self, phi):
        x = np.log(self.shape) + self.width * phi
        with np.errstate(over="ignore"):
            e = np.exp(x)
        value = np.sum(self.shape * (x - np.log(self.shape)) - e, axis=1)
        return value, self.width * (self.shape - e)


def start(problem, d, rng, M=2000, offset=0.0):
    """Draws of a standard normal density, which has mass 1."""
    phi = rng.standard_normal((M, d))
    log_q = -0.5 * np.sum(phi**2, axis=1) - 0.5 * d * np.log(2 * np.pi)
    return Rung(phi[None], (problem(phi)[0] - log_q)[None])


def over_q(problem, d):
    """Over the normalising constant of q."""

    def log_p(phi):
        value, grad = problem(phi)
        return value + 0.5 * d * np.log(2 * np.pi), grad

    return log_p


def z(problem, d, seed, n_chains=400):
    rng = np.random.default_rng(seed)
    found = climb(over_q(problem, d), start(problem, d, rng), n_chains, rng)
    return None if found is None else (found.log_ratio - problem.log_mass) / found.std


@pytest.mark.parametrize("shape, d", [(30.0, 5), (3.0, 5), (3.0, 20), (1.0, 8)])
def test_masses_within_their_error_bars(shape, d):
    problem = LogGammas(shape, d)
    answers = [z(problem, d, 70 + seed) for seed in range(6)]
    found = np.array([answer for answer in answers if answer is not None])
    assert len(found) >= 5, "chains of a skew density may remember their distance from the middle"
    assert np.all(abs(found) < 4.0), found
    assert abs(found.mean()) < 2.0, found


def test_a_target_of_walls_is_declined_or_right():
    """One draw in 10¹⁰ of q is inside."""

    def slab(phi):
        inside = np.all(abs(phi - 6.0) < 0.01, axis=1)
        return np.where(inside, 0.0, -1e6 * np.sum((phi - 6.0) ** 2, axis=1)), -2e6 * (phi - 6.0)

    rng = np.random.default_rng(3)
    assert climb(over_q(slab, 3), start(slab, 3, rng), 200, rng) is None


def test_chains_that_do_not_move_are_not_believed(monkeypatch, install_broken):
    problem = LogGammas(3.0, 4)
    monkeypatch.setattr(_ladder, "TRAJECTORY", 1e-3)
    monkeypatch.setattr(_ladder, "MAX_LEAPFROGS", 1)
    install_broken(_ladder, "settled_chains", "log_eps + info.acceptance - ACCEPTANCE", "-6.0")
    assert z(problem, 4, 5) is None
