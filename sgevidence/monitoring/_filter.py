r"""Segment models, and the posterior of the last change, row by row (Adams and MacKay 2007).

A *run* began at row s and has seen the rows since.  With a hazard h per row,

.. math::
    w_s \leftarrow w_s\,(1-h)\,p(y_t \mid y_{s:t}), \qquad
    w_t = h\,\textstyle\sum_s w_s\;p(y_t), \qquad
    p(y_t \mid y_{<t}) = \textstyle\sum_s w_s,

normalised after each row: w is the posterior of the row at which the present segment began, and the
product of the normalisers is the evidence of the whole segmented model, summed over all segmentations.

Memory is bounded.  After every ``PRUNED_ROWS`` rows, counted over the stream and not over a chunk, only the
most probable runs are kept.  The weight of the others is lost and *not* shared out: the evidence can
only be too low.  Under the model's own predictive the weight that a run will have is a martingale, so
the sum of the weights lost bounds the expected error of the posterior.

Between two prunings the rows are taken together: the weights of row t are those before the block,
times predictive densities that do not depend on the weights; only the normalisers need a loop.

Symbols
-------
======  =================  ==================================================
here    code               meaning
======  =================  ==================================================
s       ``start``          row at which a run began
w       ``log_weight``     log posterior probability of the run
h       ``hazard``         prior probability of a change at a row
R       ``count``          runs that are followed
Z       ``log_Z``          log normaliser since the beginning of the block
======  =================  ==================================================

**Expected rows.**  A segment model leaves the predictive distribution functions of a block's rows in
``runs.expected`` when it has absorbed them.  ``cdf(leaders)`` takes one run for each row and returns F at
both ends of the values that the row may have had: the same where F is continuous, F(x − 1) and F(x) of
classes and counts; two arrays of shape (rows, columns).
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, stdtr
from sklearn.base import BaseEstimator

PRUNED_ROWS = 20  # rows between two prunings


class SegmentModel(BaseEstimator):
    """Base of the segment models; each brings ``allocate``, ``absorb`` and its ``overshoot``."""

    needs_y = False
    is_density = True  # of the rows of X
    max_block = PRUNED_ROWS  # rows that are absorbed together
    warm_up: Any = 0  # rows that are held until units are measured from them
    overshoot: Any  # false alarms as a fraction of the bound, measured: see docs/monitoring.md

    def allocate(self, capacity: int, n_features: int):
        """Room for some runs.

        Parameters
        ----------
        capacity : int
            Most runs at a time.
        n_features : int
            Columns of the rows.

        Returns
        -------
        NamedTuple
            Arrays with the run's slot in front.
        """
        raise NotImplementedError

    def check(self, X: np.ndarray, first: int) -> None:
        """Refuse rows that cannot come, before anything is done with them.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        first : int
            Index of the first row in the stream.

        Raises
        ------
        ValueError
            With the row, and the values that can come.
        """

    def settle(self, runs, X: np.ndarray, y: np.ndarray | None = None) -> None:
        """Find units from the first rows, where ``warm_up`` asks for some.

        Parameters
        ----------
        runs : NamedTuple
            Changed in place.
        X : ndarray of shape (warm_up, n_features)
            The first rows of the stream.
        y : ndarray of shape (warm_up,) or None

        Raises
        ------
        TypeError
            If the model has no units to find.
        """
        raise TypeError(f"{type(self).__name__} has no units to find")

    def absorb(self, runs, R: int, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        """Runs 0 … R − 1 learn b rows, and run R + i begins with row i.

        Parameters
        ----------
        runs : NamedTuple
            Changed in place.
        R : int
            Runs so far.
        X : ndarray of shape (b, n_features)
        y : ndarray of shape (b,) or None

        Returns
        -------
        ndarray of shape (b, R + b)
            log p of row i given the rows before it, in [i, :R + i + 1], nats.
        """
        raise NotImplementedError

    def overshoot_of(self, runs, weight: np.ndarray) -> float:
        """``overshoot`` for rows like those of the present segment, by the posterior of the runs.

        Parameters
        ----------
        runs : NamedTuple
        weight : ndarray of shape (R,)

        Returns
        -------
        float
        """
        return self.overshoot


FARTHEST_VALUE = 1e150  # of a row, and in units of a run: squares have to be numbers
LOG_NEGLIGIBLE_RUN = math.log(1e-12)  # a run less probable than this is dropped even where there is room


def rows_of_runs(n: np.ndarray, R: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """For b rows, whether each run has begun at them, and how many it had before, both (b, R + b).

    Runs 0 … R − 1 have n rows, and run R + i begins with row i, with none.
    """
    began = np.ones((b, R + b), dtype=bool)
    began[:, R:] = np.tri(b, dtype=bool)
    return began, n[: R + b] + np.cumsum(began, axis=0) - began


class Block(NamedTuple):
    """Record of each of b rows: log predictive density, and the posterior (b, R + b)."""

    log_predictive: np.ndarray
    log_p: np.ndarray
    weight: np.ndarray


def too_extreme(row: int, x: np.ndarray) -> ValueError:
    """The error of a row that has no density in floating point."""
    return ValueError(
        f"row {row} of the stream, {x}, is too far from the others for floating point: scale it, "
        "or leave it out"
    )


def refuse_far(X: np.ndarray, first: int) -> None:
    """Raise :func:`too_extreme` for the first row whose squares are no numbers."""
    far = np.flatnonzero(np.abs(X).max(axis=1, initial=0.0) > FARTHEST_VALUE)
    if len(far):
        raise too_extreme(first + int(far[0]), X[far[0]])


def refuse_rows(X: np.ndarray, good: np.ndarray, first: int, values: str) -> None:
    """Raise an error that names the first of the rows that are not ``good``, and what ``values`` may be."""
    bad = np.flatnonzero(~good.all(axis=1))
    if len(bad):
        raise ValueError(f"row {first + int(bad[0])} of the stream is {X[bad[0]]}, but {values}")


class RunFilter:
    """Runs in order of their beginnings, and the posterior over them."""

    def __init__(self, model: SegmentModel, hazard: float, max_runs: int, n_features: int) -> None:
        self.model, self.hazard, self.max_runs = model, hazard, max_runs
        self.runs = model.allocate(max_runs + PRUNED_ROWS, n_features)
        self.start = np.zeros(max_runs + PRUNED_ROWS, dtype=np.int64)
        self.log_weight = np.full(max_runs + PRUNED_ROWS, -np.inf)
        self.count = 0
        self.n_seen = 0
        self.log_evidence = 0.0
        self.pruned = 0.0

    def room(self) -> int:
        """How many rows may come before the next pruning."""
        return min(PRUNED_ROWS - self.n_seen % PRUNED_ROWS, self.model.max_block)

    def absorb(self, X: np.ndarray, y: np.ndarray | None) -> Block:
        """Learn at most :meth:`room` rows; a ValueError about a row without a density spoils the runs."""
        b, R = len(X), self.count
        if hasattr(self.runs, "log_weight"):  # of a model whose runs look at each other
            self.runs.log_weight[:R] = self.log_weight[:R]
        with np.errstate(over="ignore", invalid="ignore"):  # looked at below
            log_p = self.model.absorb(self.runs, R, X, y)
            log_joint, log_Z = self._weigh(log_p)
        bad = np.flatnonzero(~np.isfinite(log_Z))
        if len(bad):
            raise too_extreme(self.n_seen + int(bad[0]), X[bad[0]])
        weight = np.exp(log_joint - log_Z[:, None])
        self.start[R : R + b] = np.arange(self.n_seen, self.n_seen + b)
        self.log_weight[: R + b] = log_joint[-1] - log_Z[-1]
        self.count, self.n_seen = R + b, self.n_seen + b
        self.log_evidence += log_Z[-1]
        return Block(log_Z - np.append(0.0, log_Z[:-1]), log_p, weight)

    def _weigh(self, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log weights not normalised since the block began, (b, R + b), and log Z after each row, (b,)."""
        b, R = len(log_p), self.count
        stay, change = math.log1p(-self.hazard), math.log(self.hazard)
        log_joint = np.cumsum(log_p + stay, axis=0)
        old, new = log_joint[:, :R], log_joint[:, R:]
        old += self.log_weight[:R]
        new[~np.tri(b, dtype=bool)] = -np.inf
        # what the cumulative sum had before the run began, and one 1 - h too many, is taken back
        new -= stay * np.arange(1, b + 1)
        log_old = old.max(1, initial=-np.inf)
        if R:
            log_old += np.log(np.exp(old - log_old[:, None]).sum(1))
        log_Z: list[float] = []
        log_new: list[float] = []  # plain floats: twenty of them are faster without numpy
        for i, (row, total) in enumerate(zip(new.tolist(), log_old.tolist())):
            # the first segment begins with the first row, surely
            log_new.append(log_Z[-1] + change if i else change if R else 0.0)
            terms = [total, *(log_p_run + w for log_p_run, w in zip(row, log_new))]
            top = max(terms)
            log_Z.append(top + math.log(sum(math.exp(t - top) for t in terms)))
        new += log_new
        return log_joint, np.array(log_Z)

    def prune(self) -> None:
        """Keep the most probable runs, if a block is complete."""
        if self.n_seen % PRUNED_ROWS:
            return
        log_weight = self.log_weight[: self.count]
        chosen = log_weight > LOG_NEGLIGIBLE_RUN
        if chosen.sum() > self.max_runs:
            chosen[np.argpartition(log_weight, -self.max_runs)[: -self.max_runs]] = False
        self.pruned += float(np.exp(log_weight[~chosen]).sum())
        self._compress(chosen)

    def condition(self, chosen: np.ndarray) -> None:
        """Forget all runs but the chosen, (R,) of bool, as if they were known to be wrong."""
        self._compress(chosen)
        log_weight = self.log_weight[: self.count]
        log_weight -= np.logaddexp.reduce(log_weight)

    def _compress(self, chosen: np.ndarray) -> None:
        kept = np.flatnonzero(chosen)
        for array in (self.start, self.log_weight, *self._model_arrays()):
            array[: len(kept)] = array[kept]
        self.count = len(kept)

    def _model_arrays(self) -> Iterator[np.ndarray]:
        """The model's arrays, all with the slots in front."""
        return (v for v in self.runs if isinstance(v, np.ndarray))

    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """First row and probability of each run that is followed."""
        weight = np.exp(self.log_weight[: self.count])
        return self.start[: self.count], weight / weight.sum()


