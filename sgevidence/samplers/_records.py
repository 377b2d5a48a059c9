"""The record of a run: an entry a chunk, and what the entries say of the whole."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..transitions import State


class ChunkRecord(NamedTuple):
    """Record of one chunk; fields that a sampler does not know stay at their defaults."""

    n_samples: int  #: rows absorbed, this chunk included
    log_evidence: float  #: log p(y_≤n), nats
    log_evidence_std: float  #: its standard error, nats
    log_predictive: float  #: log p(y_chunk | y_<n), nats
    n_annealing_steps: int = 1
    ess: float = np.nan  #: smallest effective sample size of its steps
    lambdas: np.ndarray = np.ones(1)  #: the annealing schedule, ending in 1
    n_particles: int = 0
    n_moves: int = 0  #: times the kernel was called
    n_escorts: int = 0  #: escorts taken
    n_escorts_refused: int = 0
    acceptance: float = np.nan  #: of the last Metropolis tests; nan without
    #: spread over particles of the error of a sub-sample of the history, nats; nan without
    sample_noise: float = np.nan
    n_proposals: int = 0  #: answers of a density that covers the posterior, in the place of annealing
    declined: str = ""  #: why such a density had no answer, where it was asked
    n_sharpened: int = 0  #: annealed answers whose place a density for hierarchies has taken
    #: nats by which that density exceeds an annealed answer; 0 where they agree, nan where there was none
    disagreement: float = np.nan
    #: gap of two estimates of log Z(1.3)/Z(1), nats, by tempering beyond the posterior and back; nan without
    hysteresis: float = np.nan
    n_returned: int = 0  #: answers that are the mean of annealing from the prior and back to it
    n_renewals: int = 0  #: modes whose share of the evidence was taken from importance sampling around them
    #: nats by which a mode that no particle has found exceeds the particles' own; nan if none was sought
    missed_mode: float = np.nan
    #: draws of the prior, if all of them find all rows so far equally likely; nan otherwise
    n_alike: float = np.nan
    #: variance of the gradient's kicks over that of the injected noise; nan without
    noise_to_injection: float = np.nan
    anchor_distance: float = np.nan  #: of the cloud's mean from the anchor, posterior widths per √d
    n_refused: int = 0  #: particles a kernel left where they were
    n_likelihoods: float = 0.0  #: likelihood evaluations, particles × rows
    n_gradients: float = 0.0  #: gradient evaluations, particles × rows
    total_weight: float = np.nan  #: of the rows absorbed, this chunk included

    @classmethod
    def of(cls, before: State, after: State, infos: Iterable[Any] = ()) -> "ChunkRecord":
        """Record of one chunk, from the states around it and the words of the transitions that it took."""

        def words(name: str) -> list[Any]:
            known = [getattr(info, name) for info in infos if hasattr(info, name)]
            return [value for value in known if not np.any(np.isnan(value))]

        lambdas = np.array([lam for some in words("lambdas") for lam in some])
        return cls(
            n_samples=after.n_rows,
            log_evidence=after.log_evidence,
            log_evidence_std=after.log_evidence_std,
            log_predictive=after.log_evidence - before.log_evidence,
            n_annealing_steps=len(lambdas),
            ess=min([float(before.cloud.M), *words("ess")]),
            lambdas=lambdas,
            n_particles=after.cloud.M,
            total_weight=after.n,
            sample_noise=after.adaptation.sample_noise,
            n_alike=after.adaptation.alike,
            declined=getattr(after, "declined", ""),
            anchor_distance=_anchor_distance(after),
            missed_mode=max(words("missed_mode"), default=np.nan),
            **{name: (words(name) or [np.nan])[-1] for name in LATEST},
            **{name: sum(words(name)) for name in COUNTS},
        )

    def __str__(self) -> str:
        why = f" ({self.declined})" if self.declined and self.n_annealing_steps else ""
        return (
            f"{self.n_samples} rows, log evidence {self.log_evidence:.2f} "
            f"± {self.log_evidence_std:.2f} nats, {self.n_annealing_steps} annealing steps{why}"
        )

    def after(self, earlier: "ChunkRecord") -> "ChunkRecord":
        """Two chunks as one: what adds up is added, the worst is kept, the rest is the later one's."""

        def known(name: str) -> Any:
            value = getattr(self, name)
            return getattr(earlier, name) if np.isnan(value) else value

        more = {name: getattr(self, name) + getattr(earlier, name) for name in (*COUNTS, *SUMS)}
        return self._replace(
            ess=min(self.ess, earlier.ess),
            missed_mode=self.missed_mode if self.n_renewals else known("missed_mode"),
            sample_noise=float(np.fmax(self.sample_noise, earlier.sample_noise)),
            **{name: known(name) for name in LATEST},
            **more,
        )


