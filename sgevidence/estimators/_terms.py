"""Linear predictors with terms: groups, factors, curves and products beside linear effects."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

from .._compat import Interval, check_y
from ..effects import (
    PREDICTED,
    BSpline,
    Coding,
    Columns,
    EffectsModel,
    Factor,
    Formula,
    Group,
    JZSModel,
    Monotone,
    Response,
    Smooth,
    WithMade,
    column_names,
    fixed_effects,
    group_effects,
    is_covariate,
    offset_of,
    other_effects,
    parts,
    relaid,
    resolved,
    response_of,
    scale_of,
    whole_scale,
    with_scales,
)
from ..history import Memory, Rows
from ..models import (
    FAMILIES,
    Bounded,
    FlatLogarithm,
    Gaussian,
    GLMModel,
    HalfStudentT,
    KnownValue,
    LinearModel,
    Predicted,
    RootInverseGamma,
)
from ..rows import WithKnown, cells_named, column_indices
from ..units import CodedUnits, Units, in_units, numbers_alone
from ._response import refuse_other_response

#: Links of the families whose parameters have predictors: times have a noise of another kind.
LINKS_OF_OTHER = ("identity", "log")

#: Splines of a curve of such a parameter: points in more dimensions do not suffice.
MAX_SPLINES_OF_OTHER = 12

#: Constraints of the parameters of terms.
TERM_CONSTRAINTS: dict[str, list] = {
    "terms": [list, tuple, None],
    "formula": [str, None],
    "noise": [str, None],
    "effect_scale": [Interval(Real, 0, None, closed="neither")],
}


def read_columns(model: Any, X: Any, reset: bool) -> np.ndarray:
    """Columns of numbers with a linear effect, then numbers of levels; ``columns_`` are the former."""
    terms, columns, n_rows = model.terms or (), model.columns, len(X)
    refuse_other(model)
    if reset:
        model._other = other_formula(model, X)
    if model.formula is not None:
        if not hasattr(X, "columns"):
            raise TypeError("formula= names columns: give a data frame")
        if reset:
            model._formula = formula_of(model, X)
        both = [model._formula, *filter(None, [model._other])]
        used, known = list(dict.fromkeys(n for one in both for n in one.columns)), column_names(X)
        if lost := [name for name in used if name not in known]:
            raise ValueError(
                f"X has no column {', '.join(map(repr, lost))}, which formula={model.formula!r} names: its "
                f"columns are {known[:20]}"
            )
        X = X.select(used) if hasattr(X, "select") else X[used]  # polars takes [[]] for all columns
        terms, columns = model._formula.terms, list(model._formula.linear)
    validate_data(model, X, reset=reset, skip_check_array=True)
    X = X if hasattr(X, "columns") else np.asarray(X)
    if model.formula is not None:
        X = WithMade(X, {name: tree for one in both for name, tree in one.made.items()})
    if reset:
        names = column_names(X)
        if model.formula is None and columns is not None:
            columns = [names[j] for j in column_indices(columns, len(names), names)]
        model._read = Columns.of(X, terms, columns)
        model._lines = model._read.linear, ()
        if model._other is not None:
            apart = Columns.of(X, model._other.terms, model._other.linear).linear
            model._lines = model._read.linear, apart
            model._read = Columns.of(
                X,
                with_readings(terms, model._other.terms),
                list(dict.fromkeys([*model._read.linear, *apart])),
            )
        values = model._read.read(X)  # refuses columns that X does not have
        model.columns_ = np.array([names.index(name) for name in model._read.linear], dtype=int)
    else:
        values = model._read.read(X)
    return values if values.shape[1] else np.zeros((n_rows, 0))  # polars has no rows without columns


def formula_of(model: Any, X: Any) -> Formula:
    """The formula of an estimator for the columns of X; ValueError if other parameters say something else."""
    for name in ("terms", "columns"):
        if getattr(model, name) is not None:
            raise ValueError(f"formula= and {name}= are given, but the formula says which columns there are")
    found, response = resolved(model.formula, X), response_of(model.formula)
    if not response.is_as_it_is and model._kind != "numbers":
        raise ValueError(
            f"formula={model.formula!r}: {response.words} is for BayesianLinearRegression and the families "
            "'gaussian' and 'student_t'; other families have a link of their own"
        )
    if not model._takes_known and offset_of(model.formula) is not None:
        raise ValueError(
            f"formula={model.formula!r}: {type(model).__name__} has no offset, which is of BayesianGLM"
        )
    if found.intercept and not model.fit_intercept:
        raise ValueError(
            f"formula={model.formula!r} has an intercept, and fit_intercept=False has none: write 0 + …"
        )
    model._doubt(*found.doubts)
    return found


def refuse_other(model: Any) -> None:
    """ValueError for a formula of another parameter that this model does not have."""
    given = [label for label in PREDICTED if getattr(model, label, None) is not None]
    if not given:
        return
    label, text = given[0], getattr(model, given[0])
    said = f"{label}={text!r}"
    if model.formula is None:
        raise ValueError(f'{said} stands beside the formula of y: give formula="y ~ x", too')
    if not text.lstrip().startswith("~"):
        raise ValueError(f'{said} has nothing on its left: write {label}="~ x"')
    if label == "noise" and getattr(model, "noise_std", None) is not None:
        raise ValueError(f"{said} and noise_std= are given, but a noise that is known has no predictor")
    if not model.standardize or not model.fit_intercept:
        raise ValueError(f"{said} needs standardize=True and an intercept: columns are zero at their means")
    if model.evidence_is_relative_:
        raise ValueError(f"{said} has no JZS prior: give prior='normal'")
    family = getattr(model, "_family", Gaussian())
    named = [name for name, one in FAMILIES.items() if has_parameter(one, label)]
    if len(given) > 1 or not has_parameter(family.plain, label):
        raise ValueError(
            f"{said} is of the families {', '.join(named)}, not of {type(family.plain).__name__}"
        )
    if isinstance(family, Bounded):
        raise ValueError(f"{said} has no y with bounds: leave out event= and entry=, or {label}=")


def has_parameter(family: Any, label: str) -> bool:
    """Whether a family has the parameter; that of times is no noise of y."""
    return PREDICTED[label] in family.own and family.link in LINKS_OF_OTHER


def other_formula(model: Any, X: Any) -> Formula | None:
    """The formula of another parameter for the columns of X; None without one, and without a term."""
    label = next((label for label in PREDICTED if getattr(model, label, None) is not None), None)
    if label is None or not hasattr(X, "columns"):
        return None
    name, text = response_of(model.formula).name, getattr(model, label).strip()
    text = text if name is None else f"`{name}` {text}"
    found = resolved(text, X)
    said = f"{label}={getattr(model, label)!r}"
    curves = [term for term in found.terms if isinstance(term, Smooth)]
    for term in found.terms:
        if isinstance(term, Group | Monotone) or getattr(term, "by", None) is not None or term in curves[1:]:
            raise ValueError(
                f"{said}: {term.name} is none of the terms of {label}=, which are columns, factors, "
                "products, one curve s(x, k=10), and the curves bs(x, df=6) and poly(x, 3)"
            )
    if curves and curves[0].n_basis > MAX_SPLINES_OF_OTHER:
        raise ValueError(
            f"{said}: {curves[0].name} has k={curves[0].n_basis}, and a curve of {label}= at most "
            f"{MAX_SPLINES_OF_OTHER}: write s({curves[0].column}, k=10)"
        )
    if offset_of(text) is not None or not found.intercept:
        raise ValueError(f"{said} has a level of its own, and no offset: leave out 0 and offset()")
    model._doubt(*found.doubts)
    return found if found.linear or found.terms else None


def with_readings(terms: Sequence, others: Sequence) -> list:
    """Terms, and what those of another predictor need to be read, each once."""
    found, names = list(terms), {term.name for term in terms}
    for part in (part for term in others for part in getattr(term, "parts", parts(term))):
        if hasattr(part, "name") and part.name not in names:
            found.append(part)
            names.add(part.name)
    return found


def response_made(model: Any) -> Response | None:
    """Functions of y that the model is of, as its formula says; None for y as it is."""
    found = None if model.formula is None else response_of(model.formula)
    return None if found is None or found.is_as_it_is else found


def read_pair(model: Any, X: Any, y: Any, reset: bool, y_numeric: bool = True) -> tuple[np.ndarray, Any]:
    """As :func:`read_columns`, and y."""
    if not len(X):
        raise ValueError(f"X has 0 rows, while a minimum of 1 is required by {type(model).__name__}")
    read = read_columns(model, X, reset)
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None")
    refuse_other_response(model, X, y)
    with cells_named(y=y):
        y = check_y(y, y_numeric=y_numeric, estimator=model) if y_numeric else np.asarray(y)
    check_consistent_length(read, y)
    return read, y


def coded(model: Any, rows: Rows, units: Units | None, kind: str) -> CodedUnits:
    """Units and coding of the first rows; numbers as they are given have units of one."""
    p, centred = len(model.columns_), units is not None and model._wants_intercept
    if units is None:
        response = response_made(model)
        units = Units(np.zeros(p), np.ones(p), 0.0, 1.0, 0.0, kind=kind, response=response)
    X = in_units(units, rows.X, model._read.n_apart)
    scales = model.coef_scale, model._intercept_scale if model._fits_intercept else None
    place = units.center, units.scale
    jzs = model.evidence_is_relative_
    lines, of_other = getattr(model, "_lines", (None, ()))
    coding = Coding.of(model._read, terms_of(model), X, rows.weight, scales, centred, place, jzs, lines)
    if model._other is not None:
        of_log = model.coef_scale, None
        other = Coding.of(
            model._read, other_terms(model), X, rows.weight, of_log, True, place, linear=of_other
        )
        coding = coding._replace(other=other)
    return CodedUnits.of(units, coding)


def other_terms(model: Any) -> Sequence:
    """Terms of the predictor of another parameter, with their prior scales."""
    return () if model._other is None else with_scales(model._other.terms, model.effect_scale, False)


def with_predictor(model: Any, family: Any) -> Any:
    """The family, one of whose parameters has the predictor that the estimator states."""
    other = model._units.coding.other
    if other is None:
        return family
    label = next(label for label in PREDICTED if getattr(model, label, None) is not None)
    curves = tuple((block.n_effects, block.scale) for block in other.layout.blocks)
    return Predicted(family, PREDICTED[label], label, tuple(other.layout.scales.tolist()), curves)


def terms_of(model: Any) -> Sequence:
    """Terms of the parameter, or of the formula, with their prior scales."""
    terms = (model.terms or ()) if model.formula is None else model._formula.terms
    return with_scales(model._read.with_factors(terms), model.effect_scale, model.evidence_is_relative_)


def plain_rows(model: Any, rows: Rows) -> Rows:
    """Rows without what has no units."""
    return numbers_alone(rows, len(model.columns_), model._read.n_apart)


def effects_model(model: Any, plain: Any, has_offset: bool) -> Any:
    """The model of a coding, made of the plain one, which gets more columns where no scale is inferred."""
    coding, p = model._units.coding, len(model._units.coding.linear)
    if model.evidence_is_relative_:
        means = [(term, coding.means.get(term.name)) for term in coding.terms]
        fixed = tuple((is_covariate(term), len(mean)) for term, mean in means if mean is not None)
        family, intercept = Gaussian(noise_std=FlatLogarithm()), plain.fit_intercept
        return JZSModel(p, family, intercept, layout=coding.layout, fixed_terms=fixed)
    is_linear = isinstance(plain, LinearModel) and coding.other is None
    family = with_predictor(model, gaussian_family(plain) if isinstance(plain, LinearModel) else plain.family)
    if coding.is_of_columns:
        if is_linear:
            return of_columns(LinearModelWithTerms, plain, coding)
        return of_columns(GLMWithTerms, plain, coding, family=family)
    return EffectsModel(
        n_features=p,
        family=family,
        fit_intercept=plain.fit_intercept,
        coef_scale=plain.coef_scale,
        intercept_scale=plain.intercept_scale,
        has_offset=has_offset,
        intercept_center=getattr(plain, "intercept_center", 0.0),
        layout=coding.layout,
    )


def of_columns(kind: Any, plain: Any, coding: Coding, **others: Any) -> Any:
    """The plain model with contrasts and products as columns like others."""
    p, names = len(coding.linear), {field.name for field in fields(kind)}
    shared = {field.name: getattr(plain, field.name) for field in fields(plain) if field.name in names}
    return kind(**shared | {"n_features": p + len(coding.ratios), "n_linear": p} | others)


def learn_new_levels(model: Any, X: Any) -> None:
    """Room for levels that no row had, in sums by level or where all rows are kept; else ValueError."""
    X = X.X if isinstance(X, WithKnown) else X
    read = model._read.grown(X if hasattr(X, "columns") else np.asarray(X))
    if read is model._read:
        return
    if model._units is not None and sums_of(model) is None and kept_rows(model) is None:
        known = {levels.name: levels for levels in model._read.levels}
        name = next(one.name for one in read.levels if one != known[one.name])
        raise ValueError(
            f"column {name!r} has levels that were not in the first call, which streams learn of "
            "samplers that keep all rows only: give rows of all levels first, or call fit"
        )
    with_levels_of(model, read)


def with_levels_of(model: Any, read: Columns) -> None:
    """Let a model have the levels of a reader, which are its own and others after them."""
    if model._units is not None:
        before, sums = model._units.coding, sums_of(model)
        model._units = model._units._replace(coding=before.grown(read))
        layout = model._units.coding.layout
        model._model = replace(model._model, layout=layout)
        if sums is not None:
            set_sums(model, relaid(sums, before.layout, layout, before.places(read)))
    model._read = read


def sums_of(model: Any) -> Any:
    """Sums by level that stand for all rows of a stream; None where there are none."""
    return (
        None if model._stream is None else getattr(model._stream.state, "memory", Memory.empty()).statistics
    )


def set_sums(model: Any, sums: Any) -> None:
    """Let a stream have other sums of its rows."""
    state = model._stream.state
    state = state._replace(memory=state.memory._replace(statistics=sums))
    model._stream = model._stream._replace(state=state)


def kept_rows(model: Any) -> Rows | None:
    """All rows that a stream has seen, as its model sees them; None where some are not kept."""
    return None if model._stream is None else getattr(model._stream.state, "rows_seen", None)


def rows_of_fewer_levels(model: Any) -> Rows | None:
    """All rows seen, if particles are those of a model without the levels that have come since; else None."""
    is_other = isinstance(model._model, EffectsModel) and sums_of(model) is None
    is_other = is_other and model._stream.state.theta.shape[1] != model._model.n_params
    return kept_rows(model) if is_other else None


def prior_words(model: Any) -> str:
    """Priors of the terms, after those of coefficients."""
    words = []
    if model.evidence_is_relative_:
        words = [", covariates r = 0.354"] * bool(len(model.columns_))
        return "".join([*words, *(f", {term.name} r = {scale_of(term):.3g}" for term in terms_of(model))])
    for term in terms_of(model):
        if isinstance(term, Group | Smooth):
            words.append(f", {term.name}: τ half-t(3, {term.scale:g})")
        elif isinstance(term, Monotone):
            m = len(model._read.levels_of(term.column)) - 1
            words.append(
                f", {term.name}: highest - lowest N(0, {whole_scale(term, m):.3g}²), steps Dirichlet(1)"
            )
        elif isinstance(term, Factor | BSpline):
            words.append(f", {term.name}: contrasts N(0, {term.prior_scale:.3g}²)")
    if model._other is not None:
        label = next(label for label in PREDICTED if getattr(model, label, None) is not None)
        link = "log σ" if label == "noise" else "logit of the share of zeros"
        by = [f"N(0, {model.coef_scale:g}²)"] * bool(model._other.linear)
        others, plain = other_terms(model), Factor | BSpline | Smooth
        by += [f"{t.name} τ half-t(3, {t.scale:g})" for t in others if isinstance(t, Smooth)]
        by += [
            f"{t.name} contrasts N(0, {t.prior_scale:.3g}²)"
            for t in others
            if isinstance(t, Factor | BSpline)
        ]
        by += ["products of these"] * any(not isinstance(term, plain) for term in others)
        words.append(f", {label}: {link} by {' and '.join(by)}")
    return "".join(words)


def place_names(model: Any) -> dict[str, list[str]]:
    """Labels along the axes of the parameters of terms."""
    coding = model._units.coding
    effects, stds = group_effects(coding)[:2]
    return {
        "feature": list(map(str, coding.linear_names)),
        "level_of_factor": [effect.label for effect in fixed_effects(coding)[0]],
        "effect": [effect.label for effect in effects],
        "term": [effect.label for effect in stds],
        "effect_of_other": [effect.label for effect in other_effects(coding)],
        "curve_of_other": [] if coding.other is None else [term.name for term in coding.other.block_terms],
    }


def named_effects(model: Any, named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Draws (M,) of effects that stand in a summary: of the levels of factors, and of ordered levels."""
    fixed, groups = (find(model._units.coding)[0] for find in (fixed_effects, group_effects))
    ordered = {term.name for term in terms_of(model) if isinstance(term, Monotone)}
    shown = ordered | {effect.term for effect in fixed}
    each = [draws for name in ("fixed_effects", "effects") if name in named for draws in named[name].T]
    return {effect.label: draws for effect, draws in zip([*fixed, *groups], each) if effect.term in shown}


