"""A subset and all that differ from it in one column or group: their evidences, from one factorisation."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._moments import Moments
from ._noise_grid import NoiseGrid
from ._subsets import Subsets


class Neighbours(Subsets):
    """Subsets of the columns of a linear regression.

    ``covering`` makes the integral of the prior, from the moments and the subsets at both ends.
    """

    def __init__(
        self,
        moments: Moments,
        always: Sequence[int],
        groups: Sequence[Sequence[int]],
        log_size_prior: np.ndarray,
        covering: Callable[[Any, list[np.ndarray]], Any] = NoiseGrid.covering,
    ) -> None:
        super().__init__(always, groups, log_size_prior, moments.n)
        self.moments = moments
        ends = [self.always, self.always + [j for g in self.groups for j in g][: int(moments.n)]]
        self._use(covering(moments, [np.array(columns, dtype=int) for columns in ends]))

    def _use(self, grid: Any) -> None:
        self.grid, self.T = grid, self.moments.bordered(grid.s)
        self.log_ridge = np.log(self.moments.precision)[:, None] + grid.s

    def evidence(self, state: int) -> tuple[float, float]:
        columns = np.array(self.columns(state), dtype=int)[None]
        evidence, lost = self._integrated(lambda: self.moments.direct(self.grid.s, columns))
        return float(evidence[0]), float(lost[0])

    def evidences_of_flips(self, state: int) -> tuple[np.ndarray, np.ndarray]:
        return self._integrated(lambda: self._curves(state))

    def _integrated(self, curves):
        while True:
            evidence, lost, lacks = self.grid.integrated(*curves())
            better = self.grid.improved(lacks)
            if better is None:
                return evidence, lost
            self._use(better)

    def _curves(self, state: int):
        """D, log Q and loss of all flips."""
        columns, p = self.columns(state), len(self.moments.m)
        R, log_det, loss = self._factor(columns)
        out = [np.empty((len(self.groups), len(self.grid.s))) for _ in range(3)]
        absent = [g for g in range(len(self.groups)) if not state >> g & 1]
        for width in {len(self.groups[g]) for g in absent}:
            chosen = [g for g in absent if len(self.groups[g]) == width]
            which = np.array([[*self.groups[g], p, p + 1] for g in chosen])
            left = R[:, which]
            T = self.T[which[:, :, None], which[:, None, :]] - np.einsum("kuig,kujg->uijg", left, left)
            new, diagonal = which[:, :width], self.T[which, which]
            for array, values in zip(
                out, self.moments.eliminated(T, self.log_ridge[new], log_det, loss, diagonal)
            ):
                array[chosen] = values
        self._delete(state, columns, R, log_det, loss, out)
        return out

    def _factor(self, columns: list[int]):
        """R (k, p + 2, G), the rows of Cholesky's factor; log |A| − log |v S⁻²| and loss (G,)."""
        R = self.T[columns]
        log_det, loss = np.zeros(len(self.grid.s)), np.ones(len(self.grid.s))
        for i, j in enumerate(columns):
            pivot = np.maximum(R[i, j], np.exp(self.log_ridge[j]))
            log_det += np.log(pivot) - self.log_ridge[j]
            loss = np.maximum(loss, self.T[j, j] / pivot)
            R[i] /= np.sqrt(pivot)
            R[i, columns[:i]] = 0.0
            R[i, j] = np.sqrt(pivot)
            R[i + 1 :] -= R[i][columns[i + 1 :], None] * R[i]
        return R, log_det, loss

    def _delete(self, state, columns, R, log_det, loss, out) -> None:
        """D, log Q and loss of the subsets with one group less."""
        p = len(self.moments.m)
        inverse = np.linalg.inv(np.moveaxis(R[:, columns], -1, 0))  # (G, k, k), upper triangular
        beta = inverse @ np.moveaxis(R[:, [p, p + 1]], -1, 0)  # (G, k, 2)
        left = R[:, [p, p + 1]]
        rest = self.T[p:, p:] - np.einsum("kig,kjg->ijg", left, left)
        present = [g for g in range(len(self.groups)) if state >> g & 1]
        widths = np.array([len(self.groups[g]) for g in present], dtype=int)
        starts = len(self.always) + np.cumsum(widths) - widths
        for width in set(widths.tolist()):
            of_width = widths == width
            chosen = np.array(present)[of_width]
            at = starts[of_width][:, None] + np.arange(width)
            rows, b = inverse[:, at], beta[:, at]  # (G, groups, width, …)
            P = rows @ np.swapaxes(rows, 2, 3)  # blocks of A⁻¹
            more = np.swapaxes(b, 2, 3) @ np.linalg.solve(P, b)
            ridge = self.log_ridge[[self.groups[g] for g in chosen]].sum(axis=1)
            less = np.linalg.slogdet(P)[1].T + ridge
            out[0][chosen], out[1][chosen] = self.moments.curves(
                log_det + less, rest + np.moveaxis(more, 0, -1)
            )
            out[2][chosen] = loss
