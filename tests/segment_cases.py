"""Marginal likelihoods of segments in closed form, and all segmentations of a few rows one by one."""

import itertools

import numpy as np
from scipy.special import gammaln
from scipy.stats import multivariate_t


def normal_evidence(X, mean_scale=2.0, a0=1.0, b0=1.0):
    """log p(X), columns independent, μ | σ² ~ N(0, (mean_scale σ)²), σ² ~ InvGamma(a0, b0)."""
    n = len(X)
    kappa0 = mean_scale**-2
    mean = X.mean(0)
    bn = b0 + 0.5 * ((X - mean) ** 2).sum(0) + 0.5 * kappa0 * n * mean**2 / (kappa0 + n)
    an = a0 + n / 2
    per_column = gammaln(an) - gammaln(a0) + a0 * np.log(b0) - an * np.log(bn)
    return float(np.sum(per_column + 0.5 * np.log(kappa0 / (kappa0 + n)) - 0.5 * n * np.log(2 * np.pi)))


def regression_evidence(X, y, coef_scale=1.0, intercept_scale=1.0, a0=1.0, b0=1.0):
    """log p(y | X): a multivariate t with 2 a0 degrees of freedom."""
    Phi = np.column_stack([X, np.ones(len(X))])
    V = np.diag(np.append(np.full(X.shape[1], coef_scale**2), intercept_scale**2))
    shape = (b0 / a0) * (np.eye(len(X)) + Phi @ V @ Phi.T)
    return float(multivariate_t.logpdf(y, np.zeros(len(y)), shape, df=2 * a0))


def segmentations(n):
    """Every way to cut n rows: the first rows of the segments but the first."""
    for k in range(n):
        yield from itertools.combinations(range(1, n), k)


def enumerate_segmentations(n, hazard, evidence):
    """log p(rows), P(segment at the end began at s) (n,) and P(change at s) (n,), by enumeration.

    ``evidence(s, t)`` is the log marginal likelihood of rows s .. t − 1 as one segment.
    """
    log_joint, last, changed = [], [], []
    for cuts in segmentations(n):
        edges = [0, *cuts, n]
        log_prior = len(cuts) * np.log(hazard) + (n - 1 - len(cuts)) * np.log1p(-hazard)
        log_joint.append(log_prior + sum(evidence(s, t) for s, t in itertools.pairwise(edges)))
        last.append(edges[-2])
        changed.append(np.isin(np.arange(n), cuts))
    log_joint = np.array(log_joint)
    top = log_joint.max()
    log_Z = top + np.log(np.exp(log_joint - top).sum())
    p = np.exp(log_joint - log_Z)
    best = list(segmentations(n))[int(np.argmax(log_joint))]
    return log_Z, np.bincount(last, weights=p, minlength=n), p @ np.array(changed), best


def dirichlet_evidence(x, K, c):
    """Ordered draws from one multinomial."""
    N = np.array([np.sum(x == k) for k in range(K)])
    return float(gammaln(N + c).sum() - K * gammaln(c) + gammaln(K * c) - gammaln(len(x) + K * c))


def category_evidence(X, s, t, K, c):
    """Rows s to t − 1, summed over columns: independent or a Markov chain, half of each."""
    total = 0.0
    for x in X.T:
        first = [x[s - 1]] if s else [K]  # the first row of the stream comes after none
        before = np.concatenate([first, x[s : t - 1]])
        chain = sum(dirichlet_evidence(x[s:t][before == k], K, c) for k in range(K + 1))
        total += np.logaddexp(dirichlet_evidence(x[s:t], K, c), chain) - np.log(2.0)
    return total


def count_evidence(X, mean, a):
    """Gamma and Poisson, summed over columns."""
    S, d, n = X.sum(axis=0), a / mean, len(X)
    each = gammaln(a + S) - gammaln(a) + a * np.log(d) - (a + S) * np.log(d + n)
    return float(each.sum() - gammaln(X + 1).sum())
