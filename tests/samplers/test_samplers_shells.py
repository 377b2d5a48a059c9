"""The sum over shells: each quadrature has its own error and no other, and the claim covers."""

import numpy as np
import pytest
from mutants import broken

from sgevidence.exceptions import DivergenceError
from sgevidence.samplers import descend, evidence, founders


def check_quadratures(descend=descend, M=20, width=0.05):
    """Points at X_k = e^{−k/M} leave the error of the sum alone: ∫ λ dX for λ = e^{−X/width}."""
    X = np.exp(-np.arange(1, M + 1) / M)[:, None]
    exact = np.log(-width * np.expm1(-1 / width))

    def draw(theta, ell, k, floor, log_X):
        last = theta[-1] * np.exp(-1 / M)
        return last[None], -last / width, np.array([-1])

    found = {}
    for rule in ("upper", "trapezoid", "lower"):
        rng = np.random.default_rng(0)
        shells = list(descend(X, -X[:, 0] / width, draw, 1, 1e-9, rng, quadrature=rule))
        parts = [np.concatenate([getattr(s, name) for s in shells]) for name in ("ell", "log_w", "n_live")]
        found[rule] = evidence(*parts)[0] - exact
    assert found["upper"] == pytest.approx(1 / (2 * M), rel=0.1)
    assert found["lower"] == pytest.approx(-1 / (2 * M), rel=0.1)
    assert abs(found["trapezoid"]) < 1 / M**2


def test_quadratures():
    """Riemann sums on either side are off by 1/(2M), the trapezoid by less than its square."""
    check_quadratures()


WIDTH = 1e-3
EXACT = np.log(-WIDTH * np.expm1(-1 / WIDTH))  # of ∫ λ dX for λ = e^{−X/width}


def check_claim(rng, descend=descend, evidence=evidence, M=40, n_seeds=100):
    """Points are uniform below the contour: |error| over its claim is N(0, 1), and H is Σ p log(λ/Z)."""

    def draw(theta, ell, k, floor, log_X):
        X = -WIDTH * floor * rng.random((k, 1))
        return X, -X[:, 0] / WIDTH, np.full(k, -1)

    z, information = np.empty(n_seeds), np.empty(n_seeds)
    for i in range(n_seeds):
        X = rng.random((M, 1))
        shells = list(descend(X, -X[:, 0] / WIDTH, draw, M // 2, 1e-3, rng))
        parts = [np.concatenate([getattr(s, name) for s in shells]) for name in ("ell", "log_w", "n_live")]
        log_Z, var, information[i] = evidence(*parts)
        z[i] = (log_Z - EXACT) / np.sqrt(var)
    sd = np.sqrt(np.mean(z**2))
    assert abs(sd - 1) < 4.5 / np.sqrt(2 * n_seeds), f"errors are {sd:.2f} of what is claimed"
    H = -np.log(WIDTH) - 1  # log λ/Z is −X/width − log width, and its mean under the posterior −1 − log width
    assert abs(information.mean() - H) < 5 * information.std() / np.sqrt(n_seeds) + 0.5 / M


def test_the_claim_covers(rng):
    check_claim(rng)


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("(slope / n_live[dead]) ** 2", "(slope / n_live[dead] / 2) ** 2"),
        ("np.cumsum(p[::-1])[::-1] - p", "p"),
        ("ell[p > 0] - log_Z", "ell[p > 0]"),
    ],
)
def test_a_wrong_claim_is_caught(right, wrong, rng):
    with pytest.raises(AssertionError):
        check_claim(rng, evidence=broken(evidence, right, wrong))


def check_founders(rng, descend=descend, founders=founders, M=30):
    """Draws that are copies have the founder of their start: as many values of θ as founders."""

    def draw(theta, ell, k, floor, log_X):
        parents = rng.integers(len(theta), size=k)
        fresh = rng.random(k) < 0.1
        named = np.where(fresh, rng.random(k), theta[parents, 0])  # the name of the founder, never the place
        return named[:, None], floor + rng.random(k), np.where(fresh, -1, parents)

    theta = rng.random((M, 1))
    shells = list(descend(theta, rng.random(M) - 5.0, draw, M // 2, 1e-3, rng))
    name, founder, log_p = (
        np.concatenate([getattr(s, part) for s in shells]) for part in ("theta", "founder", "log_p")
    )
    pairs = np.unique(np.column_stack([name[:, 0], founder]), axis=0)
    assert len(pairs) == len(np.unique(name)) == len(np.unique(founder)), "founders mixed up"
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    shares = [p[name[:, 0] == each].sum() for each in np.unique(name)]
    assert founders(log_p, founder) == pytest.approx(1 / np.sum(np.square(shares))), "founders mixed up"


def test_founders(rng):
    check_founders(rng)


@pytest.mark.parametrize("depth", [400.0, np.inf])
def test_a_peak_too_deep_inside_the_prior_ends_in_words(depth):
    """λ = exp(−X e^depth) is found at 400 nats; λ = 1/X has no end."""

    def log_likelihood(log_X):
        return -log_X if depth == np.inf else -np.exp(np.minimum(log_X + depth, 700.0))

    def draw(log_X, ell, k, floor, *_):
        last = log_X[-1] - 0.5
        return last[None], log_likelihood(last), np.array([-1])

    log_X = -np.arange(1.0, 3.0)[:, None] / 2
    shells = descend(log_X, log_likelihood(log_X[:, 0]), draw, 1, 1e-9, np.random.default_rng(0))
    if depth == np.inf:
        with pytest.raises(DivergenceError, match="2000 nats inside the prior"):
            list(shells)
    else:
        assert len(list(shells)) > 2 * depth - 2
