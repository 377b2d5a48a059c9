"""Reports of a weighted cloud: paths, diagnostics, draws, averages over particles."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..history import Rows
from ..models import Model
from ..particles import log_sum_exp, spread
from ..samplers import EvidenceResult, diagnostics, evidence_path
from ._documentation import described
from ._standardising import Drawn, Evidence, Standardising, learnt
from ._summary import DIMENSIONS, ParameterTable, parameter_table
from ._transaction import Stream


class PosteriorReports(Standardising):
    """Reports of a fitted estimator on its posterior; subclasses say how rows are validated."""

    log_evidence_: Any = Evidence()
    log_evidence_std_: Any = Evidence()
    particles_: Any = Drawn(lambda result: result.theta, lambda state: state.theta)
    particle_weights_: Any = Drawn(lambda result: result.weights, lambda state: state.all_weights.W)
    _model: Model
    _stream: Stream | None
    _result: EvidenceResult | None
    _dimensions: dict[str, tuple[str, ...]] = DIMENSIONS  #: names of the axes of parameters
    _not_replicated: str | None = None  #: why a predictive check is refused, in words
    #: weight of the rows seen and Σ log |g'(y)| of them after each call, where the model is one of g(y)
    _slopes_seen: Any = ((0.0, 0.0),)
    _is_series = False  #: rows of a density depend on those before
    _columns_have_levels = False  #: those of a density
    _y_says_what_it_is = False  #: y of a user's own model: counts, shares or any numbers
    _draws_tell_priors = True  #: draws can be reweighted to another prior

    def _evidence(self, answer: Any) -> dict[str, float]:
        """Log evidence of the data as given, and its standard error, from the answer of a sampler."""
        is_relative = getattr(self, "evidence_is_relative_", False)  # to a null model: units cancel
        unit = 0.0 if self._units is None or is_relative else self._log_unit * self._weight_seen
        slopes = 0.0 if is_relative else self._slopes_seen[-1][1]
        return {
            "log_evidence_": answer.log_evidence - unit + slopes,
            "log_evidence_std_": answer.log_evidence_std,
        }

    def _report(self, answer: Any) -> None:
        """Have the evidence of an answer."""
        self._waits = False
        self.__dict__ |= self._evidence(answer)

    def _wait(self) -> None:
        """Have an evidence that is made when it is asked for."""
        self._waits = True
        self.log_evidence_ = self.log_evidence_std_ = np.nan

    @property
    def _labels(self) -> np.ndarray | None:
        """Labels of y in their order, of classifiers and of ordered levels; None where y is numbers."""
        return getattr(self, "classes_", None)

    @property
    def _choices(self) -> tuple[int, Any]:
        """Number of values that ``predict`` chooses from, 1 of numbers, and their type."""
        labels = self._labels
        if labels is None:
            return 1, np.float64
        return len(labels), labels.dtype if is_classifier(self) else np.float64

    _rows_to_score: Any  #: (X, y=None) -> validated Rows
    _sampler: Any  #: () -> the evidence algorithm

    @learnt
    @described
    def evidence_path_(self) -> dict[str, np.ndarray]:
        if self._result is not None:
            path = self._result.path
        else:
            assert self._stream is not None
            path = evidence_path(self._stream.records)
        path = path if self._units is None else self._units.restored_path(path)
        weight, slopes = np.array(self._slopes_seen).T  # within a call in proportion to its rows
        slopes = np.interp(path["total_weight"], weight, slopes)
        return (
            path
            | {
                "log_evidence": path["log_evidence"] + slopes,
                "log_predictive": path["log_predictive"] + np.diff(slopes, prepend=0.0),
            }
            if slopes.any()
            else path
        )

    @learnt
    @described
    def diagnostics_(self) -> dict[str, float]:
        if self._result is not None:
            return self._result.diagnostics
        assert self._stream is not None
        return diagnostics(self._stream.records)

    @learnt
    @described
    def warnings_(self) -> list[str]:
        if self._result is not None:
            return [*self._doubts, *self._result.warnings]
        assert self._stream is not None
        _, state, records = self._stream
        return [*self._doubts, *self._sampler().doubts(state, self._model, records)]

    def posterior_samples(self) -> dict[str, np.ndarray]:
        """Equally weighted draws from the posterior.

        Returns
        -------
        dict of str to ndarray
            Named parameters in their natural space, each with leading axis M = n_particles.
            Weighted particles are repeated in proportion to their weight, without randomness.
        """
        self._must_be_fitted()
        theta = self.particles_[spread(self.particle_weights_, len(self.particles_))]
        return self._parameters(theta)

    def summary(self, level: float = 0.9) -> ParameterTable:
        """Posterior mean, standard deviation and interval of each parameter, in the data's units.

        Parameters
        ----------
        level : float, default=0.9
            Probability of the interval; half of the rest lies on each side.

        Returns
        -------
        ParameterTable
            One row per scalar parameter, by the names of columns and classes, such as ``coef[bmi]``.  The
            columns are ``mean``, ``sd``, the bounds of the interval (``5%`` and ``95%``), and ``ess``, the
            effective number of draws behind the mean.  It prints in eighty columns; ``to_frame()`` is for
            pandas.

        See Also
        --------
        posterior_samples : The draws.

        Notes
        -----
        Components of a mixture are in the order of ``weights_``, and a note says if the posterior hardly
        tells two of them apart.
        """
        self._must_be_fitted()
        return parameter_table(self, level)

    def _prior_notes(self) -> list[str]:
        """A line above the table on the priors and their units."""
        return []

    def _summarised(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The parameters of the summary, (M, ...) each, from all named ones."""
        return named

    def _summary_notes(self) -> list[str]:
        """Sentences below the table of parameters."""
        return []

    def _parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        """Named parameters in the data's units, exchangeable components in common slots."""
        named = self._model.parameters(self._model.canonicalize(theta))
        return named if self._units is None else self._units.restored(named)

    def _log_likelihood(self, theta: np.ndarray, rows: Rows) -> np.ndarray:
        """log p(y_r | θ_m) of the data as given, (M, n), from rows in the units of the model."""
        return self._model.log_likelihood(theta, rows) - self._log_unit + self._log_slopes(rows)

    def log_predictive(self, X: Any, y: Any = None) -> float:
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
        unit = self._log_unit * rows.total_weight - np.sum(rows.weight * self._log_slopes(rows))
        return float(log_sum_exp(self._log_weights() + ell) - unit)

    def _score_rows(self, rows: Rows) -> np.ndarray:
        """log Σ_i W_i p(y_r | θ_i) for each row."""
        return self._average_over_particles(rows, self._log_likelihood)

    def _average_over_particles(
        self, rows: Rows, log_f: Callable[[np.ndarray, Rows], np.ndarray]
    ) -> np.ndarray:
        """log Σ_i W_i exp(log_f(θ_i, row)) for log_f of shape (..., M, n), in blocks of rows; (..., n)."""
        log_W = self._log_weights()[:, None]
        size = max(1, 200_000 // len(self.particles_))  # particles × rows of one block of an average
        parts = [log_sum_exp(log_f(self.particles_, block) + log_W, axis=-2) for block in rows.blocks(size)]
        return np.concatenate(parts, axis=-1)

    def _log_weights(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.particle_weights_)

    def _posterior_mean_and_std(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Moments of a named parameter, exchangeable components in common slots."""
        return self._mean_and_std(self._parameters(self.particles_)[name])

    def _mean_and_std(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Moments of a function of the particles, (M, ...)."""
        mean = np.tensordot(self.particle_weights_, values, axes=1)
        deviation = values - mean  # brought to one by powers of two, so that no square overflows
        exponent = np.frexp(np.abs(deviation).max(axis=0))[1]
        squares = np.ldexp(deviation, -exponent) ** 2
        return mean, np.ldexp(np.sqrt(np.tensordot(self.particle_weights_, squares, axes=1)), exponent)
