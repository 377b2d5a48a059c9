"""Other kinds of prior of a user's own model: functions of θ as it is, and the transform of nested sampling.

Each has what :class:`NamedPriors` has: ``dimension``, ``natural`` (what a user's function is given),
``single`` (the same of one particle), ``simulated``, ``named``, ``unresolved``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from autograd.tracer import isbox
from scipy.special import ndtr

from ._gradients import numerical


@dataclass(frozen=True)
class PlainParameters:
    """θ (M, d) as it is, whose prior is stated by a sampler and a density."""

    dimension: int

    def natural(self, theta: Any) -> Any:
        return theta

    simulated = natural

    def single(self, theta: Any, m: int) -> Any:
        return theta[m] if isbox(theta) else np.array(theta[m])  # a function may overwrite it

    def named(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        return {"theta": theta}

    def unresolved(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        return {}


@dataclass(frozen=True)
class PriorTransform:
    """θ = prior_transform(u) of the unit cube, u = Φ(z), as nested samplers have it."""

    function: Callable  #: (u (M, d)) -> (M, D); (d,) -> (D,) where it takes one u at a time
    dimension: int  #: d, of u
    vectorized: bool

    def values(self, z: np.ndarray) -> np.ndarray:
        """θ (M, D); the function is given arrays of its own, which it may overwrite."""
        tiny = np.finfo(float)
        u = np.clip(ndtr(z), tiny.tiny, 1 - tiny.epsneg)
        if self.vectorized:
            theta = np.array(self.function(u.copy()), dtype=np.float64)
        else:
            theta = np.array([np.array(self.function(row.copy()), dtype=np.float64) for row in u])
        if theta.ndim != 2 or len(theta) != len(z):
            shape = "(M, d)" if self.vectorized else "(d,), with vectorized=False"
            raise ValueError(
                f"prior_transform must return the shape {shape}, but {z.shape} gave {theta.shape}"
            )
        return theta

    def natural(self, z: Any) -> Any:
        return numerical(self.values)(z)

    def single(self, theta: Any, m: int) -> Any:
        return theta[m] if isbox(theta) else np.array(theta[m])  # a function may overwrite it

    def simulated(self, z: np.ndarray) -> np.ndarray:
        return self.values(z)

    def named(self, z: np.ndarray) -> dict[str, np.ndarray]:
        return {"theta": self.values(z)}

    def unresolved(self, z: np.ndarray) -> dict[str, np.ndarray]:
        # largest z whose Φ(z) still says how much lies beyond, to a hundredth: 1 − Φ(7) is 10⁻¹², 10⁴
        # roundings
        return {"theta": np.any(z > 7.0, axis=1)}
