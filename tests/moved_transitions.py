"""Exact evidence of hidden Markov models whose transitions a column moves: all sequences, logits by a grid.

With two states the log odds of state 1 are λ + u δ, where λ is that of a beta and δ is normal.  The package
gives only the evidence of the rows of a state.  More states have draws of the prior, not a grid.
"""

from itertools import product

import numpy as np
from scipy.special import gammaln, log_softmax, logsumexp


def log_rows(model, rows, z):
    """log p(rows | z) and that of first states, (S,)."""
    F, starts = model.features(rows.X), rows.y > 0
    T = np.stack([(z == k).astype(float) @ F for k in range(model.n_states)])
    log_p = sum(model.emission.log_evidence(one[None])[0] for one in T)
    return log_p - starts.sum() * np.log(model.n_states)


def all_sequences(model, n):
    return np.array(list(product(range(model.n_states), repeat=n)))


def by_grid(model, rows, U, size=(161, 81)):
    """log Z of two states and one column."""
    follows = np.flatnonzero(~(rows.y > 0))
    z, prior = all_sequences(model, len(rows.X)), model.prior_counts
    lam = np.linspace(-25, 25, size[0])[:, None]
    x, w = np.polynomial.hermite_e.hermegauss(size[1])
    delta, log_w = np.sqrt(2) * model.moving_scale * x, np.log(w / w.sum())
    log_p = log_rows(model, rows, z)
    eta = lam + U[follows, 0, None, None] * delta  # of state 1 against 0, (m, G, H)
    to = np.stack([-np.logaddexp(0, eta), -np.logaddexp(0, -eta)])
    for i in (0, 1):
        a, b = prior[i, 1], prior[i, 0]
        beta = gammaln(a + b) - gammaln(a) - gammaln(b) - a * np.logaddexp(0, -lam) - b * np.logaddexp(0, lam)
        grid = beta + np.log(lam[1, 0] - lam[0, 0]) + log_w
        for s, one in enumerate(z):
            mine = one[follows - 1] == i
            held = to[one[follows][mine], np.flatnonzero(mine)].sum(axis=0)
            log_p[s] += logsumexp(grid + held)
    return logsumexp(log_p)


def by_prior_draws(model, rows, U, rng, size=20_000):
    """log Z by draws of the logits of each state, all next states alike, any number of states and columns."""
    K, follows, z = model.n_states, np.flatnonzero(~(rows.y > 0)), all_sequences(model, len(rows.X))
    log_p = log_rows(model, rows, z)
    for i in range(K):
        alpha = np.log(rng.dirichlet(model.prior_counts[i], size))
        beta = model.moving_scale * rng.standard_normal((U.shape[1], size, K))
        log_A = log_softmax(alpha + np.tensordot(U[follows], beta, axes=1), axis=-1)  # (m, size, K)
        for s, one in enumerate(z):
            mine = np.flatnonzero(one[follows - 1] == i)
            held = log_A[mine, :, one[follows][mine]].sum(axis=0) if len(mine) else np.zeros(size)
            log_p[s] += logsumexp(held) - np.log(size)
    return logsumexp(log_p)
