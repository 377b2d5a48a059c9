"""What every evidence algorithm shares: its answer, its errors, and how it says how far it is.

A sampler is an object with scikit-learn parameters.  It has ``run(model, rows, rng, progress)``; one
that can learn from rows as they come also has ``init(model, rng)``, which gives a state, and
``update(state, model, rows, rng, progress)``, which gives a new state and a list of records.  A
state is a value, never changed in place, with ``theta`` and ``all_weights`` (draws from the
posterior), ``log_evidence`` and ``log_evidence_std``.
"""

import inspect
import warnings
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..exceptions import EvidenceWarning
from ..history import Rows
from ..models import Model
from ._records import ChunkRecord, complaints, diagnostics, evidence_path


class EvidenceResult(NamedTuple):
    """The answer of a sampler."""

    log_evidence: float  #: nats
    log_evidence_std: float  #: nats
    theta: np.ndarray  #: posterior draws, (M, d)
    weights: np.ndarray  #: their normalised weights, (M,)
    path: dict[str, np.ndarray]  #: see :func:`evidence_path`
    n_likelihoods: float  #: particles × rows
    n_gradients: float  #: particles × rows
    wall_time: float  #: seconds
    diagnostics: dict[str, Any] = {}  #: how the sampling went, in the algorithm's own terms

    @classmethod
    def of(cls, state: Any, records: list[ChunkRecord], start: float, **more: Any) -> "EvidenceResult":
        """From a state and the records of its making, which began at ``start`` (``perf_counter``)."""
        return cls(
            log_evidence=float(state.log_evidence),
            log_evidence_std=float(state.log_evidence_std),
            theta=state.theta,
            weights=state.all_weights.W,
            path=evidence_path(records),
            n_likelihoods=float(sum(r.n_likelihoods for r in records)),
            n_gradients=float(sum(r.n_gradients for r in records)),
            wall_time=perf_counter() - start,
            diagnostics=diagnostics(records) | more,
        )


class Progress:
    """Prints how far a run is: notes on the way at most every ``interval`` seconds, results always."""

    def __init__(self, name: str, verbose: Any = True, interval: float = 2.0) -> None:
        self.name, self.verbose, self.interval = name, bool(verbose), interval
        self._last = perf_counter()

    def __call__(self, note: str) -> None:
        if self.verbose and perf_counter() - self._last > self.interval:
            self.done(note)

    def done(self, result: str) -> None:
        if self.verbose:
            self._last = perf_counter()
            print(f"[{self.name}] {result}", flush=True)


SILENT = Progress("", verbose=False)


class Parts(BaseEstimator):
    """For samplers with parts that are objects with parameters of their own.

    A part that is the signature's default is cloned, so that no two samplers share one: ``set_params`` of a
    part changes this sampler only.
    """

    def _own(self, name: str, part: Any) -> Any:
        default = inspect.signature(type(self).__init__).parameters[name].default
        return clone(part) if part is default and part is not None else part

    def _validate_params(self) -> None:
        super()._validate_params()
        for part in self.get_params(deep=False).values():
            if isinstance(part, BaseEstimator):
                part._validate_params()


class OnlineSampler(BaseEstimator):
    """:meth:`run` for samplers that learn from rows as they come."""

    def run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress = SILENT
    ) -> EvidenceResult:
        """Log evidence of all rows: ``init`` and one ``update``.

        Parameters
        ----------
        model : Model
        rows : Rows
        rng : numpy.random.Generator
        progress : Progress, optional

        Returns
        -------
        EvidenceResult
        """
        start = perf_counter()
        state, records = self.update(self.init(model, rng), model, rows, rng, progress)
        for complaint in complaints(records, self):
            warnings.warn(complaint, EvidenceWarning, stacklevel=2)
        return EvidenceResult.of(state, records, start)


def check_history(move: Any, reservoir_size: int | None) -> None:
    """Plain mini-batches of a sample of the history have an error that nothing shows.

    Raises
    ------
    ValueError
    """
    if reservoir_size is not None and not move.needs_anchor:
        raise ValueError(
            f"{move!r} sees the history by plain mini-batches, and a sample of it would bias them without a "
            "sign: give it control_variate=True, or set reservoir_size=None"
        )
