r"""Rows of any density that take after the row before: a Gaussian copula.

With F the distribution of a row whatever came before, of any shape (:mod:`._shape`), and its scores
:math:`q_t = Φ^{-1}(F(z_t))`, which are standard Gaussian, an autoregression of the scores is

.. math::
    p(z_t \mid z_{t-1}) = f(z_t)\, N(q_t \mid ρ q_{t-1}, 1 - ρ^2) / N(q_t \mid 0, 1),

a density of z_t for every ρ, and for ρ = 0 that of independent rows.  The exponential of an autoregression,
or any other increasing function of it, is one of these.

Symbols
-------
======  ==========  ===============================================
here    code        meaning
======  ==========  ===============================================
q       ``q``       score of the row, ``before`` of the row before
ρ       ``RHO``     correlation of successive scores
======  ==========  ===============================================

References
----------
H. Joe (1997), Multivariate models and dependence concepts, section 8.1.
"""

import numpy as np

#: Correlations; the first is independence.
RHO = np.array([0.0, 0.4, 0.7, 0.9, 0.97])


def log_copula(q: np.ndarray, before: np.ndarray) -> np.ndarray:
    """How much more probable rows are for the one before.

    Parameters
    ----------
    q, before : ndarray of shape (...)

    Returns
    -------
    ndarray of shape (..., len(RHO))
        Nats, by ρ.
    """
    q, before = q[..., None], before[..., None]
    variance = 1.0 - RHO**2
    return 0.5 * (q**2 - (q - RHO * before) ** 2 / variance - np.log(variance))
