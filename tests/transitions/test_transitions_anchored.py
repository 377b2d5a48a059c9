"""Mini-batches with their anchor: the gradient of all rows on average, with the noise that is measured."""

import numpy as np
import pytest
from moving import MODEL, anchored_path, moved
from mutants import broken
from path_problem import MODELS, Problem

from sgevidence import SGHMC, SGNHT
from sgevidence.particles import Cloud
from sgevidence.transitions import Streams
from sgevidence.transitions._anchored import TOLERATED, AnchoredGradientMoves

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
        ("Anchor.of(model, sums.a, rows), -1.0", "Anchor.of(model, sums.a, rows), -0.9"),
        ("memory.sums.plus(self.chunk_anchor, lam)", "memory.sums.plus(self.chunk_anchor, 1.0)"),
        ("rng).scaled(lam).join(rows)", "rng).join(rows)"),
    ],
    ids=["a part counted twice", "all of the chunk's sums", "all of the chunk's rows"],
)
def test_a_mistake_is_seen(rng, right, wrong):
    with pytest.raises(AssertionError, match="gradient off"):
        check_unbiased(rng, broken(AnchoredGradientMoves.target, right, wrong))


def check_noise(rng, gradient_noise=AnchoredGradientMoves._gradient_noise):
    """V of gradients whose noise is known, on average over calls."""
    problem, noise = Problem(MODELS["linear"], rng, n=400, c=300, M=30), np.array([0.1, 0.5, 1.0])
    moves = AnchoredGradientMoves(SGHMC(batch_size=100), problem.path, Streams.spawned(rng))

    def grad(theta):
        return np.sqrt(noise) * rng.standard_normal((30, 3))

    V = np.mean([gradient_noise(moves, None, grad) for _ in range(200)], axis=0)
    z = (V / noise - 1) / np.sqrt(2 / 5 / 30 / 200)
    assert moves.batch_size == 100 and np.abs(z).max() < 5, f"noise off by {z} standard errors"


def test_noise_is_that_of_the_mini_batches(rng):
    check_noise(rng)


@pytest.mark.parametrize("right, wrong", [("ddof=1", "ddof=0"), ("np.var(", "np.std(")])
def test_wrong_noise_is_seen(rng, right, wrong):
    with pytest.raises(AssertionError, match="noise off"):
        check_noise(rng, broken(AnchoredGradientMoves._gradient_noise, right, wrong))


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
    assert moves.batch_size > 5 and (moves.exact or np.max(moves._ratio(V)) < TOLERATED)


def test_noise_of_the_gradient_is_measured(rng):
    """None is left on a Gaussian with its anchor; the thermostat measures none."""
    path, _ = anchored_path(rng, 100)
    start = MODEL.exact_posterior(path.memory.sample, rng, 50)
    assert moved(SGHMC(batch_size=50), path, start, 1.0, rng).noise_to_injection < 1e-12
    assert np.isnan(moved(SGNHT(batch_size=50), path, start, 1.0, rng).noise_to_injection)
