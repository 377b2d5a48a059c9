r"""Exact evidence of hidden Markov models: by counts, by all sequences of states, and a bound from below.

Rows of V distinct values and two states: a sequence enters by its first and last state, its transitions from
state 0 to 1, and how many rows of each value are in state 1.  How many sequences share these is a recursion
over rows, and log p(x, z) of each is a closed form, so that the sum over 2ⁿ sequences has polynomially many
terms.
"""

from itertools import product
from math import lgamma

import numpy as np


def log_sum(a):
    top = a.max()
    return float(top + np.log(np.sum(np.exp(a - top))))


def by_counts(model, values, which):
    """log Z of two states, rows ``values[which]`` of one sequence."""
    n, V = len(which), len(values)
    size = np.bincount(which, minlength=V)
    # sequences by first and last state, transitions 0 → 1, rows of each value in state 1
    ways = np.zeros((2, 2, n // 2 + 2, *(size + 1)))
    for state in (0, 1):
        at = [0] * V
        at[which[0]] = state
        ways[(state, state, 0, *at)] = 1.0
    for v in which[1:]:
        new = np.zeros_like(ways)
        new[:, 0] = ways[:, 0] + ways[:, 1]
        new[:, 1] = ways[:, 1]
        new[:, 1, 1:] += ways[:, 0, :-1]
        new[:, 1] = np.roll(new[:, 1], 1, axis=2 + v)
        ways = new
    first, last, up, *inside = np.nonzero(ways)
    inside = np.array(inside).T
    ones = inside.sum(axis=1)
    down = up + first - last
    N = np.zeros((2, len(first), 2))
    N[0, :, 1], N[1, :, 0] = up, down
    N[0, :, 0], N[1, :, 1] = (n - ones) - down - (first == 0), ones - up - (first == 1)
    F = model.emission.features(values)
    T = np.stack([(size - inside) @ F, inside @ F])
    begins = np.stack([first == 0, first == 1]).astype(float)
    T = np.concatenate([N, begins[..., None], T], axis=2)
    return log_sum(np.log(ways[ways > 0]) + model.log_joint_of(T))


def by_sequences(model, rows, block=50_000):
    """log Z and p(z_t = z_u) (n, n), by all Kⁿ sequences of states."""
    K, n = model.n_states, len(rows)
    z = np.array(list(product(range(K), repeat=n)), dtype=np.int8)
    log_p = np.concatenate([log_joints(model, rows, z[i : i + block]) for i in range(0, len(z), block)])
    log_Z = log_sum(log_p)
    p = np.exp(log_p - log_Z)
    together = sum(((z == k) * p[:, None]).T @ (z == k) for k in range(K))
    return log_Z, together


def log_joints(model, rows, z):
    """log p(x, z) of sequences (S, n), nats, with sums formed plainly."""
    K, F, starts = model.n_states, model.features(rows.X), rows.y > 0
    T = np.zeros((K, len(z), model.n_coefficients))
    for k in range(K):
        at = z == k
        T[k, :, K] = at[:, starts].sum(axis=1)
        T[k, :, K + 1 :] = at.astype(float) @ F
        for j in range(K):
            T[k, :, j] = (at[:, :-1] & (z[:, 1:] == j) & ~starts[1:]).sum(axis=1)
    return model.log_joint_of(T)


def from_below(model, rows, z):
    """A bound of log Z: a sequence, its neighbours by one window of rows, and their labellings."""
    K, n = model.n_states, len(rows)
    near = {tuple(z)}
    for a in range(n):
        for b in range(a + 1, min(a + 9, n + 1)):
            for k in range(K):
                new = np.array(z)
                new[a:b] = k
                near.add(tuple(new.tolist()))
    first = {
        tuple(
            np.unique(one, return_index=True)[1].argsort().argsort()[np.unique(one, return_inverse=True)[1]]
        ): one
        for one in near
    }
    kept = np.array(list(first.values()), dtype=np.int8)
    used = np.array([len(set(one.tolist())) for one in kept])
    copies = np.array([lgamma(K + 1) - lgamma(K - k + 1) for k in used])
    return log_sum(log_joints(model, rows, kept) + copies)
