"""Doubts about constrained draws: ranks that are uniform for right draws, and not for wrong ones."""

from types import SimpleNamespace

import numpy as np
import pytest
from mutants import broken
from scipy.stats import kstest

from sgevidence.samplers._nested import doubts, insertion_ranks

M, K, TIMES = 20, 10, 400


def ranks_of(rng, shift=0.0, insertion=insertion_ranks, levels=None):
    """Of K new log L among M, all draws of one distribution; of few ``levels``, where many are equal."""
    out = []
    for _ in range(TIMES):
        ell, new = rng.standard_normal(M), rng.standard_normal(K) + shift
        if levels is not None:
            ell, new = np.round(ell * levels) / levels, np.round(new * levels) / levels
        out.append(insertion(ell, new, rng))
    return np.concatenate(out)


def check_uniform(ranks):
    assert np.all((ranks > 0) & (ranks < 1))
    p = kstest(ranks, "uniform").pvalue
    assert p > 1e-6, f"p = {p}"


@pytest.mark.parametrize("levels", [None, 1])
def test_ranks_of_right_draws_are_uniform(rng, levels):
    """Plateaus of the likelihood included, and each is independent of those before it."""
    ranks = ranks_of(rng, levels=levels)
    check_uniform(ranks)
    by_place = ranks.reshape(TIMES, K)
    correlation = np.corrcoef(by_place.T)[np.triu_indices(K, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(TIMES)


@pytest.mark.parametrize(
    "right, wrong, levels",
    [
        (
            "np.sum(ell < new[:, None], axis=1) + np.sum((new < new[:, None]) & earlier, axis=1)",
            "np.sum(ell < new[:, None], axis=1)",
            None,
        ),
        ("(len(ell) + i + 1)", "(len(ell) + 1)", None),
        ("rng.random(len(new)) * (1 + equal)", "rng.random(len(new))", 1),
    ],
    ids=["earlier ones do not count", "nor in the number", "the first among equals"],
)
def test_a_mistake_is_seen(rng, right, wrong, levels):
    with pytest.raises(AssertionError):
        check_uniform(ranks_of(rng, insertion=broken(insertion_ranks, right, wrong), levels=levels))


def said(ranks, memory=0.1, stuck=0, moved=100, n_founders=np.inf, thinnest=1.0, above=0.0):
    moves = SimpleNamespace(memory=[memory], n_stuck=stuck, n_moved=moved, thinnest=thinnest)
    return doubts(ranks, moves, n_founders, above)


def test_what_is_wrong_is_said(rng):
    """Draws that are too good by a third of a width, that remember, or that do not move."""
    right = ranks_of(rng)
    assert said(right) == [] and said(np.empty(0)) == []
    (one,) = said(ranks_of(rng, shift=0.3))
    assert "not draws from the prior" in one
    (two,) = said(right, memory=0.6)
    assert "remember" in two
    (three,) = said(right, stuck=11)
    assert "11 of 100 moves ended where they began" in three
    (four,) = said(right, n_founders=2.34)
    assert "descend from 2.3 draws" in four
    (five,) = said(right, thinnest=1e-9)
    assert "so correlated" in five
    (six,) = said(right, above=7.5)
    assert "7.5 nats above" in six
    assert said(right, memory=0.5, stuck=10, n_founders=4.0, thinnest=1e-4, above=3.0) == []
