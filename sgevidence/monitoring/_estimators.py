r"""A stream watched in chunks by any estimator that has a running ``log_evidence_``.

A run is an estimator that began with a chunk C; what its ``log_evidence_`` grows by is log p(C | run).
With a hazard h per row, c rows in the chunk, and g rows since a run could last have begun (g ≥ c),

.. math::
    w_r \leftarrow w_r\,(1-h)^c\,p(C \mid r), \qquad
    w_{new} = \bigl(1 - (1-h)^g\bigr)\,\textstyle\sum_r w_r\;p(C).

A fresh estimator costs a fit, so runs begin only where there is reason to: at chunks that the leading
run predicts worse than its recent ones, and at those before these if they were poor, too, for they may have
been the first of their segment; and at rows 2, 4, 8, … times the first chunk, which catches what comes too
slowly to surprise.  A run whose weight falls below 10⁻⁶ is dropped, but not before it has predicted two
chunks: what it costs to learn a model anew is paid at once.

**Place within a chunk.**  A few chunks of rows are stored.  When a change is declared, the rows around it
are scored by the estimator that led before (which has not seen those after it) and by the new one, and their
gains tell where it happened, or that nothing did (:func:`stands_out`); where the rows by themselves tell more
than the two, their gains count (:func:`best_gains`).  The new run is then fitted again to the rows after the
place, so that it has nothing of the old segment in it.

Where in a chunk a change happened, and whether anything did, from what each row gains by the new model.

With s(x) the log predictive density of a row by the estimator of the last segment and s'(x) by the new one,
g = s' − s is the row's *gain*, and

.. math::
    \log P(k) = \sum_{r \ge k} g_r + \text{const}

the log posterior of row k as the first of the new segment, at most one.  Its median is the place: the best
cut may be far from it where rows hardly tell.  Under the new model old scores are densities, too, so that
E exp(−g) = 1.  Where rows say that it is more, the gains are too sure of themselves, and count by as much as
brings it down.

**Wrong models.**  A model that is wrong takes its own evidence too seriously: three clusters fitted to
five can be fitted in several ways, and which is best for 250 rows is a matter of chance, worth 15 nats
and more on streams without any change.  Another way to fit the same rows predicts those before it about as
well as those after it; after a change those before it are worse off.  So the mean gain of the rows after
a change has to exceed that of the rows before by four standard errors; else the next chunk will tell.  Where
no rows before it are stored, what the run is ahead by must exceed what it would scatter by if the rows were
drawn again, √n times the standard deviation of their gains (Huggins and Miller 2023 average the posterior
over that), twice: half-way between the log odds, which have paid for the learning, and the sum of the gains,
which have been learnt from.

**Small models.**  Three clusters fitted to seven gain little over three fitted to five, though many a row
lies where there was none before.  A classifier that tells rows after the change from those before it knows
that: with c(x) its probability of "after" for row x (with its target, if there is one), n rows before and n'
after to learn from,

.. math::
    \hat g(x) = \log\frac{c(x)}{1 - c(x)} - \log\frac{n'}{n}

estimates the log density ratio, log p'(x) − log p(x) (Londschien, Bühlmann and Kovács 2023 find changes by
it).  Here c is a logistic regression on kernel features.  It learns from rows that the model's gains g put on
one side with 95 %, and predicts each of them by a fit to the others.

**Which gains.**  The model sees best what it is made for: a coefficient that changes, one column of many.
The one of g and ĝ counts that tells the known rows apart with the lower log loss, both sides weighing the
same.

References
----------
M. Londschien, P. Bühlmann, S. Kovács (2023), Random forests for change point detection, Journal of Machine
Learning Research 24.
"""

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler, label_binarize

from ..estimators import holds_rows, takes_units
from ..particles import log_mixture
from ..units import MIN_ROWS as MIN_UNIT_ROWS
from ._detection import Alarm, Detection, last_plausible, log_prior_odds_of_change
from ._watch import Watched


