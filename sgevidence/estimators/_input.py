"""What comes in from the user: arrays without masks, seeds, counts, pairs of numbers."""

import zlib
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def refuse_masked(**arrays: Any) -> None:
    """Entries that are masked out are no numbers; scikit-learn would use what is under the mask.

    Raises
    ------
    ValueError
        Naming the array, and what to do.
    """
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            raise ValueError(
                f"{name} is a masked array with masked entries, which have no place in a likelihood: drop "
                f"those rows, or fill them with {name}.filled(...)"
            )


def generator(random_state: Any) -> np.random.Generator:
    """A Generator from scikit-learn's random_state: the same for the same int, advancing a RandomState."""
    seeds = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.default_rng(seeds.tolist())


def fingerprint(data: np.ndarray, weight: np.ndarray, running: int) -> int:
    """CRC-32 of the rows in order, continued from ``running``: the same however the rows are cut."""
    table = np.column_stack([data, weight]).astype(np.float64, copy=False)
    return zlib.crc32(np.ascontiguousarray(table).tobytes(), running)


def check_count(n: Any, name: str) -> None:
    """A number of draws."""
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {n!r}")


def check_prior_pair(pair: Any, name: str) -> tuple[float, float]:
    """Shape and scale of an inverse gamma prior."""
    values = np.asarray(pair, dtype=float).ravel()
    if values.shape != (2,) or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must be a pair of positive numbers (shape, scale), got {pair!r}")
    return float(values[0]), float(values[1])
