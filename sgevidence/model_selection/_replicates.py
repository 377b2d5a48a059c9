"""Rows as fitted models replicate them: one draw from the posterior for all rows of a replicate.

``sample_y`` draws each row from a θ of its own; statistics of such rows vary less than those of a data set,
all of whose rows come from one θ.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from ..estimators import EvidenceEstimator, dimension_labels
from ..rows import with_known
from ._candidates import last_step, transformed
from ._discrepancies import (
    AUTOCORRELATION,
    DISPERSION,
    OF_COUNTS,
    OF_NUMBERS,
    Statistic,
    of_classes,
    of_columns,
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
        X = transformed(estimator, X)
        if given := [name for name, value in known.items() if value is not None]:
            if not model._takes_known:
                raise TypeError(f"{type(model).__name__} has no {' and no '.join(given)}")
        if known.get("event") is not None and not np.all(known["event"]):
            raise TypeError(
                "censored times have no replicates, since the model does not say when others would have been "
                "censored: SurvivalDisplay shows such a model beside Kaplan-Meier's curve"
            )
        rows = model._rows_to_score(with_known(X, **known) if model._takes_known else X, y)
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
