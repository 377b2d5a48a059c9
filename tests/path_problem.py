"""A path from one posterior to the next, of each kind of model, to test targets and transitions on."""

import numpy as np
import pytest

from sgevidence.history import Anchor, Memory, Reservoir, Rows
from sgevidence.mixture.models import MixtureModel
from sgevidence.models import LinearModel, SoftmaxModel
from sgevidence.targets import Likelihood, Path, Target, find_mode

MODELS = {
    "linear": LinearModel(2),
    "softmax": SoftmaxModel(2, 3),
    "mixture": MixtureModel(2, 2),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def data(model, n, rng):
    X, y = rng.normal(size=(n, 2)), None
    if isinstance(model, LinearModel):
        y = X @ [1.0, -0.5] + rng.normal(size=n)
    elif isinstance(model, SoftmaxModel):
        W = np.array([[1.0, -1.0, 0.0], [0.5, 0.5, -1.0]])
        y = np.argmax(X @ W + rng.gumbel(size=(n, 3)), axis=1)
    else:
        X[: n // 3] += 4.0
        X = rng.permutation(X)
    return Rows.of(X, y)


def start(model):
    """Near the truth of :func:`data`."""
    if isinstance(model, MixtureModel):
        return np.array([-0.5, 0.3, 4.0, 4.0, 0, 0, 0, 0, 0, 0])
    return np.zeros(model.n_params)


class Problem:
    """A history of which ``capacity`` rows are kept, its anchor, a chunk, and a cloud from the Gaussian."""

    def __init__(self, model, rng, n=600, c=200, capacity=None, M=60, anchor_rows=None):
        self.model, self.rows = model, data(model, n + c, rng)
        self.history, self.chunk = Reservoir(capacity).absorb(self.rows[:n], rng), self.rows[n:]
        first = self.rows[: anchor_rows or n]
        a, P = find_mode(Target(model, Likelihood(first)), start(model))
        self.anchor = Anchor.of(model, a, self.rows[:n])
        self.labels = None if model.slots is None else (a[model.slots], np.ones(model.slots.shape))
        self.theta = a + rng.normal(size=(M, len(a))) @ np.linalg.inv(np.linalg.cholesky(P))

    @property
    def path(self) -> Path:
        return Path(self.model, Memory(self.history, self.anchor, self.labels), self.chunk)

    def full_log_joint(self, theta, rows):
        """Σ_r log p(y_r | θ) + log p(θ), one row at a time."""
        return self.model.log_likelihood(theta, rows).sum(axis=1) + self.model.log_prior(theta)
