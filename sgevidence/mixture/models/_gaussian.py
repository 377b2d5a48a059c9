r"""Mixture of Gaussians, thesis §5.2.3 / journal paper App. B.3, for each structure of covariances.

p(x) = Σ_k π_k N(x | μ_k, Σ_k) with π ~ Dirichlet(a, …, a) and the priors of :mod:`..components._gaussians`,
for diagonal covariances the journal paper's conditional form.  θ = [z, μ, s, r], d = K (1 + p + w + …): the
weights are π = softmax(z) with z_k = log Gamma(a) variates, an exact Dirichlet prior with one redundant
direction, which the prior keeps proper; then come blocks of numbers of each component, the means first.  The
components are exchangeable, and the evidence is over all K! labellings.

Variances are e^s.  A full covariance is a precision with the Cholesky factor L = C diag(e^(−s/2)),

    Σ⁻¹ = L Lᵀ = C diag(e^(−s)) Cᵀ,    C unit lower triangular with r below its diagonal,

so that e^(s_j) is the variance of x_j given the columns after it and −r_ij their regression coefficients.
By Bartlett's decomposition of the Wishart distribution s and r are simple where Ψ = 2β I, exactly and with
the Jacobian in it,

    e^(s_j) ~ InvGamma(b + (p − j)/2, β),  j = 1 … p,        r_ij | s_j ~ N(0, e^(s_j) / 2β).

A sum over rows is formed from x measured from a centre, and its terms cancel: of a row near μ_k they leave
what exceeds the rounding of μ²_k/σ²_k.  So the centre is the mean of the rows; but one row at 10⁹ among fifty
carries the mean away from all others, and then it is zero: the far row lies in a component of its own, which
is wide by the prior, and the others are near zero.  Where neither will do the sum is formed row by row.

Value, gradient and Hessian of diagonal covariances at one point are from one pass over the rows. With l_kr =
log π_k N(x_r | μ_k, σ²_k), r_kr = softmax_k l_kr and G_kr = ∇l_kr with respect to the parameters of component
k (its log-gamma z as if the weights were not normalised),

    ∇∇ log Σ_k e^l_kr = Σ_k r_kr (∇∇l_kr + G_kr G_krᵀ) − (Σ_k r_kr G_kr) (Σ_k r_kr G_kr)ᵀ,
    G = [1, u/σ, (u² − 1)/2],    u = (x − μ)/σ,    s = log σ²,
    ∂²l/∂μ² = −1/σ²,    ∂²l/∂μ∂s = −u/σ,    ∂²l/∂s² = −u²/2,

less log Σ_k e^{z_k} for each row.  Of K components of q = 2p + 1 parameters the products of all pairs are one
(Kq, n) matrix times its transpose, beside the 2d gradients that differences take.  Everything is measured
from the component's own mean in its own standard deviations, so that nothing cancels.

Symbols: ``z`` (M, K), ``mu`` (M, K, p), ``s`` (M, K, w) of w = p or 1 variances, ``r`` = a list of one
(M, K, p (p − 1)/2) or of none; ``blocks`` = a list of (M, K, width), ``A, F`` as in :mod:`._natural_sums`.
In derivatives, ``z`` (K,), ``mu`` and ``s = log σ²`` (K, p); ``U`` = u (K, p, n), ``R`` = responsibilities
(K, n), ``G`` = √w G and ``Z`` = √w r G (K, q, n), ``T`` = Σ w r G (K, q), ``N`` = Σ w r of the cells of each
column that are there (K, p), ``D`` = Σ w r G Gᵀ, then with ∇∇l (K, q, q), ``B`` = Σ Z Zᵀ of all pairs (Kq,
Kq), ``H`` = D − B, then the Hessian.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.cluster.vq import kmeans2

from ...models import Model, QRSums, log_shares
from ..components import (
    DiagonalGaussian,
    FullGaussian,
    loses_digits,
    without_gaps,
)
from ._mixture import Mixture
from ._natural_sums import log_prior_of_components, natural_coefficients, natural_sum
from ._one_component import OneComponent, OneFullComponent

#: Mergers of one k-means solution.
MERGERS = 20


@dataclass(frozen=True)
class MixtureModel(Mixture):
    """Mixture of Gaussians; ``component`` is the structure of their covariances, diagonal by default."""

    n_components: int
    n_features: int
    weight_concentration: float = 1.0
    mean_scale: float = 2.0  #: prior standard deviation of a mean in units of its component's σ
    variance_prior: tuple[float, float] = (1.0, 1.0)  #: shape and scale of an inverse gamma
    cell_log_units: tuple[float, ...] = ()  #: that a missing cell, nan, adds to its row's log density
    component: type[DiagonalGaussian | FullGaussian] = DiagonalGaussian

    @property
    def family(self) -> DiagonalGaussian | FullGaussian:  # type: ignore[override]
        return self.component(self.n_features, self.mean_scale, self.variance_prior, self.cell_log_units)

    @property
    def widths(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.family.widths

    @property
    def log_variances(self) -> Sequence[tuple[int, np.ndarray]]:
        p, w, *r = self.widths
        if r:
            return ()
        indices = [(int(one[1 + p + j]), one[1:][j::w][: p // w]) for one in self.slots for j in range(w)]
        return tuple(indices)

    def log_prior(self, theta: Any) -> Any:
        """log p(θ), (M,)."""
        a, tau = self.weight_concentration, self.mean_scale
        return log_prior_of_components(theta, self.n_components, self.widths, a, tau, self.variance_prior)

    def parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        z, *blocks = self._split(theta)
        return {"weights": np.exp(log_shares(z))} | self.family.of_blocks(*blocks)._asdict()

    # -- rows ---------------------------------------------------------------------------------------

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        _, mu, *factors = self._split(getattr(theta, "_value", theta))
        gaps, X, n = np.isnan(rows.X), rows.X, max(float(np.sum(rows.weight)), 1e-300)
        if has_gaps := bool(gaps.any()):
            X = without_gaps(X)
        for center in (rows.weight @ X / n, np.zeros(self.n_features)):  # a far row carries a mean away
            if loses_digits(n, mu - center, X - center, *factors):
                continue
            F = replace(self.family, reference=center, has_gaps=has_gaps).features(rows.X)
            A = natural_coefficients(theta, self.n_components, center, self.widths, has_gaps)
            value = natural_sum(A, F, rows.weight, tape, single_below)
            return value + rows.weight @ (gaps @ self.family.cell_units) if has_gaps else value
        return self._row_by_row(theta, rows, tape)

    def _row_by_row(self, theta: Any, rows: Any, tape: list | None) -> Any:
        """The sum where a fused one would cancel; every row, component and column at once would be many."""
        M = len(getattr(theta, "_value", theta))
        blocks = rows.blocks(self.evaluation.rows_of_block(M))
        return sum(Model._block_log_likelihood(self, theta, b, tape) for b in blocks)

    def derivatives(self, theta, rows):
        """Value, gradient and Hessian at one point, of diagonal covariances from one pass over the rows."""
        if self.component is not DiagonalGaussian:
            return super().derivatives(theta, rows)
        z, mu, s = (part[0] for part in self._split(theta[None]))
        with np.errstate(all="ignore"):
            units, size = self.family.cell_units, self.evaluation.block_elements
            value, g, H = likelihood_derivatives(z, mu, s, rows, size, units)
        order = np.argsort(self.slots, axis=None)
        return value, g.ravel()[order], H.reshape(g.size, g.size)[np.ix_(order, order)]

    def starts(self, rows: Any, n_starts: int, rng: np.random.Generator) -> np.ndarray:
        """Points to look for modes from, (n_starts, d): K + 3 clusters merged at random into K groups.

        The clusters are those of k-means, from another start every twenty mergers.
        """
        K, merged, X = self.n_components, [], without_gaps(rows.X)
        F = self.family.features(X)
        for _ in range(-(-n_starts // MERGERS)):
            clusters = kmeans2(X, K + 3, minit="++", seed=rng, iter=10)[1]
            sums = (clusters == np.arange(K + 3)[:, None]) * rows.weight @ F
            group = rng.permuted(
                np.hstack([np.tile(np.arange(K), (MERGERS, 1)), rng.integers(K, size=(MERGERS, 3))]), axis=1
            )
            merged.append((group[:, None] == np.arange(K)[:, None]) @ sums)  # (20, K, q)
        return self._at_sums(np.concatenate(merged)[:n_starts])

    # -- one component: a closed form -----------------------------------------------------------------

    def _sums_of_one(self, rows: Any) -> QRSums:
        """Squares of [1, X], summed, by their factor; where cells are missing, of [1, X, which are there]."""
        return QRSums.of_rows(rows, _with_ones)

    def posterior(self, sums: QRSums) -> Any:
        """Conjugate."""
        return (OneFullComponent if self.component is FullGaussian else OneComponent).of(self, sums)


def _with_ones(rows: Any) -> tuple[np.ndarray, int]:
    """[1, X], and where some cells are missing those which are there; the number of the latter columns."""
    there = ~np.isnan(rows.X)
    if there.all():
        return np.column_stack([np.ones(len(rows)), rows.X]), 0
    return np.column_stack([np.ones(len(rows)), np.where(there, rows.X, 0.0), there]), rows.X.shape[1]


def likelihood_derivatives(
    z: np.ndarray, mu: np.ndarray, s: np.ndarray, rows, block_elements: int, cell_units: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Derivatives of Σ_r w_r log Σ_k π_k N(x_r | μ_k, e^{s_k}) at one point: (), (K, q), (K, q, K, q).

    A missing cell, nan, is no factor of its row, and adds its unit (p,).
    """
    K, p = mu.shape
    q = 2 * p + 1
    log_pi = z - z.max()
    log_pi -= np.log(np.sum(np.exp(log_pi)))
    constant = -0.5 * (s + np.log(2 * np.pi))  # of each cell
    scale = np.exp(-s / 2)[:, :, None]

    def of_block(block):
        root = np.sqrt(block.weight)
        there = ~np.isnan(block.X.T)
        U = np.where(there, (block.X.T - mu[:, :, None]) * scale, 0.0)  # a missing cell moves nothing
        R = log_pi[:, None] + constant @ there - 0.5 * np.sum(U**2, axis=1)
        top = R.max(axis=0)
        R = np.exp(R - top)
        total = R.sum(axis=0)
        value = float((np.log(total) + top + cell_units @ ~there) @ block.weight)
        R /= total
        U[np.broadcast_to(R[:, None] == 0.0, U.shape)] = 0.0  # 0 · ∞ of a row that is beyond the component
        G = np.concatenate([np.ones((K, 1, len(block))), U * scale, 0.5 * (U**2 - there)], axis=1) * root
        Z = R[:, None] * G
        T, D = Z @ root, Z @ G.transpose(0, 2, 1)
        Z = Z.reshape(K * q, -1)
        return value, T, D, Z @ Z.T, (R * block.weight) @ there.T

    value, T, D, B, N = rows.fold(of_block, block_elements // (K * q))
    H, k, j = -B.reshape(K, q, K, q), np.arange(K)[:, None], np.arange(1, p + 1)
    D[k, j, j] -= scale[:, :, 0] ** 2 * N
    D[k, j, j + p] -= T[:, 1 : p + 1]
    D[k, j + p, j] -= T[:, 1 : p + 1]
    D[k, j + p, j + p] -= T[:, p + 1 :] + 0.5 * N
    H[k[:, 0], :, k[:, 0]] += D
    pi, n = np.exp(log_pi), np.sum(rows.weight)
    H[:, 0, :, 0] -= n * (np.diag(pi) - np.outer(pi, pi))
    T[:, 0] -= n * pi
    return value, T, H
