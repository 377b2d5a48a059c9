r"""The evidence of a mixture from that of one with fewer components, where some are empty.

Given that m of K components have no rows, the others are a mixture of K − m.  Weights integrate out to
p(z) = Γ(Ka)/Γ(Ka + n) Π_k Γ(a + n_k)/Γ(a), in which an empty component is a factor of one.  So of all
allocations z those without the first m components hold

    P(m given components are empty | x) = c Z_{K−m} / Z_K,    c = Γ(Ka)/Γ(Ka + n) · Γ((K−m)a + n)/Γ((K−m)a)

(compare Nobile 2004), and labels are exchangeable, so that with E empty components it is the mean of

    f = C(E, m) / C(K, m)

over the posterior:  log Z_K = log Z_{K−m} + log c − log E[f].  Only E has to be known, and chains that come
and go between having a component and having it empty know it, however little the posterior is like a
Gaussian: an empty component is as wide as the prior.  Where some are always empty, f hardly varies, and the
answer is as good as that of fewer components, whose posterior is simpler.

Symbols
-------
=======  ============  =====================================================
E        ``n_empty``   components without a row, (T, C) of C chains
m        ``m``         components to do without; ``K``, ``a`` as in the model
f        ``f``         its mean over each chain, (C,)
log c    ``log_c``     n = sum of the weights of all rows
=======  ============  =====================================================

References
----------
A. Nobile (2004), On the posterior distribution of the number of components in a finite mixture.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import binom, gammaln

from ..models import MixtureModel
from ..particles import Weights
from ._allocation_proposal import CHAINS
from ._chains import SLOW, slowness

#: Standard errors of log E[f], nats, up to which more components than one are left out, and one.
PRECISE, ROUGH = 0.05, 0.25


class Ratio(NamedTuple):
    """log Z_K − log Z_{K−m}, its standard error in nats, and how many of a hundred chains it rests on."""

    m: int
    log_ratio: float
    std: float
    n_effective: float


def to_smaller_mixture(model: MixtureModel, n_empty: np.ndarray, n: float) -> Ratio | None:
    """As far down as chains know well, (T, C), those of the first half first; None where they do not know.

    ``n`` is the sum of the weights of all rows.
    """
    found, most = None, ROUGH
    for m in range(1, model.n_components):
        if np.all(n_empty < m) or slowness(binom(n_empty, m)[..., None]) > SLOW:
            break
        step = ratio(model, n_empty, n, m)
        if step.std > most:
            break
        found, most = step, PRECISE
    return found


def ratio(model: MixtureModel, n_empty: np.ndarray, n: float, m: int) -> Ratio:
    """log c − log E[f] for m components fewer; half of what two halves of chains differ by is an error."""
    f = np.mean(binom(n_empty, m) / binom(model.n_components, m), axis=0)
    each = Weights(np.log(f.clip(1e-300)))
    first, second = (half.mean() for half in np.array_split(f, 2))
    std = max(np.sqrt(each.relative_variance), abs(first - second) / (first + second))
    log_ratio = log_c(model, m, n) - np.log(f.mean())
    return Ratio(m, float(log_ratio), float(std), each.ess * CHAINS / each.M)


def log_c(model: MixtureModel, m: int, n: float) -> float:
    """log of Γ(Ka)/Γ(Ka + n) · Γ((K−m)a + n)/Γ((K−m)a)."""
    a = model.weight_concentration
    all_, fewer = model.n_components * a, (model.n_components - m) * a
    return float(gammaln(all_) - gammaln(all_ + n) + gammaln(fewer + n) - gammaln(fewer))
