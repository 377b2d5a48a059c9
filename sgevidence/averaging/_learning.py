r"""Models learn from chunks of rows, and their weights with them: here posterior probabilities of the models.

    w_k = prior_k Z_k / Σ_j prior_j Z_j,        log evidence of the mixture: log Σ_k prior_k Z_k

Symbols: ``log_Z`` = log evidences (K,), ``covariance`` = C, that of their errors (K, K), ``log_prior`` (K,).

**Dynamic model averaging**: probabilities of a model that may change with every row.

    π_{t|t−1},k ∝ π_{t−1|t−1},k^α                     (Raftery, Kárný and Ettler 2010, Section 3)
    π_{t|t},k   ∝ π_{t|t−1},k p_k(y_t | y_<t)

for every row t.  A chunk of n rows is forgotten for at once, by α^n; before the first row there is nothing to
forget.  So log weight k is a sum of log predictive densities that fades with 1/(1−α) rows, and α = 1 is the
posterior.

Symbols: ``log_w`` = log π_{t|t} (K,), ``alpha`` = α per row.

**The prequential log score** and its standard error.  Before chunk t model k has the weight π_kt, whose log
is β_t times that after the chunk before, normalised; it predicts the chunk with ℓ_kt = log p_k(y_t | y_<t),
the growth of its log evidence:

    score = Σ_t log Σ_k π_kt e^{ℓ_kt},        r_kt = π_kt e^{ℓ_kt} / Σ_j π_jt e^{ℓ_jt}

It is a log density of the rows, as an evidence is.  With independent errors of variance v_kt in ℓ_kt its
variance is Σ_kt g_kt² v_kt (delta method), where an error acts at once and through every later weight:

    g_kt = r_kt + Σ_{s>t} B_ts (r_ks − π_ks),        B_ts = β_{t+1} ⋯ β_s.

U_k = Σ_t B_ts g_kt v_kt and Q_k = Σ_t B_ts² v_kt are all that is needed of the past.  With β = 1 the sum
telescopes: g_kt is the last weight, and the score log Σ_k π_k1 Z_k.

Symbols
-------
=======  ================  ====================================================
ℓ_kt     ``ell``           log predictive density of chunk t, nats
π, r     ``log_pi, r``     weights before and after the chunk
β_t      ``memory``        share of the log weights that is kept
Q, U     ``Q, U``          nats²; Q_k is also the variance of log weight k
=======  ================  ====================================================

References
----------
A. E. Raftery, M. Kárný, P. Ettler (2010), Online Prediction Under Model Uncertainty via Dynamic Model
Averaging: Application to a Cold Rolling Mill, Technometrics 52, 52.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from ..estimators import FitTasks, holds_rows
from ..history import task_workers
from ..mixture.estimators import error_covariance
from ..model_selection import (
    behind_transformers,
    candidate,
    check_comparable,
    last_step,
    probability_interval,
)
from ..particles import log_sum_exp
from ._pipelines import Chunk, FirstCall, evidences, partial_fit_child, route
from ._stacking import RowScores, Stacking


class Dynamic(NamedTuple):
    """Probabilities of the model of the last row, and the running score; a value, never changed in place."""

    alpha: float
    log_w: np.ndarray
    log_Z: np.ndarray  #: log evidences so far, (K,)
    var: np.ndarray  #: their variances
    log_evidence: float  #: the score, Σ_t log Σ_k π_{t|t−1},k p_k(y_t | y_<t)
    score_var: float
    U: np.ndarray
    Q: np.ndarray
    is_new: bool = True  #: no row has been seen

    @classmethod
    def start(cls, log_prior: np.ndarray, forgetting: float) -> "Dynamic":
        """Before the first row."""
        zero = np.zeros(len(log_prior))
        return cls(forgetting, log_prior, zero, zero, 0.0, 0.0, zero, zero)

    def after(self, models: Sequence[Any], n_rows: float, rows: RowScores | None) -> "Dynamic":
        """Weights of models that have learnt from ``n_rows`` more rows."""
        memory = 1.0 if self.is_new else self.alpha**n_rows
        log_pi = memory * self.log_w - log_sum_exp(memory * self.log_w)
        log_Z, std = evidences(models)
        ell, v = log_Z - self.log_Z, std**2 - self.var
        gain = float(log_sum_exp(log_pi + ell))
        log_r = log_pi + ell - gain
        r = np.exp(log_r)
        d, U, Q = r - np.exp(log_pi), memory * self.U, memory**2 * self.Q
        score_var = self.score_var + float(np.sum(2 * d * U + d**2 * Q + r**2 * v))
        score, U, Q = self.log_evidence + gain, U + d * Q + r * v, Q + v
        return type(self)(self.alpha, log_r, log_Z, std**2, score, score_var, U, Q, False)

    @property
    def weights(self) -> np.ndarray:
        """π_{t|t}."""
        return np.exp(self.log_w)

    @property
    def log_evidence_std(self) -> float:
        """Standard error of the score, nats.  A variance that fell on the way may leave less than nothing."""
        return float(np.sqrt(np.maximum(self.score_var, 0.0)))

    @property
    def interval(self) -> np.ndarray:
        """Interval of the weights by the errors of the evidences, (2, K)."""
        return probability_interval(self.log_w, np.sqrt(np.maximum(self.Q, 0.0)))

    @property
    def complaints(self) -> list[str]:
        """None of its own."""
        return []


class Posterior(NamedTuple):
    """Probabilities given all rows."""

    log_prior: np.ndarray
    log_Z: np.ndarray
    covariance: np.ndarray

    @classmethod
    def start(cls, log_prior: np.ndarray, forgetting: float) -> "Posterior":
        """Before the first row."""
        K = len(log_prior)
        return cls(log_prior, np.zeros(K), np.zeros((K, K)))

    def after(self, models: Sequence[Any], n_rows: float, rows: RowScores | None) -> "Posterior":
        """Weights of models that have learnt from more rows."""
        return self._replace(log_Z=evidences(models)[0], covariance=error_covariance(models))

    @property
    def log_evidence(self) -> float:
        """log Σ_k prior_k Z_k."""
        return float(log_sum_exp(self.log_prior + self.log_Z))

    @property
    def weights(self) -> np.ndarray:
        """w."""
        return np.exp(self.log_prior + self.log_Z - self.log_evidence)

    @property
    def log_evidence_std(self) -> float:
        """√(wᵀ C w), by the delta method."""
        return float(np.sqrt(np.maximum(self.weights @ self.covariance @ self.weights, 0.0)))

    @property
    def interval(self) -> np.ndarray:
        """Interval of the weights by the errors of the evidences, (2, K)."""
        std = np.sqrt(np.diag(self.covariance))
        return probability_interval(self.log_Z, std, self.log_prior, covariance=self.covariance)

    @property
    def complaints(self) -> list[str]:
        """None of its own."""
        return []


#: Most entries of a path of weights: when it is full every second one is dropped.
MAX_WEIGHT_PATH = 4096


#: Attributes of the models that are those of the average, too.
SHARED = ("n_samples_seen_", "data_fingerprint_", "classes_")


class Entry(NamedTuple):
    """After one chunk."""

    n_samples: int
    weights: np.ndarray
    log_evidence: float
    log_evidence_std: float


#: The weighing of the models, by the name of the method.
METHODS: dict[str, type[Posterior] | type[Dynamic] | type[Stacking]] = {
    "bma": Posterior,
    "stacking": Stacking,
    "dynamic": Dynamic,
}


class Standing(NamedTuple):
    """Models and their weights after some rows; a value, never changed in place."""

    children: list[tuple[str, Any]]
    weighing: Posterior | Dynamic | Stacking
    path: list[Entry] = []
    shared: dict[str, Any] = {}  #: rows seen, their checksum, classes; nothing while a model holds rows

    @property
    def waiting(self) -> Any:
        """The first model that holds rows until it knows their units; None if there is none."""
        models = (last_step(child) for _, child in self.children)
        return next((model for model in models if holds_rows(model)), None)

    def after(self, fitted: list[Any], n_rows: float = 0.0, rows: RowScores | None = None) -> Self:
        """With models that have learnt from more rows, checked to be the same ones for all.

        ``n_rows`` is how many by weight, ``rows`` are their scores before.
        """
        held = self._replace(children=[(name, child) for (name, _), child in zip(self.children, fitted)])
        if held.waiting is not None:
            return held
        check_comparable([candidate(name, child) for name, child in held.children])
        models = [last_step(child) for child in fitted]
        known = {name: model for name in SHARED for model in models if hasattr(model, name)}
        shared = {name: getattr(model, name) for name, model in known.items()}
        if "n_samples_seen_" not in shared:
            raise ValueError(f"estimator {held.children[0][0]!r} has no n_samples_seen_ after fit")
        now = self.weighing.after(models, n_rows, rows)
        entry = Entry(shared["n_samples_seen_"], now.weights, now.log_evidence, now.log_evidence_std)
        return type(self)(held.children, now, extended(self.path, entry), shared)

    def learning(
        self,
        owner: Any,
        chunks: Iterable[Chunk],
        extra: dict[str, Any],
        tasks: FitTasks | None,
        metadata: dict[str, Any] | None = None,
        call: FirstCall | None = None,
    ) -> Self:
        """After these rows; stacking asks the models for the scores of a chunk before they learn from it.

        ``owner`` is the average, ``extra`` goes to the models at the first chunk, ``tasks`` are told,
        ``metadata`` of a single chunk go to those that request them, ``call`` has the rows of all chunks.
        """
        standing = self
        for X, y, sample_weight in chunks:
            is_new = not standing.shared
            first = is_new and standing.waiting is None
            scores = standing.scores(X, y) if isinstance(standing.weighing, Stacking) and not is_new else None
            params = route(owner, "partial_fit", standing.children, sample_weight, metadata or {})
            calls = [
                (child, X, y, params[name], extra if first else {}, first, call if is_new else None)
                for name, child in standing.children
            ]
            fitted = standing.fitted(owner, partial_fit_child, calls, tasks)
            weight = Chunk(X, y, sample_weight).weight  # which the models have checked
            rows = None
            if scores is not None:
                rows = RowScores.of(scores, weight, standing.shared["n_samples_seen_"])
            standing = standing.after(fitted, float(weight.sum()), rows)
        return standing

    def fitted(self, owner: Any, call: Callable[..., Any], arguments: list[tuple], tasks: Any) -> list[Any]:
        """Results of a call for each model, side by side, each a task."""
        watched = [(None, None)] * len(arguments)
        if tasks is not None:
            watched = [(owner, leaf) for leaf in tasks.leaves([name for name, _ in self.children])]
        calls = [delayed(call)(*a, *b) for a, b in zip(arguments, watched)]
        with task_workers(owner.n_jobs, len(calls), arguments[0][1]):
            found = Parallel(n_jobs=owner.n_jobs, pre_dispatch="all")(calls)
        if tasks is not None:
            tasks.part()
        return found

    def scores(self, X: Any, y: Any) -> np.ndarray:
        """Log predictive density of each row by each model, (n, K)."""
        columns = []
        for _, child in self.children:
            model, X_in = behind_transformers(child, X)
            columns.append(model.score_samples(X_in, *(() if y is None else (y,))))
        return np.column_stack(columns)


def extended(path: list[Entry], entry: Entry) -> list[Entry]:
    """The path with one more entry, thinned when it is full: a stream has no end."""
    path = [*path, entry]
    return path if len(path) <= MAX_WEIGHT_PATH else path[-1::-2][::-1]


def columns(path: list[Entry]) -> dict[str, np.ndarray]:
    """An array a field."""
    return {name: np.array(values) for name, values in zip(Entry._fields, zip(*path))}
