r"""Evidences of all subsets with one group more or less, from the Hessian over all columns at one mode.

With P = −∇∇ log joint of the subset's coefficients S at its mode m, C = P⁻¹, and H that of all columns there,
column j has a direction E_j: e_j − C H_Sj if it is not in S, along which the others make way, and C e_j if it
is.  With B = E_GᵀHE_G, v_G = E_Gᵀg (and m_G more, if G is in S) and λ the prior precisions, the quadratic at
m gives for a group G that is put in (+) or taken out (−)

    ΔL = ± ½ (vᵀB⁻¹v + Σ log λ_G) − ½ log|B|,     θ′ = m + C g_S ± E_G B⁻¹v_G,

exact for a Gaussian posterior; for others it is what a search needs to know where to go, and by .1 nats too
high.  Where that counts, the log joint, its gradient and the curvatures w′ of the rows are computed at θ′:
half the gain of a step is added there, and −½ Σ log(1 + h′(w′ − w)), h′ the variance of a row's linear
predictor, corrects the determinant.

Symbols: ``theta, g, H`` = point, gradient and −∇∇ over all columns and the intercept, (q,), (q,), (q, q);
``precision`` = λ, (q,); ``k`` = groups.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ._newton_of_many import Design

#: Gain of a Newton step at a predicted point, nats, beyond which the quadratic's word is taken: rates that an
#: exponential has carried away.
MAX_GAIN_OF_PREDICTION = 2.0


class Flips(NamedTuple):
    """Each group put in or taken out."""

    change: np.ndarray  #: log evidence less that of the subset, nats, (k,)
    theta: np.ndarray  #: predicted modes, (k, q)


class AtMode(NamedTuple):
    """All columns at the mode of one subset."""

    theta: np.ndarray  #: 0 where a column is not in the subset
    g: np.ndarray
    H: np.ndarray
    precision: np.ndarray

    def flips(
        self,
        inside: np.ndarray,
        groups: Sequence[np.ndarray],
        state: int,
        design: Design | None = None,
    ) -> Flips:
        """By the quadratic at the mode with columns ``inside``; corrected at θ′ by the rows of a design."""
        q, k = len(self.theta), len(groups)
        E, is_in = np.eye(q), np.isin(np.arange(q), inside)
        C = np.linalg.inv(self.H[np.ix_(is_in, is_in)])
        E[np.ix_(is_in, ~is_in)], E[np.ix_(is_in, is_in)] = -C @ self.H[np.ix_(is_in, ~is_in)], C
        B, v, step = E.T @ self.H @ E, E.T @ self.g, np.zeros(q)
        v[is_in] += self.theta[is_in]
        step[is_in] = C @ self.g[is_in]
        sign = np.array([-1.0 if state >> g & 1 else 1.0 for g in range(k)])
        change, theta = np.empty(k), np.tile(self.theta + step, (k, 1))
        inverse, blocks = np.zeros((k, q, q)), []  # of the blocks of B
        for size in {len(group) for group in groups}:
            which = np.array([g for g in range(k) if len(groups[g]) == size])
            at = np.array([groups[g] for g in which])  # (groups of this size, size)
            block = B[at[:, :, None], at[:, None]]
            blocks.append((at, which, np.linalg.inv(block)))
            inverse[which[:, None, None], at[:, :, None], at[:, None]] = blocks[-1][2]
            log_prior = np.sum(np.log(self.precision[at]), axis=1)
            change[which] = 0.5 * (sign[which] * log_prior - np.linalg.slogdet(block)[1])
        moved = inverse @ v
        quadratic = 0.5 * sign * (moved @ v)
        theta += sign[:, None] * (moved @ E.T)
        if design is None:
            return Flips(change + quadratic, theta)
        return self._corrected(Flips(change, theta), quadratic, is_in, E, inverse, blocks, sign, design)

    def _corrected(self, found, quadratic, is_in, E, inverse, blocks, sign, design) -> Flips:
        """By the rows at the predicted modes."""
        family, Phi, offset, known, y, weight, precision = design
        every = np.vstack([self.theta, found.theta])
        with np.errstate(all="ignore"):
            eta = every @ Phi.T + offset
            f = family.log_density(eta, y, *known) @ weight - 0.5 * every**2 @ precision
            g = (family.score(eta[1:], y, *known) * weight) @ Phi - found.theta * precision
            w = family.curvature(eta, y, *known) * weight
            g *= is_in ^ np.any(inverse != 0, axis=1)  # columns of the subset after the flip
            of_groups = np.sum((inverse @ (u := g @ E)[:, :, None])[:, :, 0] * u, axis=1)
            gain = np.einsum("ki,ki->k", u[:, is_in], g[:, is_in]) + sign * of_groups
            U = Phi @ E
            h = np.sum(U[:, is_in] * Phi[:, is_in], axis=1)
            more = np.zeros((len(sign), len(U)))
            for at, which, inverse_of_size in blocks:
                along = U[:, at].transpose(1, 0, 2)  # (groups of this size, n, size)
                more[which] = np.sum((along @ inverse_of_size) * along, axis=2)
            log_det = np.sum(np.log1p(np.maximum((h + sign[:, None] * more) * (w[1:] - w[0]), -0.99)), axis=1)
            here = f[0] + 0.5 * self.g[is_in] @ E[np.ix_(is_in, is_in)] @ self.g[is_in]
            exact = f[1:] + 0.5 * gain - here - 0.5 * log_det
        is_near = np.isfinite(exact) & (gain < MAX_GAIN_OF_PREDICTION)
        return Flips(found.change + np.where(is_near, exact, quadratic), found.theta)
