"""Parts that every evidence algorithm shares: its answer, its errors, and how it says how far it is.

A sampler is an object with scikit-learn parameters.  It has ``run(model, rows, rng, progress)``; one
that can learn from rows as they come also has ``init(model, rng)``, which gives a state,
``update(state, model, rows, rng, progress)``, which gives a new state and a list of records, and
``doubts(state, model, records)``, why the answer should not be trusted: the last comes from
:class:`OnlineSampler`.
A state is a value, never changed in place, with ``theta`` and ``all_weights`` (draws from the
posterior), ``log_evidence`` and ``log_evidence_std``.

**Progress** has lines for the reader, and tasks for whoever watches.  Engines tell it of steps and parts
where they have such; in between a thread of its own prints that the run is alive, so that no long fit is
silent.  It reads no state of the run.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from time import perf_counter
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..answers import ComponentEvidence
from ..exceptions import warn_caller
from ..history import Rows
from ..models import Model
from ..transitions import Answered
from ._records import ChunkRecord, diagnostics, doubts_of_answer, doubts_of_records, evidence_path

#: Words on what is under way, of the progress that beats around it.
_under_way: ContextVar[list[str] | None] = ContextVar("under_way", default=None)


def under_way(words: str) -> None:
    """Say what comes next, as "3 of at most 7 components": the next line of the progress has it."""
    said = _under_way.get()
    if said is not None:
        said[:] = [words]


class Watcher(Protocol):
    """Is told of the parts of a run, chunks say, and of the steps in each."""

    def expect(self, n_parts: int) -> None:
        """``n_parts`` parts are to come."""

    def step(self) -> None:
        """A step of a part is done."""

    def part(self) -> None:
        """A part is done."""


class Progress:
    """Prints notes on the way at most every ``interval`` seconds, and a line a part.

    Parameters
    ----------
    name : str
        In front of each line.
    verbose : bool or int, default=True
        Whether to print.
    interval : float, default=2.0
        Seconds between notes.
    n_rows : int or None, default=None
        Rows seen when all is done, for the time that is left.
    watcher : Watcher or None, default=None
    log_unit : float, default=0.0
        Logarithm of the unit of a row's density, where the rows of a run are not in the data's units.
    """

    def __init__(
        self,
        name: str,
        verbose: Any = True,
        interval: float = 2.0,
        n_rows: int | None = None,
        watcher: Watcher | None = None,
        log_unit: float = 0.0,
    ) -> None:
        self.name, self.verbose, self.interval = name, bool(verbose), interval
        self.n_rows, self.watcher, self.log_unit = n_rows, watcher, log_unit
        self._start = self._last = self._part = perf_counter()

    def __call__(self, note: str | Callable[[], str]) -> None:
        """A step is done."""
        if self.watcher is not None:
            self.watcher.step()
        if self.verbose and perf_counter() - self._last > self.interval:
            self._print(note if isinstance(note, str) else note())

    @contextmanager
    def beating(self, stage: Callable[[], str] | None = None) -> Iterator["Progress"]:
        """A line each interval, also where code has no progress: what ``stage`` says or what is under way."""
        if not self.verbose:
            yield self
            return
        ends, said = Event(), ["at work"]

        def beat() -> None:
            while not ends.wait(self.interval / 4):
                if perf_counter() - self._last > self.interval:
                    self._print(f"{stage() if stage else said[0]}, {perf_counter() - self._start:.1f} s")

        thread = Thread(target=beat, name=f"progress of {self.name}", daemon=True)
        thread.start()
        token = _under_way.set(said)
        try:
            yield self
        finally:
            _under_way.reset(token)
            ends.set()
            thread.join()

    def expect(self, n_parts: int) -> None:
        """``n_parts`` parts are to come."""
        if self.watcher is not None:
            self.watcher.expect(n_parts)

    def done(self, result: str) -> None:
        """A part is done."""
        if self.watcher is not None:
            self.watcher.part()
        if self.verbose:
            self._print(result)

    def chunk(self, record: ChunkRecord, n_before: int, is_small: bool = False) -> None:
        """A chunk is done, before which ``n_before`` rows were seen; a small one has no line of its own."""
        if self.watcher is not None:
            self.watcher.part()
        if self.verbose and (not is_small or perf_counter() - self._last > self.interval):
            self._print(self._line(record, n_before))
        self._part = perf_counter()

    def _line(self, record: ChunkRecord, n_before: int) -> str:
        now, n = perf_counter(), record.n_samples
        if self.log_unit:
            given = record.log_evidence - self.log_unit * record.total_weight
            record = record._replace(log_evidence=given)
        if self.n_rows is None or n >= self.n_rows:
            return f"{record}, {now - self._start:.1f} s"
        left = (now - self._part) * (self.n_rows - n) / max(n - n_before, 1)  # at the pace of this chunk
        words = str(record).replace(f"{n} rows", f"{n} of {self.n_rows} rows", 1)
        return f"{words}, {now - self._start:.1f} s, about {left:.1f} s left"

    def alone(self) -> "Progress":
        """For one of several runs: prints as this does, and nobody watches."""
        return Progress(self.name, self.verbose, self.interval, log_unit=self.log_unit)

    def _print(self, words: str) -> None:
        self._last = perf_counter()
        print(f"[{self.name}] {words}", flush=True)


SILENT = Progress("", verbose=False)


def rung_of(progress: Progress) -> Callable[[Any], None]:
    """For ``watch`` of an annealing loop: each temperature is a step."""

    of = " of standardised rows" if progress.log_unit else ""

    def step(rung: Any) -> None:
        progress(lambda: f"λ = {rung.lam:.3g}, log evidence so far{of} {rung.cloud.log_evidence:.2f}")

    return step


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
        more = [] if particles_of is None else doubts_of_answer(particles_of, Answered(), np.nan)
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
            *doubts_of_answer(model, answered, getattr(state, "n", np.nan)),
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
