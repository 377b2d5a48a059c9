"""Mini-batches with their anchor: the gradient of all rows, their noise, and steps that fit the posterior."""

import numpy as np
import pytest
from moving import MODEL, anchored_path, moved
from mutants import broken
from path_problem import MODELS, Problem

from sgevidence import DivergenceError
from sgevidence.history import Anchor, Memory, Rows
from sgevidence.kernels import MAX_CORRELATION, MAX_REPEATS, Coordinates, largest_correlation
from sgevidence.models import SoftmaxModel
from sgevidence.particles import Cloud, Weights, systematic
from sgevidence.samplers import SGNHT
from sgevidence.targets import Likelihood, Path, Target, find_mode
from sgevidence.transitions import HMC, SGHMC, Adaptation, Streams, _sghmc
from sgevidence.transitions._sghmc import MAX_NOISE_SHARE, AnchoredGradientMoves

pytestmark = pytest.mark.usefixtures("double_precision")
LAM = 0.4


def gradients(moves, theta, n):
    return np.array([moves.target(LAM).value_and_grad(theta)[1] for _ in range(n)])


def check_unbiased(rng, target=AnchoredGradientMoves.target):
    """Mean over mini-batches against the gradient of the tempered posterior on all rows."""
    problem = Problem(MODELS["softmax"], rng, n=400, c=300, M=4)
    moves = AnchoredGradientMoves(SGHMC(batch_size=40), problem.path, Streams.spawned(rng))
    draws = np.array([target(moves, LAM).value_and_grad(problem.theta)[1] for _ in range(500)])
    exact = problem.path.on_rows(None, rng).at(LAM).value_and_grad(problem.theta)[1]
    z = (draws.mean(axis=0) - exact) / (draws.std(axis=0) / np.sqrt(500))
    assert np.abs(z).max() < 5.5, f"gradient off by {np.abs(z).max()} standard errors"


