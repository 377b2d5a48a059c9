"""Regressions whose terms have no scale to infer: contrasts and products are columns like others.

So a factor of two levels has the evidence of its 0/1 column, to the last digit.
"""

from dataclasses import dataclass

import numpy as np

from ..models import GLMModel, LinearModel


def parted(named: dict[str, np.ndarray], n_linear: int) -> dict[str, np.ndarray]:
    """Coefficients of columns, and those of contrasts and products."""
    coef = named["coef"]
    fixed = {"fixed_effects": coef[:, n_linear:]} if coef.shape[1] > n_linear else {}
    return named | {"coef": coef[:, :n_linear]} | fixed


@dataclass(frozen=True)
class LinearModelWithTerms(LinearModel):
    n_linear: int = 0

    def parameters(self, theta):
        return parted(super().parameters(theta), self.n_linear)


@dataclass(frozen=True)
class GLMWithTerms(GLMModel):
    n_linear: int = 0

    def parameters(self, theta):
        return parted(super().parameters(theta), self.n_linear)
