"""Are the constrained draws of nested sampling what they should be?

New points must rank among the live ones as draws from the same distribution do (Fowlie, Handley and Su 2020),
and must not be copies that hardly moved, which rank like their parents.

Symbols: ``ranks`` = insertion ranks in (0, 1), ``ell`` = log L of live points (M,).
"""

import numpy as np
from scipy.stats import kstest

from ..transitions import ConstrainedMoves
from ._once import doubts_of_lineages

#: p-value of the insertion ranks below which the draws are called wrong.  Draws that are right but
#: remember their parents a little give 10⁻³ about once in a hundred runs.
WRONG_RANKS = 1e-5
#: Nats by which a place that a walker came by may be above all live points at the end: more is another mode.
#: Live points of one mode that is sharp in fifty dimensions are 1.3 below.
MAX_ABOVE_LIVE_NATS = 3.0
#: Share of the moves that may end where they began.
STUCK = 0.1
#: Mean correlation of a draw's log L with that of the point it started from.  Copies that hardly move
#: pass the test of ranks, since they rank like their parents.
REMEMBERED = 0.5
#: Width of the live points along their thinnest direction, in coordinates in which it is to be one.  Steps as
#: short as that do not come along the others.
TOO_THIN = 1e-5


def insertion_ranks(ell: np.ndarray, new: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Where each new log L falls among those above the contour, those that came before it included.

    If all are independent draws from one distribution, so are the ranks, uniform on (0, 1) (Fowlie,
    Handley and Su 2020).  A point among its equals gets a random place.
    """
    i = np.arange(len(new))
    earlier = i < i[:, None]
    less = np.sum(ell < new[:, None], axis=1) + np.sum((new < new[:, None]) & earlier, axis=1)
    equal = np.sum(ell == new[:, None], axis=1) + np.sum((new == new[:, None]) & earlier, axis=1)
    return (less + rng.random(len(new)) * (1 + equal)) / (len(ell) + i + 1)


def doubts(
    ranks: np.ndarray, moves: ConstrainedMoves, n_founders: float = np.inf, above: float = 0.0
) -> list[str]:
    """Why the draws inside the contours may not be what they should.

    ``above`` is by how much the highest log L that was met exceeds that of the last live points.
    """
    out = []
    if above > MAX_ABOVE_LIVE_NATS:
        out.append(
            f"a log likelihood {above:.1f} nats above that of all points of the posterior was met on the way "
            "and lost, so a narrow mode is missing and the log evidence is probably too low: raise n_live"
        )
    out += doubts_of_lineages(n_founders, "n_live")
    if len(ranks) and (p := kstest(ranks, "uniform").pvalue) < WRONG_RANKS:
        out.append(
            f"the constrained draws are not draws from the prior (insertion ranks, p = {p:.0e}): "
            "raise n_steps or n_live"
        )
    if (memory := float(np.mean(moves.memory))) > REMEMBERED:
        out.append(
            f"the constrained draws remember the likelihood they started from (correlation {memory:.2f}), "
            "and the log evidence is more uncertain than it says: raise n_steps"
        )
    if moves.thinnest < TOO_THIN:
        out.append(
            "the parameters are so correlated that the constrained moves hardly come along their ridge "
            f"(widths of 1 and {moves.thinnest:.0e}), and the log evidence is probably too low: centre and "
            "scale the columns, or leave out those that are constant"
        )
    if moves.n_stuck > STUCK * moves.n_moved:
        out.append(
            f"{moves.n_stuck} of {moves.n_moved} moves ended where they began, and the log evidence is "
            "probably too low: lower learning_rate, or leave it at None"
        )
    return out