class Chunk(NamedTuple):
    """Rows of one update, and the index of the first."""

    first: int
    X: np.ndarray
    y: np.ndarray | None


@dataclass
class EstimatorRun:
    """An estimator that began with row ``start``, and the one that led until then, or of the change since."""

    start: int
    estimator: Any
    log_weight: float
    rival: Any = None
    scores: list[float] = field(default_factory=list)  # log predictive per row, one a chunk, not the first


class ChunkWatch:
    """At most ``max_runs`` estimators, and the posterior over them."""

    overshoot = 1.0  # the bound: it has not been measured
    finding: str | None = None  # predictions of estimators are not tested

    def __init__(
        self, model: BaseEstimator, hazard: float, threshold: float, max_runs: int, forget: bool
    ) -> None:
        self.model, self.hazard, self.max_runs, self.forget = model, hazard, max_runs, forget
        self.alarm = Alarm(threshold, hazard)
        self.runs: list[EstimatorRun] = []
        self.stored: list[Chunk] = []
        self.classes: np.ndarray | None = None
        self.held: list[Chunk] = []
        self.min_rows = MIN_UNIT_ROWS if takes_units(model) else 1
        self.n_seen = self.last_start = self.next_grid = 0
        self.log_evidence = self.last_log_z = self.pruned = 0.0

    def posterior(self) -> tuple[np.ndarray, np.ndarray, int]:
        """First row and probability of each run, and the rows absorbed."""
        runs = sorted(self.runs, key=lambda run: run.start)
        weight = np.exp([run.log_weight for run in runs])
        return np.array([run.start for run in runs], dtype=np.int64), weight / weight.sum(), self.n_seen

    def can_change_at(self, row: int) -> bool:
        """May a change still be placed at this row?"""
        return not self.stored or row >= self.stored[0].first or any(run.start == row for run in self.runs)

    def complaints(self, X: np.ndarray, names: Any) -> list[str]:
        """None: estimators warn themselves."""
        return []

    def learn(self, X: np.ndarray, y: np.ndarray | None) -> Watched:
        """Absorb one chunk, or hold its rows until there are enough to take units from."""
        held = [*self.held, Chunk(self.n_seen, X, y)]
        X, y = _together(held)
        if len(X) < self.min_rows:
            # a fresh model refuses bad rows, and holds others
            self._absorb(clone(self.model), Chunk(self.n_seen, X, y))
            self.held = held
            return Watched.together([])
        self.held = []
        chunk, stored = Chunk(self.n_seen, X, y), self.stored
        self.stored = [*stored, chunk][-8:]  # chunks of rows for finding the place
        log_z = self._weigh(chunk)
        if log_z is None:
            self.held, self.stored = held, stored
            return Watched.together([])
        self.log_evidence += log_z
        self.n_seen += len(X)
        start, weight, _ = self.posterior()
        before = self.alarm.boundary
        log_odds = self._log_odds()
        p, declared = self.alarm.check(start, weight[None], self.n_seen - 1)
        found = []
        for detection in declared:
            log_prior_odds = log_prior_odds_of_change(self.n_seen - 1 - before, self.hazard)
            exact = detection._replace(log_bayes_factor=log_odds - log_prior_odds)
            placed = self._place(exact, log_odds, before)
            if placed is None:
                self.alarm.boundary = before  # not yet: the next chunk will tell
            else:
                found.append(placed)
        if found and self.forget:
            kept = [run for run in self.runs if run.start >= found[-1].change_row]
            total = np.logaddexp.reduce([run.log_weight for run in kept])
            self.runs = [replace(run, log_weight=run.log_weight - total) for run in kept]
        return Watched(np.array([log_z]), p, found)

    def _weigh(self, chunk: Chunk) -> float | None:
        """All runs learn the chunk, one may begin with it; its log predictive density, None without runs."""
        c = len(chunk.X)
        leader = max(self.runs, key=lambda run: run.log_weight, default=None)
        runs = []
        for run in self.runs:
            estimator = copy.deepcopy(run.estimator)
            log_p = self._absorb(estimator, chunk)
            log_weight = run.log_weight + c * math.log1p(-self.hazard) + log_p
            scores = [*run.scores, log_p / c][-13:]  # of this chunk and twelve recent ones
            runs.append(replace(run, estimator=estimator, log_weight=log_weight, scores=scores))
        poor = leader is not None and _is_poor(runs[self.runs.index(leader)].scores)
        if leader is None or poor or chunk.first >= self.next_grid:
            earlier = self._begin_earlier(chunk, leader, runs) if poor and leader is not None else []
            new_run = self._begin(chunk, leader)
            runs += [run for run in (*earlier, new_run) if run is not None]
            if not runs:
                return None
            if new_run is not None and not poor:
                self.next_grid = 2 * max(chunk.first, c)
        log_z = float(np.logaddexp.reduce([run.log_weight for run in runs]))
        self._keep([replace(run, log_weight=run.log_weight - log_z) for run in runs])
        self.last_log_z = log_z
        return log_z

    def _begin(self, chunk: Chunk, leader: EstimatorRun | None) -> EstimatorRun | None:
        """A run that begins with the chunk; None if its rows have no units."""
        estimator = clone(self.model)
        log_p = self._absorb(estimator, chunk)
        if holds_rows(estimator):
            return None
        end = chunk.first + len(chunk.X)
        log_prior = 0.0
        if leader is not None:
            log_prior = math.log(-math.expm1((end - self.last_start) * math.log1p(-self.hazard)))
        self.last_start = end
        return EstimatorRun(chunk.first, estimator, log_prior + log_p, leader and leader.estimator)

    def _begin_earlier(
        self, chunk: Chunk, leader: EstimatorRun, runs: list[EstimatorRun]
    ) -> list[EstimatorRun]:
        """A run that began with the chunk before this one, if that was predicted worse than most, too."""
        before, scores = self.stored[-2], runs[self.runs.index(leader)].scores
        latest = max(self.alarm.boundary, *(run.start for run in runs))
        if latest >= before.first or self.last_start > before.first or scores[-2] > np.mean(scores[:-2]):
            return []
        run, c = self._begin(before, leader), len(chunk.X)
        if run is None:
            return []
        log_p = self._absorb(run.estimator, chunk)
        log_weight = run.log_weight - self.last_log_z + c * math.log1p(-self.hazard) + log_p
        return [replace(run, log_weight=log_weight, scores=[log_p / c])]

    def _absorb(self, estimator, chunk: Chunk) -> float:
        """Growth of the log evidence; 0 if the estimator holds the rows, which have no units yet."""
        before = getattr(estimator, "log_evidence_", 0.0)
        arguments: dict = {}
        if self.classes is not None and before == 0.0:
            arguments = {"classes": self.classes}
        estimator.partial_fit(chunk.X, chunk.y, **arguments)
        growth = 0.0 if holds_rows(estimator) else float(estimator.log_evidence_) - before
        if not math.isfinite(growth):
            raise ValueError(f"log_evidence_ of {estimator!r} is {before + growth} after the chunk")
        return growth

    def _keep(self, runs: list[EstimatorRun]) -> None:
        runs = sorted(runs, key=lambda run: -run.log_weight)
        # what a change is measured against stays until one is declared
        old = next((run for run in runs if run.start <= self.alarm.boundary), runs[0])
        alive = [run for run in runs if run.log_weight > math.log(1e-6) or len(run.scores) < 2]
        kept = [run for run in alive if run is not old][: self.max_runs - 1]
        dropped = [run for run in runs if run is not old and not any(run is other for other in kept)]
        self.pruned += sum(math.exp(run.log_weight) for run in dropped)
        self.runs = [old, *kept]

    def _log_odds(self) -> float:
        """Posterior log odds of a change since the last declared one, whatever has become negligible."""
        news: list[float] = []
        old: list[float] = []
        for run in self.runs:
            (news if run.start > self.alarm.boundary else old).append(run.log_weight)
        return float(np.logaddexp.reduce(news) - np.logaddexp.reduce(old)) if news and old else 0.0

    def _place(self, detection: Detection, log_odds: float, boundary: int) -> Detection | None:
        """The detection at its best row, where the run begins from now on; None if it does not stand out.

        Or if its row may be that of the last change, up to the boundary.  Once the rows before the run are no
        longer stored, it keeps its place.
        """
        found = next(run for run in self.runs if run.start == detection.change_row)
        if found.rival is None:
            return detection
        stored = self.stored
        X, y = _together(stored)
        # of the runs that began at the same time the last one has the least of the old segment in it
        pure = max((run for run in self.runs if run.rival is found.rival), key=lambda run: run.start)
        gain = row_scores(pure.estimator, X, y) - row_scores(found.rival, X, y)
        first = stored[0].first
        chunks_before = (chunk.first for chunk in stored if chunk.first < found.start)
        least = max([first, *chunks_before])
        weight = place_weights(gain[least - first :])
        if first <= found.start:
            since = min(max(boundary, first), least) - first  # rows of the segment that ends
            gain[since:] = best_gains(gain[since:], joint_rows(X, y, self.classes)[since:], weight)
            weight = place_weights(gain[least - first :])
        cut = least - first + int(np.searchsorted(weight.cumsum(), 0.5 * weight.sum()))
        if first > found.start:
            cut = 0
        before, n = gain[max(boundary - first, 0) : cut], max(len(gain) - cut, self.n_seen - found.start)
        if not stands_out(log_odds, before, gain[cut:], n):
            return None
        if first > found.start:
            return detection
        place = max(first + cut, 1)
        if place >= self.n_seen:
            return None
        if place != found.start:
            estimator = clone(self.model)
            i = place - first
            self._absorb(estimator, Chunk(place, X[i:], None if y is None else y[i:]))
            if holds_rows(estimator):
                return None  # the new segment has units of its own, from its own rows
            moved = replace(found, start=place, estimator=estimator, scores=[])
            self.runs = [moved if run is found else run for run in self.runs]
            found = moved
        if place <= boundary:
            return None
        latest = last_plausible(least + np.arange(len(weight)), weight)
        self.alarm.boundary = max(self.alarm.boundary, latest)
        later = self.alarm.boundary + 1  # which runs have to be better than this one from now on
        self.runs = [replace(run, rival=found.estimator) if run.start >= later else run for run in self.runs]
        return detection._replace(change_row=place)


