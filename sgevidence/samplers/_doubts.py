"""Why an evidence should not be trusted as it is: by the records of a run, and for mixtures.

Particles are led to several components by the likelihood alone.  Where groups are a few prior widths apart,
or rows are on another scale than the prior, they may come to rest with two groups in one component, or with
means that no longer keep up with scales; weights and genealogy look as they should (three groups, 300 rows,
three times the prior's scale: annealing and nested sampling 270 nats low at 0.2 to 0.6).
"""

from typing import Any

import numpy as np

from ..answers import Doubt
from ..models import Model
from ..targets import TOO_NOISY
from ..transitions import Answered
from ._records import ChunkRecord, latest, missed_mode

#: Draws below which a weighting says nothing of its own error, and the share of the particles.
MIN_ESS, MIN_ESS_SHARE = 20.0, 0.1


def doubts_of_mixture(model: Model, answered: Answered, n: float) -> list[Doubt]:
    """Doubts of n rows, by weight, of a model with several components, where particles have the last word."""
    K = model.n_components if model.has_components else 1  # type: ignore[attr-defined]
    if K == 1:
        return []
    if not answered.n:
        words = (
            f"the evidence of n_components={K} comes from particles, which may have lost groups, tens of "
            "nats or more, without a sign of it"
        )
        return [Doubt(np.nan, words, "hold it against that of MixtureEvidence(), or of another random_state")]
    # growth of the rows since a density answered for a mixture, from which there is a warning
    if answered.doubts or n < 2.0 * answered.n:
        return [*answered.doubts]
    way = "sums over all rows" if answered.components is None else "strata of the components in use"
    words = (
        f"with n_components={K} particles carry the evidence on from {answered.n:.0f} rows, the last that "
        f"{way} have answered for, and groups that came up since then may be missing"
    )
    return [Doubt(np.nan, words, "fit all rows at once")]


def doubts_of_records(records: list[ChunkRecord], sampler: Any = None) -> list[Doubt]:
    """Doubts by the records of a run, and what of the sampler to change."""
    known = [*_of_particles(records), *_of_looks(records)]
    return [Doubt(nats, words, remedy(sampler, *how)) for holds, nats, words, *how in known if holds]


def remedy(sampler: Any, wanted: str, also: str) -> str:
    """Advice to raise, or lower a learning rate, of the wanted parameters those that the sampler has."""
    names = {} if sampler is None else sampler.get_params()
    here = " or ".join(name for name in wanted.split() if name in names)
    verb = "lower" if "learning_rate" in wanted else "raise"
    return ", ".join(filter(None, [f"{verb} the sampler's {here}" if here else "", also]))


#: Whether a doubt holds; its nats and words; parameters of a sampler to raise, and other advice.
Condition = tuple[bool, float, str, str, str]


def _of_particles(records: list[ChunkRecord]) -> list[Condition]:
    """Doubts by weights and moves."""
    last, refused, accepted = records[-1], sum(r.n_refused for r in records), least_accepted(records)
    moved = sum(r.n_moves * r.n_particles for r in records)
    noise = max((r.sample_noise for r in records if not np.isnan(r.sample_noise)), default=0.0)
    few = min(records, key=lambda r: r.ess / min(MIN_ESS, MIN_ESS_SHARE * r.n_particles))
    # units of rounding of a sum that one answer may be off by: its terms are rounded, too
    # share of accepted moves below which particles stay copies of one another: HMC aims at 0.8, walks at 0.2
    return [
        (
            last.log_evidence_std > 1.0,
            last.log_evidence_std,
            f"the log evidence is uncertain by {last.log_evidence_std:.1f} nats",
            "n_particles max_particles",
            "",
        ),
        (
            not 100.0 * np.finfo(float).eps * abs(last.log_evidence) < 1.0,
            1.0,
            f"a log evidence of {last.log_evidence:.0e} nats is rounded to more than a nat",
            "",
            "look for extreme values in the data",
        ),
        (
            few.ess < min(MIN_ESS, MIN_ESS_SHARE * few.n_particles),
            np.nan,
            f"only {few.ess:.1f} of the particles counted after {few.n_samples} rows, so the error of the "
            "log evidence may be far larger than reported",
            "n_particles max_particles",
            "",
        ),
        (
            accepted < 0.01,
            np.nan,
            f"the particles hardly moved: {accepted:.1%} of their moves were accepted, so the log evidence "
            "may be far too low",
            "",
            "look for columns far from zero, or in very different units",
        ),
        (
            noise > TOO_NOISY,
            noise,
            "the reservoir is too small a part of the history, its noise spreads the particles by "
            f"{noise:.1f} nats",
            "reservoir_size",
            "",
        ),
        (
            moved > 0 and refused > 0.1 * moved,
            np.nan,
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
            missed,
            f"the particles missed a mode that is better by {missed:.0f} nats, so the log evidence is too "
            "low",
            "max_particles reservoir_size",
            "or try another random_state",
        ),
        (
            disagreement != 0.0,
            abs(disagreement),
            "a density that is Gaussian given some of the parameters gives a log evidence that is "
            f"{abs(disagreement):.2f} nats {'higher' if disagreement > 0 else 'lower'}, more than four "
            "standard errors: annealing has lost its way, or the posterior has tails or modes between which "
            "particles do not move",
            "max_particles",
            "or try another random_state",
        ),
        (
            n_alike > 0.0,
            np.nan,
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
