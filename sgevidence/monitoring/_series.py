r"""A segment of a series of numbers: level, trend, autoregression, walk or any shape, by their evidence.

A member is a structure (below), a regression of a row z on one feature u and a constant, under the conjugate
prior of :class:`RegressionSegment`.  Each comes with a noise σ of about 1, 0.3, 0.1 and 0.03 units (σ² an
inverse gamma of two degrees of freedom: within a factor of three or so), and each of those with five kinds
of tails (:mod:`._noise`):  Gaussian, Gaussian with strays, heavy, and lopsided to either side, each of the
last three a tenth as probable as the others when a run begins.  Five more members have rows of any shape
(:mod:`._noise`), independent or with one of four correlations with the row before.  These 145 are weighted by
their evidence in the run.  Where rows may stray or have heavy tails, a member learns from a row by its
weight w and its information κ and c.  The evidence is the product of the predictive densities, as for any
model.  Columns are independent given the changes, which some of them share (below).

**Units.**  A run measures in the mean and standard deviation of all rows before it, but at least of the
first ``warm_up`` rows, which are held until there are that many.  So the answer is the same in any
units.  The cells of rows of any shape are in the units of the ``warm_up`` in every run.

**The first row of a run.**  A level may be anywhere: with probability 1/10 the first row has a Cauchy
density like a stray's, in every member, and where the row is more than five units out the prior of the level
is widened to it.  A walk learns nothing from a jump.

**Overshoot.**  Rows whose noise is not Gaussian about a level are learnt more slowly, a young run and an old
one differ by more, and there are twice as many alarms; where volatility clusters there are more than the
martingale's bound says.  The posterior of the members says which kind they are.

Symbols
-------
==========  ===================  =========================================================
here        code                 meaning
==========  ===================  =========================================================
z, u        ``z``, ``u``         row in units of the run, and the member's feature; both over h
m, V        ``m1``, ``m2``, ``v11``, ``v12``, ``v22``  posterior mean of the coefficients; covariance over σ²
a, b        ``a``, ``b``         shape and scale of the posterior of σ²
w           ``w``                weight of a row: less than 1 for an outlier
κ, c        ``kappa``, ``c``     its information on the prediction and on σ², beside a Gaussian row's
w e²/s²-c   ``surprise``         its mean: what rows add to b beyond their information
==========  ===================  =========================================================

**A change in some of the columns** leaves the others as they were.  A run that began at row s says that a
column has changed there, with members that know nothing (F, the density of its rows so far), or has not (C):
then its rows are those of the run that was the most probable among the older ones before each row.  All
columns change with probability one half; else each by itself with ρ = 1/p, but at least one of the p.  So
with G = log F − log C of each column

.. math::
    \frac{p(\text{rows} \mid s)}{\prod_j C_j} = \tfrac12 \prod_j e^{G_j} + \frac{1}{2 (1 - (1-ρ)^p)}
    \sum_j (1-ρ)^{j-1}\, ρ e^{G_j} \prod_{i > j} (ρ e^{G_i} + 1 - ρ),

where j is the first column that has changed: the terms are positive, and nothing cancels.  Without this a
run pays in every column for learning anew what has not changed there, and an older one with heavy tails in
one column is cheaper.

Symbols
-------
======  ===============  ==================================================
here    code             meaning
======  ===============  ==================================================
G       ``log_gain``     of each run, (capacity, columns)
w       ``log_weight``   log posterior of the runs before the row, (R,)
        ``log_z``        log density of the row if the column is new, (R, columns)
======  ===============  ==================================================

**Structures** predict a row by a level, a line, the rows before it, or their scatter.  A structure is a
regression of a row z, in the units of its run, on a constant and one feature u, with noise of scale h:

=================  =======================================  ===========  ==========================
structure          z_t =                                    feature u    prior of (constant, slope)
=================  =======================================  ===========  ==========================
level              μ + noise                                none         sd 1
trend              μ + β τ/100 + noise                      τ/100        sd 1, 1
autoregression     c + (½ + δ) z_{t-1} + noise              z_{t-1}      sd 1, ½
smoothed           c + (½ + δ) s_{t-1} + noise              s_{t-1}      sd 1, ½
walk               z_{t-1} + c + noise                      none         sd σ
momentum           z_{t-1} + c + (½ + δ) Δz_{t-1} + noise   Δz_{t-1}     sd σ, ½
volatile           μ + h_t noise                            none         sd 1
=================  =======================================  ===========  ==========================

with τ the age of the run in rows.  s is a mean of the rows that forgets, and h² one of their squared
deviations (:mod:`._series_runs`): a state that is seen through noise, and volatility that clusters.

Symbols: ``u`` = u/h, ``one`` = 1/h, ``known`` = what z is known to be added to.
"""

