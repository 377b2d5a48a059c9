r"""A mixture given its allocations: conjugate, so that everything is a formula.

With z_r the component of row r, the complete data have sufficient statistics T_k = Σ_{z_r = k} ω_r [x², x, 1]
and given them weights are Dirichlet and (μ_kj, σ²_kj) normal–inverse-gamma, all independent,

    log p(x, z | θ) = Σ_k c_k(θ)·T_k,
    c_k = [−1/2σ²_k, μ_k/σ²_k, log π_k − ½ Σ_j (μ²_kj/σ²_kj + log 2πσ²_kj)],
    p(x, z) = ∫ p(x, z | θ) p(θ) dθ      (:func:`log_complete_evidence`),
    p(θ | x, z) = p(θ) exp(c(θ)·T) / p(x, z).

The components are exchangeable.  So are the labels of an allocation, and the density of θ given an allocation
whose labels have been lost is the average over all K! of them, a permanent,

    p(θ | x, {z}) / p(θ) = (1/K!) Σ_π exp(Σ_k c_k·T_π(k)) / p(x, z) = perm[exp(c_k·T_l)] / (K! p(x, z)).

All of this holds for rows of any weight.

Symbols
-------
==========  ==============  ===============================================================
math        code            meaning
==========  ==============  ===============================================================
T           ``T``           statistics of S allocations, (K, S, 2p + 1)
c(θ)        ``c``           coefficients of M points, (K, M, 2p + 1)
x           ``F``           [x², x, 1] of each row, counted ω_r times, (n, 2p + 1)
o           ``origin``      where x is measured from, so that x² does not cancel, (p,)
a           ``a``           concentration of the Dirichlet prior
b, β        ``b, beta``     shape and scale of the inverse gamma prior
κ           ``kappa``       1 / mean_scale²
==========  ==============  ===============================================================

References
----------
J. Diebolt and C. P. Robert (1994), Estimation of finite mixture distributions through Bayesian sampling;
J. Marin, K. Mengersen and C. P. Robert (2005), Bayesian modelling and inference on mixtures of distributions.
"""

from math import lgamma

import numpy as np
from scipy.special import gammaln

from ..models import MixtureModel, log_permanent

#: Nats below which a permutation or an allocation adds nothing to a sum: e⁻²⁵ of 300 terms is 4·10⁻⁹.
NOTHING = 25.0
#: Numbers in one block of the matrix of coefficients against statistics, or rows: what fits the cache, and so
#: much that sums over sets of up to ten components are worth their thousands of steps.
BLOCK = 250_000
#: Numbers in one block of responsibilities that allocations are drawn by: half the second cache.  The system
#: clears larger arrays at each request, which took half the time of a sweep of 1000 rows.
SWEPT_BLOCK = 32_000


def origin_of(X: np.ndarray) -> np.ndarray:
    """The median of each column, (p,): one far row would carry a mean away from all others."""
    return np.median(X, axis=0)


