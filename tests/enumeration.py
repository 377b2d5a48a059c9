"""Evidence of a mixture by the sum over all allocations of few rows."""

from dataclasses import replace
from math import factorial, lgamma

import numpy as np

from sgevidence.history import Rows


def partitions(n):
    """All partitions of n rows into blocks, each a list of bit masks."""
    if n == 0:
        yield []
        return
    for blocks in partitions(n - 1):
        yield [*blocks, 1 << (n - 1)]
        for i in range(len(blocks)):
            yield [*blocks[:i], blocks[i] | 1 << (n - 1), *blocks[i + 1 :]]


def enumerated(model, rows):
    """log Σ_z p(x, z) over all Kⁿ allocations, K!/(K − b)! at a time; a row of weight 2 is two rows."""
    X = np.repeat(rows.X, rows.weight.astype(int), axis=0)
    n, K, a = len(X), model.n_components, model.weight_concentration
    one = replace(model, n_components=1)
    block = {}
    for mask in range(1, 2**n):
        members = [r for r in range(n) if mask >> r & 1]
        block[mask] = one.exact_log_evidence(Rows.of(X[members])) + lgamma(a + len(members)) - lgamma(a)
    terms = [
        sum(block[mask] for mask in blocks) + np.log(factorial(K) / factorial(K - len(blocks)))
        for blocks in partitions(n)
        if len(blocks) <= K
    ]
    return np.logaddexp.reduce(terms) + lgamma(K * a) - lgamma(K * a + n)


def sum_over_partitions(log_w, K):
    """log Σ Π_j w(S_j) over the partitions of n rows into 1 … K sets, (K,), for log w of all 2ⁿ sets."""
    full = len(log_w) - 1
    f = np.where(np.arange(len(log_w)) > 0, log_w, -np.inf)
    out = [f[full]]
    for k in range(1, K):
        more = np.full(len(f), -np.inf)
        for S in range(2, full, 2) if k < K - 1 else ():  # those without the first row will be needed
            more[S] = _with_first_row_apart(log_w, f, S)
        more[full] = _with_first_row_apart(log_w, f, full)
        f = more
        out.append(f[full])
    return np.array(out)


def _with_first_row_apart(log_w, f, S):
    """log Σ w(T) f(S without T) over the sets T that have the first row of S."""
    T = np.array([S & -S])
    for r in range(S.bit_length()):
        if (S & S - 1) >> r & 1:
            T = np.concatenate([T, T | 1 << r])
    terms = log_w[T] + f[S ^ T]
    top = terms.max()
    return top + np.log(np.exp(terms - top).sum()) if top > -np.inf else top