from numbers import Integral
from typing import NamedTuple

import numpy as np

from .._compat import Interval
from ._filter import FARTHEST_VALUE, SegmentModel, refuse_far, too_extreme
from ._noise import (
    RHO,
    SHAPE,
    TAILS,
    are_tails,
    from_anywhere,
    learn_shape,
    log_copula,
    log_prior,
    normal_score,
    under_tails,
)
from ._series_runs import Expected, Past, SeriesRuns, make_runs, spread

#: Prior probability beside that of a level, when a run begins.  As probable as the others "volatile" takes
#: changes of variance for clusters of it (14 of 16 found where the sd doubles, and one after 60 rows 220 rows
#: later), and "smoothed" costs covering on the Turing series; with a hundredth neither does.
STRUCTURES = {
    "level": 1.0,
    "trend": 1.0,
    "autoregression": 1.0,
    "smoothed": 0.01,
    "walk": 1.0,
    "momentum": 1.0,
    "volatile": 0.01,
}
TREND_ROWS = 100.0  # rows in which a trend moves by about one unit
PERSISTENCE = 0.5  # prior mean, and standard deviation, of the coefficient of rows before
LEAST_SCALE = 1e-3  # of h, units: where all recent rows are the mean


class Design(NamedTuple):
    """The row as each structure expects it; (R, columns, S, 1), or for each member."""

    one: np.ndarray
    u: np.ndarray
    known: np.ndarray


def design(
    names: list[str],
    age: np.ndarray,
    centre: np.ndarray,
    unit: np.ndarray,
    past: Past,
    excess: np.ndarray | float = 0.0,
) -> Design:
    """Design of the prediction of the next row, which does not follow the last one's excess as a stray."""
    last = (past.last - centre) / unit
    one = np.ones((*last.shape, len(names), 1))
    u, known = np.zeros_like(one), np.zeros_like(one)
    for s, name in enumerate(names):
        if name == "trend":
            u[:, :, s, 0] = age[:, None] / TREND_ROWS
        elif name == "autoregression":
            u[:, :, s, 0] = last
        elif name == "smoothed":
            u[:, :, s, 0] = (past.smooth - centre) / unit
        elif name == "walk":
            known[:, :, s, 0] = last
        elif name == "momentum":
            u[:, :, s, 0], known[:, :, s, 0] = past.step / unit, last
        elif name == "volatile":
            one[:, :, s, 0] = 1.0 / np.maximum(np.sqrt(past.scatter) / unit, LEAST_SCALE)
    takes_after = follow(names)
    walks = takes_after & (np.array(names)[:, None] != "autoregression")
    slopes = takes_after & (np.array(names)[:, None] != "walk")
    return Design(one, u - slopes * excess, known - walks * excess)


