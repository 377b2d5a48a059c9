"""How the selector learns: sums of linear regressions, or draws of another on subsets of the columns."""

from typing import Any, Self

import numpy as np

from .._compat import check_sample_weight
from ..estimators import (
    Standardising,
    all_or_nothing,
    linear_model,
    many_small_fits,
    refuse_changes,
    settings,
)
from ..exceptions import warn_caller
from ..history import Rows
from ..models import rscale_of
from ..rows import (
    column_indices,
    fingerprint,
    generator,
    refuse_extreme,
    refuse_unreadable,
    validated,
    weighs_nothing,
)
from ..samplers import Progress
from ..units import Fold, Units, UnitWatch
from ._answers import Weighed
from ._posterior_by_draws import posterior_by_draws
from ._regressions import Regressions

#: Parameters of the independent prior, and what they are if nobody has stated them.
UNUSED_WITH_G: dict[str, Any] = dict(
    noise_std=None, noise_prior=None, noise_scale=None, coef_scale=1.0, intercept_scale=None, units=None
)
#: Parameter of Zellner and Siow's prior alone.
OF_G: dict[str, Any] = dict(rscale=1.0)
#: Parameters of the linear regression, all of them.
OF_LINEAR = UNUSED_WITH_G | OF_G | dict(coef_prior="independent", fit_intercept=True, standardize=True)


