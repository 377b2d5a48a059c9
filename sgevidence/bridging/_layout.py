"""The order of an array's draws: chains first, or steps first as emcee has them, or both in one axis.

A draw depends on the one before it in its chain, and chains do not depend on each other.  So the axis along
which neighbours are alike is that of the steps; and where walkers alternate along one axis, draws are like
those one round earlier and not like those in between.
"""

import numpy as np

from ._mixing import correlations, normal_scores

#: Standard errors of an autocorrelation of independent draws, beyond which it is seen.
SEEN = 5.0
#: Largest autocorrelation elsewhere, as a share of that along the steps, with which the order is plain.
MOST_ELSEWHERE = 0.5
#: Shortest chain, in draws, in which an autocorrelation can be seen at all.
MIN_DRAWS = 20


def chains_first(theta: np.ndarray) -> np.ndarray:
    """The draws (C, T, d) with one chain after the other, whichever axis has the steps."""
    C, T, d = theta.shape
    scores = np.stack([normal_scores(x) for x in np.moveaxis(theta, 2, 0)], axis=-1)
    if C == 1:
        walkers = _walkers(scores[0])
        return theta.reshape(T // walkers, walkers, d).swapaxes(0, 1)
    if C < MIN_DRAWS:
        return theta
    if T < MIN_DRAWS:
        return theta.swapaxes(0, 1)
    along_first = np.mean(scores[1:] * scores[:-1])
    along_second = np.mean(scores[:, 1:] * scores[:, :-1])
    is_seen = along_first > SEEN / np.sqrt(C * T)
    return theta.swapaxes(0, 1) if is_seen and along_second < MOST_ELSEWHERE * along_first else theta


def _walkers(scores: np.ndarray) -> int:
    """Walkers that alternate in a chain (T, d): the lag of the largest autocorrelation, with none before."""
    T = len(scores)
    rho = np.mean([correlations(x[None])[: T // MIN_DRAWS + 1] for x in scores.T], axis=0)
    if len(rho) < 3:
        return 1
    lag = 2 + int(np.argmax(rho[2:]))
    is_plain = np.abs(rho[1:lag]).max() < MOST_ELSEWHERE * rho[lag]
    return lag if rho[lag] > SEEN / np.sqrt(T) and is_plain and T % lag == 0 else 1