def gaussian_family(linear_model: Any) -> Gaussian:
    """The noise of a linear regression, as a family has it."""
    if linear_model.noise_std is not None:
        return Gaussian(noise_std=KnownValue(linear_model.noise_std))
    if linear_model.noise_prior is not None:
        return Gaussian(noise_std=RootInverseGamma(*linear_model.noise_prior))
    return Gaussian(noise_std=HalfStudentT(linear_model.noise_scale))


def parted(named: dict[str, np.ndarray], n_linear: int) -> dict[str, np.ndarray]:
    """Coefficients of columns, and those of contrasts and products, which are columns like others.

    So a factor of two levels has the evidence of its 0/1 column, to the last digit.
    """
    coef = named["coef"]
    fixed = {"fixed_effects": coef[..., n_linear:]} if coef.shape[-1] > n_linear else {}
    return named | {"coef": coef[..., :n_linear]} | fixed


@dataclass(frozen=True)
class LinearModelWithTerms(LinearModel):
    n_linear: int = 0

    def parameters(self, theta):
        return parted(super().parameters(theta), self.n_linear)


@dataclass(frozen=True)
class GLMWithTerms(GLMModel):
    n_linear: int = 0

    def parameters(self, theta):
        return parted(super().parameters(theta), self.n_linear)
