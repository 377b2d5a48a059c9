r"""A search over sequences of states: from where chains start, and which sequences q is made of.

Gibbs sweeps do not connect sequences of states that are far apart, so that chains have to start in all of
them.  The search goes from models of two states to those of K.  Starts are k-means of windows of rows, draws
of the prior, and sequences of a state less, one state of which is split, or a window of which is given to the
new state.  All are swept, a third of the time at p(θ | λT) with λ = ``HEAT``, which crosses between sequences
more easily.  Then windows of the best, and rows at random, are given to other states, and swept again.

The score of a sequence is what its basin holds, by p(x) = p(x | θ) p(θ) / p(θ | x, z), averaged over sweeps.

Symbols: ``z`` = sequences of states (S, n); ``T, c`` = statistics and coefficients, see
:class:`HiddenMarkovModel`; ``score`` = nats of each sequence, (S,).
"""

from itertools import permutations
from typing import NamedTuple

import numpy as np

from ._states import HiddenStates

#: Power of the statistics in the first third of the sweeps.
HEAT = 0.4
#: Windows of rows that are given to another state at most, for each state.
MAX_WINDOWS = 5000
#: Share of the shorter of two windows that may be common to both.
MAX_SHARED_SHARE = 0.5
#: Sweeps of what hops have changed, the first of which does not count.
HOP_SWEEPS = 4
#: Rows of a sequence that are compared with another sequence's, at most.
MAX_COMPARED_ROWS = 4000
#: Nats below the best score at which a sequence does not count.
NEGLIGIBLE_NATS = 12.0


class Effort(NamedTuple):
    """How much is tried of n rows, and how much is spent on chains and draws."""

    n_starts: int  #: sequences of each number of states
    n_sweeps: int  #: of these
    n_hops: int  #: times that the best are changed and swept again
    hops_at_random: bool  #: whether rows change their states at random, not only windows of rows
    n_chains: int  #: of both halves
    n_basins: int  #: representatives of sequences that chains start from
    n_chain_sweeps: int  #: of the first round
    n_kept: int  #: sweeps of each chain that give kernels, in the first round
    n_q: int  #: draws of q of either half in the first round
    n_extra: int  #: sequences of the search that are kernels as they are

    @classmethod
    def of(cls, n: int) -> "Effort":
        """Few rows have many sequences that hold alike, and cost little."""
        if n > 400:
            return cls(32, 9, 1, False, 32, 6, 9, 4, 800, 0)
        search = (256, 12, 3, True) if n <= 60 else (64, 12, 1, False)
        return cls(*search, 48, 12, 24, 10, 1500, 120)


class Found(NamedTuple):
    """Sequences of states (S, n) and the score of each, nats, (S,)."""

    z: np.ndarray
    score: np.ndarray

    @property
    def good(self) -> np.ndarray:
        """Sequences that count, the best first."""
        order = np.argsort(-self.score)
        return order[self.score[order] > self.score.max() - NEGLIGIBLE_NATS]


def search(problem: HiddenStates, rng: np.random.Generator) -> Found:
    """Sequences of K states from models of 2 … K states."""
    n, K = len(problem.F), problem.model.n_states
    effort, best, found = Effort.of(n), [np.zeros(n, dtype=np.int16)], None
    for k in range(2, K + 1):
        smaller = problem.with_states(k)
        found = _swept(smaller, _starts(smaller, best, effort, rng), effort.n_sweeps, rng)
        best = list(found.z[representatives(found, 4, k)[0]])
    assert found is not None
    for i in range(effort.n_hops):
        hops = _hops(problem, best, i == 0 or not effort.hops_at_random, effort.hops_at_random, rng)
        more = _swept(problem, hops, HOP_SWEEPS, rng, is_heated=False)
        found = Found(np.concatenate([found.z, more.z]), np.r_[found.score, more.score])
        best = list(found.z[representatives(found, 8, K)[0]])
    return found


