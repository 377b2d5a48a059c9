"""When the cloud has crossed, the chunk becomes history: its rows, its sums, and the labels they are in.

Symbols: ``a`` = anchor, ``y_n`` = ``path.chunk``.
"""

import numpy as np

from ..history import N_DRAWS, Influence
from ..targets import TOO_NOISY, Path, anchored_at_mode
from ._base import State, Step, Streams


def committed(step: Step, path: Path, rng: Streams, keep_anchor: bool) -> State:
    """The state with the chunk in its memory.

    Where the step does not know the sums near the new mode they are taken there, and the cloud is put into
    common slots.  What these sums are in doubt by counts as noise of the sample; the reservoir grows if that
    is too much.
    """
    cloud, adaptation = step.state.cloud, step.state.adaptation
    anchor, labels = step.anchor, path.memory.labels
    if anchor is None and keep_anchor:
        labels = path.model.slot_reference(cloud.theta)
        cloud = cloud._replace(theta=path.model.canonicalize(cloud.theta, labels))
        anchor = anchored_at_mode(path, cloud.mean, rng.rows)[1]
    if anchor is not None and anchor.doubt is not None:
        spread = anchor.doubt.spread(cloud.theta, cloud.W)
        adaptation = adaptation._replace(
            sample_noise=float(np.hypot(spread, np.nan_to_num(adaptation.sample_noise)))
        )
    noisy = adaptation.sample_noise > TOO_NOISY
    influence = None if anchor is None else Influence(path.model, anchor.a, cloud.some(N_DRAWS))
    condensed = path.model.condensed if path.model.has_exact_posterior else None  # it joins all rows
    memory = path.memory.absorb(
        path.chunk, rng.rows, anchor, labels, noisy, condensed, influence, path.high_leverage
    )
    return State(cloud, memory, adaptation)
