"""Posterior predictive checks: do rows that a fitted model replicates look like the rows observed?

For draws θ_s from the posterior and replicates y_s ~ p(· | θ_s), a statistic T has the p-value

    p = 2 min(P[T(y_s, θ_s) ≥ T(y, θ_s)], P[T(y_s, θ_s) ≤ T(y, θ_s)]),     at most 1,

each probability counted with the observed rows among the replicates.

Rows as fitted models replicate them: one draw from the posterior for all rows of a replicate.

``sample_y`` draws each row from a θ of its own; statistics of such rows vary less than those of a data set,
all of whose rows come from one θ.
"""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ..estimators import EvidenceEstimator, bounds, dimension_labels, response_in
from ..rows import generator, has_bounds, with_known
from ._candidates import behind_transformers, last_step
from ._discrepancies import (
    AUTOCORRELATION,
    DISPERSION,
    FALSE_ALARMS,
    OF_COUNTS,
    OF_NUMBERS,
    PredictiveCheck,
    RowsAndTheta,
    Statistic,
    of_classes,
    of_columns,
    of_groups,
    of_levels,
    of_series,
    of_values,
)


class Replicator(NamedTuple):
    """One fitted model and the rows that it replicates."""

    model: Any
    X: np.ndarray  #: (n, p) in the units of the model, offset and trials among them
    observed: np.ndarray  #: (n,) numbers in the data's units, or indices of classes; (n, d) of a density
    has_order: bool  #: no row stands there several times, and rows are not sorted by y

    @classmethod
    def of(cls, estimator: Any, X: Any, y: Any, known: dict[str, Any], weight: Any) -> "Replicator":
        """From rows as a user gives them.

        TypeError if the model cannot replicate rows, in words.
        """
        model = last_step(estimator)
        if not isinstance(model, EvidenceEstimator):
            raise TypeError(f"{type(model).__name__} is no estimator of this library that can replicate rows")
        if model._not_replicated is not None:
            raise TypeError(f"{type(model).__name__}: {model._not_replicated}")
        check_is_fitted(model)
        _, X = behind_transformers(estimator, X)
        if given := [name for name, value in known.items() if value is not None]:
            if not model._takes_known:
                raise TypeError(f"{type(model).__name__} has no {' and no '.join(given)}")
        y = response_in(model, X, y) if getattr(model, "formula", None) is not None else y
        if getattr(model, "_bounds_given", ()) and known.get("event") is None and not has_bounds(y):
            raise ValueError(
                "the model has learnt from rows with an event or bounds: give those of these rows"
            )
        rows = model._rows_to_score(with_known(X, **known) if model._takes_known else X, y)
        if getattr(model, "_has_bounds", False):
            lower, upper, entry = rows.X[:, -3:].T
            if np.any(lower != upper) or np.any(entry > -np.inf):
                raise TypeError(
                    "censored times and late entries have no replicates, since the model does not say when "
                    "others would have been censored: SurvivalDisplay shows such a model beside "
                    "Kaplan-Meier's curve"
                )
        if rows.y is None and not isinstance(model, DensityMixin):
            raise TypeError("a model of one's own replicates y given X: give y")
        copies = copies_of(weight, len(rows))
        X, y = np.repeat(rows.X, copies, axis=0), None if rows.y is None else np.repeat(rows.y, copies)
        if isinstance(model, DensityMixin):
            observed = X if model._units is None else model._units.restored_X(X)
            observed = observed[~np.all(np.isnan(observed), axis=1)]
        else:
            observed = model._decode(y) if model._labels is None else y.astype(np.intp)
        return cls(model, X, observed, bool(np.all(copies <= 1)) and not is_sorted(observed))

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draws from the posterior, (n, d)."""
        theta = self.model.particles_
        return theta[rng.choice(len(theta), size=n, p=self.model.particle_weights_)]

    def replicate(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Rows like ``observed``."""
        return self.model._replicated(theta, self.X, rng)

    def moments(self, theta: np.ndarray) -> tuple[np.ndarray, ...]:
        """Mean and standard deviation of rows under θ, or probabilities of classes, as far as known."""
        return self.model._moments_of_rows(theta, self.X)

    def decoded(self, y: np.ndarray) -> np.ndarray:
        """Rows as a user's statistic sees them: labels as they came."""
        return y if self.model._labels is None else self.model._labels[y]

    def statistics(self) -> list[Statistic]:
        """Statistics that suit the family."""
        model, y = self.model, self.observed
        if y.ndim == 2:
            names = [str(name) for name in dimension_labels(model, "feature", y.shape[1])]
            has_levels = model._columns_have_levels
            found = of_levels(names) if has_levels else of_columns(names)
            return [*found, *of_series(names, has_levels)] if model._is_series else found
        if model._labels is not None:
            return [*of_classes(model._labels), AUTOCORRELATION]
        family = getattr(model, "_family", None)
        if family is None:  # a regression, or a user's own model, whose rows say what they are
            return [*(of_values(y) if model._y_says_what_it_is else OF_NUMBERS), AUTOCORRELATION]
        if family.is_positive:
            return [*(OF_COUNTS if family.grain else OF_NUMBERS), DISPERSION, AUTOCORRELATION]
        return [*OF_NUMBERS, AUTOCORRELATION]


