r"""Stacking: weights whose mixture predicted the rows best.

    max_w Σ_r v_r log Σ_k w_k p_kr,    w_k ≥ 0, Σ_k w_k = 1        (Yao et al. 2018, with the log score)

Their p_kr leaves out row r; here it is p_k(y_r | rows before its chunk), which a stream gives away free.
Rows of the first chunk are not scored: nothing had been learnt.  The objective is concave, and any w is
within log max_k g_k of the optimum, per row, with

    g_k = Σ_r v_r p_kr / Σ_j w_j p_jr    (Σ_r v_r = 1),

which is the stopping rule.  Σ_k w_k = 1 holds at the minimum of f(w) = Σ_k w_k − Σ_r v_r log Σ_k w_k p_kr
over w ≥ 0; Newton steps solve its quadratic model under that bound exactly (non-negative least squares).

Memory is bounded: of more than s = ``SCORED_ROWS`` rows a uniform sample of s is kept, which costs
about (K−1)/(2s) nats a row.

Symbols
-------
=======  =========  ===================================================
p_kr     ``log_p``  log predictive density of row r by model k, (n, K)
v_r      ``v``      weight of row r
w_k      ``w``      weights of the models
g_k      ``g``      1 − ∂f/∂w_k
=======  =========  ===================================================

References
----------
Y. Yao, A. Vehtari, D. Simpson, A. Gelman (2018), Using Stacking to Average Bayesian Predictive Distributions,
Bayesian Analysis 13, 917.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from ..particles import log_sum_exp
from ._pipelines import evidences

#: Rows whose scores are kept.  The weights of five models are then within 5e-4 nats a row of the best.
SCORED_ROWS = 4096
#: Newton steps that are tried; some ten are needed.
MAX_STACKING_STEPS = 200
#: Bootstrap samples of the interval: the 5 % quantile is then known to one and a half percentage points.
N_BOOTSTRAP = 200


class RowScores(NamedTuple):
    """Predictions of the models for rows before they learnt from them; a value, never changed in place."""

    log_p: np.ndarray  #: (n, K)
    weight: np.ndarray  #: (n,)
    key: np.ndarray  #: (n,): the rows of the smallest keys are kept

    @classmethod
    def of(cls, log_p: np.ndarray, weight: np.ndarray, n_before: int) -> "RowScores":
        """Scores of a chunk after ``n_before`` rows, without rows that no model thinks possible."""
        key = np.random.default_rng([0, n_before]).random(len(log_p))
        known = (weight > 0) & np.isfinite(log_p.max(axis=1))
        return cls(log_p[known], weight[known], key[known])

    def join(self, other: "RowScores") -> "RowScores":
        """Both, or a uniform sample of ``SCORED_ROWS`` of them."""
        both = type(self)(*map(np.concatenate, zip(self, other)))
        if len(both.key) <= SCORED_ROWS:
            return both
        kept = np.sort(np.argpartition(both.key, SCORED_ROWS)[:SCORED_ROWS])
        return type(self)(*(part[kept] for part in both))


def stacking_weights(log_p: np.ndarray, weight: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The weights (K,) of the mixture with the best log score; of several such, one near ``start``."""
    if not len(log_p):
        return start
    P = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    v = weight / weight.sum()
    w = 0.99 * start + 0.01 / len(start)  # a weight of zero may have become wrong
    for _ in range(MAX_STACKING_STEPS):
        mixed = P @ w
        A = np.sqrt(v)[:, None] * P / mixed[:, None]
        g = A.T @ np.sqrt(v)
        # nats a row by which the weights may be worse than the best for the rows kept
        if np.log(g.max()) < 1e-9:
            break
        step = _bounded_newton(A.T @ A, g, w) - w
        size, slope = 1.0, (1.0 - g) @ step
        while _f(P, v, w + size * step) > _f(P, v, w) + 1e-4 * size * slope and size > 1e-10:
            size *= 0.5
        w = w + size * step
        w = w / w.sum()  # never a larger f
    return w


def _f(P: np.ndarray, v: np.ndarray, w: np.ndarray) -> float:
    with np.errstate(divide="ignore"):
        return float(w.sum() - v @ np.log(P @ w))


def _bounded_newton(H: np.ndarray, g: np.ndarray, w: np.ndarray) -> np.ndarray:
    """argmin over x ≥ 0 of ½ (x−w)ᵀH(x−w) + (1−g)ᵀ(x−w); Hw = g, so the linear term is (2g − 1)ᵀx."""
    ridge = 1e-10 * np.trace(H) * np.eye(len(H))  # equal models
    R = cholesky(H + ridge)
    x, _ = nnls(R, solve_triangular(R, 2 * g - 1 + ridge @ w, trans="T"))
    return x


class Stacking(NamedTuple):
    """Weights by the rows' scores, and the score of the mixture with the weights before each chunk."""

    weights: np.ndarray
    rows: RowScores
    log_evidence: float  #: log Σ_k prior_k p_k(first chunk) + Σ_r v_r log Σ_k w_k p_kr of the rows after it
    score_var: float
    var: np.ndarray  #: variances of the models' log evidences so far

    @classmethod
    def start(cls, log_prior: np.ndarray, forgetting: float) -> "Stacking":
        """Before the first row."""
        K = len(log_prior)
        none = RowScores(np.empty((0, K)), np.empty(0), np.empty(0))
        return cls(np.exp(log_prior), none, 0.0, 0.0, np.zeros(K))

    def after(self, models: Sequence[Any], n_rows: float, rows: RowScores | None) -> "Stacking":
        """Weights of models that have learnt from ``n_rows`` more rows, whose scores are ``rows``."""
        log_Z, std = evidences(models)
        if rows is None:  # the first chunk, as a whole
            gain, share = self._gain(log_Z[None], np.ones(1))
            kept, weights = self.rows, self.weights
        else:
            gain, share = self._gain(rows.log_p, rows.weight)
            kept = self.rows.join(rows)
            weights = stacking_weights(kept.log_p, kept.weight, self.weights)
        score_var = self.score_var + float(np.sum(share**2 * (std**2 - self.var)))
        return type(self)(weights, kept, self.log_evidence + gain, score_var, std**2)

    def _gain(self, log_p: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        """Log score of rows, and the share in it of a model's error, were it the same in all of them."""
        with np.errstate(divide="ignore"):
            joint = log_p + np.log(self.weights)
        mixed = log_sum_exp(joint, axis=1)
        share = weight @ np.exp(joint - mixed[:, None]) / max(weight.sum(), 1e-300)
        return float(weight @ mixed), share

    @property
    def log_evidence_std(self) -> float:
        """Its standard error, the weights taken as given."""
        return float(np.sqrt(np.maximum(self.score_var, 0.0)))

    @property
    def interval(self) -> np.ndarray:
        """Interval of the weights by the choice of rows, (2, K): 90 % of a Bayesian bootstrap of the rows."""
        if not len(self.rows.key):
            return np.array([np.zeros_like(self.weights), np.ones_like(self.weights)])
        rng = np.random.default_rng(0)
        draws = [
            stacking_weights(
                self.rows.log_p, self.rows.weight * rng.exponential(size=len(self.rows.key)), self.weights
            )
            for _ in range(N_BOOTSTRAP)
        ]
        return np.quantile(draws, [0.05, 0.95], axis=0)

    @property
    def complaints(self) -> list[str]:
        """Why the weights should not be trusted."""
        if len(self.rows.key):
            return []
        return ["no row was predicted before it was learnt, so the weights are still those of model_prior"]
