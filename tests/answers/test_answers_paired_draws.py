"""Evidence by antithetic pairs and control variates: masses that are known, error bars, several parts."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from sgevidence.answers import TDensity, TMixture, _paired_draws, adapted_draws, paired_draws
from sgevidence.answers._paired_draws import controlled_mean
from sgevidence.kernels import Coordinates

SHAPE, D = 6.0, 3


def log_gammas(theta):
    """Independent logarithms of gamma variates, which are skew, of total mass e²."""
    return np.sum(SHAPE * theta - np.exp(theta) - gammaln(SHAPE), axis=1) + 2.0


def two_ridges(theta):
    """Two correlated Gaussians side by side, three quarters and a quarter of a mass of one."""
    C = np.array([[1.0, 0.95], [0.95, 1.0]])
    parts = [stats.multivariate_normal([0, 0], C), stats.multivariate_normal([3, -2], 4 * np.eye(2))]
    return np.logaddexp(np.log(0.75) + parts[0].logpdf(theta), np.log(0.25) + parts[1].logpdf(theta))


def bent(theta):
    """A ridge along a parabola, of mass one."""
    x, y = theta.T
    return stats.norm.logpdf(x) + stats.norm.logpdf(y, x**2 / 4, 0.5)


def mode_of_gammas():
    return np.full(D, np.log(SHAPE)), SHAPE * np.eye(D)


def z_scores(log_joint, modes, exact, n_seeds=16):
    one = np.ones(len(modes)) / len(modes)
    found = [adapted_draws(log_joint, modes, one, 500, np.random.default_rng(s)) for s in range(n_seeds)]
    assert all(each.suffices for each in found)
    return np.array([(each.draws.log_Z - exact) / each.draws.std for each in found]), found


def check_skew():
    z, found = z_scores(log_gammas, [mode_of_gammas()], 2.0)
    assert np.sqrt(np.mean(z**2)) < 1.6 and abs(np.mean(z)) < 1.1 and np.max(abs(z)) < 4
    assert max(each.draws.std for each in found) < 0.015


def test_error_bars_of_a_skew_density_hold():
    check_skew()


@pytest.mark.parametrize(
    "name, right, wrong",
    [
        ("_controls", "(i == j)", "0"),
        ("_controls", "... - 1.0", "... - 0.5"),
        ("paired_draws", "0.5 * d * np.log(2 * np.pi)", "0.0"),
        (
            "paired_draws",
            "... + (log_shares - log_volumes)[:, None]",
            "... + (log_shares + log_volumes)[:, None]",
        ),
    ],
    ids=["mean of squares", "mean of ratios", "normal density", "volume of q"],
)
def test_a_mistake_is_seen(install_broken, name, right, wrong):
    install_broken(_paired_draws, name, right, wrong)
    with pytest.raises(AssertionError):
        check_skew()


def test_a_bent_density_is_covered_by_a_mixture():
    """No Gaussian has its shape, and the t at the mode says too little."""
    z, found = z_scores(bent, [(np.zeros(2), np.diag([1.0, 4.0]))], 0.0)
    assert np.sqrt(np.mean(z**2)) < 1.6 and np.max(abs(z)) < 4
    draws = [one.answer(0.0, 1, 800, np.random.default_rng(0)).theta for one in found]
    assert np.max(abs(np.mean(draws, axis=(0, 1)) - [0.0, 0.25])) < 0.05


def test_two_modes_are_counted_by_their_masses():
    C = np.array([[1.0, 0.95], [0.95, 1.0]])
    z, found = z_scores(
        two_ridges, [(np.zeros(2), np.linalg.inv(C)), (np.array([3.0, -2.0]), np.eye(2) / 4)], 0.0
    )
    assert np.sqrt(np.mean(z**2)) < 1.6 and np.max(abs(z)) < 4
    draws = [one.answer(0.0, 1, 800, np.random.default_rng(0)).theta for one in found]
    assert np.max(abs(np.mean(draws, axis=(0, 1)) - [0.75, -0.5])) < 0.08


def test_a_gaussian_is_known_from_a_mixture_of_two(rng):
    """Control variates of a part that is the posterior explain all of its weights."""
    parts = [
        TDensity(np.zeros(2), Coordinates(np.eye(2)), 6.0),
        TDensity(np.ones(2), Coordinates(2 * np.eye(2)), 6.0),
    ]
    q = TMixture(parts, np.array([0.7, 0.3]))
    draws = paired_draws(lambda t: -0.5 * np.sum(t**2, axis=1) - np.log(2 * np.pi), q, 256, rng)
    assert abs(draws.log_Z) < 1e-6 and draws.std < 1e-6


def test_impossible_draws_are_no_answer(rng):
    modes = [(np.zeros(2), np.eye(2))]
    assert adapted_draws(lambda t: np.full(len(t), -np.inf), modes, np.ones(1), 100, rng) is None


def test_errors_of_many_controls_are_true():
    """Errors of means in error bars where as many control variates as 40 say nothing of 160 values."""
    rng = np.random.default_rng(0)
    found = [controlled_mean(rng.standard_normal(160), rng.standard_normal((160, 40))) for _ in range(400)]
    mean, std = np.array(found).T
    assert 0.9 < np.sqrt(np.mean((mean / std) ** 2)) < 1.12
