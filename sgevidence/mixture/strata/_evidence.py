r"""The evidence of mixtures of 1 … K components, all from one walk over strata.

Write k for the number of components that have rows.  An empty one is a factor of one, so

    Z_K = Γ(Ka)/Γ(Ka + n) · Σ_{k=1}^{K} C(K, k) B_k,
    B_k = Σ_{z onto k labels} Π_j [Γ(a + n_j)/Γ(a)] p(x_j),

and B_k does not know K: every K comes from one pass over k = 1, 2, …, p(k | x, K) ∝ C(K, k) B_k, and
errors of different K are shared.  The walk ends at K, or where two further strata were each below e⁻⁶ of the
sum and falling; a geometric continuation of what follows is in the error bar.

Symbols: ``K``, ``k`` = components, and those in use; B_k ``log_B`` = of each stratum, nats, (s,); Z_m
``log_Z`` = of 1 … K components, nats, (K,); p(k | m) ``in_use`` = of k given m components, (K, K).

References
----------
A. Nobile (2004), On the posterior distribution of the number of components in a finite mixture, Annals of
Statistics 32, 2044; S. Frühwirth-Schnatter, G. Malsiner-Walli and B. Grün (2021), Generalized mixtures of
finite mixtures and telescoping sampling, Bayesian Analysis 16, 1279.

Strata of few rows without any error: the sum over all partitions of the rows, by sets.

With w(S) the weight Γ(a + |S|)/Γ(a) p(x_S) of rows S in one component, those of S in k unlabelled components
hold

    f_k(S) = Σ_{T ⊆ S, T ∋ first row of S} w(T) f_{k−1}(S \ T),    B_k = k! f_k(all rows),

some 3ⁿ/2 products for each k; draws of partitions go back by the same sums.

Symbols: ``S``, ``T`` = sets of rows as bits, ``f`` = log f_k of all sets, k = 1 … K, (K, 2ⁿ).
"""

from collections.abc import Sequence
from copy import deepcopy
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from ...models import log_dirichlet
from ...particles import systematic
from ...samplers import under_way
from ..components import ComponentFamily
from ._limits import MOST_COMPONENTS, copies, doubt_of, most_rows
from ._occupied import sample_in_use
from ._partial_rows import partial_answers
from ._stratum import EXACT_DRAWS, Stratum, covariance_of, single, stratum
from ._sweeps import Problem


def exact_strata(problem: Problem, K: int, rng: np.random.Generator) -> list[Stratum]:
    """Strata of 1 … K components in use, with draws of their posteriors."""
    n = len(problem.F)
    rows = np.arange(2**n)[:, None] >> np.arange(n) & 1
    w = problem.log_parts(rows @ problem.F) - lgamma(problem.concentration)
    f = np.full((min(K, n), 2**n), -np.inf)
    f[0, 1:] = w[1:]
    for size in range(2, n + 1):
        S = np.flatnonzero(rows.sum(axis=1) == size)
        first = _with_first(S, n)
        for k in range(1, min(K, size)):
            f[k, S] = logsumexp(w[first] + f[k - 1, S[:, None] ^ first], axis=1)
    return [_stratum(problem, k + 1, w, f, rng) for k in range(len(f))]


def _with_first(S: np.ndarray, n: int) -> np.ndarray:
    """All subsets with the first row of sets S of equal size c, (len(S), 2^(c − 1))."""
    bits = S[:, None] & 1 << np.arange(n)
    c = int(np.count_nonzero(bits[0]))
    own = bits[bits > 0].reshape(len(S), c)
    chosen = np.arange(2 ** (c - 1))[:, None] >> np.arange(c - 1) & 1
    return own[:, :1] + own[:, 1:] @ chosen.T


