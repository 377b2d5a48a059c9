r"""The evidence of a mixture from its allocations (Frühwirth-Schnatter 2004; Lee and Robert 2016).

Given the allocations of rows to components the posterior of a mixture is known.  So draw from a mixture of
such conditionals, for S allocations z_s of all basins that Gibbs chains find,

    q(θ) = (1/S) Σ_s (1/K!) Σ_π p(θ | x, π z_s),    Ẑ = (1/M) Σ_m p(x | θ_m) p(θ_m) / q(θ_m),    θ_m ~ q,

which has no bias, whatever the allocations.  The sum over the labellings π is done in full, as a permanent.
Therefore nothing has to be known of basins and labels: where components are far apart one labelling counts,
where they overlap or are empty several do, and basins of one mixture q are never counted twice.

The chains hold basins in any proportion.  So a pilot run of draws is resampled by weight, and each gives an
allocation a few Gibbs sweeps away: population Monte Carlo (Cappé et al. 2004).  Draws whose weights stand
out, where q was too thin, give several.  This is repeated where too few draws are effective, and all rounds
count.  It is done by two halves that know nothing of each other, so that a basin that is easily missed shows.

Symbols
-------
=======  ============  ==============================================================
math     code          meaning
=======  ============  ==============================================================
T        ``T``         statistics of the S allocations, (K, S, 2p + 1)
π z_s    ``terms``     log p(θ_m | x, {z_s}) / (S p(θ_m)), labels summed over, (M, S)
ω_m      ``log_w``     p(x | θ_m) p(θ_m) / q(θ_m), (M,)
=======  ============  ==============================================================

References
----------
S. Frühwirth-Schnatter (2004), Estimating marginal likelihoods for mixture and Markov switching models using
bridge sampling techniques; J. E. Lee and C. P. Robert (2016), Importance sampling schemes for evidence
approximation in mixture models; O. Cappé et al. (2004), Population Monte Carlo.
"""

from typing import NamedTuple

import numpy as np

from ..history import Rows
from ..models import MixtureModel
from ..models.allocations import (
    coefficients,
    features,
    log_conditionals,
    sample_allocations,
    sample_parameters,
    statistics,
)
from ..particles import Weights, log_sum_exp, systematic
from ._allocation_search import Found, sampled_allocations, searched_together

#: Allocations of a half from its chains; those that stay after its pilot, and new ones then and each time.
FOUND, OLD, NEW = 150, 50, 100
#: Gibbs sweeps to a new allocation: after one, those of a draw that stood out are all like it.
SWEPT = 4
#: Draws of each half's pilot run, and of the estimate.
PILOT, DRAWS = 500, 2000
#: Effective draws that are enough: an error of 4 %.  And how often q may grow for them.
ENOUGH, GROWTHS = 500, 2
#: Effective draws below which their variance is not believed, and nats that the halves may differ by.
FEW, APART = 100, 1.0
#: Effective draws of a round below which those that stand out have not all been seen, and what the bar of one
#: round is then widened by: on overfitted mixtures 100 to 300 of them were 0.2 to 0.4 nats low at 0.1.
SURE, WIDER = 400, 2.0
#: Effective draws from which more rounds are worth their time where these are too few, and how many in all.
HOPE, MORE_GROWTHS = 20, 6
#: Rows · components · numbers of each, and parameters, below which annealing takes less time than more than
#: one round more, and its error bar is better than what few effective draws allow.  With a hundred parameters
#: (wine, K = 4) it took 47 s and was up to 12 nats low, where 240 effective draws were right.
SMALL, FEW_PARAMETERS = 20_000, 32
#: Rows · components · numbers of each beyond which the answer would take more than about five seconds.
MOST = 200_000
#: Rows beyond which modes and their importance sampling cost less, and allocations carry less.
MOST_ROWS = 5000
#: Components beyond which the sum over labellings would.
MOST_COMPONENTS = 10


