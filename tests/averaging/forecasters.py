"""Models that say the same of every row for ever: all that an average does with them has a closed form."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from sgevidence import EvidenceModelAverager


class Forecaster(BaseEstimator):
    """The running evidence of a fixed prediction, with an error that grows by ``error``² a row."""

    def fit(self, X, y, sample_weight=None):
        for name in ("n_samples_seen_", "log_evidence_", "log_evidence_std_"):
            vars(self).pop(name, None)
        return self.partial_fit(X, y, sample_weight=sample_weight)

    def partial_fit(self, X, y, sample_weight=None, classes=None):
        if classes is not None:
            self.classes_ = np.asarray(classes)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        n = getattr(self, "n_samples_seen_", 0) + len(y)
        self.log_evidence_ = getattr(self, "log_evidence_", 0.0) + weight @ self.score_samples(X, y)
        self.n_samples_seen_, self.log_evidence_std_ = n, self.error * np.sqrt(n)
        return self


class Constant(RegressorMixin, Forecaster):
    """y ~ N(mean, 1)."""

    def __init__(self, mean=0.0, error=0.0):
        self.mean, self.error = mean, error

    def score_samples(self, X, y):
        return -0.5 * (np.asarray(y) - self.mean) ** 2 - 0.5 * np.log(2 * np.pi)

    def predict(self, X):
        return np.full(len(X), self.mean)


class Coin(ClassifierMixin, Forecaster):
    """y is 1 with probability ``p``."""

    def __init__(self, p=0.5, error=0.0):
        self.p, self.error = p, error

    def score_samples(self, X, y):
        return np.log(np.where(np.asarray(y) == 1, self.p, 1 - self.p))


def constants(*means, errors=None, **params):
    errors = [0.0] * len(means) if errors is None else errors
    models = [(f"m{k}", Constant(mean, error)) for k, (mean, error) in enumerate(zip(means, errors))]
    return EvidenceModelAverager(models, **params)


def stream(average, y, size=1):
    """Calls of ``size`` rows."""
    y = np.asarray(y, dtype=float)
    for start in range(0, len(y), size):
        part = y[start : start + size]
        average.partial_fit(np.zeros((len(part), 1)), part)
    return average


def gains(average, y):
    """log p_k of each row, (n, K)."""
    return np.column_stack([model.score_samples(None, y) for _, model in average.estimators])
