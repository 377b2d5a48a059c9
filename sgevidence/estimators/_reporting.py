"""Reports of a posterior: paths, diagnostics, draws, averages over particles, and the table of parameters.

The weighted mean μ̂ = Σ_i W_i f_i has the variance Σ_i W_i² (f_i − μ̂)², so that f has

    ess = Σ_i W_i (f_i − μ̂)² / Σ_i W_i² (f_i − μ̂)²

effective draws; particles that are alike are one, with the sum of their weights.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..history import Rows
from ..models import Model
from ..particles import log_sum_exp, spread
from ..samplers import EvidenceResult, diagnostics, evidence_path
from ..tables import ROUNDING_SHARE, Table, to_digits, with_errors
from ._calls import Stream
from ._documentation import described
from ._standardising import Evidence, Learnt, Standardising, learnt

#: Axes of the named parameters, without the draws.  A regression has the last of them only; covariances have
#: the first of them, as many as their kind.
DIMENSIONS = {
    "coef": ("class", "feature"),
    "intercept": ("class",),
    "weights": ("component",),
    "means": ("component", "feature"),
    "covariances": ("component", "feature", "other_feature"),
    "stds": ("component", "feature"),
    "category_probabilities": ("component", "level"),
    "theta": ("parameter",),
    "fixed_effects": ("class", "level_of_factor"),
    "effects": ("effect",),
    "effect_stds": ("term",),
    "noise": ("effect_of_other",),
    "zeros": ("effect_of_other",),
    "noise_stds": ("curve_of_other",),
    "zeros_stds": ("curve_of_other",),
}


class ParameterTable(Table):
    """Posterior of each scalar parameter; the repr fits into eighty columns.

    Parameters
    ----------
    columns : mapping of str to sequence
        ``mean``, ``sd``, the bounds of the interval such as ``5%`` and ``95%``, and more.
    index : sequence of str
        Names of the parameters, such as ``coef[bmi]``.
    index_name : str, default=""
        Heading of the names.
    bars : mapping of str to sequence of float, optional
        Shares of one that a page draws as bars.
    heading : str, default=""
        Line above the table.
    notes : sequence of str, default=()
        Sentences, or other tables, below.
    """

    def _printed(self) -> Table:
        """Numbers of a row to the same decimal, by its standard deviation."""
        scaled = [name for name in self.columns if name == "mean" or name == "sd" or name.endswith("%")]
        stds = np.where(self["sd"] > ROUNDING_SHARE * np.abs(self["mean"]), self["sd"], 0.0)
        values = {name: self[name] for name in self.columns} | {"sd": stds}
        cells = {
            name: [to_digits(v, sd) if name in scaled else plain(name, v) for v, sd in zip(column, stds)]
            for name, column in values.items()
        }
        return Table(cells, self.index)


def parameter_table(model: Any, level: float) -> ParameterTable:
    """The summary of a fitted estimator."""
    q, W = bounds(level), model.particle_weights_
    known = model._parameters(model.particles_)
    named = model._summarised(dict(known))
    named.pop("effects", None)  # one for each level: they are in effects_
    moments = {
        name: model._posterior_mean_and_std(name) if name in known else model._mean_and_std(values)
        for name, values in named.items()
    }
    single = merged_weights(model.particles_, W)
    names, rows = [], []
    for label, name, index in scalar_names(model, {k: v.shape[1:] for k, v in named.items()}):
        values, mean, sd = named[name][(slice(None), *index)], *(moment[index] for moment in moments[name])
        low, high = weighted_quantiles(values, W, q)
        names.append(label)
        rows.append((mean, sd, low, high, effective_draws(values - mean, single)))
    columns = dict(zip(["mean", "sd", *map(percent, q), "ess"], np.array(rows).reshape(-1, 5).T))
    above = "\n".join([heading(model), *model._prior_notes()])
    notes = [*model._summary_notes(), *warned(model)]
    return ParameterTable(columns, names, heading=above, notes=notes)


def heading(model: Any) -> str:
    """Model, rows and evidence in a line."""
    rows = f"{model.n_samples_seen_} row" + "s" * (model.n_samples_seen_ != 1)
    rows = rows if getattr(model, "_has_rows", True) else "no rows"
    (evidence,) = with_errors(np.array([model.log_evidence_]), np.array([model.log_evidence_std_]))
    return f"{type(model).__name__}, {rows}, log evidence {evidence} nats"


def correlation_tables(names: Sequence[str], covariances: np.ndarray) -> list[str]:
    """Lower triangle of each component's correlations, from its covariances (K, p, p)."""
    stds = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
    correlations = covariances / (stds[:, :, None] * stds[:, None, :])
    rows, last = [f"{j + 1} {name}" for j, name in enumerate(names)], len(names) - 1
    return [
        Table(
            {str(j + 1): [f"{r:.2f}" if i > j else "" for i, r in enumerate(R[:, j])] for j in range(last)},
            rows,
            f"correlations of component {k}",
        ).to_string()
        for k, R in enumerate(correlations)
    ]