Ends = tuple[np.ndarray, np.ndarray]


class StudentRows(NamedTuple):
    """Student-t predictions: deviations over their scale, (columns, rows, runs), and degrees of freedom."""

    t: np.ndarray
    freedom: np.ndarray  # (rows, runs)

    def cdf(self, leaders: np.ndarray) -> Ends:
        i = np.arange(len(leaders)), leaders
        F = np.array([stdtr(self.freedom[i], t[i]) for t in self.t]).T
        return F, F


class StudentMixtureRows(NamedTuple):
    """Mixtures of Student-t predictions, of one column."""

    t: np.ndarray  # deviations over their scale, (rows, runs, members)
    freedom: np.ndarray  # (rows, runs)
    log_weight: np.ndarray  # (rows, runs, members)

    def cdf(self, leaders: np.ndarray) -> Ends:
        i = np.arange(len(leaders)), leaders
        F = np.sum(np.exp(self.log_weight[i]) * stdtr(self.freedom[i][:, None], self.t[i]), axis=1)[:, None]
        return F, F


class CountRows(NamedTuple):
    """Negative binomial predictions with shape a and rate d, both (columns, rows, runs)."""

    x: np.ndarray  # (rows, columns)
    a: np.ndarray
    d: np.ndarray

    def cdf(self, leaders: np.ndarray) -> Ends:
        i = np.arange(len(leaders)), leaders
        a, p = (np.array([v[i] for v in of_columns]).T for of_columns in (self.a, self.d / (self.d + 1.0)))
        low = np.where(self.x > 0.0, betainc(a, np.maximum(self.x, 1.0), p), 0.0)
        return low, betainc(a, self.x + 1.0, p)


