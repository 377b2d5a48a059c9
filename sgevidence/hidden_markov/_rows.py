"""Rows of a hidden Markov model: numbers, counts or levels, their units, and the family of a state."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..history import Rows
from ..mixture.components import (
    Categorical,
    ComponentFamily,
    DiagonalGaussian,
    FullGaussian,
    PoissonGamma,
    SphericalGaussian,
)
from ..rows import (
    check_count,
    check_prior_pair,
    checksum,
    codes_of,
    column_indices,
    decoded,
    given_levels,
    levels_of,
    refuse_extreme,
    refuse_unreadable,
    validated,
)
from ..units import Fold, Units, UnitsUnknown, refuse_few
from ._model import HiddenMarkovModel
from ._predictions import StatePredictions, positions, refuse_disorder
from ._sampler import HiddenStateEvidence

#: Families of the components whose columns are numbers, with a mean and a variance.
GAUSSIANS: dict[str, Any] = {
    "gaussian": DiagonalGaussian,
    "full": FullGaussian,
    "spherical": SphericalGaussian,
}


class EmissionRows(StatePredictions):
    """Rows of each emission."""

    _takes_missing = True
    sampler = None
    n_states: int
    emission: str
    transition_concentration: float
    stickiness: float
    initial_concentration: float | None
    mean_scale: float
    variance_prior: tuple[float, float]
    rate_prior: tuple[float, float]
    category_concentration: float
    categories: Any
    transitions: Any
    transition_coef_scale: float
    condition_on: int
    tolerance: float
    categories_: list[np.ndarray]
    _place: int  #: rows of the last sequence, those left out among them

    def _sampler(self) -> HiddenStateEvidence:
        return HiddenStateEvidence(self.tolerance)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, Any]:
        """Numbers that are there or missing by rows, counts, or levels as they came."""
        if self.emission == "categorical":
            if getattr(getattr(X, "dtype", None), "kind", "") == "c":
                raise ValueError("Complex data not supported: levels are strings or numbers")
            return validate_data(self, X, reset=reset, dtype=object, ensure_all_finite=False), None
        X = validated(self, X, reset=reset, order="C", ensure_all_finite="allow-nan")
        at, _ = self._columns_by_role
        gaps = np.isnan(X[:, at])
        if (partly := np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1))).size:
            raise ValueError(
                f"row {partly[0]} of X contains NaN in some columns and not in others, in all {len(partly)} "
                "such rows: a row is observed as a whole, or missing as a whole, which is a step without "
                "observation"
            )
        known = X[~gaps.any(axis=1)]
        if not self.standardize:
            refuse_extreme(X=known)
        if self.emission == "poisson":
            self._refuse_no_counts(X, at)
        return X, None

    def _refuse_no_counts(self, X: np.ndarray, at: np.ndarray) -> None:
        """ValueError names the first cell that is no count, and what to do."""
        wrong = np.argwhere((X[:, at] < 0) | (X[:, at] % 1 > 0))
        if not wrong.size:
            return
        row, column = wrong[0]
        value, name = X[row, at[column]], self._column_names()[column]
        raise ValueError(
            f"X has {value:g} in row {row} of {name!r}, which is no count (one of {len(wrong)}): "
            "Negative values in data passed to a Poisson emission, or fractions, have no likelihood; "
            'numbers are for emission="gaussian", and a row without an observation is nan'
        )

    @property
    def _columns_by_role(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the columns of the emission, and of those that move transitions."""
        p, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        left, right = [], [] if self.transitions is None else self.transitions
        if isinstance(right, str):
            left, right = (_summands(side) for side in ("~" + right).rsplit("~", 1))
        moving = column_indices([one for one in right if one != "1"], p, names)
        at = column_indices(left, p, names) if left else np.setdiff1d(np.arange(p), moving)
        if not len(at):
            raise ValueError("transitions= names all columns of X, and none is left that states explain")
        if both := np.intersect1d(at, moving).tolist():
            name = self.feature_names_in_[both[0]]
            raise ValueError(f"transitions={self.transitions!r} has {name!r} on both sides of ~")
        return at, moving

    def _column_names(self) -> list[str]:
        """Names of the columns of the emission, and then of those that move transitions."""
        names = super()._column_names()
        return [names[j] for j in np.concatenate(self._columns_by_role)]

    def _encode_X(self, X: np.ndarray, reset: bool) -> np.ndarray:
        """Columns of the emission, levels as codes, nan where a row has none at all; then those that move."""
        at, moving = self._columns_by_role
        given, names = X[:, at], getattr(self, "feature_names_in_", None)
        if self.emission == "categorical":
            if reset and self.categories is None:
                self.categories_ = levels_of(given, "ignore")
            elif reset:
                self.categories_ = given_levels(self.categories, len(at), "ignore")
            given = codes_of(given, self.categories_, "ignore", None if names is None else names[at])
            given[np.all(given < 0, axis=1)] = np.nan
        if not len(moving):
            return given
        U = X[:, moving].astype(float)
        if (wrong := np.argwhere(~np.isfinite(U))).size:
            row, column = wrong[0]
            raise ValueError(
                f"row {row} of {self._column_names()[len(at) + column]!r} has {U[row, column]}, and "
                "the column moves transitions: fill it, also where the row itself is not observed"
            )
        return np.column_stack([given, U])

    def _rows(self, X: Any, y: Any, sample_weight: Any, reset: bool, classes: Any) -> Rows:
        """Rows whose y says where sequences start, without those that are conditioned on.

        A step without observation is a row of weight zero.
        """
        refuse_unreadable(takes_missing=True, X=X)
        lengths, begins = (None, False) if y is None else y
        given, X = X, self._encode_X(self._validate(X, None, reset)[0], reset)
        place = positions(len(X), lengths, 0 if reset or begins else self._place)
        self._last_time = refuse_disorder(given, place, self._last_time, self._doubt)
        self._place = int(place[-1]) + 1
        kept = place >= self.condition_on
        X, starts = np.ascontiguousarray(X[kept]), place[kept] == self.condition_on
        observed = ~np.all(np.isnan(X[:, : self._n_emission]), axis=1)
        return Rows(X, starts.astype(float), observed.astype(float))

    def _identity(self, rows: Rows) -> np.ndarray:
        """Rows, and which levels they are codes of, as a mixture has them: sequences are of the model."""
        levels, X = float(checksum(self.categories_)) if self.emission == "categorical" else 0.0, rows.X
        X = np.ascontiguousarray(X[:, : self._n_emission])
        return np.where(np.isnan(X), np.nan, X + levels)

    @property
    def _n_emission(self) -> int:
        return len(self._columns_by_role[0])

    def _as_given(self, X: np.ndarray) -> np.ndarray:
        if self.emission != "categorical":
            return super()._as_given(X)
        return decoded(X[:, : self._n_emission].astype(int), self.categories_)

    # -- units and priors -----------------------------------------------------------------------

    def _take_units(self, rows: Rows, may_wait: bool, fold: Fold | None = None) -> bool:
        """Levels have no unit."""
        if self.emission != "categorical" or len(self._columns_by_role[1]):
            return super()._take_units(rows, may_wait, fold)
        self._units = None
        return True

    def _units_of(self, rows: Rows, fold: Fold | None = None) -> Units:
        p = self._n_emission
        known = rows.take(np.flatnonzero(rows.weight > 0))
        units = self._units_of_emission(replace(known, X=known.X[:, :p]), fold)
        if rows.X.shape[1] == p:
            return units
        U = rows.X[:, p:]
        if (constant := np.flatnonzero(np.ptp(U, axis=0) == 0)).size:
            name = self._column_names()[p + constant[0]]
            raise UnitsUnknown(f"{name!r} does not vary, and cannot move transitions: leave it out")
        moving = Units.of_density(Rows(np.ascontiguousarray(U), None, np.ones(len(U))))
        assert units.spread is not None and moving.spread is not None
        return units._replace(
            center=np.append(units.center, moving.center),
            scale=np.append(units.scale, moving.scale),
            spread=np.append(units.spread, moving.spread),
            kind=self._kind,
        )

    def _units_of_emission(self, known: Rows, fold: Fold | None) -> Units:
        """Units of observed rows; levels have none."""
        if self.emission in GAUSSIANS:
            return Units.of_density(known, self.emission == "spherical", fold)
        refuse_few(known)
        p, n = known.X.shape[1], len(known)
        means = np.log((known.X.sum(axis=0) + 0.5) / n) if self.emission == "poisson" else np.zeros(p)
        one = np.ones(p)
        return Units(np.zeros(p), one, 0.0, 1.0, 0.0, tuple(means.tolist()), one, self._kind)

    @property
    def _kind(self) -> str:
        kinds = {"poisson": "rows of counts", "spherical": "rows, one unit"}
        kind, moving = kinds.get(self.emission, "rows"), self._columns_by_role[1]
        return f"{kind}, transitions moved by columns {moving.tolist()}" if len(moving) else kind

    def _watch_units(self, rows: Rows, starts: bool) -> None:
        """Counts have no unit that a stream could leave, and missing rows have no place in one."""
        if self.emission != "poisson":
            super()._watch_units(rows.take(np.flatnonzero(rows.weight > 0)), starts)

    def _emission_family(self, X: np.ndarray) -> ComponentFamily:
        """The family of the rows of a state, whose features lose no digits on these."""
        X = X[:, : self._n_emission]
        p, known = X.shape[1], X[~np.all(np.isnan(X), axis=1)]
        if self.emission == "poisson":
            means = np.zeros(p) if self._units is None else np.array(self._units.intercept_center)
            return PoissonGamma(
                check_prior_pair(self.rate_prior, "rate_prior"), tuple(np.exp(means).tolist())
            )
        if self.emission == "categorical":
            n_levels = tuple(len(levels) for levels in self.categories_)
            return Categorical(n_levels, self.category_concentration)
        variance_prior = check_prior_pair(self.variance_prior, "variance_prior")
        family = GAUSSIANS[self.emission](p, self.mean_scale, variance_prior)
        return family.at(known) if len(known) else family

    def _make_model(self, X: np.ndarray, y: np.ndarray | None) -> HiddenMarkovModel:
        return HiddenMarkovModel(
            emission=self._emission_family(X),
            n_states=check_count(self.n_states, "n_states"),
            concentration=self.transition_concentration,
            stickiness=self.stickiness,
            initial_concentration=self.initial_concentration,
            n_moving=len(self._columns_by_role[1]),
            moving_scale=self.transition_coef_scale,
        )

    # -- reports ----------------------------------------------------------------------------------

    def _state_mean(self, name: str) -> np.ndarray:
        self._must_have_learnt(f"{name}_")
        if name not in self._parameters(self.particles_[:1]):
            raise AttributeError(f"there are no {name}_ with emission={self.emission!r}")
        return self._posterior_mean_and_std(name)[0]

    def _parameters(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        named, units, p = (
            self._model.parameters(self._model.canonicalize(theta)),
            self._units,
            self._n_emission,
        )
        if units is not None:
            of_rows = units._replace(center=units.center[:p], scale=units.scale[:p])
            named = of_rows.restored(named)
            if "transition_coefs" in named:
                named["transition_coefs"] = named["transition_coefs"] / units.scale[p:]
        leaves = 1.0 - np.diagonal(named["transition_matrix"], axis1=1, axis2=2)
        return named if self.n_states == 1 else named | {"dwell_times": 1.0 / np.maximum(leaves, 1e-12)}

    def _summarised(self, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All but dwell times, whose means are infinite, or nearly so."""
        return {name: values for name, values in super()._summarised(named).items() if name != "dwell_times"}

    def _summary_notes(self) -> list[str]:
        if self.n_states == 1:
            return super()._summary_notes()
        low, middle, high = np.quantile(self.posterior_samples()["dwell_times"], [0.05, 0.5, 0.95], axis=0)
        each = [
            f"{b:.3g} in state {k} ({a:.3g} to {c:.3g})" for k, (a, b, c) in enumerate(zip(low, middle, high))
        ]
        return [f"rows that a state lasts (medians, 90 %): {', '.join(each)}", *super()._summary_notes()]

    def _prior_notes(self) -> list[str]:
        sticky = f", + {self.stickiness:g} to stay" if self.stickiness else ""
        (a, b), (shape, scale) = self.rate_prior, self.variance_prior
        of_rows = {
            "poisson": f"rates Gamma({a:g}, {b:g})",
            "categorical": f"levels Dirichlet({self.category_concentration:g})",
        }.get(
            self.emission, f"means N(0, ({self.mean_scale:g} σ)²), variances InvGamma({shape:g}, {scale:g})"
        )
        moved = "" if self.transitions is None else f", moved by N(0, {self.transition_coef_scale:g}²)"
        return self._said(
            f"{of_rows}, transitions Dirichlet({self.transition_concentration:g}{sticky}){moved}"
        )


def _summands(side: str) -> list[str]:
    """Names of columns on one side of a formula of transitions."""
    return [name for one in side.split("+") if (name := one.strip(" ~"))]
