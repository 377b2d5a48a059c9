"""Draws from a prior inside a likelihood contour, from live points that are inside already.

Symbols: ``theta, ell`` = live points above the contour (M', d) and their log L, ``floor`` = log L*,
``k`` = draws wanted, ``log_X`` = log of the prior mass above the contour, ``phi`` = θ in coordinates of
unit width.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..history import Rows
from ..kernels import (
    MAX_CORRELATION,
    MAX_REPEATS,
    Coordinates,
    LocalDensity,
    ValueAndGradient,
    independence,
    largest_correlation,
    random_walk,
    reflected_langevin,
    reflected_sghmc,
)
from ..models import Model

#: Share of steps made: of the reflected dynamics, and of random-walk proposals.
TARGET_ACCEPTANCE = dict(reflection=0.8, random_walk=0.25)
#: Longest reflected step in widths: longer ones are thrown back rather than along, and the evidence
#: comes out low (by 0.1 ± 0.03 nats for a linear model at 1.8 widths).
MAX_REFLECTED_WIDTHS = 0.7
#: Independence proposals before each block of steps; the share of them that must be accepted to go on.
JUMPS, MIN_JUMP_SHARE = 5, 0.02


Draw = Callable[[np.random.Generator, int], np.ndarray]  # (rng, size) -> (size, d)


class ConstrainedMoves:
    """Draws inside the contour; it remembers its step size and what it has spent.

    ``prior`` gives value and gradient of the log density to follow; ``sample_prior`` draws from it, where
    that can be done.  With ``eta`` the moves are those published, in the model's own coordinates.
    """

    def __init__(
        self,
        model: Model,
        rows: Rows,
        prior: ValueAndGradient,
        rng: np.random.Generator,
        *,
        kernel: str,
        n_steps: int,
        alpha: float,
        eta: float | None = None,
        sample_prior: Draw | None = None,
    ) -> None:
        self.model, self.rows, self.prior, self.rng = model, rows, prior, rng
        self.kernel, self.n_steps, self.alpha, self.eta = kernel, n_steps, alpha, eta
        self.sample_prior = sample_prior
        self.L = [np.eye(model.n_params)]
        self.eps = [0.3 if kernel == "reflection" else 2.4 / model.n_params**0.5] * 2
        self.n_likelihoods = self.n_gradients = 0.0
        self.n_moves = self.n_moved = self.n_stuck = 0
        self.acceptance, self.memory, self.thinnest = np.nan, [0.0], np.inf
        self.highest = -np.inf  # log L of all places that were looked at

    def log_likelihood(self, theta: np.ndarray) -> np.ndarray:
        self.n_likelihoods += len(theta) * len(self.rows)
        ell = self.model.sum_log_likelihood(theta, self.rows)
        self.highest = max(self.highest, np.max(ell, initial=-np.inf, where=ell < np.inf))
        return ell

    def grad_log_likelihood(self, theta: np.ndarray) -> np.ndarray:
        self.n_gradients += len(theta) * len(self.rows)
        return self.model._value_and_grad_log_likelihood(theta, self.rows)[1]

    def __call__(
        self, theta: np.ndarray, ell: np.ndarray, k: int, floor: float, log_X: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """k draws (k, d), their log L (k,), and the live point that each descends from, −1 for none (k,)."""
        # while the prior itself hits often enough, rejection costs no more than moves, and is exact
        easy = self.eta is None and log_X > -np.log(self.n_steps)
        if self.sample_prior is not None and (self.kernel == "rejection" or easy):
            return *self._by_rejection(self.sample_prior, k, floor, log_X), np.full(k, -1)
        copies = -(-k // len(theta))
        parents = np.concatenate([self.rng.permutation(len(theta)) for _ in range(copies)])[:k]
        if self.eta is None:
            return self._adaptive(theta, ell, parents, floor)
        return *self._published(theta[parents], floor, self.eta), parents

    def _by_rejection(
        self, sample_prior: Draw, k: int, floor: float, log_X: float
    ) -> tuple[np.ndarray, np.ndarray]:
        kept, n_kept = [], 0
        while n_kept < k:
            # most prior draws weighed at a time by rejection
            theta = sample_prior(self.rng, int(np.clip(1.2 * (k - n_kept) * np.exp(-log_X), k, 4096)))
            ell = self.log_likelihood(theta)
            inside = ell > floor
            kept.append((theta[inside], ell[inside]))
            n_kept += int(inside.sum())
        theta, ell = (np.concatenate(part)[:k] for part in zip(*kept))
        return theta, ell

    def _published(self, theta: np.ndarray, floor: float, eta: float) -> tuple[np.ndarray, np.ndarray]:
        """SGHMC with reflection (journal App. A.1); the gradient it follows is the prior's."""
        theta, info = reflected_sghmc(
            theta,
            lambda t: self.prior(t)[1],
            self.log_likelihood,
            self.grad_log_likelihood,
            self.rng,
            floor=floor,
            eta=eta,
            alpha=self.alpha,
            n_steps=self.n_steps,
        )
        self.acceptance = info.acceptance
        self.n_moves += 1
        self.n_moved += len(theta)
        self.n_stuck += info.n_refused
        return theta, self.log_likelihood(theta)

    def _adaptive(
        self, theta: np.ndarray, ell: np.ndarray, parents: np.ndarray, floor: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Exact moves in coordinates of the live points, until they have forgotten where they began.

        Exchangeable components are put into common slots, and moved in turn by two kernels: in the
        coordinates of these slots, where a step out of the slots is refused, and freely, in coordinates
        that do not tell the slots apart.  The first alone may be caught where slots meet, the second
        alone is slow where components differ in width.
        """
        slots = self.model.slots
        reference = None if slots is None or len(slots) == 1 else self.model.slot_reference(theta)
        theta = self.model.canonicalize(theta, reference)
        if len(theta) > 1:
            C = covariance(theta)
            self.L = [Coordinates.from_covariance(C).L]
            self.thinnest = min(self.thinnest, thinnest(self.L[0], theta))
            if slots is not None and reference is not None:
                self.L.append(Coordinates.from_covariance(over_labellings(C, slots)).L)
        new, origins = theta[parents], parents
        whiten = Coordinates(self.L[0]).whiten
        before = np.column_stack([whiten(new), ell[parents]])
        density = None if len(self.L) > 1 else LocalDensity.of(whiten(theta), self.rng)
        for repeat in range(MAX_REPEATS * len(self.L)):
            which = repeat % len(self.L)
            if density is not None:
                new, n_accepted, about = self._jumps(new, floor, density, parents)
                # who jumps descends from the live point that it was drawn about: that point found the mode
                origins = np.where(n_accepted > 0, np.flatnonzero(density.place >= 0)[about], origins)
                density = density if n_accepted.mean() > MIN_JUMP_SHARE * JUMPS else None
            new = self._block(new, floor, which, None if which else reference)
            if which < len(self.L) - 1:
                continue
            new = self.model.canonicalize(new, reference)
            new_ell = self.log_likelihood(new)
            after = np.column_stack([whiten(new), new_ell])
            if largest_correlation(before, after) < MAX_CORRELATION:
                break
        self.n_moved += len(new)
        self.n_stuck += int(np.sum(np.all(before == after, axis=1)))
        # walkers cannot forget their mode where there are several, but within it their likelihood
        self.memory.append(largest_correlation(before[:, -1:], after[:, -1:]))
        return new, new_ell, origins

    def _jumps(
        self, theta: np.ndarray, floor: float, density: LocalDensity, parents: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From mode to mode, by proposals from a density of the other live points."""
        L = self.L[0]

        def log_target(phi: np.ndarray) -> np.ndarray:
            inside = self.log_likelihood(phi @ L.T) > floor
            return np.where(inside, self.prior(phi @ L.T)[0], -np.inf)

        phi, own = Coordinates(L).whiten(theta), density.place[parents]
        phi, n_accepted, about = independence(phi, log_target, density, own, self.rng, n_steps=JUMPS)
        return phi @ L.T, n_accepted, about

    def _block(self, theta: np.ndarray, floor: float, which: int, reference: Any) -> np.ndarray:
        """One call of the kernel in coordinates number ``which``, with a step size of their own."""
        L = self.L[which]

        def prior(phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value, grad = self.prior(phi @ L.T)
            return value, grad @ L

        def log_likelihood(phi: np.ndarray) -> np.ndarray:
            ell = self.log_likelihood(phi @ L.T)
            if reference is None:
                return ell
            return np.where(self.model.is_canonical(phi @ L.T, reference), ell, -np.inf)

        def grad_log_likelihood(phi: np.ndarray) -> np.ndarray:
            return self.grad_log_likelihood(phi @ L.T) @ L

        def log_target(phi: np.ndarray) -> np.ndarray:
            return np.where(log_likelihood(phi) > floor, prior(phi)[0], -np.inf)

        phi, longest = Coordinates(L).whiten(theta), np.inf
        # a walker all of whose steps are short would remain a copy of its parent
        size = (self.n_steps, len(phi)) if self.kernel == "random_walk" else len(phi)
        # share of the steps, or of reflected walkers, that are shortened, and the decades of the longest
        # shortening: where few live points are in a narrow mode, a step that suits the others leaves its
        # walkers where they are
        shorter = 2.0 * self.rng.random(size) * (self.rng.random(size) < 0.2)
        eps = self.eps[which] * self.rng.uniform(0.5, 1.2, size) * 10**-shorter
        if self.kernel == "random_walk":
            phi, info = random_walk(phi, log_target, self.rng, eps=eps[..., None], n_steps=self.n_steps)
        else:
            phi, info = reflected_langevin(
                phi,
                prior,
                log_likelihood,
                grad_log_likelihood,
                self.rng,
                floor=floor,
                eps=eps,
                alpha=self.alpha,
                n_steps=self.n_steps,
            )
            longest = MAX_REFLECTED_WIDTHS
        self.acceptance = info.acceptance
        self.n_moves += 1
        self.eps[which] *= np.exp(info.acceptance - TARGET_ACCEPTANCE[self.kernel])
        self.eps[which] = min(self.eps[which], longest)
        return phi @ L.T


def over_labellings(C: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """The covariance averaged over all labellings of the components: the same for each, and each pair."""
    K, q = slots.shape
    flat = slots.ravel()
    blocks = C[np.ix_(flat, flat)].reshape(K, q, K, q).transpose(0, 2, 1, 3)  # (K, K, q, q)
    own = np.mean(blocks[np.arange(K), np.arange(K)], axis=0)
    between = (blocks.sum(axis=(0, 1)) - K * own) / max(K * (K - 1), 1)
    out = np.empty_like(C)
    out[np.ix_(flat, flat)] = np.kron(np.eye(K), own - between) + np.kron(np.ones((K, K)), between)
    return out


def thinnest(L: np.ndarray, theta: np.ndarray) -> float:
    """Least width of the points in the coordinates of L, where it is to be about one; ∞ for few points."""
    M, d = theta.shape
    if M < 2 * d:
        return np.inf
    phi = Coordinates(L).whiten(theta - theta.mean(axis=0))
    return float(np.linalg.svd(phi / np.sqrt(M), compute_uv=False)[-1])


def covariance(theta: np.ndarray) -> np.ndarray:
    """Covariance of few points, shrunk towards its diagonal by d/(d + M): positive definite."""
    M, d = theta.shape
    C = np.cov(theta.T).reshape(d, d)
    shrinkage = d / (d + M)
    return (1 - shrinkage) * C + np.diag(shrinkage * np.diag(C) + 1e-300)
