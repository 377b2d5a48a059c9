"""Tests by name with a Bayes factor: means, proportions, tables of counts, correlations, factors.

Each is exact or a quadrature of milliseconds, with the default priors of the R package BayesFactor.
"""

from ._anova import AnovaTable, anova
from ._contingency import contingency
from ._correlation import correlation
from ._proportion import proportion
from ._result import BayesFactorResult
from ._ttest import ttest

__all__ = ["ttest", "anova", "proportion", "contingency", "correlation", "BayesFactorResult", "AnovaTable"]
