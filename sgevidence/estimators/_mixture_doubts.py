"""Why the evidence of a mixture may be wrong where allocations have not answered.

Particles are led to several components by the likelihood alone.  Where groups are a few prior widths apart,
or rows are on another scale than the prior, they may come to rest with two groups in one component, or with
means that no longer keep up with scales; weights and genealogy look as they should (three groups, 300 rows,
three times the prior's scale: annealing and nested sampling 270 nats low at 0.2 to 0.6).  The default sampler
takes the evidence from allocations, which know of no distance.  Any other sampler has it compared with theirs
where it had all rows at once; in a stream, or where these have no answer, rows that are far out are doubted.
"""

from typing import Any

import numpy as np

from ..history import Rows
from ..mixtures import allocation_evidence, most_rows, patience
from ..models import MixtureModel
from ..samplers import EvidenceResult, mixture_answer
from ..targets import Answer

#: Standard deviations of a column that it may lie from zero before there is a warning.  At fourteen streams
#: were right, at forty off by up to 1800 nats, before rivals were looked for in all of the rows; since then
#: calls of 150 000 were right at 27, and in pieces of a quarter at 40 and 78.  Fewer rows than so many say
#: too little of it.
FAR_OUT, LEAST_ROWS = 20.0, 20
#: Standard errors, and nats, by which two evidences must differ.
SIGNIFICANT, CLEAR = 3.0, 0.5
#: Growth of the rows since strata answered, from which there is a warning.
CARRIED = 2.0


def asks_allocations(sampler: Any) -> bool:
    """Whether a sampler, or the one that it repeats, takes evidence from allocations where it can."""
    return getattr(getattr(sampler, "sampler", sampler), "proposal", None) is not None


def of_all_rows(model: MixtureModel, rows: Rows, log_evidence: float, std: float) -> str | None:
    """Doubts of an evidence that knows nothing of allocations.

    Parameters
    ----------
    model : MixtureModel
        Mixture of several components.
    rows : Rows
    log_evidence, std : float
        In nats.
    """
    by_draws = allocation_evidence(model, rows, np.random.default_rng(0))  # the same for each seed: a check
    is_sure = by_draws is not None and by_draws.reliable
    found = by_draws if is_sure else _sure_answer(model, rows)
    if found is None:
        return of_far_rows(model, rows)
    apart = abs(found.log_evidence - log_evidence)
    if apart < max(SIGNIFICANT * np.hypot(found.log_evidence_std, std), CLEAR):
        return None
    return (
        f"allocations of the rows to components give a log evidence of {found.log_evidence:.1f} "
        f"± {found.log_evidence_std:.1f} nats, {apart:.1f} away: the particles have missed a group, or have "
        "not kept up with the scale of the rows; use SGAIS(), or scale X"
    )


def _sure_answer(model: Any, rows: Rows) -> Answer | None:
    """The answer of strata without a doubt, the same for each seed: a check."""
    found = mixture_answer(model, rows, np.random.default_rng(0), 2)
    return None if found is None or found.components is None or found.components.doubt is not None else found


def of_stream(model: MixtureModel, rows: Rows, state: Any, n_renewals: int) -> str | None:
    """Doubts of a stream whose sampler asks allocations, after these rows.

    Parameters
    ----------
    model : MixtureModel
        Mixture of several components.
    rows : Rows
    state : State
        State of the sampler, after the rows.
    n_renewals : int
        Renewals in its last record.
    """
    memory, components = state.memory, state.adaptation.components
    if components is not None and (components.doubt is not None or components.n == state.n):
        return components.doubt
    if n_renewals or not len(memory.reservoir):
        return None
    if memory.complete and state.n <= patience(model, memory.sample) * most_rows(model):
        return None
    return of_far_rows(model, rows)


def of_strata(model: Any, rows: Rows, result: EvidenceResult) -> str | None:
    """Doubts of all rows at once, of a mixture that strata of components in use answer for.

    Parameters
    ----------
    model : Model
        Mixture of several components, with a ``family``.
    rows : Rows
    result : EvidenceResult
        Answer of any sampler.
    """
    if result.components is not None:  # of strata, which the sampler has doubted itself
        return None
    found = _sure_answer(model, rows)
    if found is None:
        return of_annealing(model)
    apart = abs(found.log_evidence - result.log_evidence)
    if apart < max(SIGNIFICANT * np.hypot(found.log_evidence_std, result.log_evidence_std), CLEAR):
        return None
    return (
        f"strata of the components in use give a log evidence of {found.log_evidence:.1f} "
        f"± {found.log_evidence_std:.1f} nats, {apart:.1f} away: the particles have missed a group; use "
        "SGAIS()"
    )


def of_stream_of_strata(model: Any, state: Any) -> str | None:
    """Doubts of a stream whose sampler asks strata where it can.

    Parameters
    ----------
    model : Model
        Mixture of several components, with a ``family``.
    state : State
        State of the sampler, after the last rows.
    """
    adaptation = getattr(state, "adaptation", None)
    found, n = getattr(adaptation, "components", None), getattr(adaptation, "folded", 0.0)
    if found is not None:
        n, way = found.n, "strata of the components in use"
    elif n:
        way = "sums over all rows"
    else:
        return of_annealing(model)
    doubt = None if found is None else found.doubt
    if doubt is not None or state.n < CARRIED * n:
        return doubt
    return (
        f"with n_components={model.n_components} particles carry the evidence on from {n:.0f} rows, "
        f"the last that {way} have answered for: groups that came up since then may "
        "be missing; fit all rows at once"
    )


def of_annealing(model: Any) -> str:
    """Particles alone, of components of which allocations know nothing."""
    return (
        f"the evidence of n_components={model.n_components} was annealed from the prior, which may have lost "
        "groups, tens of nats or more, without a sign of it: fit from several random_state and hold the "
        "results against each other"
    )


def of_far_rows(model: MixtureModel, rows: Rows) -> str | None:
    """Rows farther out than particles find."""
    out = model.far_out(rows) if len(rows) >= LEAST_ROWS else 0.0
    if out < FAR_OUT:
        return None
    return (
        f"the rows lie {out:.0f} standard deviations from zero, where the prior has the means, and particles "
        "may lose their way to them: scale X"
    )
