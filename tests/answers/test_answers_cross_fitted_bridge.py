"""Halves bridged to densities fitted to the other half: masses that are known, and where they decline."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import norm

from sgevidence.answers import _cross_fitted_bridge as module
from sgevidence.answers import cross_fitted_bridge

LOG_2PI = np.log(2 * np.pi)
#: Nats that are added to each normalised density: their mass.
MASS = -123.4
WIDTHS = np.array([1e-6, 1.0])


class Density:
    """A density of mass exp(MASS) as a target, with draws of its own; gradients by central differences."""

    likelihood = SimpleNamespace(rows=range(7))

    def __init__(self, log_density, sample):
        self.log_density, self.sample = log_density, sample

    def value(self, theta):
        return self.log_density(theta) + MASS

    def value_and_grad(self, theta):
        h = 1e-5
        steps = h * np.eye(theta.shape[1])
        with np.errstate(invalid="ignore"):
            grad = [(self.value(theta + e) - self.value(theta - e)) / (2 * h) for e in steps]
        return self.value(theta), np.nan_to_num(np.transpose(grad))


def log_gammas(shape, d):
    """Logarithms of gamma variables: skew."""
    return Density(
        lambda t: np.sum(shape * t - np.exp(t) - gammaln(shape), axis=1),
        lambda rng, size: np.log(rng.gamma(shape, size=(size, d))),
    )


def bent(t):
    """A banana: the second coordinate about the square of the first."""
    return norm.logpdf(t[:, 0]) + norm.logpdf(t[:, 1], 0.4 * t[:, 0] ** 2, 0.7)


def draw_bent(rng, size):
    x = rng.standard_normal(size)
    return np.column_stack([x, 0.4 * x**2 + 0.7 * rng.standard_normal(size)])


def funnel(t):
    return norm.logpdf(t[:, 0]) + norm.logpdf(t[:, 1:], 0.0, np.exp(0.4 * t[:, :1])).sum(axis=1)


def draw_funnel(rng, size):
    v = rng.standard_normal((size, 1))
    return np.hstack([v, np.exp(0.4 * v) * rng.standard_normal((size, 2))])


def modes(apart, share, drawn_share=None):
    """Two Gaussians in two columns; draws may have them in other shares than the density has."""
    drawn_share = share if drawn_share is None else drawn_share

    def log_density(t):
        each = norm.logpdf(t[:, 0] - apart), norm.logpdf(t[:, 0] + apart)
        return np.logaddexp(np.log(share) + each[0], np.log(1 - share) + each[1]) + norm.logpdf(t[:, 1])

    def sample(rng, size):
        theta = rng.standard_normal((size, 2))
        theta[:, 0] += np.where(rng.random(size) < drawn_share, apart, -apart)
        return theta

    return Density(log_density, sample)


CASES = {
    "skew": log_gammas(2.0, 4),
    "banana": Density(bent, draw_bent),
    "funnel": Density(funnel, draw_funnel),
    "overlapping modes": modes(1.5, 0.3),
    "widths of 10⁻⁶ and 1": Density(
        lambda t: norm.logpdf(t, 0.0, WIDTHS).sum(axis=1),
        lambda rng, size: WIDTHS * rng.standard_normal((size, 2)),
    ),
}


def answer(target, seed, C=200, bridge=cross_fitted_bridge):
    rng = np.random.default_rng(seed)
    starts = target.sample(rng, C), target.sample(rng, C)
    return bridge(target, starts, 500, 500.0 * C, rng)


def z(target, seed, C=200, bridge=cross_fitted_bridge):
    found = answer(target, seed, C, bridge)
    return (found.log_evidence - MASS) / found.log_evidence_std


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (one == "banana")) for one in CASES]
)
def test_known_masses(name):
    found = np.array([z(CASES[name], 400 + seed) for seed in range(3)])
    assert np.all(abs(found) < 4.0) and abs(found.mean()) < 1.8, found
    one = answer(CASES[name], 0)
    assert one.log_evidence_std < 0.05 and one.theta.shape[0] == 500 == len(one.log_w)


def test_shares_that_chains_correct_do_not_matter():
    """Between modes that overlap chains move, whatever the shares of the cloud are."""
    found = np.array([z(modes(1.2, 0.3, drawn_share=0.5), seed) for seed in range(3)])
    assert np.all(abs(found) < 4.0), found


def wall(t):
    return np.where(np.all(t > 0, axis=1), norm.logpdf(t).sum(axis=1) + len(t[0]) * np.log(2), -np.inf)


DECLINED = {
    "modes apart": modes(5.0, 0.3, drawn_share=0.5),
    "a small mode apart": modes(5.0, 0.05, drawn_share=0.1),
    "a narrow peak inside": Density(
        lambda t: np.logaddexp(norm.logpdf(t).sum(axis=1), norm.logpdf(t, 0.0, 0.01).sum(axis=1)) - np.log(2),
        lambda rng, size: rng.standard_normal((size, 3)) * np.where(rng.random((size, 1)) < 0.2, 0.01, 1.0),
    ),
    "a wall": Density(wall, lambda rng, size: abs(rng.standard_normal((size, 2)))),
    "heavy tails": Density(
        lambda t: -np.sum(np.log(np.pi) + np.log1p(t**2), axis=1),
        lambda rng, size: rng.standard_cauchy((size, 2)),
    ),
    "a plane": Density(
        lambda t: norm.logpdf(t).sum(axis=1), lambda rng, size: np.tile(rng.standard_normal((size, 1)), 2)
    ),
}


@pytest.mark.parametrize("name", DECLINED)
def test_declines(name):
    assert answer(DECLINED[name], 0) is None


def test_a_density_with_noise_of_its_own_is_declined():
    noise = np.random.default_rng(0)
    noisy = Density(lambda t: norm.logpdf(t).sum(axis=1) + 0.1 * noise.standard_normal(len(t)), None)
    noisy.sample = lambda rng, size: rng.standard_normal((size, 2))
    assert answer(noisy, 1) is None


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("cross_fitted_bridge", "zip(halves, reversed(densities))", "zip(halves, densities)"),
        ("_bridged", "log_p - q.log_density(theta_q)", "log_p - q.log_density(theta_q) + 0.2"),
        ("_bridged", "bridge(log_w_q, log_w_p)", "bridge(log_w_q, log_w_p + 0.2)"),
    ],
    ids=["not crossed", "another constant at q", "another constant at chains"],
)
def test_a_mistake_is_seen(install_broken, name, right, wrong):
    wide = Density(  # so many columns that a density knows the draws that it was fitted to
        lambda t: norm.logpdf(t).sum(axis=1), lambda rng, size: rng.standard_normal((size, 25))
    )
    wide.value_and_grad = lambda theta: (wide.value(theta), -theta)
    honest = np.array([z(wide, seed, 250) for seed in range(3)])
    assert np.all(abs(honest) < 4.0) and abs(honest.mean()) < 2.0, honest
    install_broken(module, name, right, wrong)
    found = [answer(wide, seed, 250, module.cross_fitted_bridge) for seed in range(3)]
    wrong_by = [np.inf if one is None else (one.log_evidence - MASS) / one.log_evidence_std for one in found]
    assert abs(np.mean(wrong_by)) > 2.5, wrong_by