def features(X: np.ndarray, weight: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """F = ω [x², x, 1] with x measured from the origin, (n, 2p + 1)."""
    x = X - origin
    return np.column_stack([x * x, x, np.ones(len(x))]) * weight[:, None]


def statistics(z: np.ndarray, F: np.ndarray, K: int) -> np.ndarray:
    """T of S allocations z (S, n) of n rows to K components, (K, S, 2p + 1)."""
    members = z == np.arange(K, dtype=z.dtype)[:, None, None]
    return (members.reshape(-1, len(F)).astype(float) @ F).reshape(K, len(z), -1)


def coefficients(model: MixtureModel, theta: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """c of M points, (K, M, 2p + 1)."""
    K, p = model.n_components, model.n_features
    u = theta[:, :K] - theta[:, :K].max(axis=1, keepdims=True)
    log_pi = u - np.log(np.exp(u).sum(axis=1, keepdims=True))
    mu = theta[:, K : K + K * p].reshape(-1, K, p).transpose(1, 0, 2) - origin
    s = theta[:, K + K * p :].reshape(-1, K, p).transpose(1, 0, 2)
    precision = np.exp(-s)
    constant = log_pi.T - 0.5 * np.sum(mu**2 * precision + s + np.log(2 * np.pi), axis=2)
    return np.concatenate([-0.5 * precision, mu * precision, constant[:, :, None]], axis=2)


def log_complete_evidence(model: MixtureModel, T: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """log p(x, z) = log ∫ p(θ) exp(c(θ)·T) dθ of S allocations with their labels, (S,)."""
    K, a, N = model.n_components, model.weight_concentration, T[:, :, -1]
    log_prior = lgamma(K * a) - gammaln(K * a + N.sum(axis=0)) + np.sum(gammaln(a + N) - lgamma(a), axis=0)
    return log_prior + np.sum(log_component_evidence(model, T, origin), axis=0)


def log_component_evidence(model: MixtureModel, T: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """log p(x_k | z) of the rows of each component, (K, S)."""
    b, beta = model.variance_prior
    N, kappa, kappa_n, _, b_n, beta_n = _normal_inverse_gamma(model, T, origin)
    p = model.n_features
    one = p * (gammaln(b_n) - lgamma(b) + b * np.log(beta) + 0.5 * np.log(kappa / kappa_n))
    one -= p * 0.5 * np.log(2 * np.pi) * N + b_n * np.sum(np.log(beta_n), axis=2, keepdims=True)
    return one[:, :, 0]


def sample_parameters(model: MixtureModel, T: np.ndarray, origin: np.ndarray, rng) -> np.ndarray:
    """One draw of θ ~ p(θ | x, z) for each of S allocations, (S, d).

    The rows see only differences of the K log-gammas, the weights; log Σ e^z keeps its prior, the
    logarithm of a Gamma(K a) variate.
    """
    K, a, S = model.n_components, model.weight_concentration, T.shape[1]
    N, _, kappa_n, mean, b_n, beta_n = _normal_inverse_gamma(model, T, origin)
    # Gamma(a) = Gamma(a + 1) U^(1/a), exact in log space for small a
    g = np.log(rng.gamma(a + N[:, :, 0].T + 1)) + np.log1p(-rng.random((S, K))) / (a + N[:, :, 0].T)
    top = g.max(axis=1, keepdims=True)
    log_sum = top + np.log(np.exp(g - top).sum(axis=1, keepdims=True))
    total = np.log(rng.gamma(K * a + 1, size=(S, 1))) + np.log1p(-rng.random((S, 1))) / (K * a)
    s = np.log(beta_n) - np.log(rng.gamma(b_n * np.ones_like(beta_n)))
    mu = origin + mean + np.exp(s / 2) / np.sqrt(kappa_n) * rng.standard_normal(s.shape)
    flat = [block.transpose(1, 0, 2).reshape(S, -1) for block in (mu, s)]
    return np.column_stack([g - log_sum + total, *flat])


def sample_allocations(
    c: np.ndarray, F: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z ~ p(z | θ, x) for M points and n rows, (M, n), its T (K, M, 2p + 1), and log p(z | θ, x), (M,)."""
    K, M, q = c.shape
    x, size = (F / F[:, -1:]).T, max(SWEPT_BLOCK // (K * len(F)), 1)
    z, T, log_sum = np.zeros((M, len(F)), dtype=np.int16), np.empty((K, M, q)), np.empty(M)
    for start in range(0, M, size):
        part = slice(start, start + size)
        R = (c[:, part].reshape(-1, q) @ x).reshape(K, -1, len(F))
        top = R.max(axis=0)
        R -= top
        with np.errstate(over="ignore"):  # −10⁴⁰ is nothing, too
            C = np.exp(R.astype(np.float32))  # only which component it is hangs on it
        for k in range(1, K):  # in place: a fifth of the time of np.cumsum
            C[k] += C[k - 1]
        u = rng.random(C.shape[1:], dtype=np.float32) * C[-1]
        for k in range(K - 1):
            z[part] += C[k] <= u
        log_sum[part] = (top + np.log(C[-1])) @ F[:, -1]
        T[:, part] = statistics(z[part], F, K)
    return z, T, np.sum(c * T, axis=(0, 2)) - log_sum


def log_conditionals(model: MixtureModel, theta, T, log_c, origin) -> np.ndarray:
    """log [c_s p(θ_m | x, {z_s}) / p(θ_m)] of M points and S allocations without labels, (M, S).

    Parameters
    ----------
    model : MixtureModel
    theta : ndarray of shape (M, d)
    T : ndarray of shape (K, S, 2p + 1)
    log_c : ndarray of shape (S,)
        Weights of the allocations.
    origin : ndarray of shape (p,)
    """
    log_p = log_c - log_complete_evidence(model, T, origin) - lgamma(len(T) + 1)
    return log_sum_over_labels(coefficients(model, theta, origin), T, log_p)


def log_sum_over_labels(c: np.ndarray, T: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """log Σ_π exp(Σ_k c_k·T_π(k)) + log_p (S,) of points c (K, M, q) and allocations T (K, S, q), (M, S).

    The sum is a permanent.  Terms that can be shown to be NOTHING beside the best one with the labels as they
    are, are upper bounds.
    """
    (K, M, _), S = c.shape, T.shape[1]
    out, size = np.empty((M, S)), max(BLOCK // (K * K * S), 1)
    for start in range(0, M, size):
        part = slice(start, start + size)
        L = c[:, None, part] @ T.transpose(0, 2, 1)  # (point's component, allocation's component, m, S)
        top, as_labelled = L.max(axis=0), np.einsum("kkms->ms", L) + log_p
        log_A = L - top
        with np.errstate(over="ignore"):
            A = np.exp(log_A.astype(np.float32))  # its errors are 10⁻⁷ of each term
        scale = top.sum(axis=0) + log_p
        # no permanent of positive numbers exceeds the product of the column sums
        out[part] = scale + np.log(A.sum(axis=0)).sum(axis=0)
        least = as_labelled.max(axis=1) - NOTHING
        m, s = np.nonzero(out[part] > least[:, None])
        exact = log_permanent(log_A[:, :, m, s], A[:, :, m, s], least[m] - scale[m, s])
        out[start + m, s] = exact + scale[m, s]
    return out


def _normal_inverse_gamma(model, T, origin):
    """N (K, S, 1), κ, κ + N, posterior mean from the origin (K, S, p), shape and scale of σ²."""
    p, (b, beta), kappa = model.n_features, model.variance_prior, model.mean_scale**-2.0
    second, first, N = T[:, :, :p], T[:, :, p : 2 * p], T[:, :, 2 * p :]
    mean = first / np.maximum(N, 1e-300)
    scatter = np.maximum(second - first * mean, 0.0)
    beta_n = beta + 0.5 * (scatter + kappa * N / (kappa + N) * (mean + origin) ** 2)
    return N, kappa, kappa + N, (first - kappa * origin) / (kappa + N), b + N / 2, beta_n
