"""Parts that every evidence algorithm shares: its answer, its errors, and how it says how far it is.

A sampler is an object with scikit-learn parameters.  It has ``run(model, rows, rng, progress)``; one
that can learn from rows as they come also has ``init(model, rng)``, which gives a state,
``update(state, model, rows, rng, progress)``, which gives a new state and a list of records, and
``doubts(state, model, records)``, why the answer should not be trusted: the last comes from
:class:`OnlineSampler`.
A state is a value, never changed in place, with ``theta`` and ``all_weights`` (draws from the
posterior), ``log_evidence`` and ``log_evidence_std``.
"""

import inspect
from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..answers import ComponentEvidence
from ..exceptions import warn_caller
from ..history import Rows
from ..models import Model
from ..transitions import Answered
from ._progress import SILENT, Progress
from ._records import ChunkRecord, diagnostics, doubts_of_mixture, doubts_of_records, evidence_path


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
    warnings: tuple[str, ...] = ()  #: why it should not be trusted as it is
    components: ComponentEvidence | None = None  #: of every number of them, of a mixture

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
            components=getattr(state, "components", None),
        )

    def doubted(self, doubts: Sequence[str], particles_of: Model | None = None) -> Self:
        """With these doubts, of each of which the caller of ``run`` is warned.

        ``particles_of`` is the model, where particles have the last word.
        """
        more = [] if particles_of is None else doubts_of_mixture(particles_of, Answered(), np.nan)
        warn_caller(*more, *doubts)
        return self._replace(warnings=(*self.warnings, *more, *doubts))


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
            if hasattr(part, "_parameter_constraints"):  # not of a user's own
                part._validate_params()


class Sampler(BaseEstimator):
    """An evidence algorithm."""

    def run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress = SILENT
    ) -> EvidenceResult:
        """Log evidence of all rows.

        Parameters
        ----------
        model : Model
        rows : Rows
        rng : numpy.random.Generator
        progress : Progress, optional

        Returns
        -------
        EvidenceResult

        Raises
        ------
        ValueError
            If the sampler has no answer for such a model, or such rows: the message says why.
        ImpossibleRowsError
            If rows are impossible under all particles.
        DivergenceError
            If particles leave the finite numbers, or get nowhere.
        """
        self._validate_params()
        return self._run(model, rows, rng, progress, perf_counter())

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        """The answer of a run that began at ``start`` (``perf_counter``)."""
        raise NotImplementedError


class OnlineSampler(Sampler):
    """A sampler that learns from rows as they come: ``run`` is ``init`` and one ``update``."""

    def init(self, model: Model, rng: np.random.Generator) -> Any:
        """State of a stream before its first row.

        Parameters
        ----------
        model : Model
        rng : numpy.random.Generator

        Returns
        -------
        state : object
            A value, never changed in place.
        """
        self._validate_params()
        return self._init(model, rng)

    def update(
        self, state: Any, model: Model, rows: Any, rng: np.random.Generator, progress: Progress = SILENT
    ) -> tuple[Any, list[ChunkRecord]]:
        """Absorb rows, chunk by chunk.

        Parameters
        ----------
        state : object
            Not changed.
        model : Model
        rows : Rows
        rng : numpy.random.Generator
        progress : Progress, optional

        Returns
        -------
        state : object
        records : list of ChunkRecord

        Raises
        ------
        ImpossibleRowsError
            If rows are impossible under all particles.
        DivergenceError
            If particles leave the finite numbers, or get nowhere.
        """
        return self._update(state, model, rows, rng, progress)

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        state, records = self.update(self.init(model, rng), model, rows, rng, progress)
        return EvidenceResult.of(state, records, start).doubted(self.doubts(state, model, records))

    def doubts(self, state: Any, model: Model, records: list[ChunkRecord]) -> list[str]:
        """Why the answer after these records should not be trusted, and what to change.

        Parameters
        ----------
        state : object
        model : Model
        records : list of ChunkRecord

        Returns
        -------
        list of str
        """
        answered = getattr(state, "answered", Answered())
        more = self._own_doubts(state, records)
        return [
            *doubts_of_mixture(model, answered, getattr(state, "n", np.nan)),
            *doubts_of_records(records, self),
            *more,
        ]

    def _own_doubts(self, state: Any, records: list[ChunkRecord]) -> list[str]:
        """Doubts of this sampler alone."""
        return []


def check_history(move: Any, reservoir_size: int | None) -> None:
    """Plain mini-batches of a sample of the history have an error that nothing shows."""
    if reservoir_size is not None and not move.needs_anchor:
        raise ValueError(
            f"{move!r} sees the history by plain mini-batches, and a sample of it would bias them without a "
            "sign: give it control_variate=True, or set reservoir_size=None"
        )
