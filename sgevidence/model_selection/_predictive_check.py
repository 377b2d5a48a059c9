r"""Posterior predictive checks: do rows that a fitted model replicates look like the rows observed?

For draws θ_s from the posterior and replicates y_s ~ p(· | θ_s), a statistic T has the p-value

    p = 2 min(P[T(y_s, θ_s) ≥ T(y, θ_s)], P[T(y_s, θ_s) ≤ T(y, θ_s)]),     at most 1,

each probability counted with the observed rows among the replicates.
"""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from ..estimators import bounds
from ..rows import generator
from ._check_result import FALSE_ALARMS, PredictiveCheck
from ._discrepancies import AUTOCORRELATION, RowsAndTheta, Statistic, of_groups, of_values
from ._replicates import Replicator, copies_of, is_sorted


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
