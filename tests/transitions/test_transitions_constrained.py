"""Draws inside a likelihood contour: the prior's own distribution there, by each kernel."""

import numpy as np
import pytest
from mutants import broken
from scipy.stats import chi2, kstest

from sgevidence.models import value_and_grad
from sgevidence.transitions import ConstrainedMoves, _constrained, covariance
from sgevidence.transitions._constrained import over_labellings, thinnest

D, M, RADIUS2 = 3, 4000, 3.0
FLOOR, LOG_X = -RADIUS2 / 2, float(chi2(D).logcdf(RADIUS2))


class Ball:
    """N(0, 1) in D dimensions, and a likelihood that falls with the distance: contours are spheres."""

    n_params, slots = D, None

    def log_prior(self, theta):
        return -0.5 * (theta**2).sum(axis=1)

    def sample_prior(self, rng, size):
        return rng.standard_normal((size, D))

    def sum_log_likelihood(self, theta, rows):
        return -0.5 * np.sum(theta**2, axis=1)

    def _value_and_grad_log_likelihood(self, theta, rows):
        return self.sum_log_likelihood(theta, rows), -theta

    def slot_reference(self, theta):
        return None

    def canonicalize(self, theta, reference=None):
        return theta


def moves(rng, kernel, **settings):
    model = Ball()
    settings = dict(n_steps=20, alpha=0.1) | settings
    return ConstrainedMoves(
        model, [None], lambda t: value_and_grad(model.log_prior, t), rng, kernel=kernel, **settings
    )


def inside(rng, size=M):
    """Independent draws from the prior inside the contour."""
    theta = rng.standard_normal((4 * size, D))
    return theta[np.sum(theta**2, axis=1) < RADIUS2][:size]


def check_inside(draws, rng):
    """From live points as they should be: |θ|² is chi-squared cut off at the contour, and forgotten."""
    start = inside(rng)
    theta, ell, _ = draws(start, -0.5 * np.sum(start**2, axis=1), M, FLOOR, LOG_X)
    r2 = np.sum(theta**2, axis=1)
    np.testing.assert_allclose(ell, -r2 / 2)
    assert theta.shape == (M, D) and np.all(r2 < RADIUS2), "outside"
    p = kstest(r2, lambda x: chi2(D).cdf(x) / chi2(D).cdf(RADIUS2)).pvalue
    assert p > 1e-6, f"p = {p}"
    assert draws.memory[-1] < 0.35, "not forgotten"


def by_rejection(rng):
    return moves(rng, "rejection", sample_prior=Ball().sample_prior)


@pytest.mark.parametrize("kernel", ["reflection", "random_walk"])
def test_moves_stay_in_the_prior_inside_the_contour(rng, kernel):
    draws = moves(rng, kernel)
    check_inside(draws, rng)
    assert draws.n_moved == M and draws.n_stuck < 0.01 * M
    assert draws.n_likelihoods > M and (draws.n_gradients > 0) == (kernel == "reflection")


def test_draws_say_from_which_point_they_descend(rng, monkeypatch):
    """Also where they have forgotten it: that a mode was met by chance they remember together."""
    start = inside(rng, 400)
    arguments = start, -0.5 * np.sum(start**2, axis=1), 400, FLOOR, LOG_X
    monkeypatch.setattr(_constrained, "JUMPS", 0)
    assert sorted(moves(rng, "reflection")(*arguments)[2]) == list(range(400))
    monkeypatch.setattr(_constrained, "MAX_REPEATS", 1)
    draws = moves(rng, "reflection", n_steps=1)
    draws.eps = [1e-6, 1e-6]
    theta, _, parents = draws(*arguments)
    np.testing.assert_allclose(theta, start[parents], atol=1e-3)


class TwoBalls(Ball):
    """Places of equal likelihood about −2 and 2 along the first axis, and none between."""

    def sum_log_likelihood(self, theta, rows):
        return -0.5 * np.sum((np.abs(theta) - [2, 0, 0]) ** 2, axis=1)

    def _value_and_grad_log_likelihood(self, theta, rows):
        return self.sum_log_likelihood(theta, rows), np.sign(theta) * ([2, 0, 0] - np.abs(theta))


def check_descent(rng):
    """Who jumps into a place descends from a point that was there: its share is known from those alone."""
    model = TwoBalls()
    start = 0.2 * rng.standard_normal((400, D))
    start[:, 0] += np.where(np.arange(400) < 30, 2.0, -2.0)
    draws = ConstrainedMoves(
        model,
        [None],
        lambda t: value_and_grad(model.log_prior, t),
        rng,
        kernel="reflection",
        n_steps=20,
        alpha=0.1,
    )
    theta, _, origins = draws(start, model.sum_log_likelihood(start, None), 400, -0.5, -5.0)
    there = theta[:, 0] > 0
    assert there.sum() > 60, "nobody jumped"
    assert np.all(start[origins[there], 0] > 0), "descends from elsewhere"