def _stratum(problem: Problem, k: int, w: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> Stratum:
    """log B_k, with partitions in proportion to their weights."""
    n = len(problem.F)
    left, z = np.full(EXACT_DRAWS, 2**n - 1), np.zeros((EXACT_DRAWS, n), dtype=np.int16)
    for label in range(k - 1, 0, -1):
        drawn = np.empty_like(left)
        for S in np.unique(left):
            mine, first = np.flatnonzero(left == S), _with_first(np.array([S]), n)[0]
            log_p = w[first] + f[label - 1, S ^ first]
            p = np.exp(log_p - log_p.max())
            drawn[mine] = rng.choice(first, len(mine), p=p / p.sum())
        z[(drawn[:, None] >> np.arange(n) & 1) > 0] = label
        left ^= drawn
    points = problem.draw(problem.statistics(z, k), rng)
    log_B = float(f[k - 1, -1] + lgamma(k + 1))
    return Stratum(k, log_B, 0.0, 0.0, 1.0, 2, [z, z], points, np.zeros(EXACT_DRAWS), float(2**n))


#: Nats below the sum at which a stratum ends the walk, if ENDING of them are and they fall.
ENDING_NATS, ENDING = 6.0, 2
#: In a search over K, nats behind the best smaller K beyond which K decides nothing, and how many times its
#: errors may then be larger: ± 0.5.
DECIDING_NATS, LENIENCY = 8.0, 5.0
#: Rows up to which all partitions are summed: a second for K = 6, where chains take several.
MOST_ROWS_SUMMED = 14


class MixturePosterior(NamedTuple):
    """Log evidences of mixtures of 1 … K components of one family, nats, and draws of the largest."""

    log_evidence: np.ndarray  #: of 1 … K components, (K,)
    log_evidence_std: np.ndarray  #: standard errors, (K,)
    covariance: np.ndarray  #: of their errors, which they share, (K, K)
    in_use: np.ndarray  #: [m − 1, k − 1] = p(k components have rows | x, m components), (K, K)
    log_strata: np.ndarray  #: log B_k of the strata that were visited, (s,)
    log_strata_std: np.ndarray  #: their standard errors, (s,)
    log_weights: np.ndarray  #: log π of posterior draws at K, (n_draws, K)
    components: Any  #: parameters of the family, arrays that begin with (n_draws, K)
    doubt: str  #: why the answer should not be trusted as it is
    n_likelihoods: float  #: rows × points


class Strata(NamedTuple):
    """Strata of 1, 2, … components in use of the same rows, for mixtures of up to K components."""

    problem: Problem
    visited: list[Stratum]
    n_components: int  #: K
    rngs: list[np.random.Generator]  #: with which the walk goes on
    #: of rows that do not count once, for 1 … K components the sum over all strata
    partial: list[Stratum] | None = None

    def posterior(self, m: int, n_draws: int, rng: np.random.Generator) -> MixturePosterior:
        """Evidences of 1 … m components, m ≤ K, and draws at m.  Those of several m share their errors."""
        used = self.visited[:m]
        # a walk for more components may have gone on where one for m has ended, whose digits these are
        used = used[: next((s for s in range(len(used)) if _have_ended(used[:s], m)), m)]
        log_Z, covariance, in_use = combined(self.problem, used, m)
        share = in_use[-1]
        if self.partial is None:
            doubt = doubt_of(self.problem, used, share)
            log_weights, components = _draws(self.problem, used, share, m, n_draws, rng)
        else:
            log_Z, covariance = _combined_partial(self.problem, self.partial)
            last = self.partial[m - 1]
            doubt = doubt_of(self.problem, [*used, last], np.r_[share[: len(used)], 1.0])
            log_weights, components = _partial_draws(self.problem, last, n_draws, rng)
        return MixturePosterior(
            log_evidence=log_Z[:m],
            log_evidence_std=np.sqrt(np.diag(covariance)[:m]),
            covariance=covariance[:m, :m],
            in_use=in_use,
            log_strata=np.array([one.log_B for one in used]),
            log_strata_std=np.array([one.std for one in used]),
            log_weights=log_weights,
            components=components,
            doubt=doubt,
            n_likelihoods=sum(one.n_likelihoods for one in used),
        )


def mixture_evidence(
    family: ComponentFamily,
    X: np.ndarray,
    n_components: int,
    weight_concentration: float = 1.0,
    rng: np.random.Generator | None = None,
    weight: np.ndarray | None = None,
    n_draws: int = 1000,
) -> MixturePosterior:
    """Log evidence of every number of components up to K.

    Parameters
    ----------
    family : ComponentFamily
        Their family: ``DiagonalGaussian``, ``SphericalGaussian``, ``FullGaussian`` or ``Categorical``.
    X : ndarray of shape (n, p)
        All rows.
    n_components : int
        K, at most 10: the sum over labellings doubles with each.
    weight_concentration : float, default=1.0
        Concentration of the symmetric Dirichlet prior of the weights; 1 is uniform.
    rng : numpy.random.Generator, optional
    weight : ndarray of shape (n,), optional
        Whole numbers: a row of weight w is w rows, each of which may go to a component of its own.
    n_draws : int, default=1000
        Draws of the posterior at K; the evidence does not depend on them.

    Returns
    -------
    MixturePosterior

    Raises
    ------
    ValueError
        If there is no row, more than 10 components, or a weight that is not a whole number.

    Notes
    -----
    *Cost*: for each k two halves of a search and of 16 to 40 chains, some 10⁴ sweeps of one chain, each
    n k times the numbers that a row has as features.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.mixture.components import FullGaussian
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> found = mixture_evidence(FullGaussian(2), X, 2, rng=np.random.default_rng(1))
    >>> bool(found.log_evidence[0] > found.log_evidence[1]), float(found.log_evidence_std[0])
    (True, 0.0)
    """
    rng = np.random.default_rng() if rng is None else rng
    found = strata_up_to(family, X, n_components, weight_concentration, rng, weight)
    return found.posterior(n_components, n_draws, rng)


def strata_up_to(
    family: ComponentFamily,
    X: np.ndarray,
    n_components: int,
    weight_concentration: float,
    rng: np.random.Generator,
    weight: np.ndarray | None = None,
    earlier: Strata | None = None,
    in_search: bool = False,
) -> Strata:
    """The walk over strata that :func:`mixture_evidence` takes, from which every K up to the largest follows.

    Parameters and errors are those of :func:`mixture_evidence`.  An ``earlier`` walk over the same rows with
    another number of components is taken up where it stopped: no stratum knows how many follow, so that
    digits are those of a walk of its own.  One ``in_search`` over numbers of components takes those that fall
    behind to fewer digits, by the numbers before them alone.
    """
    problem, rngs = _problem(family, X, weight, n_components, weight_concentration), rng.spawn(2)
    visited: list[Stratum] = []
    if earlier is not None and len(earlier.problem.F) == len(problem.F):
        problem, visited, rngs = earlier.problem, earlier.visited, earlier.rngs
    rngs = deepcopy(rngs)  # those of the earlier walk stay as they are
    found = Strata(problem, _walked(problem, n_components, visited, rngs, in_search), n_components, rngs)
    if np.all(problem.F[:, -1] == 1.0):
        return found
    shares = combined(problem, found.visited, n_components)[2]
    return found._replace(partial=partial_answers(problem, found.visited, shares, rng.spawn(2)))


def combined(problem: Problem, strata: list[Stratum], K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z of 1 … K components, the covariance of the errors, and p(k | m).

    The walk goes to where strata of K components are negligible; those of fewer components have less weight
    beyond it.
    """
    n, a, s = problem.total_weight, problem.concentration, len(strata)
    log_B, errors = np.array([one.log_B for one in strata]), covariance_of(strata)
    log_Z, shares, tail = np.empty(K), np.zeros((K, K)), np.zeros(K)
    for m in range(1, K + 1):
        terms = log_ways(m, s) + log_B
        total = np.logaddexp.reduce(terms)
        shares[m - 1, :s] = np.exp(terms - total)
        log_Z[m - 1] = total + gammaln(m * a) - gammaln(m * a + n)
        if s < min(m, len(problem.F)):
            # ratio of successive strata that are not visited, at most: a tail of ten times the last one
            ratio = min(np.exp(terms[-1] - terms[-2]), 0.9)
            tail[m - 1] = shares[m - 1, s - 1] * ratio / (1 - ratio)
    covariance = shares[:, :s] @ errors @ shares[:, :s].T + np.outer(tail, tail)
    return log_Z, covariance, shares


def _combined_partial(problem: Problem, partial: list[Stratum]) -> tuple[np.ndarray, np.ndarray]:
    """log Z of 1 … K components of rows that do not count once, and the covariance of the errors."""
    a, m = problem.concentration, np.arange(1, len(partial) + 1)
    ways = gammaln(m * a) - gammaln(m * a + problem.total_weight)
    return np.array([one.log_B for one in partial]) + ways, np.diag([one.std**2 for one in partial])


def log_ways(m: int, s: int) -> np.ndarray:
    """log C(m, k) for k = 1 … s, −∞ where k > m, (s,)."""
    k = np.arange(1, s + 1)
    ways = gammaln(m + 1) - gammaln(k + 1) - gammaln(np.maximum(m - k, 0) + 1)
    return np.where(k <= m, ways, -np.inf)


def _problem(
    family: ComponentFamily, X: np.ndarray, weight: np.ndarray | None, K: int, concentration: float
) -> Problem:
    X, weight = np.asarray(X), np.ones(len(X)) if weight is None else np.asarray(weight)
    X, weight = X[weight > 0], weight[weight > 0]
    if not len(X):
        raise ValueError("there is no row")
    if K > MOST_COMPONENTS:
        raise ValueError(f"n_components is {K}, and at most {MOST_COMPONENTS} have an evidence by strata")
    n_copies = copies(weight, most_rows(family, K))
    X, u = np.repeat(X, n_copies, axis=0), np.repeat(weight / n_copies, n_copies)
    order = np.lexsort(
        (u, *X.T[::-1])
    )  # the answer does not depend on the order, or on how a row is repeated
    X, u = X[order], u[order]
    family = family.at(X)
    return Problem(family, X, family.points(X), family.features(X) * u[:, None], concentration)


def _walked(
    problem: Problem, K: int, visited: list[Stratum], rngs: list[np.random.Generator], in_search: bool
) -> list[Stratum]:
    """Strata of 1, 2, … components in use, the first of which were ``visited``."""
    if len(problem.F) <= MOST_ROWS_SUMMED:
        return exact_strata(problem, K, deepcopy(rngs[0]))  # all anew for another K, to the same digits
    strata = list(visited) or [single(problem, rngs)]
    while len(strata) < min(K, len(problem.F)) and not _have_ended(strata, K):
        under_way(f"{len(strata) + 1} of at most {K} components in use")
        # the largest share that it may have in a mixture of any number of components
        ways = log_ways(MOST_COMPONENTS, len(strata) + 1)
        log_rest = float(np.logaddexp.reduce(ways[:-1] + [one.log_B for one in strata]) - ways[-1])
        leniency = LENIENCY if in_search and _falls_behind(problem, strata) else 1.0
        further = stratum(problem, strata[-1], rngs, log_rest, leniency)
        if leniency > 1.0 and not _is_behind(problem, [*strata, further]):
            further = stratum(problem, strata[-1], rngs, log_rest)
        strata.append(further)
    return strata


def _falls_behind(problem: Problem, strata: list[Stratum]) -> bool:
    """Whether one component more is DECIDING_NATS behind the best number if evidence goes on as it falls."""
    log_Z = combined(problem, strata, len(strata))[0]
    last = log_Z[-1] + min(float(np.diff(log_Z[-2:]).sum()), 0.0)
    return bool(last < log_Z.max() - DECIDING_NATS)


def _is_behind(problem: Problem, strata: list[Stratum]) -> bool:
    """Whether the last number of components is DECIDING_NATS behind the best, its error allowed for."""
    log_Z, covariance, _ = combined(problem, strata, len(strata))
    return bool(log_Z[-1] + 3.0 * covariance[-1, -1] ** 0.5 < log_Z.max() - DECIDING_NATS)


def _have_ended(strata: Sequence[Stratum], K: int) -> bool:
    """Whether further strata hold nothing of a mixture of K components."""
    if len(strata) <= ENDING:
        return False
    terms = log_ways(K, len(strata)) + [one.log_B for one in strata]
    last = terms[-ENDING:] - np.logaddexp.reduce(terms)
    return bool(np.all(last < -ENDING_NATS) and np.all(np.diff(terms[-ENDING - 1 :]) < 0))


def _draws(
    problem: Problem,
    strata: list[Stratum],
    share: np.ndarray,
    K: int,
    size: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, Any]:
    """Posterior draws at K: log π (size, K) and parameters that begin with (size, K), labels at random."""
    n_of = np.bincount(systematic(share[: len(strata)], rng, size), minlength=len(strata))
    q, parts = problem.F.shape[1], []
    for one, n in zip(strata, n_of):
        if n:
            w = np.exp(one.log_w - one.log_w.max())
            c = one.points[:, systematic(w / w.sum(), rng, n)]
            T = sample_in_use(c, problem.F, rng)
            parts.append(np.concatenate([T, np.zeros((K - one.k, n, q))]))
    T = _relabelled(np.concatenate(parts, axis=1), rng)
    log_pi = log_dirichlet(problem.concentration + T[..., -1], rng)
    return log_pi.T, problem.family.sample(T.transpose(1, 0, 2), rng)


def _partial_draws(
    problem: Problem, found: Stratum, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, Any]:
    """Posterior draws of rows that do not count once, as :func:`_draws`: points as they were weighed."""
    w = np.exp(found.log_w - found.log_w.max())
    c = _relabelled(found.points[:, systematic(w / w.sum(), rng, size)], rng).transpose(1, 0, 2)
    components = problem.family.parameters(c)
    return c[..., -1] - problem.family.coefficients(components)[..., -1], components


def _relabelled(c: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers (K, M, q) of components, the labels of each of M points at random."""
    order = rng.permuted(np.arange(len(c))[:, None].repeat(c.shape[1], axis=1), axis=0)
    return np.take_along_axis(c, order[:, :, None], axis=0)
