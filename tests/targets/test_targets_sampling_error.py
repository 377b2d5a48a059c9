"""Sums over the history from a sample of it: unbiased, and as noisy as they say."""

import numpy as np
import pytest
from mutants import broken
from path_problem import MODELS, Problem

from sgevidence.history import Memory, Reservoir
from sgevidence.models import LinearModel
from sgevidence.targets import SampleEstimate, _sampling_error, estimate, gaussian, rows_enough

pytestmark = pytest.mark.usefixtures("double_precision")

#: As densities at modes have them.
SIZES = dict(whole_rows=2500, noise=0.01)


def moved_cloud(problem):
    """Half a posterior width away, and narrower."""
    m, P = gaussian(problem.model, problem.anchor)
    shift = np.linalg.solve(np.linalg.cholesky(P).T, np.full(len(m), 0.5))
    return m + shift + (problem.theta - m) / np.sqrt(1.5)


def repeated(problem, theta, rng, capacity, repetitions, estimate=estimate):
    """Errors at each particle over reservoirs of the same rows (R, M), and the variances reported (R, 2)."""
    model, rows = problem.model, problem.rows[: problem.history.n_rows]
    true = model.sum_log_likelihood(theta, rows)
    errors, reported = [], []
    for _ in range(repetitions):
        history = Reservoir(capacity).absorb(rows, rng)
        memory = Memory(history, problem.anchor)
        found = estimate(model, theta, memory, rng, **SIZES)
        errors.append(found.value - true)
        reported.append([found.common_var, found.spread_var])
    return np.array(errors), np.array(reported)


def check_noise(model, rng, estimate=estimate):
    """Unbiased over reservoirs; what all particles share, and what differs, spread as they say."""
    problem = Problem(model, rng, n=4000, c=10, M=10)
    moved = problem.theta + 3 * (moved_cloud(problem) - problem.theta)
    errors, reported = repeated(problem, moved, rng, 640, 120, estimate)
    common, n = errors.mean(axis=1), len(errors)
    own = np.mean((errors - common[:, None]) ** 2)
    spread = common.std(ddof=1)
    z = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(n))
    assert np.all(np.abs(z) < 5), f"biased by {z} standard errors"
    # the blocks are drawn without replacement from a finite history, which makes them safe by 1/√(1 − f)
    ratios = np.sqrt(np.array([spread**2, own]) / (reported.mean(axis=0) * (1 - 640 / 4000) + 1e-300))
    assert np.all((0.75 < ratios) & (ratios < 1.3)), f"noise off: spread over reported {ratios}"


@pytest.mark.slow
@pytest.mark.parametrize("model", [MODELS["softmax"], MODELS["mixture"]], ids=["softmax", "mixture"])
def test_sums_from_a_sample(rng, model):
    check_noise(model, rng)


def test_sums_are_exact_for_a_quadratic(rng):
    """Any sample of a linear model with known noise: third-order remainders vanish."""
    model = LinearModel(2, noise_std=1.0)
    problem = Problem(model, rng, n=4000, c=10, M=10)
    errors, reported = repeated(problem, moved_cloud(problem), rng, 100, 3)
    np.testing.assert_allclose(errors, 0.0, atol=1e-5)
    assert np.all(reported < 1e-10)


@pytest.mark.parametrize(
    "where, right, wrong",
    [
        pytest.param(
            "remainder",
            "model.sum_log_likelihood(theta, rows) - own(theta)",
            "model.sum_log_likelihood(theta, rows)",
            marks=pytest.mark.slow,
        ),
        ("estimate", "known + result.value", "result.value"),
        ("standing_for", "block.scaled(n / block.total_weight)", "block"),
        ("blocks", "np.sum(common**2)", "np.sum(common) ** 2"),
        pytest.param(
            "blocks",
            "share[:, None] * (estimates[:, finite] - value[finite])",
            "estimates[:, finite] - value[finite]",
            marks=pytest.mark.slow,
        ),
        pytest.param("blocks", "(error - common) ** 2", "error**2", marks=pytest.mark.slow),
    ],
    ids=[
        "anchor not taken off",
        "no anchor",
        "factor missing",
        "squares",
        "shares",
        "common in spread",
    ],
)
def test_broken_sums_are_caught(rng, install_broken, where, right, wrong):
    mutant = estimate
    if where == "estimate":
        mutant = broken(estimate, right, wrong)
    elif where in ("remainder", "standing_for"):
        install_broken(_sampling_error, where, right, wrong)
    else:
        install_broken(SampleEstimate, "from_blocks", right, wrong)
    with pytest.raises(AssertionError, match=r"biased|noise off"):
        check_noise(MODELS["softmax"], rng, mutant)


