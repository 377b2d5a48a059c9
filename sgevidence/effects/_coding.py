r"""From the columns of a user to those of a layout, in two steps.

1. :class:`Columns` reads frames and arrays: numbers (n, p) of all columns with a linear effect, and the
   number of each row's level in every column of levels.
2. :class:`Coding` takes these numbers in the units of the model and adds contrasts, products and curves, with
   the means that the first rows have fixed.

A linear effect belongs to every column that no ``Factor``, ``Monotone``, ``BSpline`` or ``Group`` names, also
if a slope, a ``Smooth`` or a product is made of it.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ._columns import Levels, column_names, level_values, numbers
from ._curves import BSpline, Curve, Cycle, FixedCurve, Smooth
from ._factors import (
    EffectSet,
    Factor,
    Group,
    Interaction,
    Monotone,
    column_products,
    columns_of,
    contrasts,
    effect_sets,
    is_of_levels,
    whole_scale,
    with_factors,
)
from ._jzs import RelativeLayout, in_noise, is_covariate, jzs_blocks
from ._layout import Block, Layout
from ._terms import Term, categories_of, check, factors_of, numeric, parts
from ._text_columns import has_levels

#: Name of a column of numbers of levels.
CODE = "code"
#: Own parameters of families that may have a predictor, by the parameter of estimators that has its formula.
PREDICTED = {"noise": "noise_std", "zeros": "share_of_zeros"}


class Columns(NamedTuple):
    """Reader of X: columns of numbers, those of splines as they are, then those of levels."""

    linear: tuple  #: names
    as_given: tuple  #: names of columns of numbers that have no linear effect and no unit
    levels: tuple[Levels, ...]
    new: tuple[bool, ...]  #: whether each of them may have others

    @classmethod
    def of(cls, X: Any, terms: Sequence[Term], columns: Sequence | None = None) -> "Columns":
        """A reader for the first rows; ``columns`` are linear effects, by default all but levels."""
        for term in terms:
            check(term)
        names = [
            ":".join(sorted(term.name.split(":"))) if isinstance(term, Interaction) else term.name
            for term in terms
        ]
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} is in two terms: give it once")
        terms = [with_factors(term, partial(has_levels, X, doubts=[])) for term in terms]
        with_levels: list[Factor | Monotone] = [part for term in terms for part in factors_of(term)]
        with_levels += [term for term in terms if isinstance(term, Monotone)]  # which say the order
        factors = {part.column: part for part in with_levels}
        groups = {term.column: term for term in terms if isinstance(term, Group)}
        by = [term.by for term in terms if isinstance(term, Smooth) and term.by is not None]
        factors |= {name: Factor(name) for name in by if name not in {*factors, *groups}}
        named = {name for key in [*factors, *groups] for name in (key if isinstance(key, tuple) else (key,))}
        as_given = tuple(dict.fromkeys(term.column for term in filter(is_as_given, terms)))  # type: ignore[union-attr]
        asked = [name for name in column_names(X) if name not in {*named, *as_given}]
        linear = list(asked if columns is None else columns)
        for term in terms:
            linear += [name for name in numeric(term) if name not in linear]
        levels = [Levels.of(X, name, categories_of(X, t)) for name, t in (factors | groups).items()]
        for part in with_levels:
            refuse_levels(part, next(list(one.number) for one in levels if one.name == part.column))
        new = [name in groups and name not in factors for name in factors | groups]
        return cls(tuple(linear), as_given, tuple(levels), tuple(new))

    def with_factors(self, terms: Iterable) -> tuple:
        """Terms whose slopes of columns with levels are factors, as those of the first rows are."""
        known = {levels.name for levels in self.levels} - set(self.linear)
        return tuple(with_factors(term, known.__contains__) for term in terms)

    def read(self, X: Any) -> np.ndarray:
        """Numbers and codes, (n, p + n_apart)."""
        found = [numbers(X, name) for name in (*self.linear, *self.as_given)]
        found += [levels.codes(X, new) for levels, new in zip(self.levels, self.new)]
        return np.column_stack(found) if found else np.zeros((len(X), 0))

    def grown(self, X: Any) -> "Columns":
        """A reader that also knows the new levels of groups in more rows."""
        return self._with_levels(
            level_values(X, one.name) if new else () for one, new in zip(self.levels, self.new)
        )

    def united(self, other: "Columns") -> "Columns":
        """A reader that also knows the levels of another one; ValueError if those of factors differ."""
        for mine, theirs, new in zip(self.levels, other.levels, self.new):
            if not new and mine.number != theirs.number:
                raise ValueError(
                    f"models cannot be merged whose levels of {mine.name!r} differ: give those of all by "
                    f"Factor({mine.name!r}, categories=[...])"
                )
        return self._with_levels(one.number for one in other.levels)

    def _with_levels(self, others: Iterable[Iterable]) -> "Columns":
        levels = tuple(one.extended(more) for one, more in zip(self.levels, others))
        return self if levels == self.levels else self._replace(levels=levels)

    def place(self, name: Any) -> int:
        """Place of a column of levels, or of splines, among those that are read."""
        apart = [*self.as_given, *(levels.name for levels in self.levels)]
        return len(self.linear) + apart.index(name)

    @property
    def n_apart(self) -> int:
        """Columns that are read beside those with a linear effect."""
        return len(self.as_given) + len(self.levels)

    def levels_of(self, name: Any) -> list:
        """Levels of a column, in the order of their numbers."""
        return next(list(levels.number) for levels in self.levels if levels.name == name)


class Coding(NamedTuple):
    """Columns of a layout, fixed by the first rows."""

    columns: Columns
    terms: tuple
    layout: Layout
    ratios: np.ndarray  #: prior scale of each contrast and product in that of coefficients: columns have it
    means: dict[str, np.ndarray]  #: of contrasts and products
    step_means: dict[str, np.ndarray]  #: of the levels of a Monotone, the lowest left out
    curves: dict[str, Any]  #: Curve or Cycle of a Smooth, FixedCurve of a BSpline
    intercept: bool
    origins: dict[str, np.ndarray]  #: of the slopes of each group, in units
    linear: tuple[int, ...]  #: places of the columns of numbers with a linear effect
    n_rows: int  #: first rows
    other: Any = None  #: coding of the predictor of another parameter, whose columns come last

    @classmethod
    def of(
        cls,
        columns: Columns,
        terms: Sequence[Term],
        X: np.ndarray,
        weight: np.ndarray,
        scales: tuple[float, float | None],
        centred: bool,
        units: tuple[np.ndarray, np.ndarray],
        jzs: bool = False,
        linear: Sequence | None = None,
    ) -> "Coding":
        """The coding of the first rows: columns that were read, the numbers in the units of the model.

        ``scales`` are those of coefficients and intercept, None without one; ``units`` centres and scales of
        the columns of numbers; ``linear`` names those with a linear effect, by default all.
        """
        coef_scale, intercept_scale = scales
        at = tuple(map(columns.linear.index, columns.linear if linear is None else linear))
        p, means, blocks, ratios = len(at), {}, [], []
        curves: dict[str, Any] = {}
        origins = {term.name: in_units(term, columns, *units) for term in terms if isinstance(term, Group)}
        empty, has_constant = Layout(np.zeros(0), ()), intercept_scale is not None
        plain = cls(columns, tuple(terms), empty, np.ones(0), {}, {}, {}, has_constant, origins, at, len(X))
        for term in terms:
            if isinstance(term, BSpline):
                curves[term.name] = FixedCurve.of(X[:, columns.place(term.column)], weight, term)
        plain = plain._replace(curves=curves)
        for term in terms:
            if isinstance(term, Factor | Interaction | BSpline):
                Z = plain.fixed(term, X)
                means[term.name] = weight @ Z / weight.sum() if centred else np.zeros(Z.shape[1])
                scale = np.prod([getattr(part, "prior_scale", coef_scale) for part in parts(term)])
                ratios += [1.0 if jzs else scale / coef_scale] * Z.shape[1]
        for term in terms:
            if isinstance(term, Smooth):
                curves[term.name] = curve = smooth_curve(term, columns, X, weight, units)
                n_levels = 1 if term.by is None else len(columns.levels_of(term.by))
                blocks.append(Block(n_levels, curve.n_effects, term.scale or 1.0, common=True))
            elif isinstance(term, Monotone):
                W = plain.above_lowest(term, X)
                plain.step_means[term.name] = weight @ W / weight.sum() if centred else np.zeros(W.shape[1])
                m = W.shape[1]
                blocks.append(Block(1, m, whole_scale(term, m), common=True, in_steps=True))
            elif isinstance(term, Group):
                blocks.append(block_of(columns, term, jzs))
        if jzs:
            refuse_steps(terms)
            covariates = [plain.fixed(term, X) for term in terms if is_covariate(term)]
            factors = [
                (term, len(means[term.name]))
                for term in terms
                if term.name in means and not is_covariate(term)
            ]
            own = jzs_blocks(np.column_stack([X[:, list(at)], *covariates]), weight, factors)
            relative = RelativeLayout(np.ones(int(plain.intercept)), own + tuple(map(in_noise, blocks)))
            return plain._replace(layout=relative, ratios=np.array(ratios), means=means, curves=curves)
        prior = [coef_scale] * (p + len(ratios)) + [intercept_scale] * plain.intercept
        layout = Layout(np.array(prior, dtype=float), tuple(blocks))
        return plain._replace(layout=layout, ratios=np.array(ratios), means=means, curves=curves)

    def places(self, columns: Columns) -> list[np.ndarray]:
        """Number of each level of a term in another reader, for each block."""
        found = []
        for term, block in zip(self.block_terms, self.layout.blocks):
            place = np.arange(block.n_levels)
            if (levels := levels_of(term)) is not None:
                number = {level: k for k, level in enumerate(columns.levels_of(levels))}
                place = np.array([number[level] for level in self.columns.levels_of(levels)])
            found.append(place)
        return found

    @property
    def block_terms(self) -> list:
        """Term of each block: of JZS priors, covariates and factors come first."""
        terms = [term for term in self.terms if isinstance(term, Smooth | Group | Monotone)]
        return [None] * (len(self.layout.blocks) - len(terms)) + terms

    def grown(self, columns: Columns) -> "Coding":
        """The coding with more levels of its groups."""
        blocks = tuple(
            block
            if (one := levels_of(term)) is None
            else block._replace(n_levels=len(columns.levels_of(one)))
            for term, block in zip(self.block_terms, self.layout.blocks)
        )
        layout = self.layout._replace(blocks=blocks)
        return self._replace(columns=columns, layout=layout)

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """Columns of numbers of encoded rows, in units."""
        constants = self.layout.n_fixed if isinstance(self.layout, RelativeLayout) else 0
        found = np.zeros((len(X), len(self.columns.linear)))
        found[:, list(self.linear)] = X[:, constants : constants + len(self.linear)]
        if self.other is not None:
            first = X.shape[1] - sum(name != CODE for name in self.other.column_terms)
            found[:, list(self.other.linear)] = X[:, first : first + len(self.other.linear)]
        return found

    def fixed(self, term: Any, X: np.ndarray) -> np.ndarray:
        """Columns of a factor, a product or B-splines, not centred."""
        if isinstance(term, Interaction):
            return column_products([self.fixed(part, X) for part in parts(term)])
        if isinstance(term, BSpline):
            return self.curves[term.name].columns(X[:, self.columns.place(term.column)])
        if not isinstance(term, Factor):
            j = self.columns.linear.index(term)
            return X[:, j : j + 1]
        H = contrasts(len(self.columns.levels_of(term.column)))
        return H[X[:, self.columns.place(term.column)].astype(np.int64)]

    def numbers_of(self, term: Smooth, X: np.ndarray) -> np.ndarray:
        """The column of a curve, (n,)."""
        is_line = term.period is None
        return X[:, self.columns.linear.index(term.column) if is_line else self.columns.place(term.column)]

    def above_lowest(self, term: Monotone, X: np.ndarray) -> np.ndarray:
        """Indicators of all levels but the lowest, (n, m)."""
        code = X[:, self.columns.place(term.column), None]
        return (code == np.arange(1, len(self.columns.levels_of(term.column)))).astype(float)

    def sets(self, term: Group) -> list[EffectSet]:
        """Effects of a level of a group."""
        return effect_sets(self.columns, term, isinstance(self.layout, RelativeLayout))

    @property
    def is_of_columns(self) -> bool:
        """Whether there are no effects whose scale is inferred."""
        return not self.layout.blocks and (self.other is None or not self.other.layout.blocks)

    @property
    def has_constant(self) -> bool:
        """Whether the constant is a column: models of columns alone add it themselves."""
        return self.intercept and not self.is_of_columns

    @property
    def linear_names(self) -> list:
        """Names of the columns of numbers with a linear effect."""
        return [self.columns.linear[j] for j in self.linear]

    @property
    def column_terms(self) -> list[str]:
        """Term of each column of the layout; none of the constant, :data:`CODE` of numbers of levels."""
        linear = list(map(str, self.linear_names))
        fixed = [(t, [t.name] * len(self.means[t.name])) for t in self.terms if t.name in self.means]
        sizes = {
            getattr(term, "name", None): block.n_effects
            for term, block in zip(self.block_terms, self.layout.blocks)
        }
        blocks: list[str] = []
        for term in self.terms:
            if isinstance(term, Smooth | Group | Monotone):
                blocks += [term.name] * sizes[term.name] + [CODE]
        if not isinstance(self.layout, RelativeLayout):
            constant = [""] * self.has_constant
            return linear + [name for _, names in fixed for name in names] + constant + blocks
        own = [linear + [name for t, names in fixed if is_covariate(t) for name in names]]
        own += [names for t, names in fixed if not is_covariate(t)]
        return [""] * self.layout.n_fixed + [n for names in own if names for n in [*names, CODE]] + blocks

    def encoded(self, X: np.ndarray) -> np.ndarray:
        """Columns of the layout, what follows those that were read, and columns of the other predictor."""
        alone = self.encoded_alone(X)
        if self.other is None:
            return alone
        kept = [name != CODE for name in self.other.column_terms]  # a curve of no levels has no codes
        others = self.other.encoded_alone(X[:, : len(self.columns.linear) + self.columns.n_apart])
        return np.concatenate([alone, others[:, kept]], axis=1)

    def encoded_alone(self, X: np.ndarray) -> np.ndarray:
        """Columns of the layout, and what follows those that were read."""
        n_read = len(self.columns.linear) + self.columns.n_apart
        fixed, blocks, one = [np.zeros((len(X), 0))], [], np.ones((len(X), 1))
        for term in self.terms:
            if isinstance(term, Factor | Interaction | BSpline):
                fixed.append(self.fixed(term, X) - self.means[term.name])
            elif isinstance(term, Smooth):
                level = 0.0 * one if term.by is None else X[:, self.columns.place(term.by), None]
                blocks += [self.curves[term.name].columns(self.numbers_of(term, X)), level]
            elif isinstance(term, Monotone):
                blocks += [self.above_lowest(term, X) - self.step_means[term.name], 0.0 * one]
            else:
                origin = dict(zip(term.columns_of_slopes, self.origins[term.name]))
                for effects in self.sets(term):
                    blocks += columns_of(self.columns, effects, X, origin)
                blocks.append(X[:, self.columns.place(term.column), None])
        constant = [one] * self.has_constant
        linear = X[:, list(self.linear)]
        if isinstance(self.layout, RelativeLayout):
            named = list(zip((term for term in self.terms if term.name in self.means), fixed[1:]))
            own = [np.column_stack([linear, *(Z for term, Z in named if is_covariate(term))])]
            own += [Z for term, Z in named if not is_covariate(term)]
            own = [part for Z in own if Z.shape[1] for part in (Z, 0.0 * one)]
            return np.concatenate([one[:, : self.layout.n_fixed], *own, *blocks, X[:, n_read:]], axis=1)
        scaled = np.concatenate(fixed, axis=1) * self.ratios
        return np.concatenate([linear, scaled, *constant, *blocks, X[:, n_read:]], axis=1)


def refuse_levels(term: Factor | Monotone, levels: list) -> None:
    """ValueError for a reference that is no level, and for a single step."""
    if isinstance(term, Monotone) and len(levels) < 2:
        raise ValueError(f"{term.name} needs two levels or more, and column {term.column!r} has {levels}")
    if isinstance(term, Factor) and term.reference is not None and term.reference not in levels:
        raise ValueError(
            f"the reference level {term.reference!r} of column {term.column!r} is none of {levels[:20]}"
        )


def refuse_steps(terms: Sequence[Term]) -> None:
    """ValueError for monotone effects, whose steps have no JZS prior."""
    if named := [term.name for term in terms if isinstance(term, Monotone)]:
        raise ValueError(
            f"{named[0]} has no JZS prior: give prior='normal', or Factor for levels in any order"
        )


def block_of(columns: Columns, term: Group, jzs: bool) -> Block:
    """The block of a group; effects of which each has a τ of its own need no widths."""
    sets = effect_sets(columns, term, jzs)
    widths, q = sum((one.widths for one in sets), ()), sum(one.size for one in sets)
    n_contrasts = sum(one.size for one in sets if one.are_contrasts)
    return Block(
        len(columns.levels_of(term.column)),
        q,
        term.scale or 1.0,
        term.correlated and q > 1,
        widths=() if len(widths) == q else widths,
        n_contrasts=n_contrasts,
    )


def is_as_given(term: Any) -> bool:
    """Whether a term's column has no line and no unit."""
    return isinstance(term, BSpline) or (isinstance(term, Smooth) and term.period is not None)


def levels_of(term: Any) -> Any:
    """Column of the levels of a block; None where it has none."""
    return term.column if isinstance(term, Group) else term.by if isinstance(term, Smooth) else None


def smooth_curve(
    term: Smooth, columns: Columns, X: np.ndarray, weight: np.ndarray, units: tuple[np.ndarray, np.ndarray]
) -> Curve | Cycle:
    """The curve that the first rows fix."""
    if term.period is not None:
        x = X[:, columns.place(term.column)]
        return Cycle(float(x.min(initial=np.inf)), float(term.period), term.n_basis // 2)
    j = columns.linear.index(term.column)
    return Curve.of(X[:, j], weight, term, (units[0][j], units[1][j]))


def in_units(term: Group, columns: Columns, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Values of the columns of slopes at which levels are measured, in units; (k,)."""
    places = [(columns.linear.index(name), k) for k, name in enumerate(term.slopes) if not is_of_levels(name)]
    at = [j for j, _ in places]
    given = [center[j] if term.origins[k] is None else term.origins[k] for j, k in places]
    return (np.array(given, dtype=float) - center[at]) / scale[at]
