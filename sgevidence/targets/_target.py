"""The target of the particles: prior, weighted rows, and a quadratic for what the rows leave out."""

from typing import Any, NamedTuple

import numpy as np

from ..history import Anchor, Memory, Rows
from ..models import Model


class Likelihood(NamedTuple):
    """log L(θ) = Σ_r w_r log p(y_r | θ) + correction(θ): a sample of rows, and what the sample misses."""

    rows: Rows
    correction: Anchor | None = None  #: None where the rows are all there is

    def scaled(self, factor: float) -> "Likelihood":
        correction = self.correction
        if correction is not None:
            correction = Anchor.empty(correction.a).plus(correction, factor)
        return Likelihood(self.rows.scaled(factor), correction)

    def plus(self, other: "Likelihood | None") -> "Likelihood":
        if other is None:
            return self
        correction = self.correction or other.correction
        if self.correction is not None and other.correction is not None:
            correction = self.correction.plus(other.correction)
        return Likelihood(self.rows.join(other.rows), correction)


class Target(NamedTuple):
    """Unnormalised log posterior of a cloud, with gradient and curvature."""

    model: Model
    likelihood: Likelihood

    def value_and_grad(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(M,) and (M, d)."""
        rows, correction = self.likelihood
        value, grad = self.model.value_and_grad_log_joint(theta, rows)
        if correction is not None:
            with np.errstate(all="ignore"):
                value, grad = value + correction(theta), grad + correction.grad(theta)
        return value, grad

    def value(self, theta: np.ndarray) -> np.ndarray:
        """(M,)."""
        rows, correction = self.likelihood
        value = self.model.log_joint(theta, rows)
        return value if correction is None else value + correction(theta)

    def mean_curvature(self, theta: np.ndarray) -> np.ndarray:
        """−∇∇ averaged over the cloud, (d, d)."""
        rows, correction = self.likelihood
        P = -self.model.mean_hessian_log_joint(theta, rows)
        return P if correction is None else P + correction.H

    def derivatives(self, a: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient and −∇∇ at one point: (), (d,), (d, d)."""
        rows, correction = self.likelihood
        parts = [self.model.derivatives(a, rows), self.model.prior_derivatives(a)]
        if correction is not None:
            parts.append((correction(a[None])[0], correction.grad(a[None])[0], -correction.H))
        sums: list[Any] = [sum(part) for part in zip(*parts)]
        value, grad, hessian = sums
        return value, grad, -hessian


def sampled(
    model: Model,
    rows: Rows,
    anchor: Anchor | None,
    size: int,
    rng: np.random.Generator,
    n: float | None = None,
    high_leverage: Rows | None = None,
) -> Likelihood:
    """The likelihood of many rows from ``size`` of them, without replacement, and their anchored sums.

    ``n`` is the total weight that the rows stand for (by default their own); those of ``high_leverage``
    stand for themselves beside them.
    """
    n = rows.total_weight if n is None else n
    if size < len(rows):
        rows = rows.take(np.sort(rng.choice(len(rows), size=size, replace=False)))
    rows = rows if rows.total_weight == n else rows.scaled(n / rows.total_weight)
    rows = rows if high_leverage is None else rows.join(high_leverage)
    return Likelihood(rows, None if anchor is None else anchor.plus(Anchor.of(model, anchor.a, rows), -1.0))


def of_history(model: Model, memory: Memory, size: int, rng: np.random.Generator) -> Likelihood | None:
    """The likelihood of the rows seen: all of them where they are at hand, else sample and anchor.

    Rows of high leverage come beside ``size`` others.
    """
    history = memory.reservoir
    if history.rows is None:
        return None
    if history.complete and len(history) <= size:
        return Likelihood(memory.at_hand)
    return sampled(model, history.rows, memory.anchor, size, rng, history.n, memory.high_leverage)
