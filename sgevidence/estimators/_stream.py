"""The state between two calls of ``partial_fit``, and which samplers can go on."""

from typing import Any, NamedTuple

import numpy as np

from ..samplers import ChunkRecord


class Stream(NamedTuple):
    """The state that the next ``partial_fit`` continues; a value, never changed in place."""

    rng: np.random.Generator
    state: Any  #: the sampler's
    records: list[ChunkRecord]


def is_online(estimator: Any) -> bool:
    """Can its sampler learn from rows as they come?"""
    return estimator.sampler is None or hasattr(estimator.sampler, "update")


def learns_online(estimator: Any) -> bool:
    """For ``available_if``: says why there is no ``partial_fit``."""
    if is_online(estimator) or isinstance(estimator.sampler, type):  # a class is refused by the call itself
        return True
    raise AttributeError(
        f"{type(estimator.sampler).__name__} needs all rows at once: use fit, or a sampler that learns "
        "online, such as SGAIS()"
    )
