"""How particles move.  Kernels see ``log_target`` and its gradient, never data or models."""

from .._names_above import names_above
from ._baoab import baoab
from ._base import MAX_CORRELATION as MAX_CORRELATION
from ._base import MAX_REPEATS as MAX_REPEATS
from ._base import Coordinates, MoveInfo
from ._base import Gradient as Gradient
from ._base import LogDensity as LogDensity
from ._base import ValueAndGradient as ValueAndGradient
from ._base import correlations as correlations
from ._base import keep_sound as keep_sound
from ._base import largest_correlation as largest_correlation
from ._hmc import hmc
from ._independence import LocalDensity, independence
from ._random_walk import random_walk
from ._reflected import reflected_langevin, reflected_sghmc
from ._sghmc import sghmc

__all__ = [
    "Coordinates",
    "LocalDensity",
    "MoveInfo",
    "baoab",
    "hmc",
    "independence",
    "random_walk",
    "reflected_langevin",
    "reflected_sghmc",
    "sghmc",
    "sgld",
    "sgnht",
]

__getattr__, __dir__ = names_above(__name__)