def test_the_gradient_is_that_of_all_rows_on_average(rng):
    check_unbiased(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        (
            "sums.plus(Anchor.of(model, sums.a, rows), -1.0)",
            "sums.plus(Anchor.of(model, sums.a, rows), -0.9)",
        ),
        ("memory.sums.plus(self.chunk_anchor, lam)", "memory.sums.plus(self.chunk_anchor, 1.0)"),
        ("self.new.draw(batch_size, rng).scaled(lam)", "self.new.draw(batch_size, rng)"),
    ],
    ids=["a part counted twice", "all of the chunk's sums", "all of the chunk's rows"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    with pytest.raises(AssertionError, match="gradient off"):
        check_unbiased(rng, broken(AnchoredGradientMoves.target, right, wrong))


def check_noise(rng):
    """V of gradients whose noise is known, on average over calls."""
    problem, noise = Problem(MODELS["linear"], rng, n=400, c=300, M=30), np.array([0.1, 0.5, 1.0])
    settings = SGHMC(batch_size=100, learning_rate=1e-3)  # by which it is tolerable
    moves = AnchoredGradientMoves(settings, problem.path, Streams.spawned(rng))

    def grad(theta):
        return np.sqrt(noise) * rng.standard_normal((30, 3))

    V = np.mean([AnchoredGradientMoves._gradient_noise(moves, None, grad) for _ in range(200)], axis=0)
    z = (V / noise - 1) / np.sqrt(2 / 5 / 30 / 200)
    assert moves.batch_size == 100 and np.abs(z).max() < 5, f"noise off by {z} standard errors"


def test_noise_is_that_of_the_mini_batches(rng):
    check_noise(rng)


def test_mini_batches_grow_until_their_noise_is_tolerable(rng):
    """Far from the anchor, where it says little."""
    problem = Problem(MODELS["softmax"], rng, n=3000, c=100, M=20)
    settings = SGHMC(batch_size=5, learning_rate=0.01)
    moves = AnchoredGradientMoves(settings, problem.path, Streams.spawned(rng))
    coordinates = moves.coordinates(Cloud.planted(problem.theta), LAM)
    far = coordinates.whiten(3.0 * problem.theta + 1.0)

    def grad(phi):
        return gradients(moves, coordinates.unwhiten(phi), 1)[0] @ coordinates.L

    V = moves._gradient_noise(far, grad)
    assert moves.batch_size > 5 and (moves.exact or np.max(moves._ratio(V)) < MAX_NOISE_SHARE)


def test_noise_of_the_gradient_is_measured(rng):
    """None is left on a Gaussian with its anchor."""
    path, _ = anchored_path(rng, 100)
    start = MODEL.exact_posterior(path.memory.sample, rng, 50)
    for move in (SGHMC(batch_size=50), SGNHT(batch_size=50)):
        assert moved(move, path, start, 1.0, rng).noise_to_injection < 1e-12


def rare_column(n=1000):
    """Columns of which one row in a hundred has the second, all of one class."""
    X = np.column_stack([np.linspace(-2, 2, n), np.arange(n) % 100 == 0])
    return Rows.of(X, np.where(X[:, 1] == 1, 1.0, np.sin(50 * X[:, 0]) > 0))


def check_mean(rng, move, n_moves=30):
    """The noise of mini-batches is the same for all particles: how far it takes the mean of the cloud."""
    model, rows = SoftmaxModel(2, 2), rare_column()
    a, P = find_mode(Target(model, Likelihood(rows)), np.zeros(model.n_params))
    path = Path(model, Memory.empty().absorb(rows, rng, Anchor.of(model, a, rows)), rows[:0])
    start = a + rng.standard_normal((1600, len(a))) @ np.linalg.inv(np.linalg.cholesky(P))
    exact = HMC().along(path, Streams.spawned(rng))
    for _ in range(3):
        start = exact(start, 1.0, exact.coordinates(Cloud.planted(start), 1.0), Adaptation()).theta
    along = move.along(path, Streams.spawned(rng))
    coordinates, means = along.coordinates(Cloud.planted(start), 1.0), []
    for _ in range(n_moves):
        means.append(along(start, 1.0, coordinates, Adaptation()).theta.mean(axis=0))
    spread = np.var(means, axis=0, ddof=1) / np.var(start, axis=0) * len(start)
    assert np.max(spread) < 8, f"means spread {spread} times what particles do"


@pytest.mark.slow
@pytest.mark.parametrize("move", [SGHMC(batch_size=20), SGNHT(batch_size=20)], ids=["SGHMC", "SGNHT"])
def test_noise_of_the_mini_batches_does_not_move_the_cloud(rng, move):
    check_mean(rng, move)


@pytest.mark.slow
@pytest.mark.parametrize("move", [SGHMC(batch_size=20), SGNHT(batch_size=20)], ids=["SGHMC", "SGNHT"])
def test_power_noise_that_moves_the_cloud(rng, monkeypatch, move):
    monkeypatch.setattr(_sghmc, "MAX_NOISE_SHARE", 0.5)
    with pytest.raises(AssertionError, match="means spread"):
        for g in rng.spawn(3):
            check_mean(g, move)


EDGE = SoftmaxModel(1, 2), Rows.of(np.full((10, 1), 25.0), np.ones(10))


def check_edge(rng, move, M=2000):
    """Two classes that a column tells apart: flat up to an edge, at which steps may be too long.

    Without a Metropolis test a tenth of a width may be left, five standard errors; it was twenty to 600.
    """
    model, rows = EDGE
    theta = model.sample_prior(rng, 100_000)
    W = Weights(model.sum_log_likelihood(theta, rows)).W
    mean, start = W @ theta, theta[systematic(W, rng, M)]
    along = move.along(Path(model, Memory.empty(), rows), Streams.spawned(rng))
    coordinates, sd = along.coordinates(Cloud.planted(start), 1.0), np.sqrt(W @ (theta - mean) ** 2)
    for _ in range(4):
        start = along(start, 1.0, coordinates, Adaptation()).theta
    z = (start.mean(axis=0) - mean) / (sd * np.sqrt(1 / M + W @ W))
    assert np.abs(z).max() < 7, f"means off by {z} standard errors"


def test_steps_are_short_enough_for_an_edge(rng):
    for g in rng.spawn(2):
        check_edge(g, SGHMC())


def test_power_steps_that_are_too_long(rng, monkeypatch):
    monkeypatch.setattr(_sghmc, "MAX_HEATING", np.inf)
    with pytest.raises(AssertionError, match="means off"):
        for g in rng.spawn(12):
            check_edge(g, SGHMC())


def test_a_cloud_that_stays_hot_is_an_error(rng, monkeypatch):
    monkeypatch.setattr(_sghmc, "MAX_HEATING", -0.9)
    with pytest.raises(DivergenceError, match="times too hot"):
        check_edge(rng, SGHMC())


def forgotten(rng, width):
    """Largest correlation with the start, and calls of the kernel, by coordinates so many widths wide."""
    path, rows = anchored_path(rng)
    start = MODEL.exact_posterior(rows, rng, 400)
    along = SGHMC().along(path, Streams.spawned(rng))
    exact = along.coordinates(Cloud.planted(start), 1.0)
    result = along(start, 1.0, Coordinates(width * exact.L), Adaptation())
    n_rows = min(2 * along.batch_size, path.memory.n_rows + len(path.chunk))
    return largest_correlation(start, result.theta), result.n_gradients / len(start) / n_rows / 21


def test_a_cloud_goes_on_until_it_has_forgotten_its_start(rng, monkeypatch):
    rho, calls = forgotten(rng, 1.0)
    assert rho < MAX_CORRELATION and calls == pytest.approx(1)
    rho, calls = forgotten(rng, 0.3)
    assert rho < MAX_CORRELATION and 1 < calls <= MAX_REPEATS
    monkeypatch.setattr(_sghmc, "MAX_REPEATS", 1)
    rho, calls = forgotten(rng, 0.3)
    assert rho > MAX_CORRELATION and calls == pytest.approx(1)
