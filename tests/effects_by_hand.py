"""The evidence of effects by other means: dense covariances, and the prior of everything."""

import numpy as np
from scipy.special import logsumexp
from scipy.stats import beta, norm, qmc, t

from sgevidence.effects import Block, EffectsModel, Layout
from sgevidence.history import Rows

#: Scrambles of the points over the prior, whose spread is their error bar.
N_SCRAMBLES = 8


def half_t(z, scale=1.0):
    """Half-Student-t(3) of a standard normal."""
    return scale * t.ppf(0.5 + 0.5 * norm.cdf(z), 3)


def factor_by_hand(block, z):
    """Λ (M, q, q) of one or two effects."""
    tau = half_t(z[:, : block.n_scales], block.scale) * np.ones(block.n_effects)
    L = np.tile(np.eye(block.n_effects), (len(z), 1, 1))
    if block.correlated:
        rho = 2 * beta.ppf(norm.cdf(z[:, 2]), 2, 2) - 1
        L[:, 1, 0], L[:, 1, 1] = rho, np.sqrt(1 - rho**2)
    return tau[:, :, None] * L


def over_prior(log_likelihood, d, log2_points, seed=0):
    """log of the mean likelihood over N(0, I) and its standard error."""
    means = []
    for scramble in range(N_SCRAMBLES):
        u = qmc.Sobol(d, rng=np.random.default_rng([seed, scramble])).random_base2(log2_points)
        ell = np.concatenate([log_likelihood(part) for part in np.array_split(norm.ppf(u), 16)])
        means.append(logsumexp(ell) - np.log(len(ell)))
    share = np.exp(np.array(means) - max(means))
    return max(means) + np.log(share.mean()), share.std(ddof=1) / share.mean() / np.sqrt(N_SCRAMBLES)


def gaussian_by_hand(layout, X, y, log2_points=10):
    """Evidence of Gaussian y from n × n covariances over the prior of the hyperparameters."""
    fixed = X[:, : layout.n_fixed] * layout.scales
    cuts = np.cumsum([0, *(block.n_hyperparameters for block in layout.blocks)])

    def log_likelihood(z):
        S = half_t(z[:, -1])[:, None, None] ** 2 * np.eye(len(y)) + fixed @ fixed.T
        for block, (W, code), a, b in zip(layout.blocks, layout.inputs(X), cuts[:-1], cuts[1:]):
            WL = W @ factor_by_hand(block, z[:, a:b])
            S = S + WL @ WL.swapaxes(1, 2) * (code[:, None] == code)
        L = np.linalg.cholesky(S)
        e = np.linalg.solve(L, np.broadcast_to(y[:, None], (len(z), len(y), 1)))[..., 0]
        log_det = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        return -0.5 * np.sum(e**2, axis=1) - log_det - 0.5 * len(y) * np.log(2 * np.pi)

    return over_prior(log_likelihood, cuts[-1] + 1, log2_points)


def design(kind, n=30, seed=0):
    """Layout and encoded columns: a constant, x, and the terms of one kind."""
    rng = np.random.default_rng(seed)
    x, one = rng.standard_normal(n), np.ones(n)
    g, h = rng.integers(0, 6, n), rng.integers(0, 4, n)
    terms = {
        "intercepts": ([Block(6, 1)], [one, g]),
        "slopes": ([Block(6, 2)], [one, x, g]),
        "correlated": ([Block(6, 2, 0.7, correlated=True)], [one, x, g]),
        "crossed": ([Block(4, 1), Block(6, 1, 2.0)], [one, h, one, g]),
        "crossed slopes": ([Block(6, 2, correlated=True), Block(4, 2)], [one, x, g, one, x, h]),
        "curve": ([Block(1, 3, common=True)], [x**2 - 1, np.sin(2 * x), np.cos(3 * x), 0 * one]),
        "curve and groups": (
            [Block(1, 2, common=True), Block(6, 1)],
            [x**2 - 1, np.sin(2 * x), 0 * one, one, g],
        ),
    }
    blocks, columns = terms[kind]
    return Layout(np.array([1.0, 2.0]), tuple(blocks)), np.column_stack([x, one, *columns])


def simulated(kind, family, seed, n=30):
    """Model and rows of parameters drawn near the prior's middle."""
    layout, X = design(kind, n, seed)
    model = EffectsModel(n_features=1, family=family, layout=layout)
    rng = np.random.default_rng([seed, 1])
    theta = 0.7 * model.sample_prior(rng, 1)
    return model, Rows.of(X, model.sample_rows(theta, X, rng).astype(float))
