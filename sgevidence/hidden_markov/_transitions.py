r"""Laws of transitions: the same at all rows, or moved by columns.

:class:`ConstantTransitions` are conjugate.  :class:`MovedTransitions` are a multinomial logit of columns u,
measured from their means in standard deviations,

    p(z_t = j | z_{t−1} = i) ∝ exp(α_ij + Σ_b u_tb β_ijb),    softmax(α_i) ~ Dirichlet(a + κ δ_ij),
    β_ijb ~ N(0, s²),

so that at the mean of all columns the law is the constant one.  No state is a reference: what is common to
β_i1 … β_iK moves nothing, and coordinates x_i are those of its complement, α_i = H x_i0 and β_ib = H x_ib
with orthonormal columns of H, K × (K − 1).  Given states the posterior of x_i is log-concave without a closed
form.  Its kernel is a Student t around its mode, of which importance sampling only asks that it covers.

Symbols: ``dyn`` = coefficients of transitions of M points, (K, M, n_coefficients); ``N`` = their statistics,
(K, S, n_statistics); ``U`` = columns, (n, p); ``x`` = coordinates; ``P, h`` = precision of a kernel and
precision × mode; ``V`` = [1, u], (n, 1 + p); ``A`` = probabilities of the next state, ``A @ H`` its mean
contrast.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln, log_softmax

from ..answers import t_draws
from ..models import log_dirichlet

#: Degrees of freedom of kernels: heavier tails than those of a log odds of few transitions.
KERNEL_NU = 5.0
#: Newton's steps from the mode without columns at most, the longest step, and one that ends them.
NEWTON_STEPS, LONGEST_STEP, SHORTEST_STEP = 10, 3.0, 0.05


@dataclass(frozen=True)
class ConstantTransitions:
    """Rows of the transition matrix are Dirichlet."""

    prior: np.ndarray  #: transitions that the prior is worth, (K, K)

    is_conjugate = True

    @property
    def n_coefficients(self) -> int:
        """Logarithms of the probabilities of the next state."""
        return len(self.prior)

    def statistics(self, z: np.ndarray, starts: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Transitions of sequences of states (S, n)."""
        S, K, follows = len(z), len(self.prior), np.flatnonzero(~starts)
        code = (np.arange(S)[:, None] * K + z[:, follows - 1]) * K + z[:, follows]
        return np.bincount(code.ravel(), minlength=S * K * K).reshape(S, K, K).transpose(1, 0, 2)

    def log_joint(self, N: np.ndarray) -> np.ndarray:
        """log p(z) but for first states, (S,), nats."""
        prior = self.prior[:, None]
        rows = gammaln(prior + N) - gammaln(prior)
        total = prior.sum(axis=-1)
        return np.sum(rows.sum(axis=-1) + gammaln(total) - gammaln(total + N.sum(axis=-1)), axis=0)

    def draw(self, N: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One point of each conditional."""
        return log_dirichlet((self.prior[:, None] + N).transpose(2, 0, 1), rng).transpose(1, 2, 0)

    def sample_prior(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Points of the prior."""
        return self.draw(np.zeros((len(self.prior), size, len(self.prior))), rng)

    def log_prior(self, dyn: np.ndarray) -> np.ndarray:
        """Log density of the probabilities, nats, (M,)."""
        prior = self.prior[:, None]
        log_p = np.sum((prior - 1) * dyn - gammaln(prior), axis=-1) + gammaln(prior.sum(axis=-1))
        return np.sum(log_p, axis=0)

    def log_A(self, dyn: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Log probabilities, from and to, (K, M, K)."""
        return dyn

    def parameters(self, dyn: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters of coefficients (M, K, ·) by their names."""
        return {"transition_matrix": np.exp(dyn)}

    def log_kernels(self, dyn: np.ndarray, N: np.ndarray) -> Any:
        """A function of the order of states and of a part of the points that gives dyn · N, (M, S)."""
        points, S = dyn.transpose(1, 0, 2).reshape(dyn.shape[1], -1), N.shape[1]
        return lambda order, part: points[part] @ N[order][..., order].transpose(1, 0, 2).reshape(S, -1).T

    def relabelled(self, dyn: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Coefficients (M, K, ·) with states in these orders, (M, K)."""
        return np.take_along_axis(
            np.take_along_axis(dyn, order[:, :, None], axis=1), order[:, None, :], axis=2
        )


@dataclass(frozen=True)
class MovedTransitions:
    """A multinomial logit of p columns."""

    prior: np.ndarray  #: a + κ δ, (K, K)
    n_columns: int  #: p
    scale: float  #: s

    is_conjugate = False

    @property
    def n_coefficients(self) -> int:
        """Coordinates of one state, of the level and then of each column."""
        return (1 + self.n_columns) * (len(self.prior) - 1)

    @cached_property
    def H(self) -> np.ndarray:
        """Orthonormal contrasts of next states, (K, K − 1)."""
        K = len(self.prior)
        return np.linalg.qr(np.c_[np.ones(K), np.eye(K)[:, : K - 1]])[0][:, 1:]

    def logits(self, dyn: np.ndarray) -> np.ndarray:
        """α and β (…, 1 + p, K) of coordinates."""
        return dyn.reshape(*dyn.shape[:-1], 1 + self.n_columns, -1) @ self.H.T

    def log_A(self, dyn: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Log probabilities of each row, from and to, (n, K, M, K)."""
        return log_softmax(np.tensordot(_with_ones(U), self.logits(dyn), axes=(1, 2)), axis=-1)

    def parameters(self, dyn: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters of coefficients (M, K, ·) by their names: at the mean of the columns, and for a unit."""
        logits = self.logits(dyn)
        matrix = np.exp(log_softmax(logits[..., 0, :], axis=-1))
        return {"transition_matrix": matrix, "transition_coefs": logits[..., 1:, :].swapaxes(-1, -2)}

    # -- prior ------------------------------------------------------------------------------------

    def sample_prior(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Points of the prior."""
        K, p = len(self.prior), self.n_columns
        level = log_dirichlet(np.broadcast_to(self.prior.T[..., None], (K, K, size)), rng)
        slopes = self.scale * rng.standard_normal((K, size, p, K))
        logits = np.concatenate([level.transpose(1, 2, 0)[:, :, None], slopes], axis=2)
        return (logits @ self.H).reshape(K, size, -1)

    def log_prior(self, dyn: np.ndarray) -> np.ndarray:
        """Log density of the coordinates, nats, (M,)."""
        return np.sum(self._log_priors(dyn), axis=0)

    def _log_priors(self, dyn: np.ndarray) -> np.ndarray:
        """Log density of each state, (K, M)."""
        K, slopes = len(self.prior), dyn[..., len(self.prior) - 1 :] / self.scale
        log_A = log_softmax(self.logits(dyn)[..., 0, :], axis=-1)
        constant = gammaln(self.prior.sum(axis=1)) - gammaln(self.prior).sum(axis=1) + 0.5 * np.log(K)
        constant -= slopes.shape[-1] * (np.log(self.scale) + 0.5 * np.log(2 * np.pi))
        return (
            np.sum(self.prior[:, None] * log_A, axis=-1)
            - 0.5 * np.sum(slopes**2, axis=-1)
            + constant[:, None]
        )

    # -- kernels given states ---------------------------------------------------------------------

    @cached_property
    def _no_transitions(self) -> np.ndarray:
        """P and h of the prior's kernel, (K, 1, d² + d)."""
        x = np.zeros((len(self.prior), 1, self.n_coefficients))
        x[..., : len(self.prior) - 1] = (np.log(self.prior) @ self.H)[:, None]
        nothing = np.zeros((1, 0), dtype=int)
        return _flat(x, self._derivatives(nothing, nothing, x, np.zeros((0, 1 + self.n_columns)))[1])

    def statistics(self, z: np.ndarray, starts: np.ndarray, U: np.ndarray) -> np.ndarray:
        """P and h of sequences of states (S, n) less those of no transitions, and log p(z) by Laplace."""
        follows, K = np.flatnonzero(~starts), len(self.prior)
        before, after, V = z[:, follows - 1], z[:, follows], _with_ones(U)[follows]
        N = ConstantTransitions(self.prior).statistics(z, starts, U)
        x = np.zeros((K, len(z), self.n_coefficients))
        x[..., : K - 1] = np.log(self.prior[:, None] + N) @ self.H
        for _ in range(NEWTON_STEPS):
            slope, P, _ = self._derivatives(before, after, x, V)
            step = np.linalg.solve(P, slope[..., None])[..., 0]
            longest = np.abs(step).max(axis=-1, keepdims=True)
            x = x + step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, LONGEST_STEP))
            if longest.max() < SHORTEST_STEP:
                break
        _, P, log_p = self._derivatives(before, after, x, V)
        log_p = log_p + self._log_priors(x) - 0.5 * np.linalg.slogdet(P / (2 * np.pi))[1]
        return np.concatenate([_flat(x, P) - self._no_transitions, log_p[..., None]], axis=-1)

    def _derivatives(
        self, before: np.ndarray, after: np.ndarray, x: np.ndarray, V: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slope (K, S, d) and −curvature (K, S, d, d) of the log posterior, and log likelihood (K, S)."""
        (K, S, d), H = x.shape, self.H
        logits, at = self.logits(x), np.arange(S)[:, None]
        eta = sum(V[:, b, None] * logits[before, at, b] for b in range(V.shape[1]))
        log_A = log_softmax(eta, axis=-1)
        A, log_own = np.exp(log_A), np.take_along_axis(log_A, after[..., None].astype(int), axis=-1)[..., 0]
        mean = A @ H
        rest, VV = H[after] - mean, (V[:, :, None] * V[:, None]).reshape(len(V), (1 + self.n_columns) ** 2)
        slope, P, log_l = np.zeros((K, S, V.shape[1], K - 1)), np.zeros((K, S, *[V.shape[1], K - 1] * 2)), []
        for i in range(K):
            mine = before == i
            log_l.append(np.sum(log_own * mine, axis=1))
            for a in range(K - 1):
                slope[i, ..., a] = (rest[..., a] * mine) @ V
                for b in range(a + 1):
                    w = (A @ (H[:, a] * H[:, b]) - mean[..., a] * mean[..., b]) * mine
                    P[i, :, :, a, :, b] = P[i, :, :, b, :, a] = (w @ VV).reshape(S, *[V.shape[1]] * 2)
        A = np.exp(log_softmax(logits[..., 0, :], axis=-1))  # of the prior of the level
        total, mean = self.prior.sum(axis=1)[:, None, None], A @ H
        slope[:, :, 0] += (self.prior @ H)[:, None] - total * mean
        P[:, :, 0, :, 0] += total[..., None] * (
            np.einsum("ksj,ja,jb->ksab", A, H, H) - mean[..., None] * mean[..., None, :]
        )
        slope, P = slope.reshape(K, S, d), P.reshape(K, S, d, d)
        of_slopes = np.arange(K - 1, d)
        slope[..., of_slopes] -= x[..., of_slopes] / self.scale**2
        P[..., of_slopes, of_slopes] += 1 / self.scale**2
        return slope, P, np.array(log_l)

    def _kernel(self, N: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P, h and the mode of statistics, which a power has multiplied."""
        P_h, d = N[..., :-1] + self._no_transitions, self.n_coefficients
        P, h = P_h[..., : d * d].reshape(*N.shape[:2], d, d), P_h[..., d * d :]
        return P, h, np.linalg.solve(P, h[..., None])[..., 0]

    def log_joint(self, N: np.ndarray) -> np.ndarray:
        """log p(z) but for first states by Laplace, (S,), nats."""
        return N[..., -1].sum(axis=0)

    def draw(self, N: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One point of each kernel."""
        P, _, mode = self._kernel(N)
        phi = t_draws(rng, mode.shape, KERNEL_NU)
        L = np.linalg.cholesky(P)
        return mode + np.linalg.solve(L.swapaxes(-1, -2), phi[..., None])[..., 0]

    def log_kernels(self, dyn: np.ndarray, N: np.ndarray) -> Any:
        """As of constant transitions: log densities of points by kernels, (M, S)."""
        P, h, mode = self._kernel(N)
        K, S, d = mode.shape
        blocks = dyn.reshape(*dyn.shape[:2], 1 + self.n_columns, K - 1)
        forms = np.concatenate([P.reshape(K, S, -1), -2 * h], axis=-1)
        least, constant = np.sum(h * mode, axis=-1), 0.5 * np.sum(np.linalg.slogdet(P)[1], axis=0)
        of_one = gammaln((KERNEL_NU + d) / 2) - gammaln(KERNEL_NU / 2) - 0.5 * d * np.log(KERNEL_NU * np.pi)
        constant += K * of_one

        def of(order: list[int], part: slice) -> np.ndarray:
            x = (blocks[:, part] @ (self.H.T[:, np.argsort(order)] @ self.H)).reshape(K, -1, d)
            features = np.concatenate([(x[..., None] * x[..., None, :]).reshape(K, -1, d * d), x], axis=-1)
            product = 1.0
            for i, j in enumerate(order):
                product = product * (1 + np.maximum(features[i] @ forms[j].T + least[j], 0.0) / KERNEL_NU)
            return constant - 0.5 * (KERNEL_NU + d) * np.log(product)

        return of

    def relabelled(self, dyn: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Coefficients (M, K, ·) with states in these orders, (M, K)."""
        logits = np.take_along_axis(self.logits(dyn), order[:, :, None, None], axis=1)
        logits = np.take_along_axis(logits, order[:, None, None, :], axis=3)
        return (logits @ self.H).reshape(dyn.shape)


def _flat(x: np.ndarray, P: np.ndarray) -> np.ndarray:
    """P and h = P x in one array, (K, S, d² + d)."""
    return np.concatenate([P.reshape(*x.shape[:2], -1), (P @ x[..., None])[..., 0]], axis=-1)


def _with_ones(U: np.ndarray) -> np.ndarray:
    """[1, u] of rows, (n, 1 + p)."""
    return np.column_stack([np.ones(len(U)), U])
