r"""Softmax (multinomial logistic) regression, thesis §5.2.2 / journal paper App. B.2.

p(y = k | x) ∝ exp(w_k·x + b_k) with all K weight vectors kept, every entry N(0, 1) by default.
θ is the (K, p + 1) matrix [w_k, b_k] flattened by rows, so d = K(p + 1).

Symbols: ``Phi`` = [X, 1], ``Z`` = logits and ``P`` = probabilities, both (K, M, n): reductions
run over the outer axis, and all particles are one matrix product.
"""

from dataclasses import dataclass
from functools import cached_property

import autograd.numpy as anp
import numpy as np
from autograd.extend import defvjp, primitive
from scipy.special import xlogy

from ._evaluation import (
    SINGLE_PRECISION_TOTAL,
    Evaluation,
    largest_term,
    log_totals,
    pieces_in_cache,
    working_precision,
)
from ._far_columns import GaussianPriorRegression
from ._regression import design_matrix, prior_scales


@dataclass(frozen=True)
class SoftmaxModel(GaussianPriorRegression):
    """Softmax regression with Gaussian priors; scales are prior standard deviations."""

    n_features: int
    n_classes: int
    fit_intercept: bool = True
    coef_scale: float = 1.0
    intercept_scale: float = 1.0
    intercept_centers: tuple[float, ...] = ()  #: b₀ₖ of each class, or (): θ has b_k − b₀ₖ

    evaluation = Evaluation(single_precision_total=SINGLE_PRECISION_TOTAL)

    @property
    def n_inputs(self) -> int:
        return self.n_features + self.fit_intercept

    has_one_mode = is_log_concave = True

    @cached_property
    def origin(self) -> np.ndarray | None:
        """Point that θ is measured from, (d,); None where it is zero."""
        if not any(self.intercept_centers):
            return None
        W = np.zeros((self.n_classes, self.n_inputs))
        W[:, -1] = self.intercept_centers
        return W.ravel()

    def _whole(self, theta):
        """Coefficients measured from zero."""
        return theta if self.origin is None else theta + self.origin

    @property
    def n_params(self) -> int:
        return self.n_classes * self.n_inputs

    @property
    def scales(self) -> np.ndarray:
        one_class = prior_scales(self.n_features, self.fit_intercept, self.coef_scale, self.intercept_scale)
        return np.tile(one_class, self.n_classes)

    def log_probabilities(self, theta, X):
        """log p(y = k | x_r, θ_m), (K, M, n)."""
        Z = self._logits(theta, X)
        return Z - log_total(Z)

    def log_likelihood(self, theta, rows):
        Z = self._logits(theta, rows.X)
        labels = (rows.y == np.arange(self.n_classes)[:, None]).astype(float)  # (K, n)
        return anp.sum(Z * labels[:, None, :], axis=0) - log_total(Z)

    def _logits(self, theta, X):
        """(K, M, n)."""
        Phi = design_matrix(X, self.fit_intercept)
        W = anp.reshape(self._whole(theta), (-1, self.n_classes, self.n_inputs))
        Z = anp.dot(anp.reshape(anp.transpose(W, (1, 0, 2)), (-1, self.n_inputs)), Phi.T)
        return anp.reshape(Z, (self.n_classes, -1, len(X)))

    def _block_log_likelihood(self, theta, rows, tape, single_below=0.0):
        Phi = design_matrix(rows.X, self.fit_intercept)
        # logits up to which the two sums of :func:`_fused`, which nearly cancel, leave enough of each row
        if largest_term(getattr(theta, "_value", theta), Phi) > 1e9:
            return super()._block_log_likelihood(theta, rows, tape, single_below)
        return _fused(self._whole(theta), Phi, rows.y, rows.weight, self.n_classes, tape, single_below)

    def derivatives(self, theta, rows):
        """Value, gradient and Hessian at one point from one pass over the rows.

        With A = P ⊗ Φ (K(p + 1), n) the sums Σ w p_k p_l φφᵀ over all pairs of classes are one A w Aᵀ, and
        as Σ_l p_l = 1 they hold the diagonal blocks Σ w p_k φφᵀ too: −∇∇ = Σ w (diag(p) − p pᵀ) ⊗ φφᵀ.
        A may be in single precision: the Hessian is a sum of terms of one size, value and gradient are not.
        """
        K, q = self.n_classes, self.n_inputs
        theta = self._whole(theta)
        S, G, B = rows.fold(lambda block: self._value_gradient_and_products(theta, block), 4096)
        H = B.reshape(K, q, K, q)
        diagonal = H.sum(axis=2)  # (K, q, q)
        H = H.copy()
        H[np.arange(K), :, np.arange(K)] -= diagonal
        return float(S), G.ravel(), H.reshape(K * q, K * q)

    def _value_gradient_and_products(self, theta, rows):
        """Σ w log p_y, Σ w (1_y − p) φᵀ (K, q), and A w Aᵀ (K q, K q), of a block."""
        K, q = self.n_classes, self.n_inputs
        w, labels = rows.weight, rows.y == np.arange(K)[:, None]  # (K, n)
        Phi = np.ascontiguousarray(design_matrix(rows.X, self.fit_intercept).T)
        P = theta.reshape(K, q) @ Phi
        P -= P.max(axis=0)
        own = np.sum(P * labels, axis=0)
        np.exp(P, out=P)
        total = P.sum(axis=0)
        value = (own - np.log(total)) @ w
        P /= total
        gradient = ((labels - P) * w) @ Phi.T
        dtype = working_precision(theta, Phi, self.evaluation.single_below(rows, adds_up=False))
        A = P.astype(dtype)[:, None] * (np.sqrt(w) * Phi).astype(dtype)
        A = A.reshape(K * q, -1)
        return value, gradient, (A @ A.T).astype(float)

    def expected_score(self, theta, W, X):
        """Minus the entropy of the averaged prediction, Σ_k p̄_k log p̄_k, (n,)."""
        size, parts = max(64, self.evaluation.rows_of_block(len(theta) * self.n_classes)), []
        for start in range(0, len(X), size):
            p = np.tensordot(W, np.exp(self.log_probabilities(theta, X[start : start + size])), (0, 1))
            parts.append(np.sum(xlogy(p, p), axis=0))  # p (K, n)
        return np.concatenate(parts)

    def sample_rows(self, theta, X, rng):
        W = np.reshape(
            self._whole(theta), (-1, self.n_classes, self.n_inputs)
        )  # one θ for all rows, or one θ a row
        Z = np.sum(W * design_matrix(X, self.fit_intercept)[:, None, :], axis=2)  # (n, K)
        return np.argmax(Z + rng.gumbel(size=Z.shape), axis=1)

    def parameters(self, theta):
        W = self._whole(theta).reshape(-1, self.n_classes, self.n_inputs)
        named = {"coef": W[:, :, : self.n_features]}
        return named | ({"intercept": W[:, :, -1]} if self.fit_intercept else {})


