"""A grid search by evidence."""

from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from numbers import Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.utils.validation import check_is_fitted

from .._compat import Interval
from ..estimators import BayesianGLM, BayesianSoftmaxRegression
from ..exceptions import warn_caller
from ..history import task_workers
from ..mixture.estimators import one_walk
from ..rows import refuse_unknown_sizes
from ..samplers import SGAIS, Progress
from ._candidates import ONE_MAX_ORDER, candidates, last_step
from ._compare import compare
from ._search import FullData, checked_scorer, evidence_scorers, words_of_fits

#: Standard error, nats, that a first fit of each candidate is asked for; nats behind the best within which a
#: candidate is fitted to the tolerance (e⁸ = 3000, beyond every doubt about a Bayes factor); standard errors
#: that are allowed for in telling who is behind.
FIRST_FIT_NATS, CLOSE_NATS, ALLOWED_STD = 0.5, 8.0, 3.0


class EvidenceSearch(GridSearchCV):
    """Fit every model of a grid to all rows, and keep the one with the most evidence.

    Parameters
    ----------
    estimator : estimator
        With ``log_evidence_`` once fitted, or a pipeline that ends in one.
    param_grid : dict of str to sequence, or list of such dicts
        Values to try of each parameter, as in scikit-learn's ``GridSearchCV``.
    tolerance : float or None, default=None
        Standard error of the log evidence, nats, to which the best models are taken, as ``tolerance`` of
        :class:`BayesianHMM` or ``SGAIS``; None: that of the estimator, 0.03 by default.  Models more than 8
        nats behind the best, with three standard errors allowed for, are left at ± 0.5 nats, which their
        error bars say.
    n_jobs : int or None, default=None
        Fits at a time.
    verbose : int, default=0
        Messages of the search, as in ``GridSearchCV``.  With 1 or more, a line every two seconds says how
        many models are fitted and how long the others will take at that pace.

    Attributes
    ----------
    comparison_ : DataFrame, or Table where pandas is not installed
        The models of the grid side by side, see :func:`compare`.
    best_estimator_ : estimator
        The model with the most evidence, fitted; ``predict`` and others of the search are its own.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its log evidence in the search, nats.
    cv_results_ : dict
        As in ``GridSearchCV``, with the scores of :data:`evidence_scorers`, and the ``warnings`` of each fit
        where the fits ran in this process.

    Warns
    -----
    EvidenceWarning
        If the largest number of components or states, or the highest order, has the most evidence: try a
        larger one.

    See Also
    --------
    compare : The table, for models that are already fitted.
    EvidenceModelAverager : Averages the models instead of choosing one.

    Notes
    -----
    It is ``GridSearchCV`` with ``scoring=evidence_scorers``, ``refit="log_evidence"``, ``cv=FullData()`` and
    ``error_score="raise"``.  The evidence already charges a model for its complexity, so that no rows are
    held out.  The best model is fitted again for ``best_estimator_``: with an int as its
    ``random_state`` to the same digits.

    Hidden Markov models, regressions (also with groups) and subsets of columns are first fitted to ± 0.5
    nats.  Models within 8 nats of the best are then fitted again if their error is larger than the
    tolerance.  Mixtures share one walk over their numbers of components instead, and all other models are
    fitted once.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianGMM, EvidenceSearch
    >>> X = scale(load_iris().data[:, 2:])
    >>> search = EvidenceSearch(BayesianGMM(random_state=0), {"n_components": [1, 2, 3, 4]}).fit(X)
    >>> search.best_params_
    {'n_components': 3}
    >>> list(search.comparison_.index)
    ['n_components=3', 'n_components=4', 'n_components=2', 'n_components=1']
    """

    _parameter_constraints: dict = {
        **GridSearchCV._parameter_constraints,
        "tolerance": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        tolerance: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        super().__init__(
            estimator,
            param_grid,
            scoring=evidence_scorers | {"log_evidence": checked_scorer},
            n_jobs=n_jobs,
            pre_dispatch="all",
            refit="log_evidence",
            cv=FullData(),
            verbose=verbose,
            error_score="raise",
        )
        self.tolerance = tolerance

    def fit(self, X: Any, y: Any = None, **params: Any) -> "EvidenceSearch":
        """Fit the models of the grid, and the best of them again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or None, default=None
        **params : dict
            Handed on to ``fit`` of the estimator, as ``sample_weight``.

        Returns
        -------
        EvidenceSearch
            Itself.

        Raises
        ------
        ValueError
            If the models are not of the same rows, as orders of an autoregression without one ``max_order``;
            if X or y is a Dask array that does not know its number of rows.
        """
        refuse_unknown_sizes(0, X=X, y=y)
        n_models = len(ParameterGrid(self.param_grid))
        with self._one_walk(X, y, params), task_workers(self.n_jobs, n_models, X), words_of_fits() as words:
            with self._progress(n_models, words):
                super().fit(X, y, **params)
        # without a tolerance of the search
        self.cv_results_["params"] = [one.params for one in self._candidates]
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        del self._candidates, self._rows
        log_Z = self.cv_results_["mean_test_log_evidence"]
        if all(n == 0 or Z in words for n, Z in zip(self.cv_results_["mean_test_n_warnings"], log_Z)):
            self.cv_results_["warnings"] = [words.get(Z, ()) for Z in log_Z.tolist()]
        try:
            candidates(self)
        except ValueError as error:
            of_series = hasattr(last_step(self.estimator), "max_order")
            raise ValueError(f"{error}{ONE_MAX_ORDER if of_series else ''}") from None
        self._warn_of_an_end()
        return self

    @property
    def comparison_(self) -> Any:
        """The models of the grid side by side, see :func:`compare`."""
        check_is_fitted(self, "cv_results_")
        return compare(self)

    @contextmanager
    def _one_walk(self, X: Any, y: Any, params: dict[str, Any]) -> Iterator[None]:
        """Mixtures of the grid share a walk over strata; where fits are parallel it comes before them."""
        name = next((one for one in self._names() if one.rsplit("__", 1)[-1] == "n_components"), None)
        grid = [one for one in ParameterGrid(self.param_grid) if name in one]
        tried = [one[name] for one in grid]
        with one_walk([last_step(self.estimator)]):
            for one in grid if self.n_jobs not in (None, 1) else ():
                if one[name] == max(tried):
                    clone(self.estimator).set_params(**clone(one, safe=False)).fit(X, y, **params)
            yield

    def _run_search(self, evaluate_candidates: Any, *, callback_ctx: Any = None) -> None:
        """All models to ± 0.5 nats, and those that are close to the best to the tolerance."""
        self._candidates = [
            _asked(self.estimator, params, self.tolerance) for params in ParameterGrid(self.param_grid)
        ]
        search = callback_ctx and callback_ctx.subcontext(
            task_name="search", max_subtasks=len(self._candidates), sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self)
        found = evaluate_candidates([one.first for one in self._candidates], callback_ctx=search)
        if search:
            search.call_on_fit_task_end(estimator=self)
        self._rows = np.arange(len(self._candidates))  # of the last fit of each candidate
        while more := self._unfinished(found):
            self._rows[more] = len(found["params"]) + np.arange(len(more))
            found = evaluate_candidates([self._candidates[i].last for i in more])

    def _unfinished(self, found: Mapping[str, Any]) -> list[int]:
        """Candidates close to the best that stopped before they came to the tolerance."""
        log_Z, std = (found[f"mean_test_log_evidence{word}"][self._rows] for word in ("", "_std"))
        best = np.argmax(log_Z)
        close = log_Z + ALLOWED_STD * std > log_Z[best] - ALLOWED_STD * std[best] - CLOSE_NATS
        # one whose price was spent before it came to ± 0.5 would spend it again
        stopped = (std > [one.tolerance for one in self._candidates]) & (std <= FIRST_FIT_NATS)
        return np.flatnonzero(close & stopped & (self._rows < len(self._rows))).tolist()

    def _select_best_index(self, refit: Any, refit_metric: str, results: dict[str, Any]) -> int:
        """The best, among the last fits of all candidates, which alone are left in the results."""
        names = {name for one in self._candidates for name in one.params}
        for name, values in list(results.items()):
            if name.startswith("param_") and name.removeprefix("param_") not in names:
                del results[name]
            elif name != "params":
                results[name] = values[self._rows]
        results["params"] = [one.last for one in self._candidates]  # of which the best is fitted again
        for name in [name for name in results if name.startswith("rank_test_")]:
            scores = results[name.replace("rank_test_", "mean_test_")]
            results[name] = np.array([1 + np.sum(scores > score) for score in scores], dtype=np.int32)
        return int(results[f"rank_test_{refit_metric}"].argmin())

    def _progress(self, n_models: int, done: Sized) -> AbstractContextManager[Any]:
        """Lines while models are fitted; ``done`` holds an entry for each that this process has."""
        start = perf_counter()

        def stage() -> str:
            n, seconds = len(done), perf_counter() - start
            left = f", about {seconds / n * (n_models + 1 - n):.1f} s left" if n else ""  # and the best again
            return f"{n} of {n_models} models" + left

        return Progress(type(self).__name__, self.verbose).beating(stage)

    def _names(self) -> set[str]:
        """Parameters of the grid."""
        return {name for one in ParameterGrid(self.param_grid) for name in one}

    def _warn_of_an_end(self) -> None:
        for name, best in self.best_params_.items():
            tried = [params[name] for params in self.cv_results_["params"] if name in params]
            # these have a next larger value: the search should end beyond the best
            if name.rsplit("__", 1)[-1] in {"n_components", "n_states", "order"} and min(tried) < best == max(
                tried
            ):
                warn_caller(f"the largest {name} of the grid, {best}, has the most evidence: try larger ones")


class _Candidate(NamedTuple):
    """Parameters of a model of the grid, and those of its first and of its last fit."""

    params: dict[str, Any]
    first: dict[str, Any]
    last: dict[str, Any]
    tolerance: float  #: nats; infinite where the first fit is the last


def _asked(estimator: Any, params: dict[str, Any], tolerance: float | None) -> _Candidate:
    """A candidate with the tolerances of its fits, where its price depends on one."""
    whole = clone(estimator).set_params(**clone(params, safe=False))
    model = last_step(whole)
    name = next((f"{name}__" for name, part in whole.get_params().items() if part is model), "")
    known = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    sampler = SGAIS() if known.get("sampler") is None else known["sampler"]
    if "tolerance" in known:
        own = known["tolerance"]

        def at(nats: float) -> dict[str, Any]:
            return {f"{name}tolerance": nats}
    elif isinstance(model, BayesianGLM | BayesianSoftmaxRegression) and hasattr(sampler, "tolerance"):
        own = sampler.tolerance

        def at(nats: float) -> dict[str, Any]:
            return {f"{name}sampler": clone(sampler).set_params(tolerance=nats)}
    else:
        return _Candidate(params, params, params, np.inf)
    last = params if tolerance is None else params | at(tolerance)
    wanted = own if tolerance is None else tolerance
    return _Candidate(params, params | at(max(FIRST_FIT_NATS, wanted)), last, wanted)