def is_sorted(y: np.ndarray) -> bool:
    """Whether targets never fall, or never rise, from row to row, so that neighbours are alike."""
    return y.ndim == 1 and bool(np.all(y[1:] >= y[:-1]) or np.all(y[1:] <= y[:-1]))


def copies_of(weight: Any, n: int) -> np.ndarray:
    """How often each row stands there, (n,)."""
    if weight is None:
        return np.ones(n, dtype=int)
    weight = np.broadcast_to(np.asarray(weight, dtype=float), n)
    if not np.all((weight >= 0) & (weight == np.round(weight))):
        raise ValueError("sample_weight must be whole numbers: a row is replicated as often as it counts")
    if not weight.any():
        raise ValueError("sample_weight leaves no row to replicate")
    return weight.astype(int)


def predictive_check(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    statistics: Any = None,
    n_draws: int | None = None,
    level: float = 0.9,
    sample_weight: Any = None,
    offset: Any = None,
    trials: Any = None,
    event: Any = None,
    by: Any = None,
    random_state: Any = None,
) -> PredictiveCheck:
    """Compare observed rows with rows that a fitted model replicates.

    Evidence ranks models; this says whether a model could have produced the rows at all.

    Parameters
    ----------
    estimator : fitted estimator
        A regression, a classifier, a mixture, a :class:`BayesianModel` with ``sample_rows``, an
        :class:`EvidenceModelAverager` of such models, a search, or a pipeline that ends in one.
    X : array-like of shape (n_samples, n_features)
        Rows to replicate: in general those that the model has learnt from, in their order.
    y : array-like of shape (n_samples,), optional
        Not for densities.
    statistics : sequence or mapping, optional
        Names of statistics, and functions ``(y) -> float`` of the targets as they came (rows X of a density);
        or a mapping from names to functions.  None: those that suit the model, of

        * ``mean``, ``variance``, ``skewness``, ``minimum``, ``maximum`` of y; ``zeros``, the share of zeros
          of counts;
        * ``dispersion``, the mean square of residuals in units of the standard deviation that the model
          predicts, of counts, binomials and gammas;
        * ``share of`` each class, and ``calibration``, a χ² of classes in groups of like probability;
        * ``autocorrelation`` of residuals of neighbouring rows, unless weights repeat rows or y is sorted;
        * of densities, mean, variance and skewness of each column, and correlations of columns; of hidden
          Markov models also the autocorrelation of each column, or how often levels repeat;
        * of categorical mixtures, Cramér's V of columns, ``association``, and the number of distinct rows.
          Functions see indices into ``categories_`` there, −1 where a value is missing.
    n_draws : int, optional
        Replicates.  None: 1000, and at least 80 for each statistic.
    level : float, default=0.9
        Probability of the interval of the replicates.
    sample_weight : array-like of shape (n_samples,), optional
        Whole numbers: a row is replicated as often as it counts.
    offset, trials, event : float or array-like of shape (n_samples,), optional
        As :meth:`BayesianGLM.fit` has them.  Times that are censored have no replicates.
    by : str, int or array-like of shape (n_samples,), optional
        A column of X, or labels of the rows: means of y in these groups, and the standard deviation of the
        means, are statistics, too.  Among more than 20 groups only the lowest and the highest mean are.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    PredictiveCheck
        With the ``table`` of statistics, ``misfits`` and ``doubt``, a sentence on what the model does not
        reproduce, or None.

    Raises
    ------
    TypeError
        If the model cannot replicate rows.
    ValueError
        On bad input, for statistics that are not known or not finite, and for fewer draws than could find a
        misfit.

    See Also
    --------
    compare : ``compare(models, check=(X, y))`` checks each model.
    PredictiveCheckDisplay : The check as a picture.

    Notes
    -----
    All rows of a replicate come from one draw of θ.  Statistics of residuals compare both kinds of rows under
    the same θ (Gelman, Meng and Stern 1996).  On rows that a true model has learnt from, p-values are larger
    than uniform ones (Meng 1994): fewer than 5 % of checks of true models find a misfit.  A check that finds
    none does not say that the model is true.

    References
    ----------
    A. Gelman, X.-L. Meng, H. Stern (1996), Posterior predictive assessment of model fitness via realized
    discrepancies, Statistica Sinica 6, 733; X.-L. Meng (1994), Posterior predictive p-values, Annals of
    Statistics 22, 1142.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGLM, predictive_check
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 1))
    >>> visits = rng.negative_binomial(0.5, 0.2, 300)
    >>> model = BayesianGLM("poisson", random_state=0).fit(X, visits)
    >>> predictive_check(model, X, visits, random_state=0).misfits
    ['variance', 'zeros', 'maximum', 'dispersion']
    """
    q, rng = bounds(level), generator(random_state)
    known = {"offset": offset, "trials": trials, "event": event}
    models, weights = _models(estimator)
    parts = [Replicator.of(model, X, y, known, sample_weight) for model in models]
    chosen = _chosen(statistics, _common(parts), parts[0].decoded, all(part.has_order for part in parts))
    if by is not None:
        chosen += of_groups(_labels(by, X, sample_weight, parts[0]))
    n_draws = _enough(n_draws, len(chosen))
    each = rng.multinomial(n_draws, weights)
    found = np.concatenate([_both(part, chosen, n, rng) for part, n in zip(parts, each) if n], axis=1)
    return PredictiveCheck.of(found[0], found[1], [one.name for one in chosen], q)


