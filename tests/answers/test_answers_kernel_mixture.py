"""A density of few parameters, fitted to weighted draws."""

import numpy as np
import pytest
from scipy import stats

from sgevidence.answers._nested_laplace import KernelMixture


def fitted(k, seed=0, n=100):
    rng = np.random.default_rng(seed)
    return KernelMixture.of(3 + rng.standard_normal((n, k)) ** 3, np.full(n, 1 / n), rng)


def test_one_dimension_integrates_to_one():
    x = np.sinh(np.linspace(-9, 9, 4001))
    assert np.trapezoid(np.exp(fitted(1).log_density(x[:, None])), x) == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("k", [1, 4])
def test_draws_are_of_the_density(k, rng):
    q = fitted(k)
    x = q.draws(4000, rng)
    ratio = np.exp(stats.multivariate_normal(np.full(k, 3.0)).logpdf(x) - q.log_density(x))
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / len(x) ** 0.5)


def test_weights_count(rng):
    x = rng.standard_normal((4000, 1))
    log_w = stats.norm(1, 0.5).logpdf(x[:, 0]) - stats.norm.logpdf(x[:, 0])
    q = KernelMixture.of(x, np.exp(log_w) / np.exp(log_w).sum(), rng)
    assert np.median(q.draws(4000, rng)) == pytest.approx(1, abs=0.1)
