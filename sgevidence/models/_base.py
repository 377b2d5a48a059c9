r"""What a model states, and everything that follows from it.

A model is a prior and a likelihood over a flat vector θ in unconstrained space.
It knows no data and no sampler.  A cloud of M parameter vectors is an array
``(M, d)``, and every method works on the whole cloud at once.

Symbols
-------
========  =============  ==================================================
paper     code           meaning
========  =============  ==================================================
θ         ``theta``      cloud of parameters, (M, d)
M, d      ``M, d``       particles, parameters
y, x      ``rows``       anything with ``X`` (n, p), ``y`` (n,) or None, ``weight`` (n,)
w_r       ``rows.weight`` repetition count of a row; multiplies its log-likelihood
========  =============  ==================================================
"""

from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.core import make_vjp

# Particles × rows in one block: at five components 200 000 doubles stay within the
# second-level cache, where the likelihood pass is two to three times faster.
BLOCK_ELEMENTS = 200_000


class Model:
    """Prior and likelihood; sums, gradients and curvature are derived here, once.

    A concrete model defines ``n_params``, :meth:`sample_prior`, :meth:`log_prior`,
    :meth:`log_likelihood` and :meth:`sample_rows`, the densities in ``autograd.numpy``.
    A model whose gradient is the hot step also overrides :meth:`_block_log_likelihood`
    with a fused autograd primitive.
    """

    n_params: int
    #: (K, q) indices of the parameters of K exchangeable components, or None.
    slots: np.ndarray | None = None

    def sample_prior(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Exact draws from the prior, (size, d)."""
        raise TypeError(f"{type(self).__name__} does not define sample_prior")

    def log_prior(self, theta):
        """Normalised log prior density of the unconstrained θ, Jacobian included, (M,)."""
        raise TypeError(f"{type(self).__name__} does not define log_prior")

    def log_likelihood(self, theta, rows):
        """Normalised log p(y_r | θ_m), unweighted, (M, n)."""
        raise TypeError(f"{type(self).__name__} does not define log_likelihood")

    def canonicalize(self, theta, reference=None):
        """The same points with exchangeable components in common slots; here there are none."""
        return theta

    def parameters(self, theta) -> dict[str, np.ndarray]:
        """Named parameters in their natural space, each with leading axis M."""
        return {"theta": theta}

    def _block_log_likelihood(self, theta, rows, tape):
        """Σ_r w_r log p(y_r | θ_m) over one block, (M,), differentiable by autograd.

        ``tape`` is a list that a fused primitive fills on its forward pass and reads on its
        backward pass: residuals belong to the call, so that blocks may run in threads.
        """
        return anp.dot(self.log_likelihood(theta, rows), rows.weight)

    def sum_log_likelihood(self, theta, rows) -> np.ndarray:
        """ℓ_m = Σ_r w_r log p(y_r | θ_m), (M,)."""
        total = np.zeros(len(theta))
        with np.errstate(all="ignore"):  # a far-out particle may overflow: it gets weight zero
            for block in rows.blocks(BLOCK_ELEMENTS // len(theta)):
                total += self._block_log_likelihood(theta, block, None)
        return np.where(np.isnan(total), -np.inf, total)

    def log_joint(self, theta, rows) -> np.ndarray:
        """Σ_r w_r log p(y_r | θ_m) + log p(θ_m), (M,)."""
        with np.errstate(all="ignore"):
            total = self.sum_log_likelihood(theta, rows) + self.log_prior(theta)
        return np.where(np.isnan(total), -np.inf, total)

    def value_and_grad_log_joint(self, theta, rows) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`log_joint` and its gradient by autograd, (M,) and (M, d)."""
        size = BLOCK_ELEMENTS // len(theta)
        first, *rest = rows.blocks(size) if len(rows) else [None]

        def head(t):
            prior = self.log_prior(t)
            return prior if first is None else prior + self._block_log_likelihood(t, first, [])

        with np.errstate(all="ignore"):
            value, grad = value_and_grad(head, theta)
            for block in rest:
                v, g = value_and_grad(lambda t, b=block: self._block_log_likelihood(t, b, []), theta)
                value, grad = value + v, grad + g
        return np.where(np.isnan(value), -np.inf, value), grad

    def grad_log_joint(self, theta, rows) -> np.ndarray:
        """∇ log joint, (M, d)."""
        return self.value_and_grad_log_joint(theta, rows)[1]

    def mean_hessian_log_joint(self, theta, rows) -> np.ndarray:
        """Average of ∇∇ log joint over the points of a cloud, (d, d): central differences of the gradient.

        The 2d displaced points of every particle are one cloud, so this is one batched gradient.  The
        step balances truncation and rounding for parameters of order one.
        """
        M, d = theta.shape
        h = np.finfo(float).eps ** (1 / 3) * np.maximum(1.0, np.abs(theta))
        steps = h[:, None, :] * np.eye(d)
        points = np.concatenate([theta[:, None] + steps, theta[:, None] - steps], axis=1)
        grad = self.grad_log_joint(points.reshape(2 * M * d, d), rows).reshape(M, 2, d, d)
        H = np.mean((grad[:, 0] - grad[:, 1]) / (2 * h[:, :, None]), axis=0)
        return (H + H.T) / 2


def value_and_grad(f: Any, theta) -> tuple[np.ndarray, np.ndarray]:
    """f(θ) (M,) and the gradient of each component with respect to its own row of θ (M, d)."""
    vjp, value = make_vjp(f, np.asarray(theta))  # autograd refuses subclasses, as memory maps are
    return value, vjp(np.ones_like(value))


def gaussian_log_density(theta, scale):
    """Σ_j log N(θ_j | 0, scale_j²), (M,)."""
    d = theta.shape[-1]
    constant = -np.sum(np.log(np.broadcast_to(scale, d))) - 0.5 * d * np.log(2 * np.pi)
    return constant - 0.5 * anp.sum((theta / scale) ** 2, axis=-1)


def design_matrix(X, fit_intercept: bool) -> np.ndarray:
    """Φ = [X, 1] (n, p + 1), or X itself."""
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