def _together(chunks: list[Chunk]) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows of several chunks."""
    X, y = [chunk.X for chunk in chunks], [chunk.y for chunk in chunks if chunk.y is not None]
    return np.concatenate(X), np.concatenate(y) if y else None


def _is_poor(scores: list[float]) -> bool:
    """Is the last score worse than those before it let expect?"""
    *before, last = scores
    if len(before) < 3:  # recent chunks before a chunk can be called poor
        return False
    # the prediction error of the mean of few scores, too
    std = np.std(before, ddof=1) * math.sqrt(1.0 + 1.0 / len(before))
    return bool(last < np.mean(before) - 2.0 * std)


def watches_by_estimator(model) -> bool:
    """Is the model an estimator, rather than a segment model in closed form?"""
    return not hasattr(model, "absorb")


def known_classes(model, y, classes) -> np.ndarray | None:
    """All labels that may come, for classifiers."""
    if not is_classifier(model):
        return None
    return np.unique(y if classes is None else classes)


UNSURE_SHARE = 0.05  # probability that a row known to be of one side is of the other

POWERS = np.linspace(1.0, 0.1, 19)  # by which gains may count, the first that will do
MIN_SIDE_ROWS = 30  # rows on one side of a change that are too few to tell, or to learn from


def row_scores(estimator, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    """Log predictive density of each row, averaged over models where there are several."""
    if hasattr(estimator, "estimators_"):
        parts = np.array([row_scores(child, X, y) for child in estimator.estimators_])
        return log_mixture(estimator.weights_, parts)
    if isinstance(estimator, Pipeline):
        X, estimator = estimator[:-1].transform(X), estimator[-1]
    return estimator.score_samples(X) if y is None else estimator.score_samples(X, y)


def place_weights(gain: np.ndarray) -> np.ndarray:
    """Weight of each row as the first of those that have gained: the posterior, tempered if need be."""
    ahead = np.cumsum(gain[::-1])[::-1]
    with np.errstate(over="ignore"):
        excess = np.exp(-gain[ahead.argmax() :, None] * POWERS).mean(axis=0) > 1.0
    return np.exp((ahead - ahead.max()) * POWERS[np.argmin(excess)])


def stands_out(log_odds: float, before: np.ndarray, after: np.ndarray, n: int) -> bool:
    """Whether a run is ahead by more than chance, from what rows gain by it before the change and after it.

    With too few rows before it from the n since, of which ``after`` are at hand.  A few rows after it may
    agree by chance, so they are taken to scatter at least as much as those before.
    """
    spread = np.concatenate([before, after]).std() if len(after) < MIN_SIDE_ROWS else after.std()
    if len(before) < MIN_SIDE_ROWS:
        return 0.5 * (log_odds + n * after.mean()) > 2.0 * math.sqrt(n) * spread
    if len(after) < MIN_SIDE_ROWS:
        spread = max(before.std(), after.std())
    error = math.sqrt(before.var() / len(before) + spread**2 / len(after))
    return after.mean() - before.mean() > 4.0 * error


def joint_rows(X: np.ndarray, y: np.ndarray | None, classes: np.ndarray | None) -> np.ndarray:
    """Rows with their targets as further columns, one for each of several classes."""
    if y is None:
        return X
    return np.column_stack([X, y if classes is None else label_binarize(y, classes=classes)])


def best_gains(gain: np.ndarray, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """``gain``, or what the rows gain by the classifier where that tells more.

    ``weight`` is that of each of the last rows as the first after the change, by ``gain``.
    """
    n, share = len(rows), weight.cumsum() / weight.sum()
    n_before, first_after = n - len(weight) + np.searchsorted(share, [UNSURE_SHARE, 1.0 - UNSURE_SHARE])
    if min(n_before, n - first_after) < MIN_SIDE_ROWS:
        return gain
    known = np.r_[:n_before, first_after:n]
    after = known >= first_after
    return min(gain, log_ratio(rows, known, after), key=lambda g: log_loss(g[known], after))


def log_ratio(rows: np.ndarray, known: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Ratio of the density after to that before, at all rows; no ``known`` row predicts itself."""
    # the landmarks are drawn with a seed of their own: the same rows have the same place
    kernel = Nystroem(n_components=min(100, len(rows)), random_state=0)  # there are as many rows at most
    columns = make_pipeline(StandardScaler(), kernel).fit_transform(rows)
    classifier = LogisticRegression(max_iter=1000).fit(columns[known], after)
    log_odds = classifier.decision_function(columns)
    log_odds[known] = cross_val_predict(classifier, columns[known], after, cv=5, method="decision_function")
    return log_odds - np.log(after.sum() / (~after).sum())


def log_loss(gain: np.ndarray, after: np.ndarray) -> float:
    """Loss of even odds, before a row is seen."""
    loss = np.logaddexp(0.0, np.where(after, -gain, gain))
    return 0.5 * float(loss[after].mean() + loss[~after].mean())
