r"""Evidences of all subsets with one group more or less, from the Hessian over all columns at one mode.

With P = −∇∇ log joint of the subset's coefficients S at its mode m, C = P⁻¹, and H that of all columns there,
the quadratic at m gives for a group G

    put in:     ΔL = ½ rᵀA⁻¹r − ½ log|A| + ½ Σ log λ_G,      A = H_GG − H_GS C H_SG,   r = g_G,
    taken out:  ΔL = −½ m_Gᵀ(C_GG)⁻¹m_G − ½ log|C_GG| − ½ Σ log λ_G,

with λ the prior precisions, both ± ½ (vᵀB⁻¹v + Σ log λ_G) − ½ log|B| of a block B and a vector v: exact for a
Gaussian posterior, and for others what a search needs to know where to go.

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
        block, v = self.H - self.H[:, inside] @ (C @ self.H[inside]), self.g - self.H[:, inside] @ step
        block[np.ix_(inside, inside)], v[inside] = C, self.theta[inside] + step
        sign = np.array([-1.0 if state >> k & 1 else 1.0 for k in range(len(groups))])
        change = np.empty(len(groups))
        sizes = np.array([len(group) for group in groups])
        for size in set(sizes.tolist()):
            at = np.array([group for group in groups if len(group) == size])  # (k, size)
            B, b = block[at[:, :, None], at[:, None]], v[at]
            quadratic = np.sum(b * np.linalg.solve(B, b[..., None])[..., 0], axis=1)
            inner = quadratic + np.sum(np.log(self.precision[at]), axis=1)
            change[sizes == size] = 0.5 * (sign[sizes == size] * inner - np.linalg.slogdet(B)[1])
        return change
