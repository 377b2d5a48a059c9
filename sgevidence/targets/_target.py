r"""The target of the particles: prior, weighted rows, a quadratic for what these leave out; its widths.

A path leads from one posterior to the next: the rows of a chunk are let in by a power λ of their likelihood.

    log f_λ(θ) = λ log p(y_n | θ) + log L_hist(θ) + log p(θ),    0 ≤ λ ≤ 1         (4.12)

Symbols: y_n ``chunk`` = the rows to absorb; L_hist ``memory`` = likelihood of the rows before them; ℓ_i
``ell`` = log p(y_n | θ_i), from :meth:`Path.increment`; λ ``lam`` = annealing parameter; B ``batch`` = rows
of a mini-batch; ``P`` = precision (d, d), ``C`` = P⁻¹, ``W`` = normalised weights, ``g`` = scores ∇ log p.
"""

from typing import Any, NamedTuple

import numpy as np

from ..history import MAX_HIGH_LEVERAGE_SHARE, Anchor, Influence, Memory, Rows
from ..kernels import Coordinates
from ..models import Model
from ..particles import spread


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


def curvature_coordinates(target: Target, theta: np.ndarray, W: np.ndarray) -> Coordinates:
    """Coordinates of unit posterior width, from the mean curvature −∇∇ log p of the cloud.

    The average is over a few particles where parameters have names of their own.  Where components
    are exchangeable it is over all labellings as well: a matrix that tells the labels apart, used on
    particles that may cross from one labelling to another, does not leave the posterior invariant.
    """
    slots = target.model.slots
    if slots is not None and len(slots) > 1:
        return Coordinates.from_precision(_mean_curvature_over_slots(target, slots, theta, W))
    try:
        # particles whose curvature is averaged: at one point it may be far from typical (in a funnel it
        # varies exponentially), and eight cost less than a gradient of the cloud while d < M/16
        return Coordinates.from_precision(target.mean_curvature(theta[spread(W, 8)]))
    except np.linalg.LinAlgError:
        return Coordinates.from_precision(_second_moment(target.value_and_grad(theta)[1], W))


def _second_moment(g: np.ndarray, W: np.ndarray) -> np.ndarray:
    """E[g gᵀ], which under p itself is E[−∇∇ log p]: mean curvature from one gradient of the cloud.

    Positive definite everywhere, and safe in a funnel, where the inverse covariance is not.  Shrunk
    towards its diagonal by d/(2 ESS): it is used for widths, not reported.
    """
    P = (W[:, None] * g).T @ g
    shrinkage = min(1.0, len(P) * np.sum(W**2) / 2)
    return (1 - shrinkage) * P + np.diag((shrinkage + 1e-12) * np.diag(P) + 1e-12)


def _mean_curvature_over_slots(
    target: Target, slots: np.ndarray, theta: np.ndarray, W: np.ndarray
) -> np.ndarray:
    """Mean curvature averaged over the K! labellings: P = Π ⊗ P_mean + (1 − Π) ⊗ P_contrast, Π = 11ᵀ/K.

    Log-weights are free in their sum, which the likelihood does not see, and narrow in their
    contrasts.  Averaging precisions makes the widths safe for the narrowest component.
    """
    g = target.value_and_grad(theta)[1][:, slots]  # (M, K, q)
    M, K, q = g.shape
    mean = g.mean(axis=1)
    P_mean = K * _second_moment(mean, W)
    P_contrast = K / (K - 1) * _second_moment((g - mean[:, None]).reshape(M * K, q), np.repeat(W / K, K))
    Pi = np.full((K, K), 1 / K)
    flat = slots.ravel()
    P = np.empty((len(flat), len(flat)))
    P[np.ix_(flat, flat)] = np.kron(Pi, P_mean) + np.kron(np.eye(K) - Pi, P_contrast)
    return P


class Path(NamedTuple):
    """From p(θ | y_<n) to p(θ | y_≤n)."""

    model: Model
    memory: Memory
    chunk: Rows
    high_leverage: np.ndarray | None = None  #: indices of the chunk's rows of high leverage; None: unknown

    def with_leverage(self, theta: np.ndarray) -> "Path":
        """The path with the high-leverage rows of a large chunk, by draws of the posterior before it."""
        model, memory, chunk, high_leverage = self
        if high_leverage is not None or memory.anchor is None or len(chunk) <= memory.few:
            return self
        influence = Influence(model, memory.anchor.a, theta)
        return self._replace(
            high_leverage=influence.outstanding(chunk, int(MAX_HIGH_LEVERAGE_SHARE * len(chunk)), self.n)
        )

    @property
    def chunk_memory(self) -> Memory:
        """The chunk as a memory of its own."""
        return Memory.of(self.chunk, self.high_leverage)

    @property
    def n(self) -> float:
        """Total weight of the rows at its end."""
        return self.memory.n + self.chunk.total_weight

    @property
    def n_rows(self) -> int:
        """Rows at its end."""
        return self.memory.n_rows + len(self.chunk)

    @property
    def n_at_hand(self) -> int:
        """Rows that are here: of the memory, and of the chunk."""
        return self.memory.n_at_hand + len(self.chunk)

    @property
    def all_rows(self) -> Rows:
        """Rows of the memory, weighted to stand for all that were seen, and rows of the chunk."""
        return self.memory.sample.join(self.chunk) if self.memory.n_rows else self.chunk

    def increment(self, theta: np.ndarray) -> np.ndarray:
        """ℓ_i = log p(y_n | θ_i), (M,)."""
        return self.model.sum_log_likelihood(theta, self.chunk)

    def on_rows(self, size: int | None, rng: np.random.Generator) -> "Tempered":
        """The path on rows that stay the same, at most ``size`` of history and of chunk, and their anchor.

        With all rows at hand and None nothing is approximated.  A chunk is only thinned where there is an
        anchor to make up for it.
        """
        model, memory, chunk, _ = self
        anchor, size = memory.anchor, self.n_at_hand if size is None else size
        past = of_history(model, memory, size, rng)
        new = None
        if len(chunk) > size and anchor is not None:
            new = of_history(
                model, self.chunk_memory._replace(anchor=Anchor.of(model, anchor.a, chunk)), size, rng
            )
        return Tempered(model, new or Likelihood(chunk), past)

    def batch(self, lam: float, batch_size: int, rng: np.random.Generator) -> Rows:
        """The rows of Û (Eq. 4.14) as one weighted set: λ times the chunk, n/|B| times a new mini-batch."""
        if self.memory.n_rows == 0:
            return self.chunk.scaled(lam)
        return self.chunk.scaled(lam).join(self.memory.draw(batch_size, rng))


class Tempered(NamedTuple):
    """f_λ for any λ, on fixed rows."""

    model: Model
    new: Likelihood
    past: Likelihood | None

    def at(self, lam: float) -> Target:
        """log f_λ."""
        return Target(self.model, self.new.scaled(lam).plus(self.past))

    @property
    def is_exact(self) -> bool:
        """Nothing is approximated by an anchor and a sample of the history."""
        return all(part is None or part.correction is None for part in (self.past, self.new))
