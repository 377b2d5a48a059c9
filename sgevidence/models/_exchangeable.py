r"""Exchangeable components: a likelihood that no relabelling of K components changes.

The posterior has K! copies of everything.  What moves a cloud wants one copy: each particle is relabelled
so that component k sits in the slot whose reference (mean_j, var_j) it fits best, at the cost

    c(k, j) = Σ_i (F_ki − mean_ji)² / var_ji + Σ_i log var_ji,

the cheapest pair first.  A global greedy choice does not depend on the labels it starts from, so that the
image is an exact fundamental domain of the relabelling group.

Symbols: ``K`` = exchangeable components; ``F`` = parameters by component, (M, K, q); c ``cost`` = of a
component in a slot, (M, component, slot).
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import expit

Reference = tuple[np.ndarray, np.ndarray]  #: mean and variance of each slot's parameters, each (K, q)


class Exchangeable(ABC):
    """Relabelling for a model whose ``slots`` are the (K, q) indices of its components' parameters.

    Inherit from it before :class:`Model`, and define ``slots``.
    """

    @property
    @abstractmethod
    def slots(self) -> np.ndarray:
        """(K, q) indices of the parameters of K exchangeable components."""

    def canonicalize(self, theta: np.ndarray, reference: Reference | None = None) -> np.ndarray:
        """Relabel each particle so that its components sit in the reference's slots, (M, d).

        The reference is found from the cloud itself by default (:meth:`slot_reference`).
        """
        if len(self.slots) == 1:
            return theta
        reference = self.slot_reference(theta) if reference is None else reference
        return self.relabelled(theta, _slot_order(self.slot_features(theta), reference))

    def slot_features(self, theta: np.ndarray) -> np.ndarray:
        """Numbers by which a component is told from others, (M, K, ·)."""
        return theta[:, self.slots]

    def relabelled(self, theta: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The points with component ``order`` (M, K) in each slot, (M, d)."""
        out = theta.copy()  # there may be parameters that belong to no component
        out[:, self.slots] = np.take_along_axis(theta[:, self.slots], order[:, :, None], axis=1)
        return out

    def is_canonical(self, theta: np.ndarray, reference: Reference) -> np.ndarray:
        """Which points are in the reference's slots already, (M,)."""
        K = len(self.slots)
        if K == 1:
            return np.ones(len(theta), dtype=bool)
        return np.all(_slot_order(self.slot_features(theta), reference) == np.arange(K), axis=1)

    def label_confusion(self, theta: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Mean probability that two components of a particle belong into each other's slots, (K, K).

        The cloud is canonical.  For slots that are Gaussian with the reference's moments, by half the cost of
        the exchange.
        """
        cost = _cost(self.slot_features(theta), self.slot_reference(theta))
        kept = np.diagonal(cost, axis1=1, axis2=2)  # (M, K)
        exchanged = cost + cost.transpose(0, 2, 1) - kept[:, :, None] - kept[:, None, :]
        confusion = np.tensordot(W, expit(-0.5 * exchanged), axes=1)
        np.fill_diagonal(confusion, 0.0)
        return confusion

    def slot_reference(self, theta: np.ndarray) -> Reference:
        """Mean and variance of each slot's parameters over the relabelled cloud, each (K, q).

        Alternates relabelling and averaging, from the first particle as it is labelled; five rounds
        suffice, since the assignment is settled after two or three.
        """
        F = self.slot_features(theta)
        spread = F.var(axis=(0, 1)) + 1e-12
        mean, var = F[0], np.broadcast_to(spread, F.shape[1:])
        for _ in range(5):
            F = self.slot_features(self.canonicalize(theta, (mean, var)))
            # slots that hold few distinct values would otherwise attract nothing but themselves
            mean, var = F.mean(axis=0), F.var(axis=0) + 1e-3 * spread
        return mean, var


def _slot_order(F: np.ndarray, reference: Reference) -> np.ndarray:
    """The component that goes to each slot, (M, K), for components F (M, K, q)."""
    return _greedy_assignment(_cost(F, reference))


def _cost(F: np.ndarray, reference: Reference) -> np.ndarray:
    """c, (M, component, slot)."""
    mean, var = reference
    return np.sum((F[:, :, None, :] - mean) ** 2 / var + np.log(var), axis=3)


def _greedy_assignment(cost: np.ndarray) -> np.ndarray:
    """For each particle the component that goes to each slot: (M, K) from costs (M, component, slot)."""
    M, K, _ = cost.shape
    cost, order, particle = cost.copy(), np.empty((M, K), dtype=int), np.arange(M)
    for _ in range(K):
        component, slot = np.divmod(cost.reshape(M, -1).argmin(axis=1), K)
        order[particle, slot] = component
        cost[particle, component] = np.inf
        cost[particle, :, slot] = np.inf
    return order
