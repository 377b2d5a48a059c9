"""The check every kernel must pass: where a cloud settles on Gaussians, against the exact answer.

The particles are independent, so the tolerances are standard errors, not guesses.  The Langevin
kernels are compared with the exact variance of their *discrete* recursion, which no mistake in the
order of lines or the size of the noise can reproduce; the Metropolis kernels with the target.
"""

import numpy as np
from scipy.linalg import solve_discrete_lyapunov
from scipy.stats import kstest

K = np.array([0.5, 1.0, 2.0, 4.0])  # curvatures, one a coordinate
M = 10_000
N_SIGMA = 5.0  # so that, whatever the seed, a right kernel fails once in a million checks
P_VALUE = 1e-6


def log_density(x):
    return -0.5 * np.sum(K * x**2, axis=1)


def gradient(x):
    return -K * x


def value_and_grad(x):
    return log_density(x), gradient(x)


def noisy_gradient(V, rng):
    """A gradient with known noise: Var = V in each coordinate."""
    return lambda x: -K * x + np.sqrt(V) * rng.standard_normal(x.shape)


def displaced_cloud(rng):
    """Far from equilibrium in mean and variance, so that a kernel that stands still fails."""
    return 2.0 + 0.1 * rng.standard_normal((M, len(K)))


def check_normal(x, variance):
    """Mean, variance and shape of independent draws of N(0, variance), one variance a column."""
    n = len(x)
    variance = np.broadcast_to(variance, x.shape[1])
    z_mean = x.mean(axis=0) / np.sqrt(variance / n)
    z_variance = (np.mean(x**2, axis=0) / variance - 1) / np.sqrt(2 / n)
    assert np.all(np.abs(z_mean) < N_SIGMA), f"mean off by {z_mean} standard errors"
    assert np.all(np.abs(z_variance) < N_SIGMA), f"variance off by {z_variance} standard errors"
    p = [kstest(column, "norm", (0, sd)).pvalue for column, sd in zip(x.T, np.sqrt(variance))]
    assert min(p) > P_VALUE, f"Kolmogorov-Smirnov p-values {p}"


def sgld_variance(k, eta, noise):
    """Of x ← (1 − ηk)x + N(0, noise)."""
    return noise / (1 - (1 - eta * k) ** 2)


def sghmc_covariance(k, eta, alpha, noise):
    """Of (x, v) under v ← (1 − α)v − ηkx + N(0, noise), x ← x + v: Σ = AΣAᵀ + Q."""
    A = np.array([[1 - eta * k, 1 - alpha], [-eta * k, 1 - alpha]])
    return solve_discrete_lyapunov(A, noise * np.ones((2, 2)))


def sghmc_variance(eta, alpha, noise):
    noise = np.broadcast_to(noise, K.shape)
    return np.array([sghmc_covariance(k, eta, alpha, q)[0, 0] for k, q in zip(K, noise)])


def check_sgld(sgld, rng, V=0.0, beta_hat=0.0, noise=None):
    """Settles at the variance that total ``noise`` a step implies, by default that without gradient noise."""
    eta = 0.3
    x, info = sgld(displaced_cloud(rng), noisy_gradient(V, rng), rng, eta=eta, n_steps=120, beta_hat=beta_hat)
    assert info.n_refused == 0, f"n_refused {info.n_refused}"
    check_normal(x, sgld_variance(K, eta, 2 * eta if noise is None else noise(eta)))


def check_sghmc(sghmc, rng, alpha=0.2, V=0.0, beta_hat=0.0, noise=None):
    """Settles at the variance that total ``noise`` a step implies, by default that without gradient noise."""
    eta = 0.2
    kernel = dict(eta=eta, alpha=alpha, n_steps=150, beta_hat=beta_hat)
    x, info = sghmc(displaced_cloud(rng), noisy_gradient(V, rng), rng, **kernel)
    assert info.n_refused == 0, f"n_refused {info.n_refused}"
    check_normal(x, sghmc_variance(eta, alpha, 2 * alpha * eta if noise is None else noise(eta)))


def check_hmc(hmc, rng):
    """Exact whatever the step: 0.6 is coarse (ϵ√k = 1.2), and jitter breaks resonances."""
    x = displaced_cloud(rng)
    for _ in range(50):
        x, _ = hmc(x, value_and_grad, rng, eps=0.6 * rng.uniform(0.5, 1.2, M), L=3)
    check_normal(x, 1 / K)


def check_random_walk(random_walk, rng):
    x, _ = random_walk(displaced_cloud(rng), log_density, rng, eps=0.8, n_steps=300)
    check_normal(x, 1 / K)


#: A skewed target with light and heavy tails: x = log Gamma(a), log p = ax − eˣ.
SHAPES = np.array([0.5, 1.0, 5.0])


def log_gamma(x):
    return np.sum(SHAPES * x - np.exp(x), axis=1), SHAPES - np.exp(x)


def log_gamma_start(rng):
    return rng.normal(size=(M, len(SHAPES)))


def check_log_gamma(x):
    p = [kstest(np.exp(column), "gamma", (a,)).pvalue for column, a in zip(x.T, SHAPES)]
    assert min(p) > P_VALUE, f"Kolmogorov-Smirnov p-values {p}"
