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

import copy
from typing import Any

import autograd.numpy as anp
import numpy as np
from autograd.core import make_vjp

# Particles × rows in one block, and its most rows: five components of 200 000 doubles stay within the
# caches, where the likelihood pass is up to twice as fast.
BLOCK_ELEMENTS, BLOCK_ROWS = 200_000, 8192


def block_rows(M: int) -> int:
    """Rows of a block for M particles."""
    return min(BLOCK_ELEMENTS // M, BLOCK_ROWS)


# Terms of a log density that single precision resolves to 10⁻³: above it, double is used.  So it is
# for few rows: they cost nothing, and there weighted rows equal repeated ones to the last digits.
SINGLE_PRECISION_LIMIT, SINGLE_PRECISION_FROM = 1e4, 65


def working_precision(coefficients, features, precise: bool):
    """float32 where it suffices: it halves the time, and its errors are 10⁻⁷ of the largest term.

    ``precise`` forbids it: for finite differences, and for so many rows that the rounding of the
    parameters, the same at every row, would add up.
    """
    if precise:
        return np.float64
    largest = np.abs(coefficients).max() * np.abs(features).max()
    return np.float32 if largest < SINGLE_PRECISION_LIMIT else np.float64  # nan is a case for double


class Model:
    """Prior and likelihood; sums, gradients and curvature are derived here, once.

    A concrete model defines ``n_params``, :meth:`sample_prior`, :meth:`log_prior`,
    :meth:`log_likelihood` and :meth:`sample_rows`, the densities in ``autograd.numpy``.
    A model whose gradient is the hot step also overrides :meth:`_block_log_likelihood`
    with a fused autograd primitive.
    """

    n_params: int
    #: Rows up to which sums may be formed in single precision (see :func:`working_precision`).
    single_precision_rows: int = 0
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

    def slot_reference(self, theta):
        """What :meth:`canonicalize` needs to put clouds into the slots of this one; None without slots."""
        return None

    def is_canonical(self, theta, reference) -> np.ndarray:
        """Which points :meth:`canonicalize` leaves as they are, (M,)."""
        return np.ones(len(theta), dtype=bool)

    def parameters(self, theta) -> dict[str, np.ndarray]:
        """Named parameters in their natural space, each with leading axis M."""
        return {"theta": theta}

    def _block_log_likelihood(self, theta, rows, tape, precise=True):
        """Σ_r w_r log p(y_r | θ_m) over one block, (M,), differentiable by autograd.

        ``tape`` is a list that a fused primitive fills on its forward pass and reads on its
        backward pass: residuals belong to the call, so that blocks may run in threads.
        """
        return anp.dot(self.log_likelihood(theta, rows), rows.weight)

    def sum_log_likelihood(self, theta, rows) -> np.ndarray:
        """ℓ_m = Σ_r w_r log p(y_r | θ_m), (M,)."""
        total, precise = np.zeros(len(theta)), self._needs_double(rows)
        with np.errstate(all="ignore"):  # a far-out particle may overflow: it gets weight zero
            for block in rows.blocks(block_rows(len(theta))):
                total += self._block_log_likelihood(theta, block, None, precise)
        return np.where(np.isnan(total), -np.inf, total)

    def log_joint(self, theta, rows) -> np.ndarray:
        """Σ_r w_r log p(y_r | θ_m) + log p(θ_m), (M,)."""
        with np.errstate(all="ignore"):
            total = self.sum_log_likelihood(theta, rows) + self.log_prior(theta)
        return np.where(np.isnan(total), -np.inf, total)

    def value_and_grad_log_joint(self, theta, rows) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`log_joint` and its gradient by autograd, (M,) and (M, d)."""
        value, grad = self._value_and_grad_log_likelihood(theta, rows, self._needs_double(rows))
        with np.errstate(all="ignore"):
            v, g = value_and_grad(self.log_prior, theta)
            value, grad = value + v, grad + g
        return np.where(np.isnan(value), -np.inf, value), grad

    def grad_log_joint(self, theta, rows) -> np.ndarray:
        """∇ log joint, (M, d)."""
        return self.value_and_grad_log_joint(theta, rows)[1]

    def in_double_precision(self) -> "Model":
        """The same model, all of whose sums are formed in double precision."""
        model = copy.copy(self)
        object.__setattr__(model, "single_precision_rows", 0)
        return model

    def _needs_double(self, rows) -> bool:
        return not SINGLE_PRECISION_FROM <= len(rows) <= self.single_precision_rows

    def derivatives(self, theta, rows) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of Σ_r w_r log p(y_r | θ) at one point (d,): (), (d,), (d, d)."""
        S, G, H = self._derivatives(theta[None], rows, self._value_and_grad_log_likelihood)
        return S[0], G[0], H[0]

    def prior_derivatives(self, theta) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of log p(θ) at one point (d,): (), (d,), (d, d)."""
        value, grad, H = self._derivatives(theta[None], None, lambda t, _: value_and_grad(self.log_prior, t))
        return value[0], grad[0], H[0]

    def mean_hessian_log_joint(self, theta, rows) -> np.ndarray:
        """Average of ∇∇ log joint over a few points, (d, d)."""
        return np.mean([self.derivatives(t, rows)[2] + self.prior_derivatives(t)[2] for t in theta], axis=0)

    def _derivatives(self, theta, rows, value_and_grad_of):
        """Value, gradient and Hessian at each point, the Hessian by central differences of the gradient.

        The 2d displaced points of every particle are one cloud, so this is one batched gradient.  The
        step balances truncation and rounding for parameters of order one.
        """
        M, d = theta.shape
        h = np.finfo(float).eps ** (1 / 3) * np.maximum(1.0, np.abs(theta))
        steps = h[:, None, :] * np.eye(d)
        points = np.concatenate([theta[:, None] + steps, theta[:, None] - steps], axis=1).reshape(-1, d)
        value, grad = value_and_grad_of(np.concatenate([theta, points]), rows)
        displaced = grad[M:].reshape(M, 2, d, d)
        H = (displaced[:, 0] - displaced[:, 1]) / (2 * h[:, :, None])
        return value[:M], grad[:M], (H + H.transpose(0, 2, 1)) / 2

    def _value_and_grad_log_likelihood(self, theta, rows, precise=True):
        value, grad = np.zeros(len(theta)), np.zeros(theta.shape)
        with np.errstate(all="ignore"):
            for block in rows.blocks(block_rows(len(theta))):
                v, g = value_and_grad(lambda t, b=block: self._block_log_likelihood(t, b, [], precise), theta)
                value, grad = value + v, grad + g
        return value, grad


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