def _anchor_distance(state: State) -> float:
    return np.nan if state.memory.anchor is None else state.memory.anchor_distance(state.seen.mean)


#: Fields that the last transition with a value says.
LATEST = ("acceptance", "noise_to_injection", "disagreement", "hysteresis")
#: Fields that add up over chunks beside the counts.
SUMS = ("log_predictive", "n_annealing_steps")
#: Fields that add up over the transitions of a chunk.
COUNTS = (
    "n_moves",
    "n_escorts",
    "n_escorts_refused",
    "n_proposals",
    "n_sharpened",
    "n_returned",
    "n_renewals",
    "n_refused",
    "n_likelihoods",
    "n_gradients",
)


#: Most entries of an evidence path: when it is full each two become one.
MAX_EVIDENCE_PATH = 4096


def thinned(records: list[ChunkRecord]) -> list[ChunkRecord]:
    """At most MAX_EVIDENCE_PATH records, the newest among them."""
    while len(records) > MAX_EVIDENCE_PATH:
        odd = len(records) % 2
        pairs = zip(records[odd::2], records[odd + 1 :: 2])
        records = records[:odd] + [later.after(earlier) for earlier, later in pairs]
    return records


def diagnostics(records: list[ChunkRecord]) -> dict[str, float]:
    """Summary of the records of a run; see :class:`ChunkRecord` for the meaning of each."""
    last, path = records[-1], evidence_path(records)
    out: dict[str, float] = {"n_particles": last.n_particles, "ess": last.ess}
    out |= {name: int(path[name].sum()) for name in COUNTS if name not in ("n_likelihoods", "n_gradients")}
    out["missed_mode"] = missed_mode(records)
    for name in ("acceptance", "noise_to_injection", "sample_noise", "anchor_distance", "hysteresis"):
        known = path[name][~np.isnan(path[name])]
        out[name] = float(known[-1]) if len(known) else np.nan
    return out


def missed_mode(records: list[ChunkRecord]) -> float:
    """Nats by which a mode was better when modes were last looked for, unless evidence was renewed since."""
    missed = 0.0
    for record in records:
        known = not np.isnan(record.missed_mode)
        missed = record.missed_mode if known else 0.0 if record.n_renewals else missed
    return missed


def latest(records: list[ChunkRecord], name: str) -> float:
    """The last value that is known; 0 if none is."""
    known = [value for record in records if not np.isnan(value := getattr(record, name))]
    return known[-1] if known else 0.0


def evidence_path(records: list[ChunkRecord]) -> dict[str, np.ndarray]:
    """Records as a dictionary of arrays of equal length; ``lambdas`` is an array of arrays."""
    columns: dict[str, Any] = {name: [getattr(r, name) for r in records] for name in ChunkRecord._fields}
    lambdas = np.empty(len(records), dtype=object)
    lambdas[:] = [lam.copy() for lam in columns.pop("lambdas")]
    return {name: np.asarray(values) for name, values in columns.items()} | {"lambdas": lambdas}