def replicated_check(
    y: Any, replicated: Any, *, statistics: Any = None, level: float = 0.9
) -> PredictiveCheck:
    """The check of targets (n,) that a model of any program has replicated, (n_draws, n).

    ValueError on bad input, for statistics that are not known, and for fewer draws than could find a misfit.
    """
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    replicated = check_array(replicated, dtype=np.float64, input_name="replicated")
    if y.ndim != 1 or replicated.shape[1] != len(y):
        raise ValueError(f"replicated must have shape (n_draws, {len(y)}), got {replicated.shape}")
    common = {one.name: one for one in [*of_values(y), AUTOCORRELATION]}
    chosen = _chosen(statistics, common, lambda rows: rows, not is_sorted(y))
    _enough(len(replicated), len(chosen))
    observed = _values(chosen, RowsAndTheta(y, has_theta=True), {})
    found = [list(_values(chosen, RowsAndTheta(row, has_theta=True), {}).values()) for row in replicated]
    shown = np.tile(list(observed.values()), (len(found), 1))
    return PredictiveCheck.of(shown, np.array(found), list(observed), bounds(level))


def _labels(by: Any, X: Any, sample_weight: Any, part: Replicator) -> np.ndarray:
    """Labels of the replicated rows; ValueError if they do not fit, or y has no means."""
    if part.observed.ndim > 1 or len(getattr(part.model, "classes_", ())) > 2:
        raise ValueError("by= compares means of y, which densities and more than two classes do not have")
    if np.ndim(by) == 0:
        by = X[by] if hasattr(X, "columns") else np.asarray(X)[:, by]
    labels = np.asarray(by)
    if labels.shape != (len(X),):
        raise ValueError(f"by must have one label for each of {len(X)} rows, got shape {labels.shape}")
    labels = labels.astype(str) if labels.dtype == object else labels
    return np.repeat(labels, copies_of(sample_weight, len(labels)))


