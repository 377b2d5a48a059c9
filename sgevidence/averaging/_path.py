"""The weights after each chunk, in bounded memory."""

from typing import NamedTuple

import numpy as np

#: Most entries of a path of weights: when it is full every second one is dropped.
PATH_LENGTH = 4096


class Entry(NamedTuple):
    """After one chunk."""

    n_samples: int
    weights: np.ndarray
    log_evidence: float
    log_evidence_std: float


def extended(path: list[Entry], entry: Entry) -> list[Entry]:
    """The path with one more entry, thinned when it is full: a stream has no end."""
    path = [*path, entry]
    return path if len(path) <= PATH_LENGTH else path[-1::-2][::-1]


def columns(path: list[Entry]) -> dict[str, np.ndarray]:
    """An array a field."""
    return {name: np.array(values) for name, values in zip(Entry._fields, zip(*path))}
