r"""Evidences of all subsets with one group more or less, from the Hessian over all columns at one mode.

With P = −∇∇ log joint of the subset's coefficients S at its mode m, C = P⁻¹, and H that of all columns there,
the quadratic at m gives for a group G

    put in:     ΔL = ½ rᵀA⁻¹r − ½ log|A| + ½ Σ log λ_G,      A = H_GG − H_GS C H_SG,   r = g_G,
    taken out:  ΔL = −½ m_Gᵀ(C_GG)⁻¹m_G − ½ log|C_GG| − ½ Σ log λ_G,

with λ the prior precisions: exact for a Gaussian posterior, and for others what a search needs to know where
to go.

Symbols: ``theta, g, H`` = point, gradient and −∇∇ over all columns and the intercept, (q,), (q,), (q, q);
``precision`` = λ, (q,).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class AtMode(NamedTuple):
    """All columns at the mode of one subset."""

    theta: np.ndarray  #: 0 where a column is not in the subset
    g: np.ndarray
    H: np.ndarray
    precision: np.ndarray

    def flips(self, inside: np.ndarray, groups: Sequence[np.ndarray], state: int) -> np.ndarray:
        """Log evidence of each flip less that of the subset with columns ``inside``, nats, (n_groups,)."""
        C = np.linalg.inv(self.H[np.ix_(inside, inside)])
        step = C @ self.g[inside]
        across = C @ self.H[inside]
        A, r = self.H - self.H[:, inside] @ across, self.g - self.H[:, inside] @ step
        mode, place = self.theta[inside] + step, {int(j): k for k, j in enumerate(inside)}
        return np.array(
            [
                self._taken_out(C, mode, [place[int(j)] for j in group], group)
                if state >> k & 1
                else self._put_in(A[np.ix_(group, group)], r[group], group)
                for k, group in enumerate(groups)
            ]
        )

    def _put_in(self, A: np.ndarray, r: np.ndarray, group: np.ndarray) -> float:
        half_log_det = 0.5 * np.linalg.slogdet(A)[1] - 0.5 * np.sum(np.log(self.precision[group]))
        return float(0.5 * r @ np.linalg.solve(A, r) - half_log_det)

    def _taken_out(self, C: np.ndarray, mode: np.ndarray, at: list[int], group: np.ndarray) -> float:
        block, m = C[np.ix_(at, at)], mode[at]
        half_log_det = 0.5 * np.linalg.slogdet(block)[1] + 0.5 * np.sum(np.log(self.precision[group]))
        return float(-0.5 * m @ np.linalg.solve(block, m) - half_log_det)
