"""The regressions of an estimator on subsets of the columns: Laplace's evidence of each, and draws of some.

Laplace's evidence is a few Newton steps from the mode of a subset that differs in one group, and leads the
search; in the end draws around the modes weigh the subsets, or the sampler of the estimator does.

Evidences of all subsets with one group more or less, from the Hessian over all columns at one mode.

With P = −∇∇ log joint of the subset's coefficients S at its mode m, C = P⁻¹, and H that of all columns there,
column j has a direction E_j: e_j − C H_Sj if it is not in S, along which the others make way, and C e_j if it
is.  With B = E_GᵀHE_G, v_G = E_Gᵀg (and m_G more, if G is in S) and λ the prior precisions, the quadratic at
m gives for a group G that is put in (+) or taken out (−)

    ΔL = ± ½ (vᵀB⁻¹v + Σ log λ_G) − ½ log|B|,     θ′ = m + C g_S ± E_G B⁻¹v_G,

exact for a Gaussian posterior; for others it is what a search needs to know where to go, and by .1 nats too
high.  Where that counts, the log joint, its gradient and the curvatures w′ of the rows are computed at θ′:
half the gain of a step is added there, and −½ Σ log(1 + h′(w′ − w)), h′ the variance of a row's linear
predictor, corrects the determinant.

Symbols: ``theta, g, H`` = point, gradient and −∇∇ over all columns and the intercept, (q,), (q,), (q, q);
``precision`` = λ, (q,); ``k`` = groups.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..answers import TOLERANCE_NATS
from ..estimators import BayesianGLM, BayesianSoftmaxRegression
from ..exceptions import EvidenceWarning
from ..models import Bernoulli, FarColumns, GLMModel, SoftmaxModel
from ..rows import generator, with_known
from ..samplers import SGAIS, EvidenceResult
from ..targets import laplace_evidence
from ._average import PooledDraws, of_both_classes, on_all_columns, resampled
from ._subset_evidence import MAX_ROWS_OF_DRAWS, Design, derivatives_of_many, drawn_subset, laplace_of_many
from ._subsets import Subsets

#: Gain of a Newton step at a predicted point, nats, beyond which the quadratic's word is taken: rates that an
#: exponential has carried away.
MAX_GAIN_OF_PREDICTION = 2.0


BERNOULLI = Bernoulli()


class Flips(NamedTuple):
    """Each group put in or taken out."""

    change: np.ndarray  #: log evidence less that of the subset, nats, (k,)
    theta: np.ndarray  #: predicted modes, (k, q)


class AtMode(NamedTuple):
    """All columns at the mode of one subset."""

    theta: np.ndarray  #: 0 where a column is not in the subset
    g: np.ndarray
    H: np.ndarray
    precision: np.ndarray

    def flips(
        self,
        inside: np.ndarray,
        groups: Sequence[np.ndarray],
        state: int,
        design: Design | None = None,
    ) -> Flips:
        """By the quadratic at the mode with columns ``inside``; corrected at θ′ by the rows of a design."""
        q, k = len(self.theta), len(groups)
        E, is_in = np.eye(q), np.isin(np.arange(q), inside)
        C = np.linalg.inv(self.H[np.ix_(is_in, is_in)])
        E[np.ix_(is_in, ~is_in)], E[np.ix_(is_in, is_in)] = -C @ self.H[np.ix_(is_in, ~is_in)], C
        B, v, step = E.T @ self.H @ E, E.T @ self.g, np.zeros(q)
        v[is_in] += self.theta[is_in]
        step[is_in] = C @ self.g[is_in]
        sign = np.array([-1.0 if state >> g & 1 else 1.0 for g in range(k)])
        change, theta = np.empty(k), np.tile(self.theta + step, (k, 1))
        inverse, blocks = np.zeros((k, q, q)), []  # of the blocks of B
        for size in {len(group) for group in groups}:
            which = np.array([g for g in range(k) if len(groups[g]) == size])
            at = np.array([groups[g] for g in which])  # (groups of this size, size)
            block = B[at[:, :, None], at[:, None]]
            blocks.append((at, which, np.linalg.inv(block)))
            inverse[which[:, None, None], at[:, :, None], at[:, None]] = blocks[-1][2]
            log_prior = np.sum(np.log(self.precision[at]), axis=1)
            change[which] = 0.5 * (sign[which] * log_prior - np.linalg.slogdet(block)[1])
        moved = inverse @ v
        quadratic = 0.5 * sign * (moved @ v)
        theta += sign[:, None] * (moved @ E.T)
        if design is None:
            return Flips(change + quadratic, theta)
        return self._corrected(Flips(change, theta), quadratic, is_in, E, inverse, blocks, sign, design)

    def _corrected(self, found, quadratic, is_in, E, inverse, blocks, sign, design) -> Flips:
        """By the rows at the predicted modes."""
        family, Phi, offset, known, y, weight, precision = design
        every = np.vstack([self.theta, found.theta])
        with np.errstate(all="ignore"):
            eta = every @ Phi.T + offset
            f = family.log_density(eta, y, *known) @ weight - 0.5 * every**2 @ precision
            g = (family.score(eta[1:], y, *known) * weight) @ Phi - found.theta * precision
            w = family.curvature(eta, y, *known) * weight
            g *= is_in ^ np.any(inverse != 0, axis=1)  # columns of the subset after the flip
            of_groups = np.sum((inverse @ (u := g @ E)[:, :, None])[:, :, 0] * u, axis=1)
            gain = np.einsum("ki,ki->k", u[:, is_in], g[:, is_in]) + sign * of_groups
            U = Phi @ E
            h = np.sum(U[:, is_in] * Phi[:, is_in], axis=1)
            more = np.zeros((len(sign), len(U)))
            for at, which, inverse_of_size in blocks:
                along = U[:, at].transpose(1, 0, 2)  # (groups of this size, n, size)
                more[which] = np.sum((along @ inverse_of_size) * along, axis=2)
            log_det = np.sum(np.log1p(np.maximum((h + sign[:, None] * more) * (w[1:] - w[0]), -0.99)), axis=1)
            here = f[0] + 0.5 * self.g[is_in] @ E[np.ix_(is_in, is_in)] @ self.g[is_in]
            exact = f[1:] + 0.5 * gain - here - 0.5 * log_det
        is_near = np.isfinite(exact) & (gain < MAX_GAIN_OF_PREDICTION)
        return Flips(found.change + np.where(is_near, exact, quadratic), found.theta)


#: Subsets that a search weighs at most, of which each takes about a millisecond with a thousand rows.
MAX_WEIGHED = 20_000
#: Subsets whose neighbours' modes are remembered, at most: a step of a chain asks for those of few.
N_PREDICTED = 4


class Regressions:
    """An estimator, and rows on all columns, as its ``fit`` takes them.

    ``known`` are ``offset``, ``trials`` and ``event``, those that are given; ``rng`` seeds the draws.  None:
    the estimator's own ``random_state`` is that of all.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        known: dict[str, Any],
        rng: np.random.Generator | None,
    ) -> None:
        _check(estimator, known)
        self.estimator, self.rng = estimator, rng
        self.given = dict(X=X, y=y, sample_weight=sample_weight, **known)
        self.whole = clone(estimator)  #: knows the names of columns and the classes
        self.whole._validate_params()
        with warnings.catch_warnings():  # the average will say so again
            warnings.simplefilter("ignore", EvidenceWarning)
            self.rows = self.whole._first_rows(with_known(X, **known) if known else X, y, sample_weight)
        self.n_features = self.whole.n_features_in_
        self._log_units = self.whole._log_unit * self.rows.total_weight  # answers are for y as given, nats
        model = self.whole._make_model(self.rows.X, self.rows.y)
        self._is_difference = isinstance(model, SoftmaxModel) and model.n_classes == 2
        model = difference_of_classes(model) if self._is_difference else model
        self._model = model  #: on all columns
        #: one linear predictor without parameters of a family beside it, which has one mode
        self.has_shared_hessians = isinstance(model, GLMModel) and model.is_log_concave and not model.n_own
        self.is_log_concave = model.is_log_concave

    def _model_of(self, X: np.ndarray) -> Any:
        """The model on these columns; of two classes that of the difference of their coefficients."""
        model = self.whole._make_model(X, self.rows.y)
        return difference_of_classes(model) if self._is_difference else model

    def laplace(self, columns: list[int], start: np.ndarray | None) -> tuple[np.ndarray | None, float]:
        """Coefficients (K, p) and what follows them, a start for other subsets, and the evidence; or nan."""
        p, rows = self.n_features, self.rows
        X = self._columns(columns)
        model = self._model_of(X)
        is_far, K = isinstance(model, FarColumns), getattr(model, "n_classes", 1)
        theta = np.zeros((K, model.n_params // K))
        if start is not None and not is_far:
            theta[:] = start[:, [*columns, *range(p, start.shape[1])]]
        with np.errstate(all="ignore"):
            found = laplace_evidence(model, replace(rows, X=X), theta.ravel())
        if found is None:
            return None, np.nan
        value = found[1] - self._log_units
        if is_far:
            return None, value
        mode = np.zeros((K, p + theta.shape[1] - len(columns)))
        mode[:, [*columns, *range(p, mode.shape[1])]] = found[0].reshape(theta.shape)
        return mode, value

    def _columns(self, columns: list[int]) -> np.ndarray:
        """These columns of the rows, and those that are known."""
        return np.take(self.rows.X, [*columns, *range(self.n_features, self.rows.X.shape[1])], axis=1)

    def laplace_of_many(
        self, columns: list[list[int]], starts: list[np.ndarray | None]
    ) -> list[tuple[np.ndarray, float]]:
        """:meth:`laplace` of log-concave regressions, nan of those that the steps of many do not lead to."""
        if not self.design.is_small:
            return []
        inside = np.zeros((len(columns), self.design.Phi.shape[1]), dtype=bool)
        inside[:, self.n_features :] = True
        for mask, subset in zip(inside, columns):
            mask[subset] = True
        start = [np.zeros(inside.shape[1]) if one is None else one[0] for one in starts]
        modes, values = laplace_of_many(self.design, inside, np.array(start))
        return list(zip(modes[:, None], (values - self._log_units).tolist()))

    def at_mode(self, theta: np.ndarray) -> AtMode:
        """All columns at the mode of some, (1, q) as :meth:`laplace` gives it."""
        _, g, H = derivatives_of_many(self.design, theta, np.ones_like(theta, dtype=bool))
        return AtMode(theta[0], g[0], H[0], self.design.precision)

    @cached_property
    def design(self) -> Design:
        """All columns, of a regression with shared Hessians."""
        return Design.of(self._model, self.rows)

    def answered(
        self, columns: list[int], mode: np.ndarray | None, tolerance: float = TOLERANCE_NATS
    ) -> EvidenceResult:
        """Evidence and draws on these columns, around the mode if that is enough, else by the sampler."""
        rng, found = generator(self._seed()), None
        few_rows = len(self.rows) <= MAX_ROWS_OF_DRAWS
        if mode is not None and few_rows and self.has_shared_hessians and self.estimator.sampler is None:
            inside = np.array([*columns, *range(self.n_features, mode.shape[1])], dtype=int)
            found = drawn_subset(self.design, inside, mode[0], self._log_units, rng, tolerance)
        if found is not None:
            return found
        rows = replace(self.rows, X=self._columns(columns))
        sampler = SGAIS(tolerance=tolerance) if self.estimator.sampler is None else self.estimator.sampler
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", EvidenceWarning)
            found = sampler.run(self._model_of(rows.X), rows, rng)
        return found._replace(log_evidence=found.log_evidence - self._log_units)

    def average(self, subsets: list[tuple[list[int], EvidenceResult]], weight: np.ndarray) -> Any:
        """The estimator on all columns, with draws of subsets by their weights."""
        rng = generator(self._seed())
        parts = zip(subsets, resampled([one for _, one in subsets], weight, rng))
        found = [
            on_all_columns(self._model, self._model_of(self._columns(columns)), columns, theta)
            for (columns, _), theta in parts
        ]
        theta = np.concatenate(found)
        if self._is_difference:
            theta = of_both_classes(theta, self._model.scales, rng)
        one = clone(self.estimator).set_params(sampler=PooledDraws(theta))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EvidenceWarning)
            return one.fit(**self.given).set_params(sampler=self.estimator.sampler)

    def _seed(self) -> Any:
        return self.estimator.random_state if self.rng is None else int(self.rng.integers(2**31 - 1))


def difference_of_classes(model: SoftmaxModel) -> GLMModel:
    """The model of δ = θ₁ − θ₀ of two classes, which is all that their probabilities depend on.

    δ has twice the prior variance of a class, and the evidence is the same: the mean (θ₀ + θ₁)/2 is
    independent of δ and keeps its prior.
    """
    first, second = model.intercept_centers or (0.0, 0.0)
    return GLMModel(
        model.n_features,
        BERNOULLI,
        model.fit_intercept,
        2**0.5 * model.coef_scale,
        2**0.5 * model.intercept_scale,
        intercept_center=second - first,
    )


def _check(estimator: Any, known: dict[str, Any]) -> None:
    """Refuse what has no subsets of columns to choose from."""
    name = type(estimator).__name__
    if not isinstance(estimator, BayesianGLM | BayesianSoftmaxRegression):
        raise TypeError(
            f"estimator must be a BayesianGLM or a BayesianSoftmaxRegression, got {name}: a linear "
            "regression is what EvidenceFeatureSelector() weighs, with its noise_std, coef_scale and the like"
        )
    if estimator.columns is not None:
        raise ValueError(
            f"columns = {estimator.columns!r} of the estimator leave nothing to select: say always= for the "
            "columns of every model, and give the columns of X that may be in"
        )
    if known and not estimator._takes_known:
        raise ValueError(f"{name} takes neither offset nor trials nor event, got {' and '.join(known)}")


class LaplaceSubsets(Subsets):
    """Subsets of the columns of :class:`Regressions`, each with Laplace's evidence; nan where it has none.

    Evidences of neighbours come from the Hessian at the mode of the subset between them, where the family
    allows it.
    """

    def __init__(
        self,
        regressions: Regressions,
        always: Sequence[int],
        groups: Sequence[Sequence[int]],
        log_size_prior: np.ndarray,
    ) -> None:
        super().__init__(always, groups, log_size_prior, float(regressions.rows.total_weight))
        self.regressions = regressions
        self._indices = [np.array(group) for group in self.groups]
        self._known: dict[int, tuple[np.ndarray | None, float]] = {}
        self._accurate: dict[int, np.ndarray] = {}
        self._predicted: dict[int, np.ndarray] = {}  #: modes of the neighbours of the last subsets

    @property
    def is_spent(self) -> bool:  # type: ignore[override]
        return len(self._known) >= MAX_WEIGHED

    @property
    def without(self) -> list[int]:
        """Subsets that have no Laplace evidence."""
        return [state for state, (_, value) in self._known.items() if not np.isfinite(value)]

    def answered(self, state: int, tolerance: float) -> EvidenceResult:
        """Evidence, to a tolerance in nats, and draws, by more than Laplace."""
        return self.regressions.answered(sorted(self.columns(state)), self._known[state][0], tolerance)

    def evidence(self, state: int) -> tuple[float, float]:
        return self._laplace(state, self._beside(state)), 0.0

    def _beside(self, state: int) -> int:
        """A subset with one group more or less that is known, or none of the groups."""
        near = (state ^ (1 << g) for g in range(len(self.groups)))
        return next(filter(self._known.__contains__, near), 0)

    def weigh(self, states: Sequence[int]) -> None:
        new = [state for state in states if state not in self._known]
        if self.is_exact or not new:
            return
        starts = [self._start(state) for state in new]
        columns = [sorted(self.columns(state)) for state in new]
        for state, found in zip(new, self.regressions.laplace_of_many(columns, starts)):
            if np.isfinite(found[1]):
                self._known[state] = found

    def _start(self, state: int) -> np.ndarray | None:
        """The mode as a neighbour has predicted it, or that of a neighbour."""
        for other, predicted in self._predicted.items():
            if (flip := state ^ other).bit_count() == 1:
                return predicted[None, flip.bit_length() - 1]
        return self._known.get(self._beside(state), (None, 0.0))[0]

    @property
    def is_exact(self) -> bool:  # type: ignore[override]
        return not self.regressions.has_shared_hessians

    def evidences_of_flips(self, state: int) -> tuple[np.ndarray, np.ndarray]:
        here, zeros, found = self.evidence(state)[0], np.zeros(len(self.groups)), self._flipped(state, False)
        if found is not None:
            few = self._predicted if len(self._predicted) < N_PREDICTED else {}
            self._predicted = few | {state: found.theta}
            return here + found.change, zeros
        each = [self._laplace(state ^ (1 << g), state) for g in range(len(self.groups))]
        return np.array(each), zeros

    def accurate_flips(self, state: int) -> np.ndarray:
        if state not in self._accurate:
            found, others = self._flipped(state, True), [state ^ (1 << g) for g in range(len(self.groups))]
            if found is None:
                return self.flips(state)
            log_prior = np.array([self.log_prior(other) for other in others])
            self._accurate[state] = self.evidence(state)[0] + found.change + log_prior
        return self._accurate[state]

    def _flipped(self, state: int, is_corrected: bool) -> Flips | None:
        """By the Hessian at the mode; None where evidences are found one by one."""
        here, (mode, _) = self.evidence(state)[0], self._known[state]
        if self.is_exact or mode is None or not np.isfinite(here):
            return None
        columns = [*self.columns(state), *range(self.regressions.n_features, mode.shape[1])]
        at, design = self.regressions.at_mode(mode), self.regressions.design if is_corrected else None
        try:
            return at.flips(np.array(columns, dtype=int), self._indices, state, design)
        except np.linalg.LinAlgError:
            return None  # rounding has taken a curvature's sign

    def _laplace(self, state: int, beside: int) -> float:
        """The evidence, from the mode of a subset that may be known; −∞, which no chain enters, for nan."""
        self.weigh([state])
        if state not in self._known:
            start, _ = self._known.get(beside, (None, 0.0))
            self._known[state] = self.regressions.laplace(sorted(self.columns(state)), start)
        value = self._known[state][1]
        return value if np.isfinite(value) else -np.inf
