"""The record of a run: an entry a chunk, and what the entries say of the whole.

**Doubts** are reasons why an evidence should not be trusted as it is.  Particles are led to several
components by the likelihood alone.  Where groups are a few prior widths apart, or rows are on another scale
than the prior, they may come to rest with two groups in one component, or with means that no longer keep up
with scales; weights and genealogy look as they should (three groups, 300 rows, three times the prior's scale:
annealing and nested sampling 270 nats low at 0.2 to 0.6).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from ..models import Model
from ..targets import TOO_NOISY
from ..transitions import COUNTS, LATEST, Answered, Info, State


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
    acceptance: float = np.nan  #: of the last Metropolis tests; nan without
    #: spread over particles of the error of a sub-sample of the history, nats; nan without
    sample_noise: float = np.nan
    n_proposals: int = 0  #: answers of a density that covers the posterior, in the place of annealing
    declined: str = ""  #: why such a density had no answer, where it was asked
    n_replaced: int = 0  #: annealed answers whose place a density for hierarchies has taken
    #: nats by which that density exceeds an annealed answer; 0 where they agree, infinite where it declines
    #: far from a Gaussian, nan where none was asked
    disagreement: float = np.nan
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
    def of(cls, before: State, after: State, infos: Iterable[Info] = ()) -> "ChunkRecord":
        """Record of one chunk, from the states around it and the transitions that it took."""
        info = reduce(Info.plus, infos, Info())
        return cls(
            n_samples=after.n_rows,
            log_evidence=after.log_evidence,
            log_evidence_std=after.log_evidence_std,
            log_predictive=after.log_evidence - before.log_evidence,
            n_annealing_steps=len(info.lambdas),
            ess=min(float(before.cloud.M), info.ess),
            lambdas=np.array(info.lambdas),
            n_particles=after.cloud.M,
            total_weight=after.n,
            sample_noise=after.adaptation.sample_noise,
            n_alike=after.adaptation.alike,
            declined=getattr(after, "declined", ""),
            anchor_distance=_anchor_distance(after),
            missed_mode=info.missed_mode,
            **{name: getattr(info, name) for name in (*LATEST, *COUNTS)},
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


@dataclass(frozen=True)
class WaitingRecord:
    """Record of a chunk whose evidence is made when one of its fields is asked for."""

    start: State
    end: State
    infos: tuple[Info, ...]

    @cached_property
    def made(self) -> ChunkRecord:
        """The record, which asks for the evidence before and after."""
        return ChunkRecord.of(self.start, self.end, self.infos)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copies and pickles
            raise AttributeError(name)
        return getattr(self.made, name)

    def __str__(self) -> str:
        return str(self.made)

    @property
    def n_numbers(self) -> int:
        """Numbers that are kept for it."""
        return int(self.end.memory.statistics.R.size)

    def after(self, earlier: Any) -> Any:
        """Two chunks as one, which waits if both do."""
        if not isinstance(earlier, WaitingRecord):
            return self.made.after(earlier)
        return WaitingRecord(earlier.start, self.end, (*earlier.infos, *self.infos))


def _anchor_distance(state: State) -> float:
    return np.nan if state.memory.anchor is None else state.memory.anchor_distance(state.seen.mean)


#: Fields that add up over chunks beside the counts.
SUMS = ("log_predictive", "n_annealing_steps")
#: Most entries of an evidence path: when it is full each two become one.
MAX_EVIDENCE_PATH = 4096
#: Numbers of sums that records keep until they are read: 16 MB, which is all entries with twenty columns.
MAX_WAITING_NUMBERS = 2_000_000


def thinned(records: list[Any]) -> list[Any]:
    """At most MAX_EVIDENCE_PATH records, the newest among them; fewer while those of many columns wait."""
    most = MAX_EVIDENCE_PATH
    if isinstance(records[-1], WaitingRecord):
        most = min(most, max(2, MAX_WAITING_NUMBERS // records[-1].n_numbers))
    while len(records) > most:
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
    for name in ("acceptance", "noise_to_injection", "sample_noise", "anchor_distance"):
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


#: Draws below which a weighting says nothing of its own error, and the share of the particles.
MIN_ESS, MIN_ESS_SHARE = 20.0, 0.1


def doubts_of_answer(model: Model, answered: Answered, n: float) -> list[str]:
    """Doubts of n rows, by weight: those of the last answer, and of components where particles speak."""
    K = model.n_components if model.has_components else 1  # type: ignore[attr-defined]
    if K == 1:
        return [*answered.doubts]
    if not answered.n:
        words = (
            f"the evidence of n_components={K} comes from particles, which may have lost groups, tens of "
            "nats or more, without a sign of it: hold it against that of MixtureEvidence(), or of another "
            "random_state"
        )
        return [words]
    # growth of the rows since a density answered for a mixture, from which there is a warning
    if answered.doubts or n < 2.0 * answered.n:
        return [*answered.doubts]
    way = "sums over all rows" if answered.components is None else "strata of the components in use"
    words = (
        f"with n_components={K} particles carry the evidence on from {answered.n:.0f} rows, the last that "
        f"{way} have answered for, and groups that came up since then may be missing: fit all rows at once"
    )
    return [words]


def doubts_of_records(records: list[ChunkRecord], sampler: Any = None) -> list[str]:
    """Doubts by the records of a run, and what of the sampler to change."""
    known = [*_of_particles(records), *_of_looks(records)]
    return [": ".join(filter(None, [words, remedy(sampler, *how)])) for holds, words, *how in known if holds]


def remedy(sampler: Any, wanted: str, also: str) -> str:
    """Advice to raise, or lower a learning rate, of the wanted parameters those that the sampler has."""
    names = {} if sampler is None else sampler.get_params()
    here = " or ".join(name for name in wanted.split() if name in names)
    verb = "lower" if "learning_rate" in wanted else "raise"
    return ", ".join(filter(None, [f"{verb} the sampler's {here}" if here else "", also]))


#: Whether a doubt holds; its words; parameters of a sampler to raise, and other advice.
Condition = tuple[bool, str, str, str]


def _of_particles(records: list[ChunkRecord]) -> list[Condition]:
    """Doubts by weights and moves."""
    last, refused, accepted = records[-1], sum(r.n_refused for r in records), least_accepted(records)
    moved = sum(r.n_moves * r.n_particles for r in records)
    noise = max((r.sample_noise for r in records if not np.isnan(r.sample_noise)), default=0.0)
    few = min(records, key=lambda r: r.ess / min(MIN_ESS, MIN_ESS_SHARE * r.n_particles))
    return [
        (
            last.log_evidence_std > 1.0,
            f"the log evidence is uncertain by {last.log_evidence_std:.1f} nats",
            "n_particles max_particles",
            "",
        ),
        # units of rounding of a sum that one answer may be off by: its terms are rounded, too
        (
            not 100.0 * np.finfo(float).eps * abs(last.log_evidence) < 1.0,
            f"a log evidence of {last.log_evidence:.0e} nats is rounded to more than a nat",
            "",
            "look for extreme values in the data",
        ),
        (
            few.ess < min(MIN_ESS, MIN_ESS_SHARE * few.n_particles),
            f"only {few.ess:.1f} of the particles counted after {few.n_samples} rows, so the error of the "
            "log evidence may be far larger than reported",
            "n_particles max_particles",
            "",
        ),
        # share of accepted moves below which particles stay copies of one another: HMC aims at 0.8, walks
        # at 0.2
        (
            accepted < 0.01,
            f"the particles hardly moved: {accepted:.1%} of their moves were accepted, so the log evidence "
            "may be far too low",
            "",
            "look for columns far from zero, or in very different units",
        ),
        (
            noise > TOO_NOISY,
            "the reservoir is too small a part of the history, its noise spreads the particles by "
            f"{noise:.1f} nats",
            "reservoir_size",
            "",
        ),
        (
            moved > 0 and refused > 0.1 * moved,
            f"{refused} proposals were refused because they left the finite numbers",
            "learning_rate move__learning_rate",
            "look for extreme values in the data",
        ),
    ]


def _of_looks(records: list[ChunkRecord]) -> list[Condition]:
    """Doubts by modes from outside, densities and the prior."""
    missed, disagreement = missed_mode(records), latest(records, "disagreement")
    n_alike = records[-1].n_alike
    return [
        (
            missed > 0.0,
            f"the particles missed a mode that is better by {missed:.0f} nats, so the log evidence is too "
            "low",
            "max_particles reservoir_size",
            "or try another random_state",
        ),
        (
            np.isinf(disagreement),
            "the posterior is far from Gaussian, and nothing confirms its annealed evidence: particles may "
            "have lost a narrow part of it, and the log evidence is then nats too low",
            "max_particles",
            "or try another random_state, or write parameters as a scale times standard normal ones",
        ),
        (
            np.isfinite(disagreement) and disagreement != 0.0,
            "a density that is Gaussian given some of the parameters gives a log evidence that is "
            f"{abs(disagreement):.2f} nats {'higher' if disagreement > 0 else 'lower'}, more than four "
            "standard errors: annealing has lost its way, or the posterior has tails or modes between which "
            "particles do not move",
            "max_particles",
            "or try another random_state",
        ),
        (
            n_alike > 0.0,
            f"the rows are equally likely at all of {n_alike:.0f} draws from the prior: they say nothing of "
            f"the parameters, or only in a part of less than {3 / (n_alike or 1.0):.0e} of the prior, which "
            "is missing in the log evidence",
            "",
            "",
        ),
    ]


def least_accepted(records: list[ChunkRecord]) -> float:
    """Smallest share of accepted moves in a chunk that relies on them; 1 where none does."""
    # moves of a chunk from which that matters: particles resampled so often at an ESS of M/2 are one in 64
    relied_on = (r.acceptance for r in records if r.n_moves >= 6 and not np.isnan(r.acceptance))
    return min(relied_on, default=1.0)
