"""Where the search for a posterior mode starts, given the parameters that made the rows."""

import numpy as np
from scipy.special import logsumexp


def start_for(case):
    """True parameters; for fewer mixture components the best of all ways to merge them, climbed by EM."""
    if case.truth is not None:
        return case.truth
    K, data = case.model.n_components, case.data
    if K > len(data["w"]):
        return None
    x = case.rows.X[:: max(1, len(case.rows) // 4000)]
    best = max(
        (_em(x, *_merged(data, groups)) for groups in _partitions(len(data["w"]), K)), key=lambda a: a[0]
    )
    _, w, mu, s2 = best
    return np.concatenate([np.log(K * w), mu.ravel(), np.log(s2.ravel())])


def _partitions(n, K):
    """All ways to label n things with K labels, each used, up to the labels' names."""
    stack = [(0,)]
    while stack:
        p = stack.pop()
        if len(p) == n:
            if max(p) == K - 1:
                yield np.array(p)
        else:
            stack += [(*p, k) for k in range(min(max(p) + 2, K))]


def _merged(data, groups):
    w = np.bincount(groups, data["w"])
    share = (groups == np.arange(len(w))[:, None]) * data["w"] / w[:, None]
    mu = share @ data["mu"]
    return w, mu, share @ (data["s2"] + data["mu"] ** 2) - mu**2


def _em(x, w, mu, s2, rounds=300):
    before = -np.inf
    for _ in range(rounds):
        log_p = np.log(w) - 0.5 * np.sum((x[:, None] - mu) ** 2 / s2 + np.log(2 * np.pi * s2), axis=2)
        total = logsumexp(log_p, axis=1)
        if total.sum() - before < 1e-2:
            break
        before = total.sum()
        r = np.exp(log_p - total[:, None])
        n = r.sum(axis=0) + 1e-9
        w, mu = n / n.sum(), (r.T @ x) / n[:, None]
        s2 = (r.T @ x**2) / n[:, None] - mu**2 + 1e-6
    return total.sum(), w, mu, s2
