r"""A stream watched row by row: filter, alarm, rows held until units are known, and the record of scores.

**Calibration.**  The predictions of the current run are tested after every row.  Under a predictive
distribution F that is right, u = F(x) is uniform whatever came before, and independent between columns.  A
row that is known to an interval only (a class, a count, a rounded number) has u between F below the interval
and F at its end, and functions of u are averaged over these.  With the orthonormal polynomials

.. math:: g_1(u) = \sqrt3\,(2u - 1), \qquad g_2(u) = \sqrt5\,(6u^2 - 6u + 1)

("level" and "spread") each of these *stakes* has the mean zero given the rows before:

==========  ==========================================================================================
memory      g₁ of the row × g₁ of the row before, or × a mean of recent rows; mean of the columns
clusters    g₂ of the row × how far g₂ of the row before, or of recent rows, is above its usual value
tails       g₂ of the row; mean of the columns
columns     Σ_{i≠j} W_ij g(u_i) g(u_j), for g₁ and for g₂; W is the sum of these products so far
==========  ==========================================================================================

all scaled to lie within [−1, 1].  So a capital that is multiplied by 1 + λ s at each row, 0 < λ < 1, is a
martingale, and so is the mean E of such capitals for several λ and all stakes.  E begins with 1, and by
Ville's inequality

.. math:: P(E \text{ ever passes } 1/α) \le α.

Stakes are one-sided: predictions that are too wide, or a season of few rows, make false alarms rarer.

References
----------
J. Ville (1939), Étude critique de la notion de collectif.

V. Vovk, R. Wang (2021), E-values: calibration, combination and applications, Annals of Statistics 49, 1736.
"""

import copy
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from ._detection import Alarm, Detection
from ._filter import Block, RunFilter, SegmentModel
from ._input import FewValues, complaint

#: Most steps of a record: when it is full each two become one.
LENGTH = 4096


class Record(NamedTuple):
    """How well each step of one or more rows was predicted, along the whole stream in bounded memory."""

    n_samples: np.ndarray = np.zeros(0, dtype=np.int64)  # absorbed at the end of each step
    log_predictive: np.ndarray = np.zeros(0)  # of its rows together, given those before; nats

    def extended(self, n_samples: np.ndarray, log_predictive: np.ndarray) -> "Record":
        """A record with more steps; it does not matter how they are cut."""
        record = self
        while len(n_samples):
            room = LENGTH - len(record.n_samples)
            record = Record(
                np.append(record.n_samples, n_samples[:room]),
                np.append(record.log_predictive, log_predictive[:room]),
            )
            n_samples, log_predictive = n_samples[room:], log_predictive[room:]
            if len(record.n_samples) == LENGTH:
                record = record.halved()
        return record

    def halved(self) -> "Record":
        """Each two steps as one; their number is even."""
        return Record(self.n_samples[1::2], self.log_predictive.reshape(-1, 2).sum(1))


class Watched(NamedTuple):
    """Findings of an update: one number per row (or chunk), and the changes declared."""

    log_predictive: np.ndarray
    change_probability: np.ndarray
    detections: list[Detection]

    @classmethod
    def together(cls, parts: list["Watched"]) -> "Watched":
        if not parts:
            return cls(np.zeros(0), np.zeros(0), [])
        log_z, p, found = zip(*parts)
        return cls(np.concatenate(log_z), np.concatenate(p), list(itertools.chain(*found)))