def _starts(
    problem: HiddenStates, before: list[np.ndarray], effort: Effort, rng: np.random.Generator
) -> np.ndarray:
    """Sequences of k states from which chains start, (S, n), ``before`` those of k − 1."""
    k, n, size = problem.model.n_states, len(problem.F), effort.n_starts
    widths = [w for w in (1, 1, 2, 4, 8) if 2 * w <= n]
    z = [clustered(problem.points, k, w, rng) for w in np.resize(widths, size // 2)]
    prior = problem.model.sample_prior(rng, size // 4)
    z += list(problem.sweep(problem.model.coefficients(prior), rng).z)
    for old in before:
        z.append(old)  # the new state is empty
        z += with_windows(problem, old, min(size // 8, 16), rng)
        for i in range(k - 1):
            inside = np.flatnonzero(old == i)
            if len(inside) > 1:
                new = old.copy()
                new[inside[clustered(problem.points[inside], 2, 1, rng) == 1]] = k - 1
                z.append(new)
    return np.array(z, dtype=np.int16)


def _hops(
    problem: HiddenStates, best: list[np.ndarray], of_windows: bool, at_random: bool, rng: np.random.Generator
) -> np.ndarray:
    """The best sequences with windows of rows, or rows at random, given to other states."""
    hops = [new for z in best for new in with_windows(problem, z, 4, rng)] if of_windows else []
    for z in best if at_random else ():
        # shares of rows that change: from one row to nearly half of them
        changes = rng.random((32, len(z))) < np.geomspace(1 / len(z), 0.4, 32)[:, None]
        hops += list(np.where(changes, rng.integers(problem.model.n_states, size=changes.shape), z))
    return np.array(hops, dtype=np.int16)


def _swept(
    problem: HiddenStates, z: np.ndarray, n_sweeps: int, rng: np.random.Generator, is_heated: bool = True
) -> Found:
    """Sequences some sweeps on, and their scores averaged over the later ones."""
    T, score, first = problem.statistics(z), np.zeros(len(z)), n_sweeps // 2 if is_heated else 1
    for i in range(n_sweeps):
        c = problem.model.draw(HEAT * T if is_heated and i < n_sweeps // 3 else T, rng)
        z, T, log_p = problem.sweep(c, rng)
        if i >= first:
            score += problem.log_held(c, T, log_p)
    return Found(z, score / (n_sweeps - first))


def clustered(points: np.ndarray, k: int, w: int, rng: np.random.Generator) -> np.ndarray:
    """Each row by the nearest of k means of windows of w rows that end with it: two steps of k-means."""
    padded = np.pad(points, ((w - 1, 0), (0, 0)), mode="edge")
    sums = np.cumsum(np.r_[np.zeros((1, points.shape[1])), padded], axis=0)
    at = (sums[w:] - sums[:-w]) / w
    centers = at[rng.integers(len(at))][None]
    for _ in range(k - 1):
        d = np.min(_squared_distances(at, centers), axis=0) + 1e-12
        centers = np.concatenate([centers, at[rng.choice(len(at), p=d / d.sum())][None]])
    for _ in range(3):
        z = np.argmin(_squared_distances(at, centers), axis=0)
        means = [at[z == j].mean(axis=0) if np.any(z == j) else at[rng.integers(len(at))] for j in range(k)]
        centers = np.array(means)
    return z.astype(np.int16)


def _squared_distances(points: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """(k, n)."""
    return np.array([np.sum((points - one) ** 2, axis=1) for one in centers])


class Windows(NamedTuple):
    """Windows of rows [start, stop), and the state that each is given."""

    start: np.ndarray
    stop: np.ndarray
    state: np.ndarray

    def overlap(self, i: int) -> np.ndarray:
        """Whether windows of the same state share much with window i."""
        shared = np.minimum(self.stop, self.stop[i]) - np.maximum(self.start, self.start[i])
        shorter = np.minimum(self.stop - self.start, self.stop[i] - self.start[i])
        return (self.state == self.state[i]) & (shared > MAX_SHARED_SHARE * shorter)


def with_windows(
    problem: HiddenStates, z: np.ndarray, size: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """The best sequences that differ from z in one window, which overlap little with each other."""
    problem = problem.plain
    windows, T = edited(problem, z, rng)
    n_inside = _sums_before(z[:, None] == np.arange(problem.model.n_states))
    n_same = n_inside[windows.stop, windows.state] - n_inside[windows.start, windows.state]
    changes = n_same < windows.stop - windows.start
    with np.errstate(invalid="ignore"):
        log_p = problem.log_joint(T)  # not a number where differences of sums leave no row, or next to none
    score, out = np.where(changes & ~np.isnan(log_p), log_p, -np.inf), list[np.ndarray]()
    while len(out) < size and score.max() > -np.inf:
        i = int(np.argmax(score))
        new = z.copy()
        new[windows.start[i] : windows.stop[i]] = windows.state[i]
        out.append(new)
        score[windows.overlap(i)] = -np.inf
    return out


def edited(problem: HiddenStates, z: np.ndarray, rng: np.random.Generator) -> tuple[Windows, np.ndarray]:
    """Windows of z that are given to another state, and T of the sequences that follow, (K, windows, D)."""
    K, n, follows = problem.model.n_states, len(z), np.append(~problem.starts, False)
    a, b = _windows(n, rng)
    t, first = np.flatnonzero(follows), np.flatnonzero(problem.starts)
    rows, moves, begins = np.zeros((n, K, problem.F.shape[1])), np.zeros((n + 1, K, K)), np.zeros((n, K))
    rows[np.arange(n), z], moves[t, z[t - 1], z[t]], begins[first, z[first]] = problem.F, 1, 1
    sum_rows, sum_moves, sum_begins, sum_F = map(_sums_before, (rows, moves, begins, problem.F))
    sum_follows, base = _sums_before(follows[:, None])[:, 0], problem.statistics(z[None])[:, 0]
    enters, leaves = np.flatnonzero(follows[a]), np.flatnonzero(follows[b])
    out: list[np.ndarray] = []
    for j in range(K):
        N = base[None, :, :K] - (sum_moves[b + 1] - sum_moves[a])
        N[:, j, j] += sum_follows[b] - sum_follows[a + 1]
        N[enters, z[a[enters] - 1], j] += 1
        N[leaves, j, z[b[leaves]]] += 1
        of_window = sum_begins[b] - sum_begins[a]
        initial = base[None, :, K] - of_window
        initial[:, j] += of_window.sum(axis=1)
        G = base[None, :, K + 1 :] - (sum_rows[b] - sum_rows[a])
        G[:, j] += sum_F[b] - sum_F[a]
        out.append(np.concatenate([N, initial[..., None], G], axis=2).transpose(1, 0, 2))
    windows = Windows(np.tile(a, K), np.tile(b, K), np.repeat(np.arange(K), len(a)))
    return windows, np.concatenate(out, axis=1)


def _windows(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """First row and the row after the last of windows of all lengths to half of n rows."""
    lengths, w = list(range(1, min(9, n // 2 + 1))), 12
    while w <= n // 2:
        lengths.append(w)
        w = int(1.5 * w)
    starts = [np.arange(0, n - w + 1, max(1, w // 8)) for w in lengths]
    a = np.concatenate(starts)
    b = a + np.repeat(lengths, [len(one) for one in starts])
    if len(a) > MAX_WINDOWS:
        some = np.sort(rng.choice(len(a), MAX_WINDOWS, replace=False))
        a, b = a[some], b[some]
    return a, b


def _sums_before(x: np.ndarray) -> np.ndarray:
    """Sums over the rows before each row, and over all, (n + 1, …)."""
    return np.concatenate([np.zeros((1, *x.shape[1:])), np.cumsum(x, axis=0)])


def representatives(found: Found, size: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Good sequences, the best first and then each as far from those before as can be; the nearest of each.

    Distances are the least numbers of rows, over labellings, in which states differ.
    """
    good, orders = found.good, [list(one) for one in permutations(range(K))]
    z = found.z[good][:, :: -(-found.z.shape[1] // MAX_COMPARED_ROWS)]
    is_in = (z[:, :, None] == np.arange(K)).astype(np.float32)
    chosen, owner, nearest = [0], np.zeros(len(good), dtype=int), np.full(len(good), np.inf)
    while True:
        alike = np.tensordot(is_in, is_in[chosen[-1]], axes=(1, 0))
        d = z.shape[1] - np.max([np.trace(alike[:, :, order], axis1=1, axis2=2) for order in orders], axis=0)
        owner, nearest = np.where(d < nearest, len(chosen) - 1, owner), np.minimum(d, nearest)
        far = int(np.argmax(nearest))
        if len(chosen) == size or nearest[far] == 0:
            return good[chosen], owner
        chosen.append(far)


def distinct(problem: HiddenStates, z: np.ndarray) -> np.ndarray:
    """Statistics of the sequences that count, each once whatever its labels, the best first, (K, S, D)."""
    is_in = z[:, :, None] == np.arange(problem.model.n_states)
    first = np.where(is_in.any(axis=1), is_in.argmax(axis=1), z.shape[1])
    new_label = np.argsort(np.argsort(first, axis=1), axis=1).astype(np.int16)
    z = np.unique(np.take_along_axis(new_label, z.astype(int), axis=1), axis=0)
    T = problem.statistics(z)
    return T[:, Found(z, problem.model.log_joint_of(T)).good]