def log_total(Z):
    """log Σ_k exp z_krm, (M, n)."""
    top = np.max(getattr(Z, "_value", Z), axis=0)
    return top + anp.log(anp.sum(anp.exp(Z - top), axis=0))


@primitive
def _fused(theta, Phi, y, weight, K, tape, single_below):
    """Σ_r w_r log p(y_r | x_r, θ_m) = θ_m·s − Σ_r w_r log Σ_k exp z_krm with s_k = Σ_{y_r = k} w_r φ_r."""
    M, (n, q) = len(theta), Phi.shape
    dtype = working_precision(theta, Phi, single_below)
    # rounded once for both sums, which nearly cancel: θ is then a little elsewhere, the same in both
    theta, Phi = (a.astype(dtype).astype(float) for a in (theta, Phi))
    W, inputs = theta.reshape(M, K, q), Phi.T.astype(dtype)
    wPhi = None if tape is None else (weight[:, None] * Phi).astype(dtype)
    longest = np.max(np.einsum("mkq,mkq->mk", W, W)) * np.max(np.einsum("np,np->n", Phi, Phi))
    log_norm, expected = np.empty(M), np.empty(W.shape)
    for some in pieces_in_cache(M, K * n):
        P = (W[some].transpose(1, 0, 2).reshape(-1, q).astype(dtype) @ inputs).reshape(K, -1, n)
        # logits that need no shift before exp: e^80 is far from the largest single-precision number, 10³⁸
        total = log_totals(P, tape is not None, shift=not longest < 80.0**2)
        log_norm[some] = total @ weight  # sums over rows in double precision
        if tape is not None:
            expected[some] = (P.reshape(-1, n) @ wPhi).reshape(K, -1, q).transpose(1, 0, 2)
    s = (((y == np.arange(K)[:, None]) * weight) @ Phi).ravel()
    if tape is not None:
        tape.append(s - expected.reshape(M, -1))
    return theta @ s - log_norm


def _fused_vjp(ans, theta, Phi, y, weight, K, tape, single_below):
    gradient = tape.pop()
    return lambda g: g[:, None] * gradient


defvjp(_fused, _fused_vjp, argnums=(0,))
