"""Scales of Cauchy-like priors by their words in the R package BayesFactor, which differ by test.

R. D. Morey and J. N. Rouder, BayesFactor 0.9.12: ``rpriorValues``, and the manual of each test.
"""

import math
from numbers import Real
from typing import Any

ROOT_2 = math.sqrt(2)
#: By test, the scale of each word.
RSCALES = {
    "ttest": {"medium": ROOT_2 / 2, "wide": 1.0, "ultrawide": ROOT_2},
    "anova": {"medium": 0.5, "wide": ROOT_2 / 2, "ultrawide": 1.0},
    "regression": {"medium": ROOT_2 / 4, "wide": 0.5, "ultrawide": ROOT_2 / 2},
    "correlation": {"medium": 1 / 3, "wide": 1 / math.sqrt(3), "ultrawide": 1.0},
    "proportion": {"medium": 0.5, "wide": ROOT_2 / 2, "ultrawide": 1.0},
}


def rscale_of(test: str, rscale: Any) -> float:
    """The scale that a number or a word means."""
    words = RSCALES[test]
    if isinstance(rscale, str) and rscale in words:
        return words[rscale]
    is_number = isinstance(rscale, Real) and not isinstance(rscale, bool)
    if is_number and 0 < float(rscale) < math.inf:
        return float(rscale)
    raise ValueError(f"rscale must be a positive number or one of {list(words)}, got {rscale!r}")
