r"""The noise of a row in a series: Gaussian, Gaussian with strays, or heavy-tailed.

With e the deviation of a row from its prediction, :math:`s^2 = (b/a)(1+q)` the scale of a Gaussian row's
predictive density, and z the row itself:

=========  ==========================================  ===================================  ============
tails      p(row | rows before)                        weight of the row                    rows counted
=========  ==========================================  ===================================  ============
Gaussian   :math:`t_{2a}(e; s)`                        1                                    1
strays     :math:`(1-ε)\,t_{2a}(e; s) + ε\,t_1(z; 5)`  r, its probability to be no stray    r
heavy      :math:`t_ν(e; s)`, :math:`ν = \min(2a, 3)`  :math:`(ν+1) / (ν + e^2/s^2)`        1
=========  ==========================================  ===================================  ============

Strays come from anywhere and tell nothing.  Heavy tails belong to the noise: Student's t with three
degrees of freedom is a Gaussian whose precision λ/σ² is drawn anew for each row, λ ~ Γ(3/2, 3/2), and
the weight is the mean of λ given the row.  A row of weight w is learnt like one with noise σ²/w.  For
strays and heavy tails that is an approximation (assumed-density filtering); each density is exact in
that it integrates to one over the row.
"""

import numpy as np

from ._normal import LOG_2PI, log_gamma_ratio

#: Prior probability of each.  Without "heavy" streams of Student-t rows had nine times the false alarms
#: wanted; as probable as the others it cost covering on the Turing series, at this a third of that.
TAILS = {"Gaussian": 10 / 21, "strays": 10 / 21, "heavy": 1 / 21}
STRAYS = 0.1  # probability of one
STRAY_SCALE = 5.0  # units
FREEDOM = 3.0  # degrees of freedom of heavy tails


def log_prior() -> np.ndarray:
    """Log prior probability of each kind of tails; (tails,)."""
    return np.log(list(TAILS.values()))


def under_tails(
    e2: np.ndarray, z2: np.ndarray, a: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How probable a row is, and how much of a row it is.

    Parameters
    ----------
    e2 : ndarray of shape (..., noises × tails)
        Squared deviation from the prediction; the kinds of tails alternate along the last axis.
    z2 : ndarray, broadcast to the same
        The row squared, in units.
    a : ndarray of the same shape
        Shape of the posterior of σ².
    scale : ndarray of the same shape
        b (1 + q).

    Returns
    -------
    log_p, weight, count : ndarray of the same shape
        Log predictive density in nats; weight of the row; what the row adds to 2a.
    """
    log_p, weight, count = np.empty_like(e2), np.ones_like(e2), np.ones_like(e2)
    for k, name in enumerate(TAILS):
        i = (..., slice(k, None, len(TAILS)))
        if name == "heavy":
            half = np.minimum(a[i], 0.5 * FREEDOM)
            s2 = scale[i] / a[i]
            log_p[i] = student_t(e2[i], half, half * s2)
            weight[i] = (2.0 * half + 1.0) / (2.0 * half + e2[i] / s2)
            continue
        log_p[i] = student_t(e2[i], a[i], scale[i])
        if name == "strays":
            log_clean = np.log1p(-STRAYS) + log_p[i]
            log_stray = np.log(STRAYS) + student_t(z2, 0.5, 0.5 * STRAY_SCALE**2)
            log_p[i] = np.logaddexp(log_clean, log_stray)
            weight[i] = count[i] = np.exp(log_clean - log_p[i])
    return log_p, weight, count


def student_t(e2: np.ndarray, a: np.ndarray | float, b: np.ndarray | float) -> np.ndarray:
    """Log density of the deviation e under t with 2a degrees of freedom and scale² b/a."""
    a = np.asarray(a)
    return log_gamma_ratio(a) - 0.5 * (LOG_2PI + np.log(b)) - (a + 0.5) * np.log1p(e2 / (2.0 * b))
