"""One cell of the calibration suite: rows that a seed makes, a model of them, how they arrive, and the truth.

A seed stands for fresh rows and a fresh random state of the sampler, other ones in each cell.
"""

import signal
import warnings
import zlib
from collections.abc import Callable
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from references import Reference

from sgevidence import EvidenceWarning

#: Seeds of a cell whose fit, with its reference, takes less or more than about two seconds: of twenty fits
#: with a true error bar one in forty has a mean z beyond 0.5.
MANY, FEW = 30, 20
#: What a line says of its reference.
REFERENCE = (
    "reference",
    "reference_std",
    "reference_ess",
    "reference_method",
    "reference_sound",
    "reference_seconds",
)
#: How a warning starts that says nothing of the number: the model's priors are not the user's.
PRIOR_CONFLICT = "prior and data contradict each other"
#: Share of effective draws below which importance sampling is not believed, nor its own error.
LEAST_ESS = 0.05
#: Nats, and part of log Z, by which two closed forms may differ.
ROUNDING, RELATIVE_ROUNDING = 1e-8, 1e-12


class Data(NamedTuple):
    """Rows in the order in which they arrive, and where a search for their mode may start."""

    X: np.ndarray
    y: np.ndarray | None = None
    start: np.ndarray | None = None


class Cell(NamedTuple):
    """What is fitted to what."""

    model: str
    d: int  #: columns
    n: int
    make: Callable[[np.random.Generator], Data]
    estimator: Callable[..., Any]  #: takes ``random_state``
    reference: Callable[[Data, np.random.Generator], Reference]
    calls: int | None = None  #: rows of each ``partial_fit``; None is one ``fit``
    difficulty: str = ""
    slow: bool = False  #: FEW seeds instead of MANY
    n_classes: int | None = None  #: to be told at the first ``partial_fit``

    @property
    def name(self) -> str:
        words = [self.model, f"d={self.d}", f"n={self.n}", self.arrival, self.difficulty]
        return ", ".join(word for word in words if word)

    @property
    def arrival(self) -> str:
        return f"calls of {self.calls}" if self.calls else ""

    @property
    def seeds(self) -> int:
        return FEW if self.slow else MANY

    def rng(self, seed: int, purpose: int) -> np.random.Generator:
        """Of the rows (0), the sampler (1) and the reference (2)."""
        return np.random.default_rng([zlib.crc32(self.name.encode()), seed, purpose])

    def learn(self, data: Data, random_state: int) -> Any:
        """The fitted estimator."""
        estimator = self.estimator(random_state=random_state)
        if self.calls is None:
            return estimator.fit(data.X, data.y)
        first = {} if self.n_classes is None else {"classes": np.arange(self.n_classes)}
        for i in range(0, len(data.X), self.calls):
            part = slice(i, i + self.calls)
            estimator.partial_fit(data.X[part], None if data.y is None else data.y[part], **first)
            first = {}
        return estimator


class TookTooLong(Exception):
    """A fit, or its reference, was stopped."""


def _stop(*_: Any) -> None:
    raise TookTooLong


def run(cell: Cell, seed: int, max_seconds: float, earlier: dict | None = None) -> dict:
    """One fit, stopped after so much processor time, beside its reference: a dictionary for a line of JSON.

    What the fit raises is kept as ``failure``: a refusal is an answer.  What the reference raises is, too.
    The reference may be that of an ``earlier`` line of the same rows: no line of the package is in it.
    """
    data = cell.make(cell.rng(seed, 0))
    random_state = int(cell.rng(seed, 1).integers(2**31))
    record: dict = {"cell": cell.name, "seed": seed}
    start = process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, max_seconds)
        try:
            fitted = cell.learn(data, random_state)
            record |= {"log_evidence": float(fitted.log_evidence_), "std": float(fitted.log_evidence_std_)}
        except TookTooLong:
            record["failure"] = f"stopped after {max_seconds:g} s"
        except Exception as error:  # whatever it is, the line and the page say so
            record["failure"] = f"{type(error).__name__}: {error}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
    record["seconds"] = round(process_time() - start, 3)
    messages = sorted({str(w.message) for w in caught if issubclass(w.category, EvidenceWarning)})
    record["prior_warnings"] = [m for m in messages if m.startswith(PRIOR_CONFLICT)]
    record["warnings"] = [m for m in messages if not m.startswith(PRIOR_CONFLICT)]  # of the number
    if "failure" in record:
        return record
    if earlier is not None and "reference" in earlier:
        return record | judged(record, {name: earlier[name] for name in REFERENCE})
    start = process_time()
    try:
        record |= judged(record, described(cell.reference(data, cell.rng(seed, 2))))
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        record["reference_failure"] = f"{type(error).__name__}: {error}"
    record["reference_seconds"] = round(process_time() - start, 3)
    return record


def described(known: Reference) -> dict:
    """For a line of JSON."""
    return {
        "reference": known.log_evidence,
        "reference_std": known.std,
        "reference_ess": known.ess,
        "reference_method": known.method,
        "reference_sound": bool(known.sound and (known.ess >= LEAST_ESS or "bridge" in known.method)),
    }


def judged(record: dict, reference: dict) -> dict:
    """Error, and z = error / √(std² + the reference's std²); of two closed forms, z = 0 or ± ∞."""
    error = record["log_evidence"] - reference["reference"]
    spread = float(np.hypot(record["std"], reference["reference_std"]))
    rounding = abs(error) <= ROUNDING + RELATIVE_ROUNDING * abs(reference["reference"])
    z = error / spread if spread > 0 else 0.0 if rounding else float(np.copysign(np.inf, error))
    return {"error": error, "z": z, **reference}