class AllocationEvidence(NamedTuple):
    """Evidence of a mixture and weighted draws from its posterior.

    ``log_evidence_std`` is the larger of what the weights vary by and of half of what two independent halves
    differ by, in nats, with several components at least one in all draws; twice that of one round of draws
    where fewer than SURE of a round are effective.  The mean of exp(``log_weights``) (M,) is the evidence,
    ``theta`` (M, d) are the points they belong to, and ``ess`` of them are effective.  Where these are few,
    or the halves are too far apart, neither value nor error bar can be trusted and ``reliable`` is False;
    ``hopeful`` if another search may do better.
    ``n_likelihoods`` counts points times rows.
    """

    log_evidence: float
    log_evidence_std: float
    theta: np.ndarray
    log_weights: np.ndarray
    ess: float
    reliable: bool
    hopeful: bool
    n_likelihoods: float


def allocation_evidence(
    model: MixtureModel, rows: Rows, rng: np.random.Generator
) -> AllocationEvidence | None:
    """Log evidence of all rows, or None where it would cost too much.

    Parameters
    ----------
    model : MixtureModel
    rows : Rows
        Weights mean repetition and need not be integers: a row that counts ω times is shared by up to ⌈ω⌉
        components.
    rng : numpy.random.Generator

    Returns
    -------
    AllocationEvidence or None
        None if Σ⌈ω⌉ exceeds MOST_ROWS, Σ⌈ω⌉ · K (2p + 1) MOST, or K MOST_COMPONENTS.

    Notes
    -----
    *Cost*: 24 chains in each half for some 150 sweeps of n K (2p + 1), and about a million pairs of a point
    and an allocation, each K² (2p + 1) + K 2ᴷ.

    *When not to use it*: where components overlap and rows are many, allocations carry little of the
    uncertainty: each conditional is then much narrower than the posterior, and few draws are effective.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import MixtureModel
    >>> rows = Rows.of(np.linspace(-1, 1, 20)[:, None] ** 3)
    >>> found = allocation_evidence(MixtureModel(1, 1), rows, np.random.default_rng(0))
    >>> bool(abs(found.log_evidence - MixtureModel(1, 1).exact_log_evidence(rows)) < 1e-6)
    True
    """
    rows = rows.take(np.flatnonzero(rows.weight > 0))
    n_copies = np.ceil(rows.weight * (1 - 1e-12))
    cost = np.sum(n_copies) * model.n_components * (2 * model.n_features + 1)
    small = cost < SMALL and model.n_params <= FEW_PARAMETERS
    if not 0 < cost <= MOST or np.sum(n_copies) > MOST_ROWS or model.n_components > MOST_COMPONENTS:
        return None
    problem = _Problem.of(model, rows, n_copies.astype(int))
    rngs = rng.spawn(2)
    found = searched_together(model, problem.X, problem.F, problem.origin, rngs)
    halves = [problem.proposal(one, g) for one, g in zip(found, rngs)]
    rounds: list[_Sample] = []
    for growths in range(2 if small else 1 + MORE_GROWTHS):
        rounds.append(problem.draw(np.concatenate(halves, axis=1), DRAWS, rng))
        weights = Weights(np.concatenate([one.log_w for one in rounds]))  # each round has no bias of its own
        if weights.ess > ENOUGH or (growths >= GROWTHS and weights.ess < HOPE):
            break
        halves = [problem.grown(T, part, rng) for T, part in zip(halves, rounds[-1].halves())]
    apart = float(abs(np.subtract(*_by_half(rounds))))
    unseen = (model.n_components > 1) / (len(rounds) * DRAWS)  # what no draw has met may hold one in as many
    std = np.sqrt(max(weights.relative_variance, (apart / 2) ** 2, unseen**2))
    sure = weights.ess > SURE * len(rounds)
    enough = sure if small else weights.ess > FEW
    n_draws = 2 * PILOT + len(rounds) * DRAWS
    return AllocationEvidence(
        log_evidence=weights.log_mean,
        log_evidence_std=float(std if sure else WIDER * np.sqrt(len(rounds)) * std),
        theta=np.concatenate([one.theta for one in rounds]),
        log_weights=weights.log_w,
        ess=weights.ess,
        reliable=bool(enough and apart < APART),
        hopeful=bool(weights.ess > HOPE and (not small or apart >= APART)),
        n_likelihoods=float(n_draws * len(rows) + sum(one.n_sweeps for one in found) * len(problem.F)),
    )


