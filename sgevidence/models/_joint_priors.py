"""Priors of several numbers that belong together: probabilities, and correlation matrices.

Both are made of independent beta variates, so that each is a function of standard normals, too.
"""

from typing import Any

import autograd.numpy as anp
import numpy as np
from scipy import stats

from ._quantiles import quantile, resolved


class Dirichlet:
    """Dirichlet prior of K probabilities that sum to one, for ``priors=`` of :class:`BayesianModel`.

    Parameters
    ----------
    concentration : array-like of shape (K,)
        All positive; ``[1, 1, 1]`` is uniform over the three-part compositions.

    Notes
    -----
    Stick breaking: w_k = v_k Π_{j<k} (1 − v_j) with independent v_k ~ Beta(a_k, a_{k+1} + … + a_K), which is
    exact and needs K − 1 coordinates (Ishwaran and James 2001).

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import Dirichlet
    >>> Dirichlet([1.0, 1.0, 1.0]).transform(np.zeros((1, 2))).round(4)
    array([[0.2929, 0.3536, 0.3536]])
    """

    def __init__(self, concentration: Any) -> None:
        a = np.array(concentration, dtype=float)
        if a.ndim != 1 or len(a) < 2 or not np.all((a > 0) & np.isfinite(a)):
            raise ValueError(f"concentration must be two or more positive numbers, got {concentration!r}")
        self.concentration = a
        self.shape, self.n_coordinates = (len(a),), len(a) - 1

    @property
    def _sticks(self) -> tuple[np.ndarray, np.ndarray]:
        a = self.concentration
        return a[:-1], np.cumsum(a[::-1])[::-1][1:]

    def transform(self, z: Any) -> Any:
        """Probabilities (M, K) from standard normals (M, K − 1).

        Parameters
        ----------
        z : ndarray of shape (M, K − 1)

        Returns
        -------
        ndarray of shape (M, K)
        """
        a, b = self._sticks
        first = quantile(stats.beta, z, (a, b))
        rest = quantile(stats.beta, -z, (b, a))  # 1 − v, without a difference that rounds to zero
        left = _products(rest)
        return anp.concatenate([first * left[:, :-1], left[:, -1:]], axis=1)

    def resolved(self, z: np.ndarray) -> np.ndarray:
        """Where the quantiles are not rounded to another tail.

        Parameters
        ----------
        z : ndarray of shape (M, K − 1)

        Returns
        -------
        ndarray of bool of shape (M, K − 1)
        """
        a, b = self._sticks
        return resolved(stats.beta, z, (a, b), quantile(stats.beta, z, (a, b)))

    def __repr__(self) -> str:
        return f"Dirichlet({self.concentration.tolist()})"


class LKJ:
    """LKJ prior of a correlation matrix, density ∝ det(R)^(concentration − 1).

    Parameters
    ----------
    n_variables : int
        Rows of the matrix.
    concentration : float, default=1.0
        1 is uniform over all correlation matrices; larger values prefer the identity.

    Notes
    -----
    Partial correlations of a vine are independent, 2 Beta(b, b) − 1 with b smaller by one half for each
    variable that is conditioned on (Lewandowski, Kurowicka and Joe 2009, J. Multivariate Analysis 100).  The
    parameter is the matrix itself, (M, n, n); ``autograd.numpy.linalg.cholesky`` takes it as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import LKJ
    >>> LKJ(2).transform(np.array([[0.0]]))
    array([[[1., 0.],
            [0., 1.]]])
    """

    def __init__(self, n_variables: int, concentration: float = 1.0) -> None:
        if not float(n_variables).is_integer() or n_variables < 2 or not 0 < concentration < np.inf:
            raise ValueError(
                "LKJ needs two or more variables and a positive concentration, got "
                f"{n_variables!r} and {concentration!r}"
            )
        self.n_variables, self.concentration = int(n_variables), float(concentration)
        self.shape = (self.n_variables, self.n_variables)
        self.n_coordinates = self.n_variables * (self.n_variables - 1) // 2

    @property
    def _betas(self) -> np.ndarray:
        """b of each partial correlation, in the order of :meth:`transform`."""
        n = self.n_variables
        return np.array([self.concentration + (n - 2 - j) / 2 for i in range(1, n) for j in range(i)])

    def transform(self, z: Any) -> Any:
        """Correlation matrices (M, n, n) from standard normals (M, n(n − 1)/2).

        Parameters
        ----------
        z : ndarray of shape (M, n(n − 1)/2)

        Returns
        -------
        ndarray of shape (M, n, n)
        """
        L = self.factor(z)
        return anp.matmul(L, anp.transpose(L, (0, 2, 1)))

    def factor(self, z: Any) -> Any:
        """Cholesky factors of :meth:`transform`, which do not cancel where correlations are near one.

        Parameters
        ----------
        z : ndarray of shape (M, n(n − 1)/2)

        Returns
        -------
        ndarray of shape (M, n, n)
        """
        b, n = self._betas, self.n_variables
        v, w = quantile(stats.beta, z, (b, b)), quantile(stats.beta, -z, (b, b))
        partial, root = v - w, 2 * anp.sqrt(v * w)  # ρ and √(1 − ρ²)
        zero, rows, k = 0.0 * z[:, 0], [], 0
        for i in range(n):
            row, left = [], 1.0 + zero
            for _ in range(i):
                row.append(partial[:, k] * left)
                left, k = left * root[:, k], k + 1
            rows.append(anp.stack([*row, left, *[zero] * (n - 1 - i)], axis=1))
        return anp.stack(rows, axis=1)

    def resolved(self, z: np.ndarray) -> np.ndarray:
        """Where the quantiles are not rounded to another tail.

        Parameters
        ----------
        z : ndarray of shape (M, n(n − 1)/2)

        Returns
        -------
        ndarray of bool of shape (M, n(n − 1)/2)
        """
        b = self._betas
        return resolved(stats.beta, z, (b, b), quantile(stats.beta, z, (b, b)))

    def __repr__(self) -> str:
        return f"LKJ({self.n_variables}, {self.concentration})"


def _products(rest: Any) -> Any:
    """1, r_1, r_1 r_2, …, (M, K), which autograd can follow."""
    columns = [1.0 + 0.0 * rest[:, 0]]
    for k in range(rest.shape[1]):
        columns.append(columns[-1] * rest[:, k])
    return anp.stack(columns, axis=1)