class RowWatch:
    """Conjugate segment models: every row is a step of its own, so it does not matter how they are cut."""

    def __init__(
        self, model: SegmentModel, hazard: float, threshold: float, max_runs: int, forget: bool
    ) -> None:
        self.model, self.hazard, self.max_runs, self.forget = model, hazard, max_runs, forget
        self.alarm = Alarm(threshold, hazard)
        self.filter: RunFilter | None = None
        self.held: list[tuple[np.ndarray, np.ndarray | None]] = []
        self.few_values = FewValues()
        self.calibration: CalibrationTest | None = None
        self.has_told = False  # of miscalibration

    @property
    def overshoot(self) -> float:
        """False alarms as a fraction of the martingale's bound; nan where the model is seen not to hold."""
        if self.finding is not None:
            return math.nan
        if self.filter is None:
            return self.model.overshoot
        return self.model.overshoot_of(self.filter.runs, self.filter.posterior()[1])

    @property
    def finding(self) -> str | None:
        """How the rows are seen to differ from what was predicted, if they are."""
        return self.calibration.finding if self.calibration else None

    @property
    def log_evidence(self) -> float:
        """Log evidence of the rows absorbed, without those still held."""
        return self.filter.log_evidence if self.filter else 0.0

    @property
    def pruned(self) -> float:
        """Posterior probability lost to pruning, summed over rows."""
        return self.filter.pruned if self.filter else 0.0

    def posterior(self) -> tuple[np.ndarray, np.ndarray, int]:
        """First row and probability of each run, and the rows absorbed."""
        if self.filter is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0), 0
        return *self.filter.posterior(), self.filter.n_seen

    def can_change_at(self, row: int) -> bool:
        """May a change still be placed at this row?"""
        return self.filter is None or row in self.filter.start[: self.filter.count]

    def learn(self, X: np.ndarray, y: np.ndarray | None) -> Watched:
        """Absorb rows, one after the other."""
        n_held = sum(len(x) for x, _ in self.held)
        self.model.check(X, n_held + (self.filter.n_seen if self.filter else 0))
        if self.filter is None:
            self.held.append((X, y))
            if n_held + len(X) < self.model.warm_up:
                return Watched.together([])
            X = np.concatenate([x for x, _ in self.held])
            y = None if y is None else np.concatenate([z for _, z in self.held])
            self.held = []
            self.filter = RunFilter(self.model, self.hazard, self.max_runs, X.shape[1])
            self.calibration = CalibrationTest(1 if self.model.needs_y else X.shape[1])
            if self.model.warm_up:
                held = slice(self.model.warm_up)
                self.model.settle(self.filter.runs, X[held], None if y is None else y[held])
        parts, done = [], 0
        while done < len(X):
            stop = min(len(X), done + self.filter.room())
            parts.append(self._block(X[done:stop], None if y is None else y[done:stop]))
            done += len(parts[-1].log_predictive)
        return Watched.together(parts)

    def complaints(self, X: np.ndarray, names: Any) -> list[str]:
        """Why the model is wrong for the rows so far, each once; X are those absorbed last."""
        words = []
        if self.model.is_density and (found := self.few_values.look(X)):
            words.append(complaint(found, self.few_values.n_seen, names, self.model))
        if self.finding is not None and not self.has_told:
            self.has_told = True
            words.append(doubt(self.finding, self.posterior()[2], self.model))
        return words

    def _block(self, X: np.ndarray, y: np.ndarray | None) -> Watched:
        """Rows up to the next pruning, or to the first detection if that forgets."""
        assert self.filter is not None
        forgets = self.forget and len(X) > 1
        before = copy.deepcopy((self.filter, self.alarm)) if forgets else None
        old = self.filter.log_weight[: self.filter.count].copy()
        block, first = self.filter.absorb(X, y), self.filter.n_seen - len(X)
        p, found = self.alarm.check(self.filter.start[: self.filter.count], block.weight, first)
        n = found[0].declared_row - first + 1 if found else len(X)
        if before is not None and n < len(X):  # the rows after it are to be seen without the past
            self.filter, self.alarm = before
            return self._block(X[:n], None if y is None else y[:n])
        self._look_at_predictions(old, block, first)
        if found and self.forget:
            self.filter.condition(self.filter.start[: self.filter.count] >= found[0].change_row)
        self.filter.prune()
        return Watched(block.log_predictive, p, found)

    def _look_at_predictions(self, old: np.ndarray, block: Block, first: int) -> None:
        """Test the predictions that the leading run made of each row; ``old`` are log weights before."""
        assert self.filter is not None and self.calibration is not None
        waiting = getattr(self.filter.runs, "expected", None)
        if not waiting:
            return  # a segment model that does not say what it expected
        expected = waiting.pop()
        skipped = max(0 if len(old) else 1, min(self.model.warm_up - first, len(block.weight)))
        low, high = expected.cdf(leaders(old, block.weight))
        if skipped < len(low):
            self.calibration.learn(low[skipped:], high[skipped:])


#: Probability that predictions which are right are ever called into question.  At 0.01 changes of the mean
#: every hundred rows, which are predicted badly while they are new, came near (3.7 nats of 4.6).
MAX_FALSE_DOUBTS = 0.001
SHARES = np.array([0.1, 0.3, 0.9])  # λ: shares of the capital at stake
FORGETTING = np.array([1.0, 0.1, 0.03])  # share of a row in the mean of recent rows; 1 is the row before
LARGEST = np.sqrt([3.0, 5.0])  # of |g₁| and |g₂|
#: By which means of recent rows are divided, and then cut at 1: the largest |g₁| and |g₂ − usual| of one row,
#: two standard deviations of the other means.
RECENT_WIDTHS = np.repeat(2.0 * np.sqrt(FORGETTING / (2.0 - FORGETTING))[:, None], 2, axis=1)
RECENT_WIDTHS[0] = LARGEST[0], 1.5 * LARGEST[1]

MAX_PAIRED = 30  # columns whose products are formed, from the first: time and memory go as their square

#: Words of the warning, and advice, for each group of stakes.
FINDINGS = {
    "memory": (
        "rows lie on the same side of their predictions as those before them",
        "differences, or residuals of a trend or a season, or another model",
    ),
    "clusters": (
        "rows far from their predictions come in clusters",
        "another scale, such as logarithms, or another model",
    ),
    "tails": (
        "too many rows are far from their predictions",
        "another scale, such as logarithms, or another model",
    ),
    "columns": (
        "columns depend on each other",
        "one of the columns that go together, or combinations that do not (principal components)",
    ),
}