def _by_half(rounds: list["_Sample"]) -> np.ndarray:
    """log Ẑ of either half, from all rounds, (2,)."""
    each = np.array([[half.weights.log_mean for half in one.halves()] for one in rounds])
    return log_sum_exp(each.T, axis=1) - np.log(len(rounds))


class _Sample(NamedTuple):
    """Draws from q, with what each allocation contributes to q there."""

    theta: np.ndarray
    log_likelihood: np.ndarray
    terms: np.ndarray
    parents: np.ndarray

    @property
    def log_w(self) -> np.ndarray:
        return self.log_likelihood - log_sum_exp(self.terms, axis=1)

    @property
    def weights(self) -> Weights:
        return Weights(self.log_w)

    def halves(self) -> tuple["_Sample", "_Sample"]:
        """The draws of the first and of the last allocations, each as if there were no others."""
        half = self.terms.shape[1] // 2
        first = self.parents < half
        return (
            _Sample(
                self.theta[first],
                self.log_likelihood[first],
                self.terms[first, :half] + np.log(2),
                self.parents[first],
            ),
            _Sample(
                self.theta[~first],
                self.log_likelihood[~first],
                self.terms[~first, half:] + np.log(2),
                self.parents[~first] - half,
            ),
        )


class _Problem(NamedTuple):
    """Model and rows, and the rows in equal parts (n, p) that may go to different components."""

    model: MixtureModel
    rows: Rows
    X: np.ndarray
    F: np.ndarray
    origin: np.ndarray

    @classmethod
    def of(cls, model: MixtureModel, rows: Rows, n_copies: np.ndarray) -> "_Problem":
        copies = np.repeat(np.arange(len(rows)), n_copies)
        origin = rows.weight @ rows.X / rows.total_weight
        F = features(rows.X[copies], (rows.weight / n_copies)[copies], origin)
        return cls(model, rows, rows.X[copies], F, origin)

    def proposal(self, found: Found, rng: np.random.Generator) -> np.ndarray:
        """T of one half: allocations in the posterior's proportions, as far as a pilot run knows them."""
        T = sampled_allocations(self.model, found, self.F, self.origin, FOUND, rng)
        pilot = self.draw(T, PILOT, rng)
        return self.grown(T[:, rng.permutation(FOUND)[:OLD]], pilot, rng)

    def draw(self, T: np.ndarray, M: int, rng: np.random.Generator) -> _Sample:
        """M draws from q."""
        S = T.shape[1]
        parents = systematic(np.full(S, 1 / S), rng, M)
        theta = sample_parameters(self.model, T[:, parents], self.origin, rng)
        log_c = np.full(S, -np.log(S))
        terms = log_conditionals(self.model, theta, T, log_c, self.origin, parents)
        return _Sample(theta, self.model.sum_log_likelihood(theta, self.rows), terms, parents)

    def grown(self, T: np.ndarray, sample: _Sample, rng: np.random.Generator) -> np.ndarray:
        """T and allocations a few sweeps from draws of a sample, resampled by weight."""
        theta = sample.theta[systematic(sample.weights.W, rng, NEW)]
        for _ in range(SWEPT):
            z, _ = sample_allocations(coefficients(self.model, theta, self.origin), self.F, rng)
            new = statistics(z, self.F, self.model.n_components)
            theta = sample_parameters(self.model, new, self.origin, rng)
        return np.concatenate([T, new], axis=1)
