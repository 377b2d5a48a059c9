"""The face that all estimators share: validation, the sampler's state, and what is reported of it.

There is no mathematics of sampling here.  An update is computed from immutable states and a copy
of the random generator, and stored only when it is complete: an exception or a keyboard interrupt
leaves the estimator as it was before the call.
"""

import copy
import warnings
import zlib
from contextlib import contextmanager
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..exceptions import EvidenceWarning
from ..history import Rows
from ..particles import log_sum_exp, spread
from ..samplers import SGAIS, Progress, complaints, diagnostics, evidence_path, thinned


class EvidenceEstimator(BaseEstimator):
    """Base of the estimators; a concrete one makes its model and reads its own attributes off the cloud."""

    _parameter_constraints: dict = {
        "sampler": [HasMethods(["run"]), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # -- what a concrete estimator defines ------------------------------------------------------

    def _make_model(self, X, y):
        raise TypeError(f"{type(self).__name__} does not define a model")

    def _validate(self, X, y, reset):
        """Validated X and y (None for densities), labels as they came."""
        return validate_data(self, X, reset=reset, dtype=np.float64, order="C"), None

    def _encode(self, y, reset, classes):
        """Targets as the model wants them; the classifier stores its classes here."""
        return y

    # -- learning -------------------------------------------------------------------------------

    def _learn(self, X, y, sample_weight, *, reset, classes=None):
        """Forget everything if ``reset``, then absorb the rows in one update."""
        with _all_or_nothing(self):
            X, y = self._validate(X, y, reset)
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            kept = weight > 0
            if not kept.all():  # a row of weight zero is no row: it must not even use up random numbers
                X, y, weight = X[kept], None if y is None else y[kept], weight[kept]
            y = self._encode(y, reset, classes)
            rows = Rows(X, y, weight)
            sampler = SGAIS() if self.sampler is None else self.sampler
            progress = Progress(type(self).__name__, self.verbose)
            if reset:
                self._model = self._make_model(X, y)
                self.n_samples_seen_, self.data_fingerprint_ = 0, 0
            if _is_online(self):
                self._update(sampler, rows, reset, progress)
            else:
                result = sampler.run(self._model, rows, _generator(self.random_state), progress)
                self._stream, self._result = None, result
                self._report(result, result.weights)
                progress.done(
                    f"{len(rows)} rows, log evidence {result.log_evidence:.2f} "
                    f"± {result.log_evidence_std:.2f} nats, {result.wall_time:.1f} s"
                )
            self.n_samples_seen_ += len(rows)
            self.data_fingerprint_ = _fingerprint(X if y is None else y, weight, self.data_fingerprint_)
        return self

    def _update(self, sampler, rows, reset, progress):
        """The sampler's state goes from one call to the next."""
        if reset:
            rng, records = _generator(self.random_state), []
            state = sampler.init(self._model, rng)
        elif self._stream is None or self._stream.sampler is not type(sampler):
            raise ValueError(
                f"the rows before were not learnt with {type(sampler).__name__}, which cannot go on from "
                "there: call fit, or give the sampler of the first call"
            )
        else:
            rng, state, records = copy.deepcopy(self._stream.rng), self._stream.state, self._stream.records
        state, new = sampler.update(state, self._model, rows, rng, progress)
        records = thinned(records + new)
        self._stream, self._result = Stream(type(sampler), rng, state, records), None
        self._report(state, state.all_weights.W)
        for complaint in complaints(new):
            warnings.warn(complaint, EvidenceWarning, stacklevel=5)

    def _report(self, answer, weights):
        self.log_evidence_ = answer.log_evidence
        self.log_evidence_std_ = answer.log_evidence_std
        self.particles_ = answer.theta
        self.particle_weights_ = weights

    def _is_first_call(self) -> bool:
        return not hasattr(self, "log_evidence_")

    # -- what is reported ------------------------------------------------------------------------

    @property
    def evidence_path_(self) -> dict[str, np.ndarray]:
        """One entry per chunk: see the class's Attributes."""
        if self._is_first_call():
            raise AttributeError(f"{type(self).__name__} has no evidence_path_ before it is fitted")
        return evidence_path(self._stream.records) if self._stream else self._result.path

    @property
    def diagnostics_(self) -> dict[str, float]:
        """How the sampling went: see the class's Attributes."""
        if self._is_first_call():
            raise AttributeError(f"{type(self).__name__} has no diagnostics_ before it is fitted")
        return diagnostics(self._stream.records) if self._stream else self._result.diagnostics

    def posterior_samples(self) -> dict[str, np.ndarray]:
        """Equally weighted draws from the posterior.

        Returns
        -------
        dict of str to ndarray
            Named parameters in their natural space, each with leading axis M = n_particles.
            Weighted particles are repeated in proportion to their weight, without randomness.
        """
        check_is_fitted(self)
        theta = self.particles_[spread(self.particle_weights_, len(self.particles_))]
        return self._model.parameters(self._model.canonicalize(theta))

    def log_predictive(self, X, y=None) -> float:
        """Joint log predictive density of rows, log p(rows | rows seen), in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            Not used by density models.

        Returns
        -------
        float
            log Σ_i W_i Π_r p(y_r | θ_i).
        """
        rows = self._rows_to_score(X, y)
        ell = self._model.sum_log_likelihood(self.particles_, rows)
        return float(log_sum_exp(self._log_weights() + ell))

    def _rows_to_score(self, X, y) -> Rows:
        check_is_fitted(self)
        X, y = self._validate(X, y, reset=False)
        return Rows.of(X, self._encode(y, False, None))

    def _score_rows(self, rows: Rows) -> np.ndarray:
        """log Σ_i W_i p(y_r | θ_i) for each row."""
        return self._average_over_particles(
            rows, lambda theta, block: self._model.log_likelihood(theta, block)
        )

    def _average_over_particles(self, rows: Rows, log_f) -> np.ndarray:
        """log Σ_i W_i exp(log_f(θ_i, row)) for log_f of shape (..., M, n), in blocks of rows; (..., n)."""
        log_W = self._log_weights()[:, None]
        size = max(1, 200_000 // len(self.particles_))
        parts = [log_sum_exp(log_f(self.particles_, block) + log_W, axis=-2) for block in rows.blocks(size)]
        return np.concatenate(parts, axis=-1)

    def _log_weights(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.particle_weights_)

    def _posterior_mean_and_std(self, name):
        values = self._model.parameters(self._model.canonicalize(self.particles_))[name]
        mean = np.tensordot(self.particle_weights_, values, axes=1)
        return mean, np.sqrt(np.tensordot(self.particle_weights_, (values - mean) ** 2, axes=1))


class ConditionalMixin:
    """Models of y given X: scores of pairs, simulated targets, coefficients."""

    def score_samples(self, X, y=None):
        """Log predictive density of each row, in nats.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
            If None, the score that the model itself expects: minus the entropy of its prediction
            (of a Gaussian with the predictive variance, for a regression).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if y is None:
            return self._expected_score(X)
        return self._score_rows(self._rows_to_score(X, y))

    def sample_y(self, X, n_samples=1, random_state=None):
        """Draws from the posterior predictive distribution.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None
            By default the estimator's own.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Each entry from a particle of its own.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        _check_count(n_samples, "n_samples")
        rng = _generator(self.random_state if random_state is None else random_state)
        draws = []
        for _ in range(n_samples):
            theta = self.particles_[rng.choice(len(self.particles_), size=len(X), p=self.particle_weights_)]
            draws.append(self._model.sample_rows(theta, X, rng))
        return self._decode(np.column_stack(draws))

    def _decode(self, y):
        return y

    @property
    def coef_(self) -> np.ndarray:
        """Posterior mean of the coefficients."""
        return self._fitted_mean_and_std("coef")[0]

    @property
    def coef_std_(self) -> np.ndarray:
        """Posterior standard deviation of the coefficients."""
        return self._fitted_mean_and_std("coef")[1]

    @property
    def intercept_(self):
        """Posterior mean of the intercept; 0.0 without one."""
        return self._fitted_mean_and_std("intercept")[0] if self.fit_intercept else 0.0

    def _fitted_mean_and_std(self, name):
        if self._is_first_call():
            raise AttributeError(f"{type(self).__name__} has no coefficients before it is fitted")
        return self._posterior_mean_and_std(name)


@contextmanager
def _all_or_nothing(estimator):
    """Restore the estimator's attributes, and a RandomState among them, if the block does not finish."""
    before, random_state = vars(estimator).copy(), estimator.random_state
    drawn = random_state.get_state() if isinstance(random_state, np.random.RandomState) else None
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        if drawn is not None:
            random_state.set_state(drawn)
        raise


class Stream(NamedTuple):
    """What the next ``partial_fit`` goes on from."""

    sampler: type
    rng: np.random.Generator
    state: Any
    records: list


def _is_online(estimator) -> bool:
    """Can its sampler learn from rows as they come?"""
    return estimator.sampler is None or hasattr(estimator.sampler, "update")


def learns_online(estimator) -> bool:
    """For ``available_if``: says why there is no ``partial_fit``."""
    if _is_online(estimator):
        return True
    raise AttributeError(
        f"{type(estimator.sampler).__name__} needs all rows at once: use fit, or a sampler that learns "
        "online, such as SGAIS()"
    )


def _generator(random_state) -> np.random.Generator:
    """A Generator from scikit-learn's random_state: the same for the same int, advancing a RandomState."""
    seeds = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.default_rng(seeds.tolist())


def _fingerprint(data, weight, running: int) -> int:
    """CRC-32 of the rows in order, continued from ``running``: the same however the rows are cut."""
    table = np.column_stack([data, weight]).astype(np.float64, copy=False)
    return zlib.crc32(np.ascontiguousarray(table).tobytes(), running)


def _check_count(n, name):
    if not isinstance(n, Integral) or n < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {n!r}")


def check_prior_pair(pair, name) -> tuple[float, float]:
    """Shape and scale of an inverse gamma prior."""
    values = np.asarray(pair, dtype=float).ravel()
    if values.shape != (2,) or not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"{name} must be a pair of positive numbers (shape, scale), got {pair!r}")
    return float(values[0]), float(values[1])
