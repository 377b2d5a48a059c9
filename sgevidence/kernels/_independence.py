r"""Independence Metropolis with a density that is estimated from the points of a cloud.

    q₋ⱼ(x) = mean over i ≠ j of N(x; c_i, S_i)
    S_i = mean over the k nearest c_l of (c_l − c_i)(c_l − c_i)ᵀ

A walker that starts at point j proposes from q₋ⱼ, which knows nothing of its start, and accepts with
probability min(1, π(x') q₋ⱼ(x) / π(x) q₋ⱼ(x')).  Proposals go to each mode that other points have found, in
the width that the points have there (Silverman 1986, nearest-neighbour bandwidths), so that a step of one
size for all modes is not needed, and walkers change modes.

Symbols
-------
=======  ===================  ==============================================
c_i      ``centers``          points of the cloud, (C, d)
S_i      ``scales``           lower Cholesky factors of S_i, (C, d, d)
j        ``own``              index of the center a walker starts from, −1 if none
π        ``log_target``       (M, d) -> (M,), −∞ outside
=======  ===================  ==============================================

References
----------
L. Tierney (1994), Markov chains for exploring posterior distributions, Annals of Statistics 22.
B. W. Silverman (1986), Density estimation for statistics and data analysis, section 5.2.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import logsumexp

from ._base import LogDensity

#: Centers at most, and numbers of the (walkers, centers, d) array of differences that is formed at a time.
MAX_CENTERS, MAX_DIFFERENCES = 500, 2_000_000
#: Share of the diagonal in S_i, which is of few neighbours.
SHRINKAGE = 0.1


class LocalDensity(NamedTuple):
    """q: a Gaussian about each center, as wide as its neighbours are far.

    Parameters
    ----------
    centers : ndarray of shape (C, d)
    scales : ndarray of shape (C, d, d)
        Lower Cholesky factors of the covariances.
    log_det : ndarray of shape (C,)
        Log determinants of the scales.
    place : ndarray of shape (M,)
        Index among the centers of each point of the cloud, −1 if it is none.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import LocalDensity
    >>> rng = np.random.default_rng(0)
    >>> density = LocalDensity.of(rng.standard_normal((100, 2)), rng)
    >>> density.draw(density.place, rng)[0].shape
    (100, 2)
    """

    centers: np.ndarray
    scales: np.ndarray
    log_det: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, cloud: np.ndarray, rng: np.random.Generator) -> "LocalDensity | None":
        """From a cloud in coordinates of about unit width.

        Parameters
        ----------
        cloud : ndarray of shape (M, d)
        rng : numpy.random.Generator
            Chooses 500 centers among more points.

        Returns
        -------
        LocalDensity or None
            None where the cloud has too few distinct points.
        """
        M, d = cloud.shape
        chosen = np.arange(M) if M <= MAX_CENTERS else np.sort(rng.permutation(M)[:MAX_CENTERS])
        centers, k = cloud[chosen], 3 * d + 2
        if len(centers) < 2 * k:
            return None
        _, near = cKDTree(centers).query(centers, k=k + 1)
        away = centers[near[:, 1:]] - centers[:, None]  # (C, k, d)
        S = np.einsum("ckd,cke->cde", away, away) / k
        each = np.einsum("cdd->cd", S)
        S = (1 - SHRINKAGE) * S
        S[:, np.arange(d), np.arange(d)] += SHRINKAGE * each + 1e-12 * each.max(axis=1, keepdims=True)
        keep = each.max(axis=1) > 0
        if keep.sum() < 2 * k:
            return None
        place = np.full(M, -1)
        place[chosen[keep]] = np.arange(keep.sum())
        scales = np.linalg.cholesky(S[keep])
        return cls(centers[keep], scales, np.sum(np.log(np.einsum("cdd->cd", scales)), axis=1), place)

    def draw(self, own: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A draw from q₋ⱼ for each j, and the index of the center that it was drawn about.

        Parameters
        ----------
        own : ndarray of shape (M,)
            j for each walker, −1 for none.
        rng : numpy.random.Generator

        Returns
        -------
        draws : ndarray of shape (M, d)
        about : ndarray of shape (M,)
        """
        C, d = self.centers.shape
        i = rng.integers(C - (own >= 0))
        i += (own >= 0) & (i >= own)
        step = np.einsum("mde,me->md", self.scales[i], rng.standard_normal((len(own), d)))
        return self.centers[i] + step, i

    def log_density(self, x: np.ndarray, own: np.ndarray) -> np.ndarray:
        """log q₋ⱼ(x) up to a constant.

        Parameters
        ----------
        x : ndarray of shape (M, d)
        own : ndarray of shape (M,)
            j for each walker, −1 for none.

        Returns
        -------
        ndarray of shape (M,)
        """
        (C, d), out = self.centers.shape, np.empty(len(x))
        inverse = np.linalg.inv(self.scales)
        size = max(1, MAX_DIFFERENCES // (C * d))
        for start in range(0, len(x), size):
            part = slice(start, start + size)
            away = (x[part] - self.centers[:, None]).transpose(0, 2, 1)  # (C, d, m)
            log_p = -0.5 * np.sum((inverse @ away) ** 2, axis=1) - self.log_det[:, None]  # (C, m)
            mine = own[part]
            log_p[mine[mine >= 0], np.flatnonzero(mine >= 0)] = -np.inf
            out[part] = logsumexp(log_p, axis=0)
        return out


def independence(
    x: np.ndarray,
    log_target: LogDensity,
    density: LocalDensity,
    own: np.ndarray,
    rng: np.random.Generator,
    *,
    n_steps: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Metropolis steps with proposals from q₋ⱼ.

    Parameters
    ----------
    x : ndarray of shape (M, d)
        Where the walkers are.
    log_target : callable (M, d) -> (M,)
    density : LocalDensity
    own : ndarray of shape (M,)
        The center that each walker started from, −1 for none.
    rng : numpy.random.Generator
    n_steps : int

    Returns
    -------
    x : ndarray of shape (M, d)
        Where the walkers are now.
    n_accepted : ndarray of shape (M,)
    about : ndarray of shape (M,)
        The center that a walker's last accepted proposal was drawn about, ``own`` if it has accepted none.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.kernels import LocalDensity, independence
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((200, 2)) + np.where(rng.random((200, 1)) < 0.5, 8.0, -8.0)
    >>> density = LocalDensity.of(x, rng)
    >>> both = lambda t: np.logaddexp(*(-0.5 * np.sum((t - m) ** 2, axis=1) for m in (8.0, -8.0)))
    >>> moved, n_accepted, about = independence(x, both, density, density.place, rng, n_steps=10)
    >>> bool(np.mean(np.sign(moved[:, 0]) != np.sign(x[:, 0])) > 0.3)
    True
    """
    log_ratio, n_accepted = log_target(x) - density.log_density(x, own), np.zeros(len(x))
    about = own
    for _ in range(n_steps):
        new, center = density.draw(own, rng)
        with np.errstate(all="ignore"):
            new_ratio = log_target(new) - density.log_density(new, own)
            accept = np.log1p(-rng.random(len(x))) < new_ratio - log_ratio  # False for nan
        x = np.where(accept[:, None], new, x)
        log_ratio = np.where(accept, new_ratio, log_ratio)
        about = np.where(accept, center, about)
        n_accepted += accept
    return x, n_accepted, about
