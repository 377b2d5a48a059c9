"""How far a run is: lines for the reader, tasks for whoever watches.

Engines tell it of steps and parts where they have such; in between a thread of its own prints that the run is
alive, so that no long fit is silent.  It reads no state of the run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter
from typing import Any, Protocol

from ._records import ChunkRecord


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
    def beating(self, stage: Callable[[], str] = lambda: "at work") -> Iterator["Progress"]:
        """A line each interval, also while code is at work that tells nobody how far it is."""
        if not self.verbose:
            yield self
            return
        ends = Event()

        def beat() -> None:
            while not ends.wait(self.interval / 4):
                if perf_counter() - self._last > self.interval:
                    self._print(f"{stage()}, {perf_counter() - self._start:.1f} s")

        thread = Thread(target=beat, name=f"progress of {self.name}", daemon=True)
        thread.start()
        try:
            yield self
        finally:
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
