"""Online log evidence of Bayesian models as a scikit-learn attribute."""

__version__ = "0.1.0"

from .samplers import SGAIS
