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

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..mixture.components import ComponentFamily
from ..models import Exchangeable, Model, log_dirichlet
from ._forward import Dynamics, filtered, most_probable_path, smoothed


@dataclass(frozen=True)
class HiddenMarkovModel(Exchangeable, Model):
    """Hidden Markov model of one family of components; ``rows.y`` says where sequences start."""

    emission: ComponentFamily
    n_states: int
    concentration: float = 1.0  #: a
    stickiness: float = 0.0  #: κ
    initial_concentration: float | None = None  #: of a Dirichlet prior of the first state; None: uniform

    has_one_mode = True  # in each labelling, or its own search finds them

    @cached_property
    def n_coefficients(self) -> int:
        """D, of one state."""
        return self.n_states + 1 + self.emission.features(np.zeros((1, self.emission.n_features))).shape[1]

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

    def dynamics(self, c: np.ndarray) -> Dynamics:
        """Transition and initial probabilities of coefficients."""
        K = self.n_states
        return Dynamics.of(c[..., :K], c[..., K])

    def observed(self, X: np.ndarray) -> np.ndarray:
        """Which rows are observations, (n,)."""
        return ~np.all(np.isnan(X), axis=1)

    def features(self, X: np.ndarray) -> np.ndarray:
        """F of rows (n, q); zeros where nothing was observed."""
        known = self.observed(X)
        F = np.zeros((len(X), self.n_coefficients - self.n_states - 1))
        F[known] = self.emission.features(X[known])
        return F

    def log_emissions(self, c: np.ndarray, F: np.ndarray) -> np.ndarray:
        """log p(y_t | z_t = k), (n, K, M)."""
        of_rows = c[..., self.n_states + 1 :]
        return (F @ of_rows.reshape(-1, F.shape[1]).T).reshape(len(F), *c.shape[:2])

    def log_joint_of(self, T: np.ndarray) -> np.ndarray:
        """log p(y, z) of S sequences of states by their statistics, (S,), nats."""
        K, prior = self.n_states, self.prior_counts[:, None]
        N, first = T[..., :K], T[..., K]
        rows = gammaln(prior + N) - gammaln(prior)
        total = prior.sum(axis=-1)
        log_p = rows.sum(axis=-1) + gammaln(total) - gammaln(total + N.sum(axis=-1))
        log_p = np.sum(log_p + self.emission.log_evidence(T[..., K + 1 :]), axis=0)
        n_sequences = first.sum(axis=0)
        if (b := self.initial_concentration) is None:
            return log_p - n_sequences * np.log(K)
        log_first = np.sum(gammaln(b + first) - gammaln(b), axis=0)
        return log_p + log_first + gammaln(K * b) - gammaln(K * b + n_sequences)

    def draw(self, T: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One c ~ p(θ | y, z) for each of S statistics, (K, S, D)."""
        K, b = self.n_states, self.initial_concentration
        log_A = log_dirichlet((self.prior_counts[:, None] + T[..., :K]).transpose(2, 0, 1), rng)
        first = T[..., K]
        log_initial = np.full(first.shape, -np.log(K)) if b is None else log_dirichlet(b + first, rng)
        of_rows = self.emission.coefficients(self.emission.sample(T[..., K + 1 :], rng))
        return np.concatenate([log_A.transpose(1, 2, 0), log_initial[..., None], of_rows], axis=-1)

    # -- what is believed -------------------------------------------------------------------------

    def sample_prior(self, rng, size):
        return self.flat(self.draw(np.zeros((self.n_states, size, self.n_coefficients)), rng))

    def log_prior(self, theta):
        """Log density of the probabilities and the family's parameters, nats, (M,)."""
        K, c, prior = self.n_states, self.coefficients(theta), self.prior_counts[:, None]
        log_p = np.sum((prior - 1) * c[..., :K] - gammaln(prior), axis=-1) + gammaln(prior.sum(axis=-1))
        log_p = np.sum(log_p + self.emission.log_prior(self.emission.parameters(c[..., K + 1 :])), axis=0)
        if (b := self.initial_concentration) is None:
            return log_p
        return log_p + np.sum((b - 1) * c[..., K] - gammaln(b), axis=0) + gammaln(K * b)

    def filtered(
        self, theta: np.ndarray, rows: Any, before: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(z_t | y_1..t, θ) (n, K, M) and log p(y_t | y_<t, θ) (n, M)."""
        c = self.coefficients(theta)
        return filtered(self.log_emissions(c, self.features(rows.X)), self.dynamics(c), rows.y > 0, before)

    def last_filter(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """p(z_n | y, θ) of the last row, (K, M)."""
        return self.along(self.coefficients(theta), self.features(rows.X), rows.y > 0)[0]

    def along(self, c: np.ndarray, F: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Filter of the last row (K, M) and log p(y | θ) (M,), some rows at a time for all points."""
        chain, size = self.dynamics(c), self.block_size(c.shape[1])
        alpha, total = np.full(c.shape[:2], 1 / self.n_states), np.zeros(c.shape[1])
        for start in range(0, len(F), size):
            part = slice(start, start + size)
            each, log_p = filtered(self.log_emissions(c, F[part]), chain, starts[part], alpha)
            alpha, total = each[-1], total + log_p.sum(axis=0)
        return alpha, total

    def smoothed(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """p(z_t | all rows, θ), (n, K, M)."""
        alpha, _ = self.filtered(theta, rows)
        return smoothed(alpha, self.dynamics(self.coefficients(theta)), rows.y > 0)

    def path(self, theta: np.ndarray, rows: Any) -> np.ndarray:
        """The most probable states given one θ (1, d), (n,)."""
        c, K = self.coefficients(theta), self.n_states
        log_e = self.log_emissions(c, self.features(rows.X))[..., 0]
        return most_probable_path(log_e, c[:, 0, :K], c[:, 0, K], rows.y > 0)[0]

    def block_size(self, n: int) -> int:
        """Points at a time of which a filter over n rows is a few megabytes, or rows of n points."""
        # numbers of one block of a filter: rows × states × parameters, a few megabytes
        return max(2_000_000 // max(n * self.n_states, 1), 1)

    def log_likelihood(self, theta, rows):
        """log p(y_t | y_<t, θ), (M, n): of a row given those before it."""
        size = self.block_size(len(rows))
        parts = [theta[start : start + size] for start in range(0, len(theta), size)]
        return np.concatenate([self.filtered(part, rows)[1].T for part in parts])

    def sum_log_likelihood(self, theta, rows):
        return self.along(self.coefficients(theta), self.features(rows.X), rows.y > 0)[1]

    def sample_states(self, theta: np.ndarray, starts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """States of one sequence of rows for each θ, (M, n)."""
        A, initial = self.dynamics(self.coefficients(theta))
        z = np.empty((len(theta), len(starts)), dtype=np.intp)
        below, first, m = np.cumsum(A, axis=1), np.cumsum(initial, axis=0), np.arange(len(theta))
        for t, begins in enumerate(starts):
            edges = first if begins or t == 0 else below[z[:, t - 1], :, m].T
            z[:, t] = np.sum(rng.random(len(theta)) * edges[-1] >= edges[:-1], axis=0)
        return z

    def sample_rows(self, theta, n_rows, rng):
        """One sequence of n rows: (rows (n, p), states (n,)), given one θ for all."""
        theta, starts = np.atleast_2d(theta), np.arange(n_rows) == 0
        z = self.sample_states(theta, starts, rng)[0]
        c = self.coefficients(theta)[:, 0, self.n_states + 1 :]
        return self.emission.sample_rows(self.emission.parameters(c[z]), rng), z

    # -- labels -----------------------------------------------------------------------------------

    def parameters(self, theta):
        K, c = self.n_states, self.coefficients(theta).transpose(1, 0, 2)
        named = {"transition_matrix": np.exp(c[..., :K])}
        if self.initial_concentration is not None:
            named["initial_probabilities"] = np.exp(c[..., K])
        found = self.emission.parameters(c[..., K + 1 :])
        named |= found._asdict()
        if "log_probabilities" in named:
            named["category_probabilities"] = np.exp(named.pop("log_probabilities"))
        return named

    def slot_features(self, theta):
        """Means and log variances, log rates or log probabilities of each state, (M, K, ·)."""
        c = self.coefficients(theta).transpose(1, 0, 2)
        found = self.emission.parameters(c[..., self.n_states + 1 :])._asdict()
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
        K = self.n_states
        c = np.take_along_axis(theta.reshape(len(theta), K, -1), order[:, :, None], axis=1)
        c[..., :K] = np.take_along_axis(c[..., :K], order[:, None, :], axis=2)
        return c.reshape(len(theta), -1)

    def in_order(self, theta: np.ndarray) -> np.ndarray:
        """States of all points in common slots, in the order of their first mean, rate or level."""
        theta = self.canonicalize(theta)
        order = np.argsort(self.slot_features(theta)[..., 0].mean(axis=0))
        return self.relabelled(theta, np.broadcast_to(order, (len(theta), self.n_states)))