def warned(model: Any) -> list[str]:
    """A line where the fit doubts itself."""
    n = len(model.warnings_)
    return [f"warned: {n} warning{'s' * (n > 1)} in warnings_ say{'s' * (n == 1)} why."] if n else []


def plain(name: str, value: float) -> str:
    """An effective number of draws, or a probability."""
    return f"{value:.0f}" if name == "ess" else f"{value:.3f}"


def bounds(level: float) -> list[float]:
    """Probabilities below the two ends of the central interval; ValueError if the level is none."""
    if not 0 < level < 1:
        raise ValueError(f"level must be a probability between 0 and 1, got {level!r}")
    return [(1 - level) / 2, (1 + level) / 2]


def percent(q: float) -> str:
    """The name of a quantile, ``5%``."""
    return f"{100 * q:.4g}%"


def weighted_quantiles(values: np.ndarray, W: np.ndarray, q: Sequence[float]) -> np.ndarray:
    """Quantiles of values (M,) with weights W, between middles of the distribution function's steps."""
    order = np.argsort(values)
    values, W = values[order], W[order]
    return np.interp(q, np.cumsum(W) - 0.5 * W, values)


def merged_weights(theta: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Weights (M,) in which the first of equal particles has the weight of all of them, and the others 0."""
    _, first, which = np.unique(theta, axis=0, return_index=True, return_inverse=True)
    out = np.zeros(len(W))
    np.add.at(out, first[which.reshape(-1)], W)
    return out


def effective_draws(deviation: np.ndarray, W: np.ndarray) -> float:
    """ess of the mean of a parameter, from its deviations from the mean (M,)."""
    largest = np.max(np.abs(deviation))
    if not largest > 0:
        return float(1 / np.sum(W**2))
    u = deviation / largest
    return float(W @ u**2 / (W**2 @ u**2))


def dimensions(model: Any, name: str, n: int) -> tuple[str, ...]:
    """Names of the n axes of a named parameter; of a user's own parameter they are numbered."""
    known = model._dimensions.get(name, tuple(f"{name}_dim_{i}" for i in range(n)))
    return known[:n] if name in ("covariances", "stds") else known[len(known) - n :]


def dimension_labels(model: Any, dimension: str, size: int) -> list[Any]:
    """Names of columns, classes as they came, numbers of anything else."""
    if dimension == "class":
        return list(model.classes_)
    if dimension == "level":
        columns = dimension_labels(model, "feature", model.n_features_in_)
        return [f"{name}={level}" for name, known in zip(columns, model.categories_) for level in known]
    if dimension in getattr(model, "_place_names", {}):
        return model._place_names[dimension]
    if dimension not in ("feature", "other_feature"):
        return list(range(size))
    if hasattr(model, "coef_names_"):  # not columns of X alone
        return list(model.coef_names_)
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" if names is None else names[j] for j in getattr(model, "columns_", range(size))]


def scalar_names(model: Any, shapes: dict[str, tuple[int, ...]]) -> list[tuple[str, str, tuple[int, ...]]]:
    """All scalars of named parameters of these shapes as (``"coef[bmi]"``, ``"coef"``, index).

    They are in the order of the parameters, and together for each class and for each component.
    """
    found = []
    for name, shape in shapes.items():
        axes = dimensions(model, name, len(shape))
        labels = [dimension_labels(model, axis, size) for axis, size in zip(axes, shape)]
        # axes by whose places a table is grouped
        is_grouped = bool(axes) and axes[0] in ("class", "component", "state")
        for index in product(*map(range, shape)):
            words = ", ".join(str(label[i]) for label, i in zip(labels, index))
            found.append((index[0] if is_grouped else -1, f"{name}[{words}]" if words else name, name, index))
    first = [entry for entry in found if entry[0] >= 0]
    alone = [entry for entry in found if entry[0] < 0]
    return [entry[1:] for entry in [*sorted(first, key=lambda entry: entry[0]), *alone]]


class PosteriorReports(Standardising):
    """Reports of a fitted estimator on its posterior; subclasses say how rows are validated."""

    log_evidence_: Any = Evidence()
    log_evidence_std_: Any = Evidence()
    particles_: Any = Learnt(lambda of: of._stream.state.theta if of._result is None else of._result.theta)
    particle_weights_: Any = Learnt(
        lambda of: of._stream.state.all_weights.W if of._result is None else of._result.weights
    )
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
