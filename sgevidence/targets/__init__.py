"""Targets that a cloud follows: tempered posteriors, modes, widths, and the knowledge in a sample of rows."""

from ._lockstep import Climbed, climb_together, likelier, outstanding, peaks
from ._newton import (
    MODE_ROWS,
    STRAY_SQUARED,
    Differentiable,
    anchored_at_mode,
    concave_mode,
    find_mode,
    folded_mode,
    gaussian,
    laplace_evidence,
)
from ._path import Path, Tempered
from ._sampling_error import TOO_NOISY, SampleEstimate, estimate, remainder, rows_enough, surrogate_spread
from ._target import Likelihood, Target, curvature_coordinates, of_history, sampled

__all__ = [
    "likelier",
    "outstanding",
    "Climbed",
    "climb_together",
    "peaks",
    "STRAY_SQUARED",
    "Differentiable",
    "folded_mode",
    "MODE_ROWS",
    "anchored_at_mode",
    "gaussian",
    "concave_mode",
    "find_mode",
    "laplace_evidence",
    "Path",
    "Tempered",
    "curvature_coordinates",
    "Likelihood",
    "Target",
    "of_history",
    "sampled",
    "TOO_NOISY",
    "SampleEstimate",
    "estimate",
    "remainder",
    "rows_enough",
    "surrogate_spread",
]
