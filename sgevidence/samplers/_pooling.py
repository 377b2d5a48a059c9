"""Independent runs of one sampler on the same rows: their evidence pooled, and whether they agree.

The estimate Ẑ_i of each run is unbiased, and so is their plain mean whatever the runs claim of themselves:

    log Ẑ = log (1/n) Σ_i Ẑ_i,        u_i = Ẑ_i / Σ_j Ẑ_j,        claimed error of log Ẑ: √Σ_i u_i² s_i²
    Q = Σ_i (x_i − x̄)² / s_i² ~ χ²_{n−1},     x_i = log Ẑ_i + s_i²/2,     x̄ = Σ_i x_i s_i⁻² / Σ_i s_i⁻²
    std = claimed · max(1, √(Q / (n−1)))

A mean weighted by 1/s_i² would be sharper if the claims were true, and is wrong where it matters: a run that
missed a mode claims a small error, because all its particles agree.  The scale factor is that of the Particle
Data Group (Birge ratio): the claims are never made smaller, and a disagreement is not averaged away.

Symbols
-------
======  =====================================  ================
symbol  meaning                                name
======  =====================================  ================
log Ẑ_i  log evidence of a run                 ``log_Z``
s_i      its claimed standard error            ``s``
u_i      its share of the sum                  ``shares``
Q        Cochran's statistic of disagreement   ``Q``
======  =====================================  ================

References
----------
W. G. Cochran (1954), The Combination of Estimates from Different Experiments, Biometrics 10, 101.
R. T. Birge (1932), The Calculation of Errors by the Method of Least Squares, Physical Review 40, 207.
"""

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from ..particles import log_sum_exp

#: p-value below which a warning is given: one false alarm in a hundred sets of honest runs.
DOUBTFUL = 0.01


class Pool(NamedTuple):
    """Mean of independent runs."""

    log_evidence: float  #: nats
    log_evidence_std: float  #: nats
    shares: np.ndarray  #: u, (n,)
    disagreement: float  #: standard deviation of the runs' log evidences, nats; nan for one run
    claimed: float  #: what it should be by their errors
    p_value: float  #: of a Q at least as large if the claims are true

    def doubts(self, advice: str, of: str = "runs") -> list[str]:
        """That the runs disagree, if they do."""
        if self.p_value >= DOUBTFUL:
            return []
        return [
            f"{len(self.shares)} {of} disagree by {self.disagreement:.2f} nats where their errors "
            f"claim {self.claimed:.2f} (p = {self.p_value:.1g}): the error of a single fit is not to be "
            f"trusted, {advice}"
        ]


def pool(log_Z: np.ndarray, s: np.ndarray) -> Pool:
    """Pool runs by their log evidences and standard errors, (n,) each."""
    n, total = len(log_Z), float(log_sum_exp(log_Z))
    u = np.exp(log_Z - total)
    Q = disagreement(log_Z, s)
    return Pool(
        log_evidence=total - float(np.log(n)),
        log_evidence_std=float(np.linalg.norm(u * s)) * max(1.0, float(np.sqrt(Q / max(n - 1, 1)))),
        shares=u,
        disagreement=float(np.std(log_Z, ddof=1)) if n > 1 else np.nan,
        claimed=float(np.sqrt(np.mean(s**2))),
        p_value=float(chi2.sf(Q, n - 1)) if n > 1 else 1.0,
    )


def disagreement(log_Z: np.ndarray, s: np.ndarray) -> float:
    """Cochran's Q of log evidences with claimed errors ``s``, about χ²_{n−1} if the claims are true.

    Unbiased and with an error of s nats, log Ẑ is low by s²/2 on average: x = log Ẑ + s²/2 has one mean
    for all.  An error of zero (a closed form) is taken for the rounding of its digits.
    """
    s = np.maximum(s, 1e-9 * np.maximum(1.0, np.abs(log_Z)))
    x = log_Z + 0.5 * s**2
    return float(np.sum((x - np.average(x, weights=s**-2.0)) ** 2 / s**2))