def prior_of(name: str, variance: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean of the slope, and variances of constant and slope over σ², where σ² is about ``variance``."""
    v11 = np.ones_like(variance) if name in ("walk", "momentum") else 1.0 / variance
    if name in ("autoregression", "smoothed", "momentum"):
        return PERSISTENCE, v11, PERSISTENCE**2 / variance
    return 0.0, v11, 1.0 / variance if name == "trend" else np.zeros_like(variance)


def follow(names: list[str]) -> np.ndarray:
    """Which structures need the row before; (S, 1)."""
    found = [name in ("autoregression", "walk", "momentum") for name in names]
    return np.array(found, dtype=bool)[:, None]


def learn_columns(log_gain: np.ndarray, log_weight: np.ndarray, log_z: np.ndarray) -> np.ndarray:
    """Log predictive density of a row under each run, (R,), which then learns it; nats.

    Runs are in the order of their beginnings; ``log_gain`` changes in place."""
    p = log_z.shape[1]
    if p == 1:
        return log_z[:, 0]
    before, leader = log_gain.copy(), _leaders(log_weight)
    continued = log_z.copy()  # of the oldest run: it goes on as nothing else does
    density: dict[int, np.ndarray] = {}
    for run in sorted(set(leader[1:].tolist())):  # each is led by an older one
        if run:
            continued[run] = density[int(leader[run])]
        gain = before[run] + log_z[run] - continued[run]
        density[run] = continued[run] + _log_column(gain) - _log_column(before[run])
    if density:
        continued[1:] = np.array([density[int(run)] for run in leader[1:]])
    log_gain += log_z - continued
    return continued.sum(1) + _log_run(log_gain) - _log_run(before)


def _leaders(log_weight: np.ndarray) -> np.ndarray:
    """The most probable among the runs that began before each, (R,); of the first, itself."""
    numbers = np.arange(len(log_weight))
    is_record = log_weight >= np.maximum.accumulate(log_weight)
    upto = np.maximum.accumulate(np.where(is_record, numbers, 0))
    return np.append(0, upto[:-1])


def _log_column(gain: np.ndarray) -> np.ndarray:
    """Log density of a column's rows over C, whatever the others do, (columns,)."""
    p = gain.shape[-1]
    share = 0.5 + 0.5 / p / _at_least_one(p)
    return np.logaddexp(np.log(share) + gain, np.log1p(-share))


def _log_run(gain: np.ndarray) -> np.ndarray:
    """Log density of a run's rows over that of columns that all go on, (R,)."""
    p = gain.shape[1]
    changed, stays = gain - np.log(p), np.log1p(-1.0 / p)
    later = np.cumsum(np.logaddexp(changed, stays)[:, ::-1], axis=1)[:, ::-1]
    later = np.column_stack([later[:, 1:], np.zeros(len(gain))])
    log_any = np.logaddexp.reduce(np.arange(p) * stays + changed + later, axis=1) - np.log(_at_least_one(p))
    return np.logaddexp(log_any, gain.sum(1)) + np.log(0.5)


def _at_least_one(p: int) -> float:
    """Probability that one of p columns changes, or more do, each with 1/p."""
    return 1.0 - (1.0 - 1.0 / p) ** p


#: Measured on streams without a change: of Gaussian noise about a level, and the middle of eight other kinds
#: (0.31 to 0.66, see docs/monitoring.md).
PLAIN_OVERSHOOT, OTHER_OVERSHOOT = 0.22, 0.45

SERIES_MODELS = (*STRUCTURES, "shape")
SERIES_NOISES = (1.0, 0.3, 0.1, 0.03)  # units
FAR_UNITS = 5.0  # units: a first row further out widens the prior of its run's level


class SeriesSegment(SegmentModel):
    """Segments of a series of numbers in any units: the default of :class:`EvidenceMonitor`.

    A segment is a level, a trend, an autoregression, on the last row or on a mean of recent ones, a random
    walk, a walk with momentum, or a level whose volatility clusters.  There is little or much noise, which is
    Gaussian, or Gaussian with strays, heavy-tailed or lopsided; or rows have any density, and are independent
    or take after the one before.  These are averaged by their evidence in the segment.

    Parameters
    ----------
    models : tuple of str, default=("level", "trend", "autoregression", "smoothed", "walk", "momentum", \
            "volatile", "shape")
        Which of the eight a segment may be: see the notes.
    warm_up : int, default=10
        Rows that are held until the first units can be measured from them.  Ten give a standard
        deviation to a quarter, against prior widths of a factor of 3 and more.

    Notes
    -----
    "level" has a mean, "trend" a straight line, "autoregression" a pull towards a mean, "walk" a drift and
    "momentum" a step that takes after the last one.  "smoothed" is an autoregression seen through noise, and
    "volatile" a level about which rows are restless for a while and then quiet, as returns of a price: each a
    hundredth as probable as the others when a run begins, since a change of variance looks like it at first.
    "shape" is for rows that no noise fits: two peaks, a hard edge, rounded values, the exponential of an
    autoregression.  It learns a density cell by cell, so it needs some hundred rows, and keeps false alarms
    rare.  The widths of the priors were chosen by the evidence of fifteen published series, with their
    annotated changes in view.

    Examples
    --------
    A series whose slope changes, in units of a thousand:

    >>> import numpy as np
    >>> from sgevidence import EvidenceMonitor
    >>> rng = np.random.default_rng(0)
    >>> t = np.arange(160.0)
    >>> series = 1000 * (0.05 * np.minimum(t, 80) + 0.2 * rng.normal(size=160))
    >>> monitor = EvidenceMonitor().fit(series.reshape(-1, 1))
    >>> int(abs(monitor.change_points_[0] - 80)) <= 20, len(monitor.change_points_)
    (True, 1)
    """

    _parameter_constraints: dict = {
        "models": [tuple, list],
        "warm_up": [Interval(Integral, 2, None, closed="left")],
    }

    max_block = 1  # the weights of runs count from row to row
    overshoot = 0.33  # before there are rows; then see overshoot_of

    def __init__(self, models: tuple[str, ...] = SERIES_MODELS, warm_up: int = 10) -> None:
        self.models = models
        self.warm_up = warm_up

    def allocate(self, capacity: int, n_features: int) -> SeriesRuns:
        self._validate_params()
        if not self.models or not set(self.models) <= set(SERIES_MODELS):
            raise ValueError(f"models must be some of {SERIES_MODELS}, got {self.models!r}")
        return make_runs(capacity, n_features, len(self._structures()), len(SERIES_NOISES) * len(log_prior()))

    def check(self, X: np.ndarray, first: int) -> None:
        refuse_far(X, first)

    def settle(self, runs: SeriesRuns, X: np.ndarray, y: np.ndarray | None = None) -> None:
        past = runs.past
        past.mean, past.squares, past.n = X.mean(0), ((X - X.mean(0)) ** 2).sum(0), len(X)
        past.moves = np.sum(np.diff(X, axis=0) != 0.0, axis=0)
        past.first = past.units()
        past.smooth, past.scatter = past.first[0], past.first[1] ** 2

    def absorb(self, runs: SeriesRuns, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        log_p = np.zeros((len(X), R + len(X)))
        for i, x in enumerate(X):
            self._begin(runs, R + i, x)
            log_p[i, : R + i + 1] = self._learn(runs, R + i + 1, x)
            runs.past.absorb(x)
        return log_p

    def overshoot_of(self, runs: SeriesRuns, weight: np.ndarray) -> float:
        return overshoot_of_members(runs.log_member[: len(weight)], self._structures(), weight)

    def _begin(self, runs: SeriesRuns, slot: int, x: np.ndarray) -> None:
        runs.age[slot] = runs.counts[slot] = runs.log_gain[slot] = runs.log_weight[slot] = 0.0
        runs.centre[slot], unit = runs.past.units()
        runs.unit[slot] = np.where(runs.past.leaves_rest(x), np.abs(x - runs.centre[slot]), unit)
        log_tails, names = log_prior(), self._structures()
        noises, rests = np.tile(SERIES_NOISES, (len(x), 1)), runs.past.rests()
        noises[rests, -1] = np.minimum(runs.past.least_noise(x) / runs.unit[slot], SERIES_NOISES[-1])[rests]
        variance = np.repeat(np.square(noises), len(log_tails), axis=1)
        runs.a[slot], runs.b[slot] = SHAPE, SHAPE * variance[:, None]
        runs.m1[slot] = runs.v12[slot] = runs.excess[slot] = 0.0
        prior, n_shapes = np.array([STRUCTURES[name] for name in names]), len(RHO) * ("shape" in self.models)
        total = variance.shape[1] * prior.sum() + n_shapes  # a shape is as probable as one of so many members
        of_tails = np.tile(log_tails, len(SERIES_NOISES)) + np.log(len(log_tails) / total)
        runs.log_member[slot] = np.log(prior)[:, None] + of_tails
        jumps = np.isin(names, ("walk", "momentum"))[:, None] & ~are_tails("Gaussian", len(SERIES_NOISES))
        runs.log_member[slot, rests[:, None, None] & jumps] = -np.inf  # of rows that rest, a jump is a change
        runs.log_shape[slot] = -np.log(total) if n_shapes else -np.inf
        for s, name in enumerate(names):
            runs.m2[slot, :, s], runs.v11[slot, :, s], runs.v22[slot, :, s] = prior_of(name, variance)
        runs.determinant[slot] = runs.v11[slot] * runs.v22[slot]

    def _learn(self, runs: SeriesRuns, R: int, x: np.ndarray) -> np.ndarray:
        """Log predictive density of the row under the first R runs, which then learn it; (R,)."""
        m1, m2, v11, v12, v22, determinant, a, b, excess = (v[:R] for v in runs[3:12])
        z = ((x - runs.centre[:R]) / runs.unit[:R])[:, :, None, None]
        if np.abs(z).max() > FARTHEST_VALUE:
            raise too_extreme(runs.past.seen, x)
        names = self._structures()
        one, u, known = design(names, runs.age[:R], runs.centre[:R], runs.unit[:R], runs.past, excess)
        e, z = one * (z - known - m1) - u * m2, one * z
        rounding = (one * (runs.past.cell() / runs.unit[:R])[:, :, None, None]) ** 2 / 12.0
        q1 = spread(v11, v12, v22, one, u)[2]
        scale = b * (1.0 + q1) + a * rounding
        follows = follow(names) if runs.past.seen == 0 else None
        if follows is not None:  # the first row of a stream follows none: broad, and nothing is learnt
            e, scale = np.where(follows, z, e), np.where(follows, 2.0, scale)
        age = runs.age[:R, None, None, None]
        runs.expected[:] = [Expected.of(runs, R, x, e, z, one, scale)]
        log_p, *learnt = under_tails(e, z * z, a, scale, age)
        log_p[-1], near = from_anywhere(log_p[-1], z[-1] ** 2)  # the last run, which begins with this row
        wider = np.maximum(np.abs(z[-1]) / FAR_UNITS, 1.0) ** 2
        if (wider > 1.0).any():
            v11[-1] *= wider
            determinant[-1] *= wider
            q1 = spread(v11, v12, v22, one, u)[2]
            scale = b * (1.0 + q1) + a * rounding
            _, *learnt = under_tails(e, z * z, a, scale, age)
        for v in learnt:  # a jump is no step of a walk
            v[-1] *= np.where(follow(names), near, 1.0)
        if follows is not None:
            learnt = [np.where(follows, 0.0, v) for v in learnt]
        log_z = self._average(runs, R, x, log_p + np.log(one))
        w, kappa, c, surprise = learnt
        Vx1, Vx2, q1 = spread(v11, v12, v22, one, u)
        shrink = 1.0 / (1.0 + kappa * q1)
        ge = w * e * shrink  # a step along the score
        m1 += ge * Vx1
        m2 += ge * Vx2
        # V - κ Vx (Vx)' shrink, without its cancellation where rows are far out
        v11 += kappa * u * u * determinant
        v12 -= kappa * u * one * determinant
        v22 += kappa * one * one * determinant
        for v in (v11, v12, v22, determinant):
            v *= shrink
        b += 0.5 * (ge * e - surprise * b / a)
        a += 0.5 * c
        excess[:] = np.where(follow(names) & are_tails("strays", len(SERIES_NOISES)), (1.0 - w) * e, 0.0)
        excess[-1] = 0.0  # it begins with a jump, that is the level and no stray
        runs.age[:R] += 1.0
        return learn_columns(runs.log_gain[:R], runs.log_weight[:R], log_z - np.log(runs.unit[:R]))

    def _average(self, runs: SeriesRuns, R: int, x: np.ndarray, log_p: np.ndarray) -> np.ndarray:
        """Log density of the row in units, over the members, whose weights then learn it; (R, columns)."""
        log_member, log_shape = runs.log_member[:R], runs.log_shape[:R]
        log_member += log_p
        if "shape" in self.models:
            log_shape += self._learn_shape(runs, R, x)
        top = np.maximum(log_member.max((2, 3), initial=-np.inf), log_shape.max(2))
        members = np.exp(log_member - top[:, :, None, None]).sum((2, 3))
        log_z = top + np.log(members + np.exp(log_shape - top[:, :, None]).sum(2))
        log_member -= log_z[:, :, None, None]
        log_shape -= log_z[:, :, None]
        log_z[-1] = np.where(runs.past.leaves_rest(x), runs.past.log_first(x), log_z[-1])
        return log_z

    def _learn_shape(self, runs: SeriesRuns, R: int, x: np.ndarray) -> np.ndarray:
        """Log density per unit of the row where it may have any shape; (R, columns, correlations)."""
        (centre, unit), counts = runs.past.first, runs.counts[:R]
        z, before = (((v - centre) / unit)[None] for v in (x, runs.past.last))  # all runs have the same cells
        follows = log_copula(normal_score(counts, z), normal_score(counts, before)) if runs.past.seen else 0.0
        log_p = (learn_shape(counts, z) + np.log(runs.unit[:R] / unit))[:, :, None] + follows
        cell = (runs.past.cell() / runs.unit[:R])[:, :, None]  # nor can a row tell more than its cell
        return log_p - np.log1p(cell * np.exp(log_p))

    def _structures(self) -> list[str]:
        return [name for name in self.models if name != "shape"]


def overshoot_of_members(log_member: np.ndarray, structures: list[str], weight: np.ndarray) -> float:
    """Fraction for rows whose runs have these posteriors, (R, columns, S, noises × tails)."""
    about_a_level = [name in ("level", "trend") for name in structures]
    tails = np.array([name in ("Gaussian", "strays") for name in TAILS])
    regular = np.resize(tails, log_member.shape[3])  # the kinds of tails alternate
    members = np.exp(log_member[:, :, about_a_level][..., regular])
    plain = float(weight @ members.sum((2, 3)).mean(1))
    volatile = np.array([name == "volatile" for name in structures], dtype=bool)
    clustered = float(weight @ np.exp(log_member[:, :, volatile]).sum((2, 3)).mean(1))
    # 400 rows of 100 GARCH(0.1, 0.85) streams, half seen to cluster, gave 40 alarms: no bound holds
    return PLAIN_OVERSHOOT * plain + OTHER_OVERSHOOT * (1.0 - plain - clustered) + 4.2 * clustered
