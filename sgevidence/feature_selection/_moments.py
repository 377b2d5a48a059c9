r"""The evidence of linear regressions on subsets of columns, from one matrix of moments.

With X = 1 m·+ X̃ and y = 1 ȳ + ỹ, C = X̃ᵀΩX̃, c = X̃ᵀΩỹ, q = ỹᵀΩỹ (centred), prior standard
deviations S of the coefficients and τ of the intercept, the evidence of the columns of a subset is

    log p(y | v) = −½ [n log 2πv + D + Q/v],          A = C + v S⁻²,   κ = τ²/v + 1/n,
    D = log |A| − log |v S⁻²| + log n(κ + mᵀA⁻¹m),
    Q = q − cᵀA⁻¹c + (ȳ − mᵀA⁻¹c)² / (κ + mᵀA⁻¹m):

the centred rows first, and the mean of y given them.  So nothing cancels where columns or y lie far from
zero; τ = 0 is a model without an intercept.  All of it is what Cholesky's elimination of the columns leaves
of the bordered matrix

    [[A, c, m], [cᵀ, q, ȳ], [mᵀ, ȳ, −κ]].

Elimination does not care about the columns' units.  It loses the digits that collinear columns share.

Symbols
-------
==========  ============  ===========================================================
math        code          meaning
==========  ============  ===========================================================
C, c, q     ``C, c, q``   centred sums of squares and products of X and y
m, ȳ        ``m, mean``   means of the columns and of y
v, s        ``v, s``      noise variance σ² and its logarithm
v S⁻²       ``ridge``     what the prior adds to C
A, c, m, …  ``T``         the bordered matrix, (…, columns + 2, columns + 2, nodes of s)
==========  ============  ===========================================================

Columns and y are divided by powers of two near their standard deviations, which changes no digit.
"""

from typing import Any, NamedTuple, Self

import numpy as np

#: Distance of two floating-point numbers next to 1.
EPS = float(np.finfo(float).eps)


class Moments(NamedTuple):
    """Moments of rows in units in which columns and y vary by about one."""

    n: float  #: rows, each as often as it counts
    m: np.ndarray  #: (p,)
    mean: float
    C: np.ndarray  #: (p, p)
    c: np.ndarray  #: (p,)
    q: float
    precision: np.ndarray  #: S⁻², (p,)
    tau: float  #: 0 without an intercept
    units: np.ndarray  #: of the columns, (p,)
    unit: float  #: of y
    prior: Any  #: of log σ² in the data's unit, or None
    noise_std: float | None  #: in the data's unit

    @classmethod
    def of(cls, sums: Any, model: Any) -> Self:
        """From the factor of [1, X, y] and the linear model of all columns."""
        p, means, rest = sums.n_values - 1, sums.means, sums.rest
        n, sd = sums.total_weight, np.linalg.norm(rest, axis=0) / np.sqrt(sums.total_weight)
        units = _units(sd, means)
        rest, m, unit = rest / units, means / units, float(units[p])
        C = rest.T @ rest
        return cls(
            n=n,
            m=m[:p],
            mean=float(m[p]),
            C=C[:p, :p],
            c=C[:p, p],
            q=float(C[p, p]),
            # more than 10¹⁰⁰, in units of the column per y, leaves no column a say
            precision=np.minimum(unit / units[:p] / model.coef_scale, 1e100) ** 2,
            tau=float(model.intercept_scale) / unit if model.fit_intercept else 0.0,
            units=units[:p],
            unit=unit,
            prior=None if model.noise_std is not None else model.prior_of_noise,
            noise_std=model.noise_std,
        )

    @property
    def shift(self) -> float:
        """log σ² in the data's unit minus log σ² here."""
        return 2 * float(np.log(self.unit))

    def log_prior(self, s: np.ndarray) -> np.ndarray:
        """Log density of s, which is in the units here; 0 where σ is known."""
        return np.zeros(len(s)) if self.prior is None else np.asarray(self.prior.log_density(s + self.shift))

    def bordered(self, s: np.ndarray) -> np.ndarray:
        """The bordered matrix of all columns at the nodes s, (p + 2, p + 2, len(s))."""
        p, v = len(self.m), np.exp(s)
        T = np.empty((p + 2, p + 2, len(s)))
        T[:p, :p], T[:p, p], T[p, :p] = self.C[..., None], self.c[:, None], self.c[:, None]
        T[:p, p + 1], T[p + 1, :p] = self.m[:, None], self.m[:, None]
        T[np.arange(p), np.arange(p)] += self.precision[:, None] * v
        T[p, p], T[p, p + 1], T[p + 1, p] = self.q, self.mean, self.mean
        T[p + 1, p + 1] = -(self.tau**2 / v + 1 / self.n)
        return T

    def curves(self, log_det: np.ndarray, border: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """D and log Q from log |A| − log |v S⁻²| and the border that is left, (…, 2, 2, nodes)."""
        spread = -border[..., 1, 1, :]
        D = log_det + np.log(self.n * spread)
        Q = np.maximum(border[..., 0, 0, :], 0.0) + border[..., 0, 1, :] ** 2 / spread
        return D, np.log(np.maximum(Q, 1e-300))

    def direct(self, s: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """D, log Q and the loss of digits (B, len(s)) of subsets of k columns each, (B, k)."""
        p, (B, k) = len(self.m), columns.shape
        T = self.bordered(s)
        if not k:
            D, log_Q = self.curves(np.zeros(len(s)), T[p:, p:])
            D, log_Q = (np.broadcast_to(curve, (B, len(s))) for curve in (D, log_Q))
            return D, log_Q, np.ones((B, len(s)))
        which = np.concatenate([columns, np.tile([p, p + 1], (B, 1))], axis=1)
        part = T[which[:, :, None], which[:, None, :]]
        return self.eliminated(part, np.log(self.precision[columns])[..., None] + s)

    def eliminated(self, T, log_ridge, log_det=0.0, loss=1.0, diagonal=None):
        """D, log Q and loss where all columns of T (B, k + 2, k + 2, G) go in; ``log_ridge`` is (B, k, G).

        ``log_det``, ``loss`` and the ``diagonal`` (B, k, G) are of before other columns went in.
        """
        if diagonal is None:
            diagonal = T[:, np.arange(T.shape[1]), np.arange(T.shape[1])]
        for j in range(T.shape[1] - 2):
            log_det, loss, T = step(T, log_det, loss, log_ridge[:, j], diagonal[:, j])
        return *self.curves(log_det, T), loss


def step(T, log_det, loss, log_ridge, diagonal):
    """The first column of bordered matrices T (B, r, r, G) goes into the model.

    A pivot is at least what the prior adds to C; one without a digit left is reported as a loss.
    """
    pivot = np.maximum(T[:, 0, 0], np.exp(log_ridge))
    log_det = log_det + np.log(pivot) - log_ridge
    loss = np.maximum(loss, diagonal / pivot)
    T = T[:, 1:, 1:] - T[:, 1:, :1] * (T[:, :1, 1:] / pivot[:, None, None])
    return log_det, loss, T


def _units(sd: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Powers of two near the standard deviations, or near the values of what does not vary."""
    values = np.where(sd > 0, sd, np.where(means != 0, np.abs(means), 1.0))
    return 2.0 ** np.clip(np.rint(np.log2(values)), -900, 900)