def test_sample_grows_until_it_is_quiet(rng, monkeypatch):
    """With a loose tolerance it stops early; the variance it reports is below the tolerance squared."""
    problem = Problem(MODELS["softmax"], rng, n=4000, c=10, M=20)
    arguments, seen = (problem.model, moved_cloud(problem), problem.path.memory, rng), []
    count = type(problem.model)._block_log_likelihood

    def counting(self, theta, rows, *rest):
        seen.append(len(rows))
        return count(self, theta, rows, *rest)

    monkeypatch.setattr(type(problem.model), "_block_log_likelihood", counting)
    used = []
    for noise in (10.0, 0.05, 0.0):
        seen.clear()
        found = estimate(*arguments, **SIZES | dict(noise=noise))
        assert found.common_var + (found.spread_var / 2) ** 2 <= noise**2
        used.append(sum(seen))
    assert used[0] < used[2] and used[0] <= used[1] <= used[2]


def test_rows_that_are_certain_stand_for_themselves(rng, monkeypatch):
    """Exact while all are, and of a sample the others' noise alone."""
    problem = Problem(MODELS["softmax"], rng, n=3000, c=10, M=20)
    model, theta, rows = problem.model, problem.theta, problem.rows[:3000]
    moved = theta + 3 * (moved_cloud(problem) - theta)
    true = model.sum_log_likelihood(moved, rows)
    kept, rest = rows.parted(np.arange(2900))
    few = Memory(Reservoir(None).absorb(rest, rng), problem.anchor, high_leverage=kept)
    with monkeypatch.context() as patched:
        patched.setattr(_sampling_error, "JUDGED_ROWS", 64)
        found = estimate(model, moved, few, rng, whole_rows=1, noise=0.0)
    np.testing.assert_allclose(found.value, true, atol=1e-4)
    kept, rest = rows.parted(np.arange(0, 3000, 2))
    half = Memory(Reservoir(300).absorb(rest, rng), problem.anchor, high_leverage=kept)
    found = estimate(model, moved, half, rng, **SIZES)
    error = found.value - true
    assert np.abs(np.mean(error)) < 5 * found.common_var**0.5
    assert np.std(error) < 3 * found.spread_var**0.5


def check_enough(rng, rows_enough=rows_enough, noise=0.1, stretch=2.5):
    """From so many rows of history and chunk a log target errs by less, but not by far less."""
    problem = Problem(MODELS["softmax"], rng, n=6000, c=12_000, M=40)
    theta = problem.anchor.a + stretch * (problem.theta - problem.anchor.a)
    size = int(rows_enough(problem.path, theta, noise, rng))
    exact = problem.path.on_rows(None, rng).at(1.0).value(theta)
    spread = [np.std(problem.path.on_rows(size, rng).at(1.0).value(theta) - exact) for _ in range(25)]
    assert noise / 4 < np.sqrt(np.mean(np.square(spread))) < noise, f"noise off: {spread}"


@pytest.mark.parametrize("noise, stretch", [(0.1, 2.5), (0.2, 3.0)])
def test_rows_enough_for_a_quiet_target(rng, noise, stretch):
    check_enough(rng, noise=noise, stretch=stretch)


def test_few_rows_and_empty_blocks(rng):
    """A chunk of one row, a history shorter than the first look: nothing is left out, so nothing is noisy."""
    problem = Problem(MODELS["softmax"], rng, n=100, c=1)
    assert rows_enough(problem.path, problem.theta, 0.01, rng) == 512
    assert rows_enough(problem.path._replace(chunk=problem.chunk[:0]), problem.theta, 0.01, rng) == 512
