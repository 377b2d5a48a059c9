"""A second look: what modes hold in which a sampler has no draws."""

import autograd.numpy as anp
import numpy as np
import pytest

from sgevidence.custom import CustomModel
from sgevidence.history import Rows
from sgevidence.samplers import AIS, NestedSampling
from sgevidence.samplers._laplace import doubts_of_missed_modes

WIDE, NO_ROWS = 5.0, Rows.of(np.zeros((1, 1)), np.zeros(1))


def model_of(parts, d):
    """A mixture of Gaussians in θ as the likelihood of one row, under U(−5, 5): share, centre, width."""

    def log_likelihood(theta, X, y):
        terms = [
            anp.log(share)
            - 0.5 * anp.sum(((theta - m) / s) ** 2, axis=1)
            - d * anp.log(s * np.sqrt(2 * np.pi))
            for share, m, s in parts
        ]
        top = anp.max(anp.array(terms), axis=0)
        return (top + anp.log(sum(anp.exp(one - top) for one in terms)))[:, None]

    def log_prior(theta):
        return anp.where(anp.all(anp.abs(theta) < WIDE, axis=1), -d * np.log(2 * WIDE), -np.inf)

    return CustomModel(lambda rng, size: rng.uniform(-WIDE, WIDE, (size, d)), log_prior, log_likelihood, d)


def draws_of(parts, d, n, rng):
    share = np.array([part[0] for part in parts])
    which = rng.choice(len(parts), size=n, p=share / share.sum())
    m, s = (np.array([part[j] for part in parts])[which, None] for j in (1, 2))
    return m + s * rng.standard_normal((n, d))


def doubted(parts, known, d, rng):
    """Doubts of draws that know some of the parts, and claim the evidence of these."""
    theta, W = draws_of(known, d, 500, rng), np.full(500, 1 / 500)
    log_Z = np.log(sum(share for share, *_ in known)) - d * np.log(2 * WIDE)
    return doubts_of_missed_modes(model_of(parts, d), NO_ROWS, theta, W, log_Z, 0.05, rng)


TWO = [(0.7, -2.0, 0.4), (0.3, 2.0, 0.3)]


def check_a_missing_part_is_said(rng):
    for d in (1, 2, 4):
        for k in (0, 1):
            (words,) = doubted(TWO, [TWO[k]], d, rng)
            times = float(words.split(" times")[0].split()[-1])
            assert times == pytest.approx(TWO[1 - k][0] / TWO[k][0], rel=0.1)
        assert doubted(TWO, TWO, d, rng) == []
        assert doubted(TWO[:1], TWO[:1], d, rng) == []


def test_a_missing_part_is_said(rng):
    check_a_missing_part_is_said(rng)


@pytest.mark.parametrize("sampler", [AIS(), NestedSampling(100)], ids=["AIS", "nested"])
def test_samplers_look_again(sampler, monkeypatch, rng):
    """Their draws are those of one mode here: the other one is said."""
    module = __import__(type(sampler).__module__, fromlist=["_"])

    def one_sided(model, rows, theta, W, log_Z, std, rng):
        left = theta[:, 0] < 0
        W = np.where(left, W, 0) / W[left].sum()
        return doubts_of_missed_modes(model, rows, theta, W, np.log(TWO[0][0]) - np.log(2 * WIDE), 0.05, rng)

    monkeypatch.setattr(module, "doubts_of_missed_modes", one_sided)
    result = sampler.run(model_of(TWO, 1), NO_ROWS, rng)
    assert any("too few draws" in words for words in result.warnings)
    monkeypatch.undo()
    assert not any("too few draws" in words for words in sampler.run(model_of(TWO, 1), NO_ROWS, rng).warnings)