def test_who_jumps_descends_from_the_place_it_jumps_to(rng):
    check_descent(rng)


def test_descent_from_where_a_chain_started_is_caught(rng, install_broken):
    install_broken(ConstrainedMoves, "_adaptive", "new, new_ell, origins", "new, new_ell, parents")
    with pytest.raises(AssertionError, match="descends from elsewhere"):
        check_descent(rng)


def test_rejection_is_exact(rng):
    check_inside(by_rejection(rng), rng)


def test_while_the_prior_hits_often_no_moves_are_made(rng):
    """log X above −log n_steps; later moves are cheaper."""
    easy = moves(rng, "reflection", sample_prior=Ball().sample_prior)
    check_inside(easy, rng)
    assert easy.n_moves == 0
    start = 0.1 * rng.standard_normal((50, D))
    easy(start, -0.5 * np.sum(start**2, axis=1), 50, FLOOR, -9.0)
    assert easy.n_moves > 0


REFLECTED = "reflected_langevin(..., ..., ..., ..., ..., floor={}, eps=..., alpha=..., n_steps=...)"


@pytest.mark.parametrize(
    "kernel, method, right, wrong",
    [
        ("rejection", "_by_rejection", "ell > floor", "ell > 2 * floor"),
        ("random_walk", "_block", "prior(phi)[0]", "0.0"),
        ("random_walk", "_block", "log_likelihood(phi) > floor", "log_likelihood(phi) > floor / 2"),
        ("reflection", "_block", REFLECTED.format("floor"), REFLECTED.format("floor / 2")),
        ("reflection", "_block", "return value, grad @ L", "return 0 * value, 0 * grad @ L"),
        ("reflection", "_adaptive", "MAX_REPEATS * len(self.L)", "1 if len(theta) else 0"),
    ],
    ids=[
        "a wider contour",
        "a flat prior",
        "a narrower one",
        "narrower to reflect at",
        "flat, reflected",
        "one",
    ],
)
def test_a_mistake_is_seen(rng, monkeypatch, kernel, method, right, wrong):
    if wrong.startswith("1 if"):
        monkeypatch.setattr(_constrained, "JUMPS", 0)
    mutant = broken(getattr(ConstrainedMoves, method), right, wrong)
    if wrong.startswith("1 if"):  # one call of two steps does not forget the start
        draws = moves(rng, kernel, n_steps=2)
    else:
        draws = by_rejection(rng) if kernel == "rejection" else moves(rng, kernel)
    monkeypatch.setattr(ConstrainedMoves, method, mutant)
    with pytest.raises(AssertionError, match=r"outside|p = |not forgotten"):
        check_inside(draws, rng)


def test_two_components_are_moved_without_a_preference_for_labels(rng):
    """Over labellings: the same covariance for each component, and for each pair of them."""
    slots = np.array([[0, 3], [4, 1], [2, 5]])
    A = rng.standard_normal((6, 20))
    C = over_labellings(A @ A.T, slots)
    direct = np.zeros((6, 6))
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        to = np.empty(6, dtype=int)
        to[slots.ravel()] = slots[order].ravel()
        direct += (A @ A.T)[np.ix_(to, to)] / 6
    np.testing.assert_allclose(C, direct)


@pytest.mark.parametrize("size", [2, 5, 100_000])
def test_covariance_of_few_points_is_positive_definite(rng, size):
    P = np.array([[2.0, 1.2], [1.2, 1.0]])
    found = covariance(rng.standard_normal((size, 2)) @ np.linalg.cholesky(P).T)
    assert np.linalg.eigvalsh(found)[0] > 0
    if size > 1000:
        np.testing.assert_allclose(found, P, rtol=0.05)


def test_the_thinnest_direction_is_seen(rng):
    """As wide as it is to be along all of them, or along all but a ridge; of few points nothing is known."""
    theta = rng.standard_normal((100, D))
    L = np.linalg.cholesky(covariance(theta))
    assert 0.8 < thinnest(L, theta) < 1.2
    ridge = theta + 1e5
    ridge[:, 0] = 10.0 * ridge[:, 1] + 1e-8 * theta[:, 0]
    assert thinnest(np.linalg.cholesky(covariance(ridge)), ridge) < 1e-6
    assert thinnest(L, theta[: 2 * D - 1]) == np.inf