class DispersedRows(NamedTuple):
    """Mixtures over sizes of predictions of counts, after n of the sum S."""

    x: np.ndarray  # (rows, columns)
    S: np.ndarray  # (columns, rows, runs)
    n: np.ndarray  # (rows, runs)
    log_weight: np.ndarray  # (columns, rows, runs, sizes)
    model: Any
    d: np.ndarray  # (columns,)

    def cdf(self, leaders: np.ndarray) -> Ends:
        low, high = np.empty(self.x.shape), np.empty(self.x.shape)
        for (i, j), x in np.ndenumerate(self.x):
            k, run = np.arange(x + 1.0), leaders[i]
            known = self.S[j, i, run], self.n[i, run], self.d[j]
            p = sum(
                np.exp(w + self.model._log_predictive(r, k, *known))
                for r, w in zip(self.model.sizes, self.log_weight[j, i, run])
            )
            high[i, j] = min(p.sum(), 1.0)
            low[i, j] = max(high[i, j] - p[-1], 0.0)
        return low, high


class CategoryRows(NamedTuple):
    """Averages of independent categories and a Markov chain; the counts are those after the block."""

    X: np.ndarray  # (rows, columns)
    before: np.ndarray  # the rows before; one row fewer where a stream begins
    counts: np.ndarray  # (runs, columns, K)
    pairs: np.ndarray  # (runs, columns, K, K)
    odds: np.ndarray  # (columns, rows, runs): log odds of the chain, before each row
    concentration: float

    def cdf(self, leaders: np.ndarray) -> Ends:
        b, K = len(self.X), self.counts.shape[2]
        low, high = np.empty(self.X.shape), np.empty(self.X.shape)
        rows, skipped = np.arange(b), b - len(self.before)
        for j, x in enumerate(self.X.T.astype(int)):
            one = np.zeros((b, K))
            one[rows, x] = 1.0
            p = self._shares(self.counts[leaders, j] - _from_here(one))
            if self.pairs.shape[2]:
                last = np.append(np.zeros(skipped), self.before[:, j]).astype(int)
                same = last[:, None] == last  # rows that count for the same row of the table
                same[:skipped] = same[:, :skipped] = False
                after = self.pairs[leaders, j, last] - np.triu(same) @ one
                step = self._shares(after)
                step[:skipped] = 1.0 / K
                chain = 1.0 / (1.0 + np.exp(-self.odds[j][rows, leaders]))[:, None]
                p += chain * (step - p)
            F = p.cumsum(axis=1)[rows, x]
            low[:, j], high[:, j] = F - p[rows, x], F
        return low, high

    def _shares(self, counts: np.ndarray) -> np.ndarray:
        n = counts + self.concentration
        return n / n.sum(axis=1, keepdims=True)


def _from_here(one: np.ndarray) -> np.ndarray:
    """Sums over a row and those after it."""
    return one[::-1].cumsum(axis=0)[::-1]