def _models(estimator: Any) -> tuple[list[Any], np.ndarray]:
    """Models behind an average with their weights, or one."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not hasattr(estimator, "named_estimators_"):
        return [estimator], np.ones(1)
    alive = estimator.weights_ > 0
    return [m for m, a in zip(estimator.estimators_, alive) if a], estimator.weights_[alive]


def _common(parts: list[Replicator]) -> dict[str, Statistic]:
    """Statistics that suit all models."""
    each = [{one.name: one for one in part.statistics()} for part in parts]
    return {name: one for name, one in each[0].items() if all(name in other for other in each)}


def _chosen(
    statistics: Any, common: dict[str, Statistic], decoded: Callable, has_order: bool
) -> list[Statistic]:
    """Statistics that are common and suit the order of the rows, or those asked for.

    Functions see rows decoded.
    """
    if statistics is None:
        return [one for one in common.values() if has_order or one is not AUTOCORRELATION]
    if isinstance(statistics, Mapping):
        wanted = list(statistics.items())
    else:
        wanted = [(getattr(one, "__name__", str(one)), one) for one in statistics]
    found = []
    for name, one in wanted:
        if callable(one):
            found.append(Statistic(name, _user_function(one, decoded)))
        elif one in common:
            found.append(common[one])
        else:
            raise ValueError(f"{one!r} is neither a function (y) -> float nor one of {list(common)}")
    if not found:
        raise ValueError("there is no statistic to compare")
    return found


def _user_function(function: Callable, decoded: Callable) -> Callable[[RowsAndTheta], float]:
    """A user's function of rows as they came; its value must be one number."""

    def value(rows: RowsAndTheta) -> float:
        found = np.asarray(function(decoded(rows.y)), dtype=float)
        if found.shape != ():
            raise ValueError(f"a statistic is one number, but {function!r} returned the shape {found.shape}")
        return float(found)

    return value


def _enough(n_draws: int | None, n_statistics: int) -> int:
    """Replicates by which the smallest p is one that is doubted."""
    if n_draws is None:
        # replicates by default, and those for each statistic: the smallest p is then half of what is doubted
        return max(1000, 80 * n_statistics)
    least = ceil(2 * n_statistics / FALSE_ALARMS)
    if n_draws < least:
        raise ValueError(
            f"n_draws={n_draws} cannot find a misfit of one of {n_statistics} statistics: {least} can"
        )
    return int(n_draws)


def _values(chosen: list[Statistic], rows: RowsAndTheta, known: dict[str, float]) -> dict[str, float]:
    """Statistics that do not depend on θ, and those that do if the rows come with one, but for known ones."""
    with np.errstate(all="ignore"):
        return {
            one.name: known[one.name] if one.name in known else float(one.value(rows))
            for one in chosen
            if not one.asks_theta or rows.has_theta
        }


def _both(part: Replicator, chosen: list[Statistic], n: int, rng: np.random.Generator) -> np.ndarray:
    """Statistics of observed and of replicated rows under n draws of θ, (2, n, n_statistics)."""
    fixed = _values(chosen, RowsAndTheta(part.observed), {})
    found = np.empty((2, n, len(chosen)))
    for i, theta in enumerate(part.draws(n, rng)):
        with np.errstate(all="ignore"):
            y = part.replicate(theta, rng)
            moments = part.moments(theta) if len(fixed) < len(chosen) else ()
        replicated = RowsAndTheta(y, True, *moments)
        found[0, i] = list(_values(chosen, replicated._replace(y=part.observed), fixed).values())
        found[1, i] = list(_values(chosen, replicated, {}).values())
    return found
