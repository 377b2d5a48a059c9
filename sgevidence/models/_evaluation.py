r"""How sums over rows are formed: in blocks that fit the cache, in single precision where that suffices.

A model states the log-likelihood of a block of rows; what follows from it for any number of rows is here:

    ℓ_m = Σ_r w_r log p(y_r | θ_m),   log joint = ℓ_m + log p(θ_m),   their gradients by autograd, and
    Hessians by central differences of the gradient.

A value or a joint that is not a number is −∞: a far-out particle may overflow, and gets weight zero.  A
gradient that cannot be formed is zero: it only proposes, and the test of a move is on the value.

Symbols: θ ``theta`` = cloud of parameters, (M, d); y, w ``rows`` = anything with ``fold``, ``len`` and
``weight`` (n,); ``h`` = step of the central differences, (M, d).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from autograd.core import VJPNode, backward_pass
from autograd.tracer import isbox, new_box, trace_stack

#: Total weight times the largest term, in nats, up to which a sum of logarithms of exponentials is off by
#: 0.01 nats at most in single precision: its error was 0.002 to 0.04 roundings (2⁻²⁴) of that product in
#: mixtures of 500 to 20 000 rows.
SINGLE_PRECISION_TOTAL = 5e6
#: Numbers of a fused sum that are formed at a time, which then stay in the cache.
IN_CACHE = 100_000
#: Raised by arithmetic and linear algebra at an extreme θ, not by a mistake of the function.
NUMERICAL_ERRORS = (np.linalg.LinAlgError, ArithmeticError)


@dataclass(frozen=True)
class Evaluation:
    """Sums over rows, their gradients and Hessians, for the model that is given with each call.

    It is a value beside the model (its class attribute ``evaluation``): the model says what is believed,
    this says how it is computed, and no result but the last digits depends on it.

    Parameters
    ----------
    block_elements : int, default=200_000
        Particles × rows in one block: five components of that many doubles stay within the caches, where the
        likelihood pass is up to twice as fast.
    fused_elements : int or None, default=None
        Particles × rows in one block of a model whose sums are fused.  These have smaller blocks of their own
        that stay in the cache, so larger blocks around them cost less.  None: ``block_elements``.
    block_rows : int, default=8192
        The most rows of a block, however few the particles.
    single_precision_total : float, default=0.0
        Total weight of the rows times the largest term of a log density, in nats, up to which sums may be
        formed in single precision.  The rounding of the parameters is the same at every row and adds up,
        so that the weight decides and not the number of rows.  Zero is double precision throughout.
    single_precision_from : int, default=65
        Rows from which single precision is used: fewer cost nothing, and there weighted rows equal repeated
        ones to the last digits.
    single_precision_limit : float, default=1e4
        Largest term of a log density in nats, whatever the weight: single precision resolves it to 10⁻³.
    """

    block_elements: int = 200_000
    fused_elements: int | None = None
    block_rows: int = 8192
    single_precision_total: float = 0.0
    single_precision_from: int = 65
    single_precision_limit: float = 1e4

    def rows_of_block(self, M: int) -> int:
        """Rows of a block for M particles."""
        return min(self.block_elements // M, self.block_rows)

    def rows_of_sum(self, M: int) -> int:
        """Rows of a block where only sums over rows are asked for."""
        return min((self.fused_elements or self.block_elements) // M, self.block_rows)

    def single_below(self, rows: Any, adds_up: bool = True) -> float:
        """Size of the largest term up to which these rows may be summed in single precision; 0 forbids it.

        Not ``adds_up``: relative errors matter, as of a Hessian, which do not grow with the weight.
        """
        if not self.single_precision_total or len(rows) < self.single_precision_from:
            return 0.0
        if not adds_up:
            return self.single_precision_limit
        largest = self.single_precision_total / max(rows.total_weight, 1e-300)
        # terms smaller than this many nats count as large: exp and log are off by 10⁻⁸ on average whatever
        # the term, 0.002 nats in 250 000 rows
        return min(self.single_precision_limit, largest) if largest > 20.0 else 0.0

    def sum_log_likelihood(self, model: Any, theta: np.ndarray, rows: Any) -> np.ndarray:
        """ℓ_m = Σ_r w_r log p(y_r | θ_m), (M,)."""
        if not len(rows):
            return np.zeros(len(theta))
        single_below = self.single_below(rows)

        def of_block(model: Any, block: Any) -> np.ndarray:
            return model._block_log_likelihood(theta, block, None, single_below)

        with np.errstate(all="ignore"):
            total = model._fold(rows, of_block, self.rows_of_sum(len(theta)))
        return np.where(np.isnan(total), -np.inf, total)

    def value_and_grad_log_likelihood(
        self, model: Any, theta: np.ndarray, rows: Any, single_below: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Σ_r w_r log p(y_r | θ_m) as it comes, nan included, and its gradient, (M,) and (M, d)."""
        if not len(rows):
            return np.zeros(len(theta)), np.zeros(theta.shape)

        def of_block(model: Any, block: Any) -> tuple[np.ndarray, np.ndarray]:
            return value_and_grad(lambda t: model._block_log_likelihood(t, block, [], single_below), theta)

        with np.errstate(all="ignore"):
            return model._fold(rows, of_block, self.rows_of_sum(len(theta)))

    def log_joint(self, model: Any, theta: np.ndarray, rows: Any) -> np.ndarray:
        """Σ_r w_r log p(y_r | θ_m) + log p(θ_m), (M,)."""
        with np.errstate(all="ignore"):
            total = model.sum_log_likelihood(theta, rows) + model.log_prior(theta)
        return np.where(np.isnan(total), -np.inf, total)

    def value_and_grad_log_joint(
        self, model: Any, theta: np.ndarray, rows: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`log_joint` and its gradient by autograd, (M,) and (M, d)."""
        value, grad = model._value_and_grad_log_likelihood(theta, rows, self.single_below(rows))
        with np.errstate(all="ignore"):
            v, g = value_and_grad(model.log_prior, theta)
            value, grad = value + v, grad + g
        return np.where(np.isnan(value), -np.inf, value), grad

    def derivatives(self, model: Any, theta: np.ndarray, rows: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of Σ_r w_r log p(y_r | θ) at one point (d,): (), (d,), (d, d)."""
        return central_differences(lambda t: model._value_and_grad_log_likelihood(t, rows), theta)

    def prior_derivatives(self, model: Any, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and Hessian of log p(θ) at one point (d,): (), (d,), (d, d)."""
        return central_differences(lambda t: value_and_grad(model.log_prior, t), theta)

    def mean_hessian_log_joint(self, model: Any, theta: np.ndarray, rows: Any) -> np.ndarray:
        """Average of ∇∇ log joint over a few points (M, d), (d, d)."""
        return np.mean([model.derivatives(t, rows)[2] + model.prior_derivatives(t)[2] for t in theta], axis=0)


def pieces_in_cache(M: int, each: int, numbers: int | None = None) -> Iterator[slice]:
    """Particles of a fused sum that are taken at a time, of so many numbers each."""
    size = max(1, (numbers or IN_CACHE) // max(each, 1))
    return (slice(start, start + size) for start in range(0, M, size))


def log_totals(Z: np.ndarray, shares: bool, shift: bool = True) -> np.ndarray:
    """log Σ_k e^z of Z (K, m, n), (m, n), in the memory of Z, which is left with the shares e^z / Σ_k e^z.

    Without ``shares`` it is left as it comes; without ``shift`` no e^z may be too large for its type.
    """
    top = Z.max(axis=0) if shift else 0.0
    if shift:
        Z -= top
    np.exp(Z, out=Z)
    total = Z.sum(axis=0)
    if shares:
        Z /= total
    np.log(total, out=total)
    total += top
    return total


def working_precision(coefficients: np.ndarray, features: np.ndarray, single_below: float) -> type:
    """float32 where it suffices: it halves the time, and its errors are 10⁻⁷ of the largest term.

    ``single_below`` is that term's limit (:meth:`Evaluation.single_below`); 0 is for finite differences.
    """
    if not single_below:
        return np.float64
    return np.float32 if largest_term(coefficients, features) < single_below else np.float64  # not if nan


def largest_term(coefficients: np.ndarray, features: np.ndarray) -> float:
    """No product of a coefficient and a feature is larger."""
    return float(max(coefficients.max(), -coefficients.min()) * max(features.max(), -features.min()))


def value_and_grad(f: Callable[[Any], Any], theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f(θ) (M,) and the gradient of each component with respect to its own row of θ (M, d).

    Where the way back fails, as through a singular matrix, the cloud is halved, and a gradient is zero.
    """
    theta = np.asarray(theta)  # autograd refuses subclasses, as memory maps are
    with trace_stack.new_trace() as depth:  # as make_vjp, which warns of a constant f
        end = f(new_box(theta, depth, VJPNode.new_root()))
        if not (isbox(end) and end._trace == depth):
            return end, np.zeros(theta.shape)
    value = end._value
    try:
        return value, backward_pass(np.ones_like(value), end._node)
    except NUMERICAL_ERRORS:
        if len(theta) == 1:
            return value, np.zeros(theta.shape)
    parts = [value_and_grad(f, part)[1] for part in np.array_split(theta, 2)]
    return value, np.concatenate(parts)


def central_differences(
    value_and_grad_of: Callable, theta: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Value, gradient and Hessian at one point (d,), the Hessian by central differences of the gradient.

    The 2d displaced points are one cloud, so this is one batched gradient.  The step balances truncation
    and rounding for parameters of order one.
    """
    d = len(theta)
    h = np.finfo(float).eps ** (1 / 3) * np.maximum(1.0, np.abs(theta))
    steps = h * np.eye(d)
    value, grad = value_and_grad_of(np.concatenate([theta[None], theta + steps, theta - steps]))
    H = (grad[1 : d + 1] - grad[d + 1 :]) / (2 * h[:, None])
    return value[0], grad[0], (H + H.T) / 2
