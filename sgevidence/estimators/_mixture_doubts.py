"""Why the evidence of a mixture may be wrong where strata have not answered for the rows.

Particles are led to several components by the likelihood alone.  Where groups are a few prior widths apart,
or rows are on another scale than the prior, they may come to rest with two groups in one component, or with
means that no longer keep up with scales; weights and genealogy look as they should (three groups, 300 rows,
three times the prior's scale: annealing and nested sampling 270 nats low at 0.2 to 0.6).
"""

from typing import Any

from ..samplers import EvidenceResult

#: Growth of the rows since strata answered, from which there is a warning.
CARRIED = 2.0


def doubt_of_run(model: Any, result: EvidenceResult) -> str | None:
    """Doubts of all rows at once by any sampler; one that asks strata has doubted them itself."""
    return None if result.components is not None else without_strata(model)


def doubt_of_stream(model: Any, state: Any) -> str | None:
    """Doubts of a stream whose sampler asks strata where it can, by its state after the last rows."""
    found, n = getattr(state, "answered", (0.0, None))[1], getattr(state, "answered", (0.0, None))[0]
    if found is not None:
        way = "strata of the components in use"
    elif n:
        way = "sums over all rows"
    else:
        return without_strata(model)
    doubt = None if found is None else found.doubt
    if doubt is not None or state.n < CARRIED * n:
        return doubt
    return (
        f"with n_components={model.n_components} particles carry the evidence on from {n:.0f} rows, "
        f"the last that {way} have answered for: groups that came up since then may "
        "be missing; fit all rows at once"
    )


def without_strata(model: Any) -> str:
    """Particles alone, which know nothing of allocations."""
    return (
        f"the evidence of n_components={model.n_components} comes from particles, which may have lost "
        "groups, tens of nats or more, without a sign of it: hold it against that of MixtureEvidence(), or "
        "of another random_state"
    )
