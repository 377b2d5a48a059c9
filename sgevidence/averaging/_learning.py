r"""Models learn from chunks of rows, and their weights with them: here posterior probabilities of the models.

    w_k = prior_k Z_k / Σ_j prior_j Z_j,        log evidence of the mixture: log Σ_k prior_k Z_k

Symbols: ``log_Z`` = log evidences (K,), ``covariance`` = C, that of their errors (K, K), ``log_prior`` (K,).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from ..estimators import FitTasks, holds_rows
from ..history import task_workers
from ..mixture.estimators import error_covariance
from ..model_selection import last_step, probability_interval
from ..particles import log_sum_exp
from ._checks import evidences, what_all_share
from ._chunks import Chunk, FirstCall
from ._dynamic import Dynamic
from ._pipelines import behind_transformers, partial_fit_child
from ._routing import route
from ._stacking import RowScores, Stacking


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
        names = [name for name, _ in self.children]
        models = [last_step(child) for child in fitted]
        held = self._replace(children=list(zip(names, fitted)))
        if held.waiting is not None:
            return held
        shared = what_all_share(names, models)
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