class CalibrationTest:
    """Capital of bets against the predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.monitoring._watch import CalibrationTest
    >>> test = CalibrationTest(1)
    >>> u = np.random.default_rng(0).beta(0.3, 0.3, (100, 1))
    >>> test.learn(u, u)
    >>> test.finding
    'tails'
    """

    def __init__(self, n_features: int) -> None:
        self.n_seen = 0
        self.log_capital = np.zeros((2 * len(FORGETTING) + 3, len(SHARES)))
        self.recent = np.zeros((len(FORGETTING), 2, n_features))  # means of g₁ and g₂
        self.usual = np.zeros(n_features)  # mean of g₂
        n_paired = min(n_features, MAX_PAIRED)
        self.products = np.zeros((2, n_paired, n_paired))
        self.finding: str | None = None  # which group had the largest capital when E passed 1/α

    @property
    def log_e(self) -> float:
        """Log of the mean capital E, nats: large where the predictions are wrong."""
        return float(np.logaddexp.reduce(self.log_capital, axis=None) - math.log(self.log_capital.size))

    def learn(self, low: np.ndarray, high: np.ndarray) -> None:
        """Bet on b rows one after the other, whose u are between two numbers, both of shape (b, columns)."""
        g = scores(low, high)
        stakes = np.concatenate([*self._of_time(g), *self._of_columns(g[:, :, :MAX_PAIRED])])  # (9, b)
        log_capital = self.log_capital[..., None] + np.log1p(SHARES[:, None] * stakes[:, None]).cumsum(axis=2)
        log_e = np.logaddexp.reduce(log_capital, axis=(0, 1)) - math.log(self.log_capital.size)
        passed = np.flatnonzero(log_e > -math.log(MAX_FALSE_DOUBTS))
        if self.finding is None and len(passed):
            largest = int(log_capital[..., passed[0]].max(axis=1).argmax())
            groups = np.repeat(list(FINDINGS), [len(FORGETTING), len(FORGETTING), 1, 2])
            self.finding = str(groups[largest])
        self.log_capital = log_capital[..., -1]
        self.n_seen += len(low)

    def _of_time(self, g: np.ndarray) -> list[np.ndarray]:
        """Memory, clusters and tails: means over the columns; (stakes, b)."""
        b = g.shape[1]
        recent = np.empty((len(FORGETTING), *g.shape))
        for i in range(b):
            recent[:, :, i] = self.recent
            self.recent = self.recent + FORGETTING[:, None, None] * (g[:, i] - self.recent)
        seen = self.n_seen + np.arange(b)[:, None]
        total = self.usual * self.n_seen + g[1].cumsum(axis=0)
        usual = (total - g[1]) / np.maximum(seen, 1)
        self.usual = total[-1] / (seen[-1] + 1)
        level, far = g / LARGEST[:, None, None]
        memory = np.clip(recent[:, 0] / RECENT_WIDTHS[:, 0, None, None], -1.0, 1.0)
        clusters = np.clip((recent[:, 1] - usual) / RECENT_WIDTHS[:, 1, None, None], -1.0, 1.0)
        return [(memory * level).mean(2), (clusters * far).mean(2), far.mean(1)[None]]

    def _of_columns(self, g: np.ndarray) -> list[np.ndarray]:
        """Products of columns, weighted by their sums before the row; (2, b)."""
        products = g[:, :, :, None] * g[:, :, None, :]
        each = np.arange(g.shape[2])
        products[:, :, each, each] = 0.0
        after = self.products[:, None] + products.cumsum(axis=1)
        before = after - products
        self.products = after[:, -1]
        bound = np.abs(before).sum((2, 3)) * LARGEST[:, None] ** 2
        # below, rounding of zero
        return [(before * products).sum((2, 3)) / np.where(bound > 1e-9, bound, np.inf)]


def scores(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """g₁ and g₂, averaged over u between two numbers; (2, b, columns)."""
    total = low + high
    mean_square = (total * total - low * high) / 3.0
    return LARGEST[:, None, None] * np.array([total - 1.0, 6.0 * mean_square - 3.0 * total + 1.0])


def doubt(finding: str, n_seen: int, model: object) -> str:
    """The warning, after so many rows."""
    words, advice = FINDINGS[finding]
    return (
        f"{n_seen} rows contradict the predictions of {type(model).__name__}: {words}. No "
        "segment that it knows has such rows, so some of the declared changes may be none, and "
        f"false_alarm_rate_ is nan. Give {advice}"
    )


def leaders(old: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The run that leads before each row: the median of the beginnings, known before the row comes; (b,).

    ``old`` are log weights (R,) before the block, ``weight`` (b, R + b) the posterior after each row."""
    before = np.zeros_like(weight)
    before[0, : len(old)] = np.exp(old - old.max(initial=-np.inf))
    before[1:] = weight[:-1]
    later = before.cumsum(axis=1)
    return np.argmax(later >= 0.5 * later[:, -1:], axis=1)
