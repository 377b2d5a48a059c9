"""The average of fitted models on subsets of columns: coefficients, and the mixture of their predictions."""

from typing import Any

import numpy as np
from scipy.special import logsumexp


class FittedAverage:
    """Models with weights that sum to one; each model has the indices of its columns of X in ``columns_``."""

    def __init__(self, models: list[Any], weight: np.ndarray, n_features: int) -> None:
        self.models, self.weight = models, weight
        shape = (*np.shape(models[0].coef_)[:-1], n_features)
        means, seconds = np.zeros((len(models), *shape)), np.zeros((len(models), *shape))
        for k, model in enumerate(models):
            means[k][..., model.columns_] = model.coef_
            seconds[k][..., model.columns_] = np.square(model.coef_std_)
        self.coef = np.tensordot(weight, means, 1)
        self.coef_std = np.sqrt(np.tensordot(weight, seconds + (means - self.coef) ** 2, 1))
        self.intercept = np.tensordot(weight, np.array([model.intercept_ for model in models]), 1)

    def average(self) -> "FittedAverage":
        """Itself: there is nothing to compute."""
        return self

    def moments(self, X: Any, **known: Any) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of new values of y, (n,) each."""
        answers = [model.predict(X, return_std=True, **known) for model in self.models]
        means, stds = np.array(answers).transpose(1, 0, 2)
        mean = self.weight @ means
        return mean, np.sqrt(self.weight @ (stds**2 + (means - mean) ** 2))

    def mean(self, X: Any, **known: Any) -> np.ndarray:
        """Mean of y, (n,)."""
        return self.weight @ np.array([model.predict(X, **known) for model in self.models])

    def log_probabilities(self, X: Any, **known: Any) -> np.ndarray:
        """Log probabilities of the classes, (n, n_classes)."""
        logs = np.array([model.predict_log_proba(X, **known) for model in self.models])
        return logsumexp(logs, axis=0, b=self.weight[:, None, None])
