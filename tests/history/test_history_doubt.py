"""What moved sums are wrong by is what they say: many samples of the same rows, and the same two moves."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.history import Anchor, Doubt, Memory, Reservoir, Rows
from sgevidence.models import SoftmaxModel

MODEL = SoftmaxModel(2, 3).in_double_precision()


def setting(rng, n=500):
    X = rng.normal(size=(n, 2))
    y = np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(n, 3)), axis=1)
    rows = Rows.of(X, y, rng.choice([0.5, 1.0, 1.5], size=n))
    start, direction = 0.3 * MODEL.sample_prior(rng, 1)[0], rng.normal(size=MODEL.n_params)
    return rows, start, start + 0.8 * direction, start + 1.6 * direction


def check_honest(rng, n_samples=120):
    """Mean square error of sums that were moved twice, over the one that they claim, at two points."""
    rows, a, b, c = setting(rng)
    theta = np.stack([c, c + 0.5 * rng.normal(size=len(c))])
    exact, right = Anchor.of(MODEL, a, rows), Anchor.of(MODEL, c, rows)(theta)
    errors, claimed = [], []
    for _ in range(n_samples):
        kept = rows.take(rng.choice(len(rows), 160, replace=False))
        share = kept.total_weight / rows.total_weight
        sample = kept.scaled(1 / share)
        moved = exact.moved_by_blocks(MODEL, b, sample, share).moved_by_blocks(MODEL, c, sample, share)
        errors.append(moved(theta) - right)
        claimed.append([moved.doubt.shared_var(one[None], np.ones(1)) for one in theta])
    ratio = np.sqrt(np.mean(np.square(errors), axis=0) / np.mean(claimed, axis=0))
    assert np.all((ratio > 0.75) & (ratio < 1.25)), f"RMS error over that claimed {ratio}"


def test_errors_are_those_that_are_claimed(rng):
    check_honest(rng)


@pytest.mark.parametrize(
    "method, right, wrong",
    [
        (Doubt.of, "rest * B / (B - 1)", "B * rest * B / (B - 1)"),
        (Doubt.of, "max(1.0 - sampled, 0.0)", "0.3"),
        (Doubt.of, "share * np.sqrt(rest * B / (B - 1))", "np.ones(B) * np.sqrt(rest * B / (B - 1))"),
        (Anchor.moved_by_blocks, "self.doubt.at(a).plus(doubt)", "doubt"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_broken_doubts_are_caught(rng, monkeypatch, method, right, wrong):
    owner = Anchor if method is Anchor.moved_by_blocks else Doubt
    mutant = broken(getattr(method, "__func__", method), right, wrong)
    monkeypatch.setattr(owner, method.__name__, mutant)
    with pytest.raises(AssertionError):
        check_honest(rng)


def test_moved_by_blocks_is_moved_by_all(rng):
    """Only the doubt is new."""
    rows, a, b, _ = setting(rng)
    sample, exact = rows[:91].scaled(rows.total_weight / rows[:91].total_weight), Anchor.of(MODEL, a, rows)
    whole, blocks = exact.moved(MODEL, b, sample), exact.moved_by_blocks(MODEL, b, sample, 0.1)
    for one, other in zip(whole[1:4], blocks[1:4]):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(whole.H).max())


def check_quadratics(rng):
    """Against the quadratics themselves, and at another point they are the same functions."""
    rows, a, b, c = setting(rng)
    doubt = Anchor.of(MODEL, a, rows).moved_by_blocks(MODEL, b, rows[:100].scaled(5.0), 0.1).doubt
    theta, W = b + rng.normal(size=(40, MODEL.n_params)), rng.dirichlet(np.ones(40))
    errors = doubt(theta)
    np.testing.assert_allclose(errors, doubt.at(c)(theta), rtol=1e-6, atol=1e-8 * np.abs(errors).max())
    assert doubt.shared_var(theta, W) == pytest.approx(np.sum((errors @ W) ** 2))
    apart = errors - (errors @ W)[:, None]
    assert doubt.spread(theta, W) == pytest.approx(np.sqrt(np.sum(W * np.sum(apart**2, axis=0))))


def test_mean_and_spread_over_particles(rng):
    check_quadratics(rng)


def test_nothing_is_doubted_while_all_rows_are_here(rng):
    rows, a, b, _ = setting(rng)
    exact = Anchor.of(MODEL, a, rows)
    memory = Memory(Reservoir(None).absorb(rows, rng), exact)
    assert memory.moved(MODEL, b).doubt is None and memory.doubt_var(a[None], np.ones(1)) == 0.0
    dropped = Memory(Reservoir(100).absorb(rows, rng), exact)
    moved = dropped.moved(MODEL, b)
    assert moved.doubt is not None
    assert dropped._replace(anchor=moved).doubt_var(b[None], np.ones(1)) > 0.0
