"""A stream watched row by row: filter, alarm, rows held until units are known, and the record of scores."""

import copy
import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from ._calibration import CalibrationTest, doubt, leaders
from ._detection import Alarm, Detection
from ._few_values import FewValues, complaint
from ._filter import Block, RunFilter, SegmentModel

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
