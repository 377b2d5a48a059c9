"""A user's own prior that the rows contradict, by the range of its draws."""

from typing import Any

import numpy as np

from ..estimators import CONFLICT

#: Draws of a user's prior.
USER_DRAWS = 2000


def range_of_draws(model: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Ends of draws of a user's prior, and some more, (d,) each."""
    draws = np.asarray(model.sample_prior(rng, USER_DRAWS), dtype=float)
    low, high = draws.min(axis=0), draws.max(axis=0)
    return low - 0.1 * (high - low), high + 0.1 * (high - low)


def outside_of_draws(ends: tuple[np.ndarray, np.ndarray], theta: np.ndarray, W: np.ndarray) -> str | None:
    """A user's parameter that no draw of the prior is near."""
    with np.errstate(all="ignore"):
        mean = W @ theta
    beyond = np.flatnonzero((mean < ends[0]) | (mean > ends[1]))
    if not len(beyond):
        return None
    j = int(beyond[0])
    return (
        f"{CONFLICT}theta[:, {j}] has the posterior mean {mean[j]:.3g}, and {USER_DRAWS} draws of the prior "
        f"end at {ends[0][j]:.3g} and {ends[1][j]:.3g}; state another prior, or the data in another unit"
    )
