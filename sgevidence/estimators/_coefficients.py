"""Reports of what a linear predictor names ``coef`` and ``intercept``."""

from typing import Any

import numpy as np

from ._reporting import PosteriorReports


class LinearCoefficients(PosteriorReports):
    """Posterior moments of coefficients and intercept."""

    fit_intercept: bool
    coef_scale: float
    intercept_scale: float | None

    @property
    def coef_(self) -> np.ndarray:
        """Posterior mean of the coefficients."""
        self._must_have_learnt("coef_")
        return self._posterior_mean_and_std("coef")[0]

    @property
    def coef_std_(self) -> np.ndarray:
        """Posterior standard deviation of the coefficients."""
        self._must_have_learnt("coef_std_")
        return self._posterior_mean_and_std("coef")[1]

    @property
    def intercept_(self) -> Any:
        """Posterior mean of the intercept; 0.0 without one."""
        if not self.fit_intercept:
            return 0.0
        self._must_have_learnt("intercept_")
        mean = self._posterior_mean_and_std("intercept")[0]
        return mean if mean.ndim else float(mean)

    def _prior_notes(self) -> list[str]:
        stated = f"coefficients N(0, {self.coef_scale:g}²)"
        if self.fit_intercept:
            stated += f", intercept N({'b₀' if self._has_origin else '0'}, {self._intercept_scale:g}²)"
        classes: Any = getattr(self, "classes_", ())
        if len(classes) != 2 or self.coef_.ndim > 1:
            return self._said(stated)
        return [f"coefficients: of class {classes[1]}, against {classes[0]}", *self._said(stated)]

    @property
    def _intercept_scale(self) -> float:
        return 1.0 if self.intercept_scale is None else float(self.intercept_scale)

    @property
    def _has_origin(self) -> bool:
        """Whether the intercept is measured from the link of the mean."""
        return self._units is not None and self._kind != "numbers"


class KnownOrUnknownNoise(PosteriorReports):
    """Posterior mean of the noise of a linear regression."""

    noise_std: float | None

    @property
    def noise_std_(self) -> float:
        """Posterior mean of σ, or the known σ."""
        self._must_have_learnt("noise_std_")
        if self.noise_std is not None:
            return self.noise_std
        return float(self._posterior_mean_and_std("noise_std")[0])