class SubsetLearning(Standardising):
    """Methods of the selector that learn."""

    _units_of_estimator: Units | None = None

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, reset: bool, known: dict[str, Any] | None = None
    ) -> Self:
        with all_or_nothing(self):
            parameters = settings(self)
            if not (reset or self._is_first_call()):
                refuse_changes(self._settings, parameters)
            if self.estimator is not None:
                with many_small_fits():
                    self._learn_by_draws(X, y, sample_weight, parameters, known or {})
                return self
            if known:
                raise ValueError(f"a linear regression takes no {' and no '.join(known)}: see estimator=")
            self._absorb(X, y, sample_weight, reset, parameters)
        return self

    def _absorb(self, X: Any, y: Any, sample_weight: Any, is_fit: bool, parameters: dict[str, Any]) -> None:
        """Sums of one more call, or rows that are held until there are enough to know their units."""
        if not is_fit and weighs_nothing(sample_weight):
            return
        reset = is_fit or self._is_first_call()
        given = self._rows(X, y, sample_weight, reset)
        if reset:
            for name in ("classes_", "_weighed"):  # of a call before
                self.__dict__.pop(name, None)
            self._settings, self._rng = parameters, generator(self.random_state)
            self._always, self._groups = self._resolved()
            self._doubts, self._held, self.data_fingerprint_ = [], None, 0
        assert given.y is not None
        self.data_fingerprint_ = fingerprint(given.y, given.weight, self.data_fingerprint_)
        starts = reset or self._held is not None
        if (rows := self._in_units(given, starts, may_wait=not is_fit)) is None:
            return
        if starts:
            self._model = linear_model(self, self.n_features_in_, self._units)
            self._sums, self.n_samples_seen_, self._weight_seen = None, 0, 0.0
            self._watch = UnitWatch.none()
        new = self._model.sums(rows)
        self._sums = new if self._sums is None else self._sums.plus(new)
        self.n_samples_seen_ += len(rows)
        self._weight_seen += rows.total_weight
        self._held, self._weighed = None, Weighed()
        self._watch_units(rows, starts)

    def _learn_by_draws(
        self, X: Any, y: Any, sample_weight: Any, parameters: dict[str, Any], known: dict[str, Any]
    ) -> None:
        """Weigh the subsets of the estimator's columns at once."""
        _refuse_unused(self, OF_LINEAR, f"estimator={type(self.estimator).__name__}()")
        rng = generator(self.random_state)
        seeds = None if self.random_state is None else rng.spawn(1)[0]
        regressions = Regressions(self.estimator, X, y, sample_weight, known, seeds)
        for name in ("feature_names_in_", "classes_", "_sums"):
            self.__dict__.pop(name, None)
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(regressions.whole, name):
                setattr(self, name, getattr(regressions.whole, name))
        self._settings, self._rng, self._units = parameters, rng, None
        self._doubts, self._held, self._units_of_estimator = [], None, regressions.whole._units
        self._always, self._groups = self._resolved()
        if not (self.estimator.fit_intercept or self._always):
            raise ValueError(
                "without an intercept the null model has no parameters: give always= a column, or the "
                "estimator fit_intercept=True"
            )
        progress = Progress(type(self).__name__, self.verbose)
        with progress.beating():
            prior = self._always, self._groups, self.size_prior
            found = posterior_by_draws(regressions, *prior, rng, self.tolerance, progress)
        progress.done(
            f"{len(found.columns)} best subsets, log evidence {found.total:.2f} ± {found.total_std:.2f}"
        )
        average = found.averaged
        self.n_samples_seen_, self.data_fingerprint_ = average.n_samples_seen_, average.data_fingerprint_
        constants = self._doubt_of_constants()
        found = found._replace(doubts=[*found.doubts, *([] if constants is None else [constants])])
        self._weighed = Weighed(found, average)
        warn_caller(*found.doubts)

    def _doubt_of_constants(self) -> str | None:
        """Columns to choose from of which the rows say nothing."""
        units = self._units_of_estimator if self._units is None else self._units
        if units is None:
            return None
        chosen = [j for group in self._groups if units.waits[group].all() for j in group]
        if not chosen:
            return None
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))[chosen].tolist()
        return f"columns {names} do not vary in these rows, and are as probable as in the prior"

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        """Units of the first rows, where the prior is stated in them; the g-prior has no unit."""
        if self.coef_prior == "g":
            rscale_of("regression", self.rscale)
        else:
            _refuse_unused(self, OF_G, f'coef_prior="{self.coef_prior}"')
        if self.coef_prior == "independent":
            return super()._take_units(rows, may_wait, fold)
        _refuse_unused(self, UNUSED_WITH_G, f'coef_prior="{self.coef_prior}"', ": it has no unit")
        self._units = None
        return True

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        return Units.of_regression(rows, self.fit_intercept, fold=fold)

    _kind = "numbers"  # that units are for

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any = None) -> Rows:
        refuse_unreadable(X=X, y=y, sample_weight=sample_weight)
        X, y = validated(self, X, y, reset=reset, y_numeric=True)
        if y.dtype.kind not in "fiub":
            raise ValueError(f"y must be numbers, got {y.dtype.name}, such as {y[0]!r}")
        y = y.astype(np.float64, copy=False)
        weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        refuse_extreme(sample_weight=weight)
        if not (self.standardize and self.coef_prior == "independent"):
            refuse_extreme(X=X, y=y)
        kept = weight > 0
        return Rows(X[kept], y[kept], weight[kept])

    def _resolved(self) -> tuple[list[int], list[list[int]]]:
        """Columns of every model, and those that go in together, by number."""
        names = getattr(self, "feature_names_in_", None)
        p = self.n_features_in_
        always = column_indices(list(self.always), p, names).tolist()
        groups = [column_indices(list(group), p, names).tolist() for group in self.groups or ()]
        used = [*always, *(j for group in groups for j in group)]
        if twice := sorted({j for j in used if used.count(j) > 1}):
            raise ValueError(f"columns {twice[:5]} are in two of always and groups")
        if not all(groups):
            raise ValueError("a group has no columns")
        alone = sorted(set(range(p)) - set(used))
        return always, sorted([*groups, *([j] for j in alone)])


def _refuse_unused(selector: Any, defaults: dict[str, Any], owner: str, why: str = "") -> None:
    """Refuse parameters that somebody has stated and that nothing would use."""
    for name, default in defaults.items():
        if (value := getattr(selector, name)) != default:
            raise ValueError(f"{owner} has no use for {name} = {value!r} of the selector{why}")
