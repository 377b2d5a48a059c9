r"""Shells of the prior between contours of the likelihood, and the sum over them; thesis §3.2 and Alg. 5.

    Ẑ = Σ_k λ_k w_k,   X_k = e^{−1/M} X_{k−1},   X_0 = 1

    w_k = E[X_{k−1} − X_k]          upper       Alg. 5, lines 2, 7 and 9
          ½ E[X_{k−1} − X_{k+1}]    trapezoid   Skilling (2006)
          E[X_k − X_{k+1}]          lower       (3.26) as printed

Live points are draws from the prior.  The worst of them leaves, and with it the share 1/M of the prior
mass X that the live points stand for; a new one is drawn from the prior above its likelihood.  Between
X_{k−1} and X_k likelihoods lie between λ_{k−1} and λ_k: hence the names.  Here the worst k leave together,
so that new ones move as a cloud: the i-th of them leaves M − i + 1 behind and takes X by e^{−1/(M − i + 1)},
as if they had gone one by one without being replaced.

Symbols
-------
=======  ==============  =============================================================
θ        ``theta``       live or dead points, (M, d)
λ_k      ``ell``         log p(D | θ), (M,)
X_k      ``log_X``       log of the prior mass above the contour
w_k      ``log_w``       log of the prior mass between one contour and the next
M        ``n_live``      live points when a point left; ∞ for those live at the end
H        ``information``  Σ p_k log(λ_k/Ẑ), p_k = λ_k w_k/Ẑ, nats
=======  ==============  =============================================================
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import DivergenceError
from ..particles import log_sum_exp
from ._base import SILENT, Progress
from ._nested_doubts import insertion_ranks

#: Nats of compression of the prior at which a run ends: twice what a posterior of 200 parameters and 10⁵ rows
#: asks for.  A target of a thousand prior widths asks for a million.
DEEPEST = 2000.0


class Shell(NamedTuple):
    """Points that leave together, the lowest likelihood first; the last ones are the live points."""

    theta: np.ndarray
    ell: np.ndarray
    log_w: np.ndarray
    n_live: np.ndarray
    founder: np.ndarray  #: number of the independent draw that each descends from
    ranks: np.ndarray  #: of the points that come in their place, see :func:`insertion_ranks`

    @property
    def log_p(self) -> np.ndarray:
        """log λ_k w_k."""
        return self.ell + self.log_w


def descend(
    theta: np.ndarray,
    ell: np.ndarray,
    draw: Callable[..., Any],
    k: int,
    tolerance: float,
    rng: np.random.Generator,
    progress: Progress = SILENT,
    published: bool = False,
    quadrature: str = "upper",
) -> Iterator[Shell]:
    """Shells of the prior from the outermost inwards (Alg. 5).

    ``draw(theta, ell, k, floor, log_X)`` gives k points above the floor, their log L, and the index of
    the live point that each started from, −1 for none.
    """
    if not np.any(ell > -np.inf):
        raise ValueError(
            f"the likelihood is zero or not a number for all {len(ell)} draws from the prior: no log "
            "evidence can be given"
        )
    M, log_X, log_Z = len(theta), 0.0, -np.inf
    founder, n_founders = np.arange(M), M
    while True:
        if log_X < -DEEPEST:
            raise DivergenceError(
                f"nested sampling is {DEEPEST:.0f} nats inside the prior and the best log likelihood, "
                f"{ell.max():.4g}, still rises: prior and data contradict each other; state another prior"
            )
        order = np.argsort(ell)
        theta, ell, founder = theta[order], ell[order], founder[order]
        if published and ell[0] + log_X + np.log(-np.expm1(-1 / M)) < np.log(tolerance) + log_Z:
            return
        # points on a plateau leave together: the next draws must be above all of them
        dead = k if published else int(np.sum(ell <= ell[k - 1]))
        if dead == M or (not published and ell[-1] + log_X < np.log(tolerance) + log_Z):
            yield Shell(theta, ell, np.full(M, log_X - np.log(M)), np.full(M, np.inf), founder, np.empty(0))
            return
        n_live = M - np.arange(dead)
        log_X_after = log_X - np.cumsum(1 / n_live)
        log_w = log_X_after + np.log(np.expm1(1 / n_live))  # X_{k−1} − X_k
        if quadrature != "upper":
            inner = log_X_after + np.log(-np.expm1(-1 / np.append(n_live[1:], M)))  # X_k − X_{k+1}
            log_w = inner if quadrature == "lower" else np.logaddexp(log_w, inner) - np.log(2)
        floor, log_X = ell[dead - 1], log_X_after[-1]
        new_theta, new_ell, parents = draw(theta[dead:], ell[dead:], dead, floor, log_X)  # line 8
        new_founder = np.where(parents < 0, n_founders + np.arange(dead), founder[dead:][parents])
        ranks = insertion_ranks(ell[dead:], new_ell, rng)
        shell = Shell(theta[:dead], ell[:dead], log_w, n_live, founder[:dead], ranks)
        log_Z = np.logaddexp(log_Z, log_sum_exp(shell.log_p))  # line 7
        yield shell
        theta, ell = np.concatenate([theta[dead:], new_theta]), np.concatenate([ell[dead:], new_ell])
        founder, n_founders = np.concatenate([founder[dead:], new_founder]), n_founders + dead
        progress(
            f"log X {log_X:.1f}, log evidence so far {log_Z:.2f} nats, best log likelihood {ell.max():.2f}"
        )


def evidence(ell: np.ndarray, log_w: np.ndarray, n_live: np.ndarray) -> tuple[float, float, float]:
    """log Ẑ, its variance and the information H.

    The i-th shrinkage has variance 1/n_i², and moves log Ẑ by the mass beyond it that exceeds its own
    likelihood.  With M live points throughout that is H/M to leading order (Skilling 2006); k at a time
    leave fewer.  The live points add the error of their mean likelihood.
    """
    log_p = ell + log_w
    log_Z = log_sum_exp(log_p)
    p = np.exp(log_p - log_Z)
    dead = np.isfinite(n_live)
    beyond = np.cumsum(p[::-1])[::-1] - p
    log_X = -np.cumsum(1 / n_live[dead])
    slope = beyond[dead] - np.exp(ell[dead] + log_X - log_Z)
    information = np.sum(p[p > 0] * (ell[p > 0] - log_Z))
    var = np.sum((slope / n_live[dead]) ** 2)
    if not dead.all():
        var += np.sum(~dead) * np.var(p[~dead], ddof=1)
    return float(log_Z), float(var), float(information)


def founders(log_p: np.ndarray, founder: np.ndarray) -> float:
    """Effective number of independent draws that the points of the posterior descend from, 1/Σ_f P_f².

    P_f is the share of the evidence of founder f.  Chains start from live points, and descent is counted
    whether or not they forget where: a mode's volume is known from the draws that founded it, however far
    their descendants move within the mode (Chan and Lai 2013, for particle filters).
    """
    shares = np.bincount(np.unique(founder, return_inverse=True)[1], np.exp(log_p - log_sum_exp(log_p)))
    return float(1 / np.sum(shares**2))


def bottleneck(n_founders: float, M: int, n_replacements: float) -> float:
    """Variance of log Ẑ of modes that few draws founded: Σ_f P_f² beyond that of one population.

    A pair of live points has one parent with probability 1/(M − 1) a generation; the variance that comes of
    that is in H/M already.
    """
    return max(1 / n_founders - (1 - (1 - 1 / max(M - 1, 1)) ** n_replacements), 0.0)
