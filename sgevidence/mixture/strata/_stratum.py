"""Sum over allocations with exactly k components in use,

    B_k = Σ_{z onto k labels} Π_j [Γ(a + n_j)/Γ(a)] p(x_j),

by two halves, each with searches and chains of its own, so that a basin which is easily missed shows.  Halves
that differ search once more; if they still do, both follow all that either has met, and their difference
stays in the error bar and becomes a doubt.  The first stage has few chains, which are enough for a stratum
that mixes well or holds little of the sum; others go on with more, twice as long each time.

Symbols: ``log_B`` = log B_k, nats.

The ratio of strata from how many components chains have in use.

Gibbs chains of k + 1 components, each of which may lose its rows, have j of them in use with
p(j) ∝ C(k + 1, j) B_j (Nobile 2004), so that

    log B_j − log B_{k−1} = log p(j) − log p(k − 1) − log C(k + 1, j) + log C(k + 1, k − 1),    j = k, k + 1.

Where components come and go within a few sweeps, this is sharper than a bridge.  It is wrong where a stratum
holds a basin that no chain meets, which a bridge between searched basins knows.

Symbols: ``z`` = allocations of S chains (S, n), ``visits`` = sweeps of each chain with k − 1, k and k + 1
components in use, (3, S).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._allocation_draws import sample_allocations
from ._basins import Stage, by_basin, going_on, kernels_of
from ._released_rows import released
from ._search import chosen, filled, n_met, pooled, searched
from ._sweeps import Problem

#: Sweeps of each chain before visits count, then in rounds until the error is SHARP_ERROR_NATS; sweeps
#: between points.
BURN_SWEEPS, SWEEPS_OF_ROUNDS, SHARP_ERROR_NATS, SWEEPS_BETWEEN_POINTS = 80, (200,) * 7, 0.12, 5
#: Error of all rounds, nats, beyond which changes are so rare that they do not tell their own error.
MAX_RATIO_ERROR_NATS = 0.2
#: Rows · components · numbers of each · sweeps of the chains of a half, and chains that it has at least.
MAX_HALF_WORK, MIN_HALF_CHAINS = 5e9, 8


class Occupancy(NamedTuple):
    """log B_k − log B_{k−1}, its error and what halves differ by, nats; points of stratum k, (k, M, q)."""

    log_ratio: float
    std: float
    gap: float
    points: np.ndarray
    n_sweeps: int
    ahead: "Occupancy | None" = None  #: of the next stratum and this one, if it is visited often


def occupancy(
    problem: Problem, k: int, z: Sequence[np.ndarray], rng: np.random.Generator, leniency: float = 1.0
) -> Occupancy | None:
    """From chains that start at allocations of two halves; None where they mostly stay, or halves differ.

    ``leniency`` is how many times larger an error may be.
    """
    most = max(int(MAX_HALF_WORK / (problem.cost(k + 1) * sum(SWEEPS_OF_ROUNDS))), MIN_HALF_CHAINS)
    z = [half[np.linspace(0, len(half) - 1, min(most, len(half))).astype(int)] for half in z]
    T, n_first = problem.statistics(np.concatenate(z), k + 1), len(z[0])
    T, burnt, _ = _followed(problem, T, BURN_SWEEPS, rng)
    visits, in_use, total = np.zeros_like(burnt), list[np.ndarray](), BURN_SWEEPS
    # visits of either half without which chains hardly change the number of components
    if min(burnt[:2, :n_first].sum(axis=1).min(), burnt[:2, n_first:].sum(axis=1).min()) < 10:
        return None
    for i, n_sweeps in enumerate(SWEEPS_OF_ROUNDS):
        T, new, more = _followed(problem, T, n_sweeps, rng)
        visits, in_use, total = visits + new, [*in_use, *more], total + n_sweeps
        error = _log_ratio(visits[:2])[1]
        if error < leniency * SHARP_ERROR_NATS:
            break
        if error * np.sqrt((i + 1) / len(SWEEPS_OF_ROUNDS)) > leniency * MAX_RATIO_ERROR_NATS:
            return None
    in_all, spent = np.concatenate(in_use, axis=1), total * T.shape[1]
    first, ahead = (
        _step(problem, in_all, visits[i : i + 2], n_first, i + k, spent * (1 - i), leniency, rng)
        for i in range(2)
    )
    return None if first is None else first._replace(ahead=ahead)


def _step(
    problem: Problem,
    T: np.ndarray,
    visits: np.ndarray,
    n_first: int,
    j: int,
    n_sweeps: int,
    leniency: float,
    rng: np.random.Generator,
) -> Occupancy | None:
    """log B_j − log B_{j−1} of visits (2, S) to both, of which ``n_first`` chains are those of one half."""
    log_odds, error = _log_ratio(visits)
    halves = _log_ratio(visits[:, :n_first]), _log_ratio(visits[:, n_first:])
    gap = abs(halves[0][0] - halves[1][0])
    # standard errors that ratios of two halves may differ by
    if error > leniency * MAX_RATIO_ERROR_NATS or not gap < 3.0 * np.hypot(halves[0][1], halves[1][1]):
        return None
    of_j = T[:, np.sum(T[..., -1] > 0, axis=0) == j]
    used = np.argsort(of_j[..., -1] == 0, axis=0, kind="stable")[:j, :, None]
    points = problem.draw(np.take_along_axis(of_j, used, axis=0), rng)
    n_labels = len(T)
    log_ratio = log_odds + np.log(j / (n_labels - j + 1))  # C(L, j − 1) over C(L, j)
    return Occupancy(log_ratio, error, gap, points, n_sweeps)


def _log_ratio(visits: np.ndarray) -> tuple[float, float]:
    """log of the ratio of the second to the first of visits (2, S), and its standard error by chains."""
    if not np.all(visits.sum(axis=1) > 0):
        return 0.0, np.inf
    share = visits / visits.sum(axis=1, keepdims=True)
    ratio = np.log(visits[1].sum()) - np.log(visits[0].sum())
    return float(ratio), float(np.sqrt(np.sum((share[0] - share[1]) ** 2)))


def _followed(
    problem: Problem, T: np.ndarray, n_sweeps: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """T of chains some sweeps on, their visits (3, S), and T every SWEEPS_BETWEEN_POINTS."""
    L, visits, kept = len(T), np.zeros((3, T.shape[1])), []
    for sweep in range(n_sweeps):
        T = sample_allocations(problem.draw(T, rng), problem.F, rng)[1]
        visits += np.sum(T[..., -1] > 0, axis=0) == np.array([[L - 2], [L - 1], [L]])
        kept += [T] * (sweep % SWEEPS_BETWEEN_POINTS == 0)
    return T, visits, kept


#: Lineages of each half: most and least; rows · components · numbers of each of all of them between these,
#: and of those of the first stage: fewer save nothing beside the search.
LINEAGES, LEAST_LINEAGES, LINEAGE_NUMBERS, FIRST_LINEAGE_NUMBERS = 40, 16, 4_500_000, 400_000
#: Sweeps until lineages have forgotten where they were, in the first of STAGES; then twice as many each time.
FORGET_SWEEPS, STAGES = 20, 4
#: Rows that a search looks at: it splits off no less than three in a hundred.
MOST_SEARCHED = 2000
#: Independent draws of a stratum that is known.
EXACT_DRAWS = 800
#: Nats that halves may differ by without another search.
MAX_GAP_NATS = 0.3
#: Share of chains that carry the answer, and nats of error, from which no further stage is needed; the share
#: and nats from which not even a second one is, which shows how far slow chains still move the answer.
WELL_SHARE, SHARP_HALVES_NATS, FRESH_SHARE, FRESH_SHARP_NATS = 0.4, 0.1, 0.9, 0.07
#: Sweeps between draws of a chain, in the first stage; then twice as many each time.
DRAW_SWEEPS = 3
#: Draws of each chain at each step while rows are released, in rounds until the error is SHARP_HALVES_NATS;
#: what a round moves the answer by is in the bar.
RELEASE_DRAWS = 20, 40
#: Allocations of either half from which rows are released, and chains of each.
N_RELEASES, RELEASE_CHAINS = 4, 8
#: Standard deviation of sums from different allocations, nats, beyond which steps have lost their overlap:
#: some are then ten nats too high (200 rows of five groups, k = 3); overlapping classes have 0.2 to 0.7.
MAX_RELEASE_SPREAD_NATS = 1.0
#: Share of what slow chains moved the answer by since the stage before, which they may still move it by.
MOVING_SHARE = 0.5
#: Standard errors of a difference beyond which one half has missed something.
HALVES_APART_STD = 3.0


class Stratum(NamedTuple):
    """log B_k and its standard error, nats.

    ``halves_gap`` is what halves that searched independently differ by, nats; ``n_met`` the number of
    searches that met the best score; ``z`` are allocations where either half has ended; ``points`` (k, M, q)
    and ``log_w`` draws of the stratum's posterior.
    """

    k: int
    log_B: float
    std: float
    halves_gap: float
    effective: float
    n_met: int
    z: Sequence[np.ndarray]
    points: np.ndarray
    log_w: np.ndarray
    n_likelihoods: float
    is_linked: bool = False  #: errors and doubts are those of the stratum before, and more
    ahead: Occupancy | None = None  #: ratio of the next stratum to this one, if chains have told it

    @classmethod
    def of(
        cls, k: int, stages: Sequence[Stage], std: float, gap: float, n_met: int, z: Sequence, spent: float
    ) -> "Stratum":
        """From the last stage of both halves; ``std`` is what the error is at least."""
        n_points = sum(one.points.shape[1] for one in stages)
        return cls(
            k=k,
            log_B=combined_halves(stages),
            std=max(_std(stages), std),
            halves_gap=gap,
            effective=min(one.estimate.n_effective for one in stages),
            n_met=n_met,
            z=z,
            points=np.concatenate([one.points for one in stages], axis=1),
            log_w=np.concatenate([one.estimate.log_w - np.log(one.points.shape[1]) for one in stages]),
            n_likelihoods=spent + float(n_points * z[0].shape[1]),
        )


def covariance_of(strata: Sequence[Stratum]) -> np.ndarray:
    """Covariance of the errors of log B_k, nats², (s, s)."""
    out = np.diag([one.std**2 for one in strata])
    for k, one in enumerate(strata):
        if one.is_linked:
            out[k, :k] = out[:k, k] = out[k - 1, :k]
    return out


def single(problem: Problem, rngs: list[np.random.Generator]) -> Stratum:
    """One component, in closed form."""
    T = problem.F.sum(axis=0)[None, None]
    z = np.zeros((1, len(problem.F)), dtype=np.int16)
    points = problem.draw(np.repeat(T, EXACT_DRAWS, axis=1), rngs[0])
    log_B = float(problem.log_joint(T)[0])
    return Stratum(1, log_B, 0.0, 0.0, 1.0, 2, [z, z], points, np.zeros(EXACT_DRAWS), float(len(problem.F)))


def stratum(
    problem: Problem,
    before: Stratum,
    rngs: list[np.random.Generator],
    log_rest: float = -np.inf,
    leniency: float = 1.0,
) -> Stratum:
    """One component more than the stratum before it.

    ``log_rest`` is what other strata hold, in units of B_k, nats: an error counts by the share of this one.
    ``leniency`` is how many times larger errors may be; beyond one, chains are fewer, and stages at most two.
    """
    k = before.k + 1
    least, n_stages = (LEAST_LINEAGES, STAGES) if leniency == 1.0 else (LEAST_LINEAGES // 2, 2)
    size, first = (
        int(np.clip(most / problem.cost(k) / leniency, least, LINEAGES))
        for most in (LINEAGE_NUMBERS, FIRST_LINEAGE_NUMBERS)
    )
    starts, n_sweeps, n_met = _starts(problem, k, before.z, size, rngs)
    z = [one[:first] for one in starts]
    n_searches, gap, moved, answer, error = 1, 0.0, 0.0, np.nan, np.inf
    for i in range(n_stages):
        # rows · components · numbers of each · sweeps of one chain in one stage of one half: ten seconds
        forget = int(np.clip(4e9 / (problem.cost(k) * size), FORGET_SWEEPS, FORGET_SWEEPS * 2**i))
        kernels, between = kernels_of(k, i), DRAW_SWEEPS * 2 ** max(i - 1, 0)
        stages = [by_basin(problem, k, one, forget, between, kernels, rng) for one, rng in zip(z, rngs)]
        n_sweeps += sum(one.n_sweeps for one in stages)
        before_it, answer, error_before, error = answer, combined_halves(stages), error, _std(stages)
        moved = 0.0 if i == 0 else MOVING_SHARE * max(abs(answer - before_it) - error_before, 0.0)
        gap = gap if n_searches > 2 else missed(stages)
        share = 1 / leniency / (1 + np.exp(np.minimum(log_rest - max(one.log_Z for one in stages), 700.0)))
        if share * max(gap, moved) <= MAX_GAP_NATS and are_well(stages, i == 0, share):
            break
        if (1.0 if i == 0 else share) * error > SHARP_HALVES_NATS:
            if i == 0:
                better = _by_occupancy(problem, before, stages, rngs, leniency)
            else:
                better = _by_release(problem, k, stages, share, rngs)
            if better is not None:
                spent = better.n_likelihoods + n_sweeps * len(problem.F)
                return better._replace(n_met=n_met, n_likelihoods=spent)
        z = [going_on(one, len(half), rng) for one, half, rng in zip(stages, z, rngs)]
        if i == 0:
            more = size if gap else _enough(stages, share, first)
            z = [np.concatenate([half, one[first:more]]) for half, one in zip(z, starts)]
        if share * gap > MAX_GAP_NATS and n_searches == 1:
            others, spent, _ = _starts(problem, k, before.z, size // 2, rngs)
            z, n_sweeps = [np.concatenate(both) for both in zip(z, others)], n_sweeps + spent
            n_searches = 2
        elif share * gap > MAX_GAP_NATS and n_searches == 2:
            z, n_searches = [np.concatenate(z)] * 2, 3  # which either half follows
    std = max(moved, gap / 2 if n_searches > 2 else 0.0)
    z = [going_on(one, size // 2, rng) for one, rng in zip(stages, rngs)]
    return Stratum.of(k, stages, std, gap, n_met, z, float(n_sweeps * len(problem.F)))


def _by_occupancy(
    problem: Problem,
    before: Stratum,
    stages: Sequence[Stage],
    rngs: list[np.random.Generator],
    leniency: float,
) -> Stratum | None:
    """From the stratum before, if chains tell the ratio better than bridges do, and no less than these."""
    k = before.k + 1
    found = before.ahead
    if found is None:
        found = occupancy(problem, k, [one.z for one in stages], rngs[0], leniency)
    if found is None:
        return None
    log_B, std = before.log_B + found.log_ratio, float(np.hypot(before.std, found.std))
    if log_B + HALVES_APART_STD * std < max(one.least for one in stages) or std > _std(stages):
        return None
    return Stratum(
        k=k,
        log_B=log_B,
        std=std,
        halves_gap=max(found.gap, before.halves_gap),
        effective=before.effective,
        n_met=0,
        z=[going_on(one, len(one.z), rng) for one, rng in zip(stages, rngs)],
        points=found.points,
        log_w=np.zeros(found.points.shape[1]),
        n_likelihoods=float(found.n_sweeps * len(problem.F)),
        is_linked=True,
        ahead=found.ahead,
    )


def _by_release(
    problem: Problem, k: int, stages: Sequence[Stage], share: float, rngs: list[np.random.Generator]
) -> Stratum | None:
    """By rows that are released from several allocations, where these do not cover the basin of either half.

    Sums from different allocations are independent, and their spread is the error bar, or what their chains
    claim, or half of what a round moved the answer by, whichever is largest.  None where sums or
    halves differ by more, as where one has missed a basin, or where bridges are sharper.
    """
    is_covered = min(one.estimate.n_effective for one in stages) >= WELL_SHARE
    if is_covered or any(one.counts.sum() > 1 or one.is_tight for one in stages):
        return None
    n, n_sweeps, answer = len(problem.F), 0.0, np.nan
    z = [np.resize(rng.permutation(one.z), (N_RELEASES, RELEASE_CHAINS, n)) for one, rng in zip(stages, rngs)]
    for n_draws in RELEASE_DRAWS:
        found = [[released(problem, k, one, n_draws, rng) for one in half] for half, rng in zip(z, rngs)]
        z, every = [np.stack([one.z for one in half]) for half in found], found[0] + found[1]
        n_sweeps += sum(one.n_sweeps for one in every)
        log_B, before = np.array([one.log_B for one in every]), answer
        answer = float(np.logaddexp.reduce(log_B) - np.log(len(every)))
        claimed = np.sqrt(np.mean([one.std**2 for one in every]) / len(every))
        seen = np.std(np.exp(log_B - answer), ddof=1) / len(every) ** 0.5
        moved = 0.0 if np.isnan(before) else MOVING_SHARE * abs(answer - before)
        std = float(max(seen, claimed, moved))
        if share * std < SHARP_HALVES_NATS:
            break
    of_half = log_B.reshape(2, -1)
    spread = np.sqrt(np.mean(np.var(of_half, axis=1, ddof=1)) / len(every))
    gap = float(np.ptp(np.logaddexp.reduce(of_half, axis=1)))
    # the gap has twice the error of the mean of both halves
    differ = np.std(log_B) > MAX_RELEASE_SPREAD_NATS or gap > 2 * HALVES_APART_STD * max(spread, claimed)
    is_low = answer + HALVES_APART_STD * std < max(one.least for one in stages)
    if differ or is_low or std > _std(stages):
        return None
    return Stratum(
        k=k,
        log_B=answer,
        std=std,
        halves_gap=0.0,
        effective=1.0,
        n_met=0,
        z=[half.reshape(-1, n) for half in z],
        points=np.concatenate([one.points for one in every], axis=1),
        log_w=np.zeros(sum(one.points.shape[1] for one in every)),
        n_likelihoods=n_sweeps * n,
    )


def _starts(
    problem: Problem, k: int, before: Sequence[np.ndarray], size: int, rngs: list[np.random.Generator]
) -> tuple[list[np.ndarray], int, int]:
    """Allocations (size, n) where searches of either half have been, their sweeps, and how many met the best.

    Where rows are many a random part is searched, and all rows are allocated by the parameters of that part.
    """
    n, part = len(problem.F), problem
    if n > MOST_SEARCHED:
        rows = np.sort(rngs[0].choice(n, MOST_SEARCHED, replace=False))
        part, before = problem.subset(rows), [filled(z[:, rows], k - 1, rngs[0]) for z in before]
    halves = searched(part, k, before, rngs)
    z = [chosen(pooled(half), k, size) for half in halves]
    if n > MOST_SEARCHED:
        z = [_of_all(problem, part, one, k, rng) for one, rng in zip(z, rngs)]
    spent = sum(one.n_sweeps for half in halves for one in half) * len(part.F) // n
    return z, spent, n_met(halves)


def _of_all(problem: Problem, part: Problem, z: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Allocations of all rows (S, n), given parameters from those of some."""
    c = problem.draw(part.statistics(z, k), rng)
    anywhere = filled(np.zeros((len(z), len(problem.F)), dtype=np.int16), k, rng)
    return problem.allocate(c, anywhere, problem.statistics(anywhere, k), rng)[0]


