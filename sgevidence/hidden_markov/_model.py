r"""Hidden Markov models: a mixture whose allocations are a Markov chain.

    z_1 ~ uniform or Dirichlet,   A_i ~ Dirichlet(a + κ δ_ij),   p(z_t = j | z_{t−1} = i) = A_ij,
    y_t | z_t = k ~ a component of a family, with its conjugate prior.

States and rows enter by sums alone.  With N_ij the transitions, N_i the sequences that start in state i and
T_i the statistics of the rows of a state,

    log p(y, z | θ) = Σ_i [Σ_j N_ij log A_ij + N_i log π_i + c_i·T_i],

so one state has the coefficients (log A_i, log π_i, c_i) and a flat θ is those of all states.  States are
exchangeable, and the evidence is over all K! labellings.  A row of nan only is a step without observation.

Symbols
-------
=======  ======================  ========================================================
math     code                    meaning
=======  ======================  ========================================================
a, κ     ``concentration, stickiness``  of the rows of A
c        ``c``                   coefficients (K, M, D), D = K + 1 + q, or θ reshaped
T        ``T``                   statistics (K, S, D)
F        ``F``                   features of rows (n, q), zeros without an observation
=======  ======================  ========================================================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..mixture.components import ComponentFamily
from ..models import Exchangeable, Model, log_dirichlet, pieces_in_cache
from ._forward import Dynamics, filtered, most_probable_path, smoothed
from ._transitions import ConstantTransitions, MovedTransitions

#: Numbers of one array of a filter, rows × states × points: 3 MB.
FILTER_NUMBERS = 400_000


@dataclass(frozen=True)
class HiddenMarkovModel(Exchangeable, Model):
    """Hidden Markov model of one family of components; ``rows.y`` says where sequences start."""

    emission: ComponentFamily
    n_states: int
    concentration: float = 1.0  #: a
    stickiness: float = 0.0  #: κ
    initial_concentration: float | None = None  #: of a Dirichlet prior of the first state; None: uniform
    n_moving: int = 0  #: columns that move transitions, after those of the emission
    moving_scale: float = 1.0  #: prior standard deviation of their coefficients

    has_one_mode = True  # in each labelling, or its own search finds them

    @cached_property
    def n_features_of_rows(self) -> int:
        """q."""
        return self.emission.features(np.zeros((1, self.emission.n_features))).shape[1]

    @cached_property
    def transitions(self) -> ConstantTransitions | MovedTransitions:
        """Law of the transitions."""
        if self.n_moving and self.n_states > 1:
            return MovedTransitions(self.prior_counts, self.n_moving, self.moving_scale)
        return ConstantTransitions(self.prior_counts)

    @property
    def n_coefficients(self) -> int:
        """D, of one state."""
        return self.transitions.n_coefficients + 1 + self.n_features_of_rows

    @property
    def n_params(self) -> int:
        return self.n_states * self.n_coefficients

    @property
    def slots(self) -> np.ndarray:
        return np.arange(self.n_params).reshape(self.n_states, -1)

    @property
    def prior_counts(self) -> np.ndarray:
        """Transitions that the prior is worth, (K, K)."""
        return self.concentration + self.stickiness * np.eye(self.n_states)

    # -- coefficients and statistics --------------------------------------------------------------

    def coefficients(self, theta: np.ndarray) -> np.ndarray:
        """c (K, M, D) of θ (M, d)."""
        return theta.reshape(len(theta), self.n_states, -1).transpose(1, 0, 2)

    def flat(self, c: np.ndarray) -> np.ndarray:
        """θ (M, d) of coefficients."""
        return c.transpose(1, 0, 2).reshape(c.shape[1], -1)

    def split(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Parts of transitions (…, ·), first states (…) and rows (…, q), of coefficients or statistics."""
        at = c.shape[-1] - self.n_features_of_rows
        return c[..., : at - 1], c[..., at - 1], c[..., at:]

    def dynamics(self, c: np.ndarray, U: np.ndarray) -> Dynamics:
        """Transition and initial probabilities of coefficients."""
        dyn, first, _ = self.split(c)
        return Dynamics.of(self.transitions.log_A(dyn, U), first)

    def moving(self, X: np.ndarray) -> np.ndarray:
        """U, columns that move transitions, (n, p)."""
        return X[:, self.emission.n_features :]

    def observed(self, X: np.ndarray) -> np.ndarray:
        """Which rows are observations, (n,)."""
        return ~np.all(np.isnan(X[:, : self.emission.n_features]), axis=1)

    def features(self, X: np.ndarray) -> np.ndarray:
        """F of rows (n, q); zeros where nothing was observed."""
        known = self.observed(X)
        F = np.zeros((len(X), self.n_features_of_rows))
        F[known] = self.emission.features(X[known, : self.emission.n_features])
        return F

    def log_emissions(self, c: np.ndarray, F: np.ndarray) -> np.ndarray:
        """log p(y_t | z_t = k), (n, K, M)."""
        of_rows = self.split(c)[2]
        return (F @ of_rows.reshape(-1, F.shape[1]).T).reshape(len(F), *c.shape[:2])

    def log_joint_of(self, T: np.ndarray) -> np.ndarray:
        """log p(y, z) of S sequences of states by their statistics, (S,), nats."""
        return self.transitions.log_joint(self.split(T)[0]) + self.log_joint_of_rows(T)

    def log_joint_of_rows(self, T: np.ndarray) -> np.ndarray:
        """log p(y, z) but for transitions, (S,), nats."""
        _, first, of_rows = self.split(T)
        K, log_p = self.n_states, np.sum(self.emission.log_evidence(of_rows), axis=0)
        n_sequences = first.sum(axis=0)
        if (b := self.initial_concentration) is None:
            return log_p - n_sequences * np.log(K)
        log_first = np.sum(gammaln(b + first) - gammaln(b), axis=0)
        return log_p + log_first + gammaln(K * b) - gammaln(K * b + n_sequences)

    def draw(self, T: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One c ~ p(θ | y, z), or of a kernel near it, for each of S statistics, (K, S, D)."""
        N, first, of_rows = self.split(T)
        dyn = self.transitions.draw(N, rng)
        return np.concatenate([dyn, self._drawn(first, of_rows, rng)], axis=-1)

    def _drawn(self, first: np.ndarray, of_rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Coefficients of first states and rows, (K, S, 1 + q)."""
        b = self.initial_concentration
        log_initial = (
            np.full(first.shape, -np.log(self.n_states)) if b is None else log_dirichlet(b + first, rng)
        )
        of_rows = self.emission.coefficients(self.emission.sample(of_rows, rng))
        return np.concatenate([log_initial[..., None], of_rows], axis=-1)

    # -- what is believed -------------------------------------------------------------------------

    def sample_prior(self, rng, size):
        dyn = self.transitions.sample_prior(size, rng)
        nothing = np.zeros((self.n_states, size, 1 + self.n_features_of_rows))
        return self.flat(np.concatenate([dyn, self._drawn(nothing[..., 0], nothing[..., 1:], rng)], axis=-1))

    def log_prior(self, theta):
        """Log density of the coefficients of transitions and the family's parameters, nats, (M,)."""
        K, (dyn, first, of_rows) = self.n_states, self.split(self.coefficients(theta))
        of_rows = np.sum(self.emission.log_prior(self.emission.parameters(of_rows)), axis=0)
        log_p = self.transitions.log_prior(dyn) + of_rows
        if (b := self.initial_concentration) is None:
            return log_p
        return log_p + np.sum((b - 1) * first - gammaln(b), axis=0) + gammaln(K * b)

    def filtered(
        self, theta: np.ndarray, rows: Any, before: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(z_t | y_1..t, θ) (n, K, M) and log p(y_t | y_<t, θ) (n, M)."""
        c = self.coefficients(theta)
        log_e, chain = self.log_emissions(c, self.features(rows.X)), self.dynamics(c, self.moving(rows.X))
        return filtered(log_e, chain, rows.y > 0, before)

    def last_filter(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """p(z_n | y, θ) of the last row, (K, M)."""
        return self.along(self.coefficients(theta), self.features(rows.X), rows.y > 0, self.moving(rows.X))[0]

    def along(
        self, c: np.ndarray, F: np.ndarray, starts: np.ndarray, U: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Filter of the last row (K, M) and log p(y | θ) (M,), some rows at a time for all points."""
        alpha, total = np.full(c.shape[:2], 1 / self.n_states), np.zeros(c.shape[1])
        for part in self.parts(len(F), c.shape[1]):
            chain = self.dynamics(c, U[part])
            each, log_p = filtered(self.log_emissions(c, F[part]), chain, starts[part], alpha)
            alpha, total = each[-1], total + log_p.sum(axis=0)
        return alpha, total

    def smoothed(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """p(z_t | all rows, θ), (n, K, M)."""
        alpha, _ = self.filtered(theta, rows)
        return smoothed(alpha, self.dynamics(self.coefficients(theta), self.moving(rows.X)), rows.y > 0)

    def path(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """The most probable states given one θ (1, d), (n,)."""
        c = self.coefficients(theta)
        dyn, first, _ = self.split(c)
        log_A = self.transitions.log_A(dyn, self.moving(rows.X))[..., 0, :]
        log_e = self.log_emissions(c, self.features(rows.X))[..., 0]
        return most_probable_path(log_e, log_A, first[:, 0], rows.y > 0)[0]

    def parts(self, size: int, n: int) -> Iterator[slice]:
        """Points at a time of which a filter over n rows is a few megabytes, or rows of n points."""
        return pieces_in_cache(size, n * self.numbers_of_a_row, FILTER_NUMBERS)

    @property
    def numbers_of_a_row(self) -> int:
        """Numbers of a filter for one row and one point: transitions of their own are K times as many."""
        return self.n_states * (self.n_states if self.n_moving else 1)

    def log_likelihood(self, theta, rows):
        """log p(y_t | y_<t, θ), (M, n): of a row given those before it."""
        parts = self.parts(len(theta), len(rows))
        return np.concatenate([self.filtered(theta[part], rows)[1].T for part in parts])

    def sum_log_likelihood(self, theta, rows):
        return self.along(self.coefficients(theta), self.features(rows.X), rows.y > 0, self.moving(rows.X))[1]

    def sample_rows(
        self, theta: np.ndarray, U: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """One sequence: rows (n, p) and states (n,), given one θ (d,) and moving columns U (n, ·)."""
        c = self.coefficients(theta[None])
        chain = self.dynamics(c, U)
        A, z = np.cumsum(chain.into(len(U))[..., 0], axis=-1), np.empty(len(U), dtype=np.intp)
        edges = np.cumsum(chain.initial[:, 0])
        for t, u in enumerate(rng.random(len(U))):
            edges = edges if t == 0 else A[t, z[t - 1]]
            z[t] = np.sum(u * edges[-1] >= edges[:-1])
        return self.emission.sample_rows(self.emission.parameters(self.split(c[:, 0])[2][z]), rng), z

    # -- labels -----------------------------------------------------------------------------------

    def parameters(self, theta):
        dyn, first, of_rows = self.split(self.coefficients(theta).transpose(1, 0, 2))
        named = self.transitions.parameters(dyn)
        if self.initial_concentration is not None:
            named["initial_probabilities"] = np.exp(first)
        found = self.emission.parameters(of_rows)
        named |= found._asdict()
        if "log_probabilities" in named:
            named["category_probabilities"] = np.exp(named.pop("log_probabilities"))
        return named

    def slot_features(self, theta):
        """Means and log variances, log rates or log probabilities of each state, (M, K, ·)."""
        c = self.coefficients(theta).transpose(1, 0, 2)
        found = self.emission.parameters(self.split(c)[2])._asdict()
        if (covariances := found.get("covariances")) is not None:
            full = covariances.ndim == 4
            variances = np.diagonal(covariances, axis1=2, axis2=3) if full else covariances
            parts = [found["means"], np.log(variances).reshape(*c.shape[:2], -1)]
        elif "rates" in found:
            parts = [np.log(found["rates"])]
        else:
            parts = [found["log_probabilities"]]
        return np.concatenate(parts, axis=2)

    def relabelled(self, theta, order):
        c = theta.reshape(len(theta), self.n_states, -1)
        at = self.transitions.n_coefficients
        dyn = self.transitions.relabelled(c[..., :at], order)
        rest = np.take_along_axis(c[..., at:], order[:, :, None], axis=1)
        return np.concatenate([dyn, rest], axis=-1).reshape(len(theta), -1)

    def in_order(self, theta: np.ndarray) -> np.ndarray:
        """States of all points in common slots, in the order of their first mean, rate or level."""
        theta = self.canonicalize(theta)
        order = np.argsort(self.slot_features(theta)[..., 0].mean(axis=0))
        return self.relabelled(theta, np.broadcast_to(order, (len(theta), self.n_states)))
