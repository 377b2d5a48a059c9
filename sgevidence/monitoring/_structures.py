r"""Predictors of a row of a series: a level, a line, the rows before it, or their scatter.

A structure is a regression of a row z, in the units of its run, on a constant and one feature u, with noise
of scale h:

=================  =======================================  ===========  ==========================
structure          z_t =                                    feature u    prior of (constant, slope)
=================  =======================================  ===========  ==========================
level              μ + noise                                none         sd 1
trend              μ + β τ/100 + noise                      τ/100        sd 1, 1
autoregression     c + (½ + δ) z_{t-1} + noise              z_{t-1}      sd 1, ½
smoothed           c + (½ + δ) s_{t-1} + noise              s_{t-1}      sd 1, ½
walk               z_{t-1} + c + noise                      none         sd σ
momentum           z_{t-1} + c + (½ + δ) Δz_{t-1} + noise   Δz_{t-1}     sd σ, ½
volatile           μ + h_t noise                            none         sd 1
=================  =======================================  ===========  ==========================

with τ the age of the run in rows.  s is a mean of the rows that forgets, and h² one of their squared
deviations (:mod:`._past`): a state that is seen through noise, and volatility that clusters.

Symbols: ``u`` = u/h, ``one`` = 1/h, ``known`` = what z is known to be added to.
"""

from typing import NamedTuple

import numpy as np

from ._past import Past

#: Prior probability beside that of a level, when a run begins.  As probable as the others "volatile" takes
#: changes of variance for clusters of it (14 of 16 found where the sd doubles, and one after 60 rows 220 rows
#: later), and "smoothed" costs covering on the Turing series; with a hundredth neither does.
STRUCTURES = {
    "level": 1.0,
    "trend": 1.0,
    "autoregression": 1.0,
    "smoothed": 0.01,
    "walk": 1.0,
    "momentum": 1.0,
    "volatile": 0.01,
}
TREND_ROWS = 100.0  # rows in which a trend moves by about one unit
PERSISTENCE = 0.5  # prior mean, and standard deviation, of the coefficient of rows before
LEAST_SCALE = 1e-3  # of h, units: where all recent rows are the mean


class Design(NamedTuple):
    """The row as each structure expects it; (R, columns, S, 1), or for each member."""

    one: np.ndarray
    u: np.ndarray
    known: np.ndarray


def design(
    names: list[str],
    age: np.ndarray,
    centre: np.ndarray,
    unit: np.ndarray,
    past: Past,
    excess: np.ndarray | float = 0.0,
) -> Design:
    """Design of the prediction of the next row, which does not follow the last one's excess as a stray."""
    last = (past.last - centre) / unit
    one = np.ones((*last.shape, len(names), 1))
    u, known = np.zeros_like(one), np.zeros_like(one)
    for s, name in enumerate(names):
        if name == "trend":
            u[:, :, s, 0] = age[:, None] / TREND_ROWS
        elif name == "autoregression":
            u[:, :, s, 0] = last
        elif name == "smoothed":
            u[:, :, s, 0] = (past.smooth - centre) / unit
        elif name == "walk":
            known[:, :, s, 0] = last
        elif name == "momentum":
            u[:, :, s, 0], known[:, :, s, 0] = past.step / unit, last
        elif name == "volatile":
            one[:, :, s, 0] = 1.0 / np.maximum(np.sqrt(past.scatter) / unit, LEAST_SCALE)
    takes_after = follow(names)
    walks = takes_after & (np.array(names)[:, None] != "autoregression")
    slopes = takes_after & (np.array(names)[:, None] != "walk")
    return Design(one, u - slopes * excess, known - walks * excess)


def prior_of(name: str, variance: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mean of the slope, and variances of constant and slope over σ², where σ² is about ``variance``."""
    v11 = np.ones_like(variance) if name in ("walk", "momentum") else 1.0 / variance
    if name in ("autoregression", "smoothed", "momentum"):
        return PERSISTENCE, v11, PERSISTENCE**2 / variance
    return 0.0, v11, 1.0 / variance if name == "trend" else np.zeros_like(variance)


def follow(names: list[str]) -> np.ndarray:
    """Which structures need the row before; (S, 1)."""
    found = [name in ("autoregression", "walk", "momentum") for name in names]
    return np.array(found, dtype=bool)[:, None]