def are_well(stages: Sequence[Stage], is_first: bool, share: float = 1.0) -> bool:
    """Whether chains of a stratum that holds so much need no more sweeps."""
    well, sharp = (FRESH_SHARE, FRESH_SHARP_NATS) if is_first else (WELL_SHARE, SHARP_HALVES_NATS)
    if share * _std(stages) > sharp:
        return False
    # share of all strata below which few effective chains will do: the error bar says how few
    return share < 0.1 or all(one.estimate.n_effective >= well and not one.is_thin for one in stages)


def _enough(stages: Sequence[Stage], share: float, first: int) -> int:
    """Lineages that would have made the error of the sum FRESH_SHARP_NATS, by a stage of the first."""
    error = share * max(one.estimate.std for one in stages)
    return int(first * min(error / FRESH_SHARP_NATS, LINEAGES) ** 2)


def halves_gap(stages: Sequence[Stage]) -> float:
    """Nats that halves differ by."""
    return abs(stages[0].log_Z - stages[1].log_Z)


def missed(stages: Sequence[Stage]) -> float:
    """Nats that halves differ by, where errors do not explain it: one has missed what the other has met."""
    gap, std = halves_gap(stages), np.hypot(stages[0].estimate.std, stages[1].estimate.std)
    return gap if gap > HALVES_APART_STD * std + SHARP_HALVES_NATS else 0.0


def combined_halves(stages: Sequence[Stage]) -> float:
    """The mean of both halves; the higher where one has missed what the other has met."""
    log_Z = np.array([one.log_Z for one in stages])
    return float(log_Z.max() if missed(stages) else np.logaddexp(*log_Z) - np.log(2))


def _std(stages: Sequence[Stage]) -> float:
    """Standard error of the mean, with half of the gap: chains of one half share what they started from."""
    std = np.hypot(stages[0].estimate.std, stages[1].estimate.std)
    return float(np.hypot(std, halves_gap(stages)) / 2)
