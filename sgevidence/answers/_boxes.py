r"""Boxes in which a density is integrated by two rules: the value, and by their difference the error.

Gauss–Kronrod with 15 nodes on a line; in the plane and in space the rules of degrees 7 and 5 of A. C. Genz
and A. A. Malik (1980), Remarks on algorithm 006, Journal of Computational and Applied Mathematics 6, 295.
These two agree by chance on a ridge that passes by two of the nodes.  A third rule, of degree 3, says how far
they are from a density that is a polynomial (J. Berntsen, T. O. Espelid and A. Genz 1991).

Symbols: ``lo, hi`` = corners of boxes (B, d); log f ``log_f`` = log density at the nodes of each, (B, m); u,
v ``high, low`` = weights of the rules, of a box of volume one, (m,); ``lowest`` = those of the third.
"""

from collections.abc import Callable
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

#: Log density (M,) of points (M, d).
LogDensity = Callable[[np.ndarray], np.ndarray]
#: Part of a box's value that is in error where the rules of degrees 5 and 3 differ by all of it; less as the
#: square of their difference, as the differences of a sequence of rules that converges.
CHANCE_SHARE = 0.1


class Rule(NamedTuple):
    """Nodes in the cube [−1, 1]^d, and the weights of two rules."""

    nodes: np.ndarray  #: (m, d)
    high: np.ndarray
    low: np.ndarray
    lowest: np.ndarray
    cells: np.ndarray  #: corners of cells that share a box out, (c, 2, d)
    node_of_cell: np.ndarray  #: (c,)


@cache
def rule(d: int) -> Rule:
    """Gauss–Kronrod (7, 15) on a line, else Genz and Malik, of degrees 7 and 5."""
    if d == 1:
        x = np.array([
            0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
            0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
            0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
            0.207784955007898467600689403773245, 0.0,
        ])  # fmt: skip
        w = np.array([
            0.022935322010529224963732008058970, 0.063092092629978553290700663189204,
            0.104790010322250183839876322541518, 0.140653259715525918745189590510238,
            0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
            0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
        ])  # fmt: skip
        of_seven = np.zeros(8)
        of_seven[1::2] = [
            0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
            0.381830050505118944950369775488975, 0.417959183673469387755102040816327,
        ]  # fmt: skip
        nodes, both = np.r_[-x, x[-2::-1]], [np.r_[one, one[-2::-1]] / 2 for one in (w, of_seven)]
        edges = np.r_[-1.0, -1.0 + 2 * np.cumsum(both[0])]
        cells = np.stack([edges[:-1], edges[1:]], axis=1)[:, :, None]
        return Rule(nodes[:, None], both[0], both[1], both[1], cells, np.arange(15))
    a, b, c = np.sqrt([9 / 70, 9 / 10, 9 / 19])
    axes = [sign * one for one in np.eye(d) for sign in (1, -1)]
    pairs = [s * np.eye(d)[i] + t * np.eye(d)[j] for i, j in combinations(range(d), 2) for s, t in SIGNS]
    corners = np.array(list(product((-1.0, 1.0), repeat=d)))
    nodes = np.concatenate(
        [np.zeros((1, d)), a * np.array(axes), b * np.array(axes), b * np.array(pairs), c * corners]
    )
    counts = [1, 2 * d, 2 * d, len(pairs), 2**d]
    high = [(12824 - 9120 * d + 400 * d**2) / 19683, 980 / 6561, (1820 - 400 * d) / 19683, 200 / 19683]
    low = [(729 - 950 * d + 50 * d**2) / 729, 245 / 486, (265 - 100 * d) / 1458, 25 / 729]
    cells = np.stack([np.minimum(corners, 0.0), np.maximum(corners, 0.0)], axis=1)
    return Rule(
        nodes,
        np.repeat([*high, 6859 / 19683 / 2**d], counts),
        np.repeat([*low, 0.0], counts),
        np.repeat([1 - 10 * d / 27, 0.0, 5 / 27, 0.0, 0.0], counts),
        cells,
        np.arange(len(nodes) - 2**d, len(nodes)),
    )


SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


class Boxes(NamedTuple):
    """Disjoint boxes with the log density at the nodes of each."""

    lo: np.ndarray
    hi: np.ndarray
    log_f: np.ndarray

    @classmethod
    def of(cls, log_density: LogDensity, lo: np.ndarray, hi: np.ndarray) -> "Boxes":
        """One evaluation of the log density at all nodes."""
        nodes = rule(lo.shape[1]).nodes
        z = (lo + hi)[:, None] / 2 + (hi - lo)[:, None] / 2 * nodes
        return cls(lo, hi, log_density(z.reshape(-1, lo.shape[1])).reshape(len(lo), len(nodes)))

    def integrals(self, top: float) -> tuple[np.ndarray, np.ndarray]:
        """Integral of each box and its error, in units of e^top."""
        rules = rule(self.lo.shape[1])
        f, volume = np.exp(self.log_f - top), np.prod(self.hi - self.lo, axis=1)
        high = volume * (f @ rules.high)
        low, lowest = volume * (f @ rules.low), volume * (f @ rules.lowest)
        chance = CHANCE_SHARE * (low - lowest) ** 2 / np.maximum(np.abs(high), 1e-300)
        return high, np.maximum(np.abs(high - low), np.minimum(chance, np.abs(low - lowest)))

    def split(self, log_density: LogDensity, which: np.ndarray) -> "Boxes":
        """With some boxes cut in halves."""
        lo, hi, k = self.lo[which], self.hi[which], np.arange(np.count_nonzero(which))
        axis = self._axes(which)
        middle = (lo[k, axis] + hi[k, axis]) / 2
        left, right = hi.copy(), lo.copy()
        left[k, axis] = right[k, axis] = middle
        halves = Boxes.of(log_density, np.concatenate([lo, right]), np.concatenate([left, hi]))
        return Boxes(*(np.concatenate([one[~which], new]) for one, new in zip(self, halves)))

    def _axes(self, which: np.ndarray) -> np.ndarray:
        """Axis of the largest fourth difference of each, of the widest side where all are alike."""
        lo, hi, log_f = (one[which] for one in self)
        d, width = lo.shape[1], hi - lo
        if d == 1:
            return np.zeros(len(lo), dtype=int)
        f = np.exp(log_f - np.maximum(log_f.max(axis=1, keepdims=True), -1e300))
        near, far = (f[:, 1 + 2 * d * k : 1 + 2 * d * (k + 1)].reshape(-1, d, 2).sum(axis=2) for k in (0, 1))
        fourth = np.abs(near - 2 * f[:, :1] - (far - 2 * f[:, :1]) / 7)  # 1/7 = (9/70)/(9/10)
        largest = fourth.max(axis=1, keepdims=True)
        alike = (fourth > 0.5 * largest) | (largest < 1e-12)
        narrow = width < width.max(axis=1, keepdims=True) / 32  # a slope along one axis must not make slivers
        return np.argmax(np.where(alike & ~narrow, width, np.where(narrow, -1.0, fourth * 1e-9)), axis=1)
