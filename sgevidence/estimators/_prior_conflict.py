r"""Regressions whose prior and data contradict each other: an evidence that is right, of a model
that nobody means.

A posterior mean that lies where the prior has next to nothing is no error of sampling.  The prior was stated
in other units than those of the data.  Each named scalar parameter is tested at the level α/d, so that at
most α = 0.1 % of the fits to data of the prior warn:

* coefficients by |mean| over their prior standard deviation;
* contrasts of a factor, a product or B-splines together, by the sum of their squares;
* an unknown σ by the tail of its prior.  Small values do not contradict a half-Student-t, whose density is
  flat at zero; but where all rows lie on a plane, the likelihood is unbounded, and the evidence depends on
  where that prior ends.

Columns in tiny units have coefficients that the data hardly move.  So the spread that the prior gives the
linear predictor is compared with that of y (of a regression; 1 for logits and log rates):

    coef_scale · √(Σ_j h_j²) ≥ 0.05 sd(y),    coef_scale · max_j sd(x_j) ≤ 20 sd(y),    h = half the range,

where a rare indicator has a small sd and a large range, and many columns are no reason to warn.  Columns far
from zero ask for an intercept that the prior may not have, and then lose their slopes: the intercept of least
squares is tested (lags of a series are such columns).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc, gammainc, gammaincc, ndtri, stdtr

from ..history import Rows
from ..models import LinearModel

#: How each warning begins: one is enough in a stream.
CONFLICT = "prior and data contradict each other: "
#: Probability of a warning where the prior is true, for all parameters together.
FALSE_CONFLICTS = 1e-3
#: Rows of a call from which their spread is looked at, and of which a line is drawn.
LEAST_ROWS, MOST_ROWS = 20, 10_000


def prior_conflict(
    model: Any,
    theta: np.ndarray,
    W: np.ndarray,
    rows: Rows | None,
    is_standardized: bool,
    y_size: float | None = None,
    term_names: Sequence[str] = (),
    columns: Sequence[Any] = (),
) -> str | None:
    """A sentence on what contradicts the prior and how to mend it; None if nothing does.

    ``rows`` are those of the last call, in the units of the model; None where their spread is not to be
    checked, and then ``y_size`` may be the size of y in these units.  ``term_names`` has the term of each
    contrast of factors, products and B-splines, ``columns`` that of each coefficient.
    """
    plain = getattr(model, "plain", model)
    with np.errstate(all="ignore"):
        named = model.few_parameters(theta)
        if rows is not None and rows.y is not None and len(rows):
            y_size = float(np.max(np.abs(rows.y)))
        beyond_units = None if y_size is None else _without_noise(plain, named, W, y_size, rows)
        found = None if rows is None or beyond_units else _of_spread(plain, rows, columns)
        found = found or (None if beyond_units else _of_parameters(plain, named, W, columns))
        found = found or (None if beyond_units else _of_contrasts(plain, named, W, term_names))
        if found is None and rows is not None and not beyond_units:
            found = _of_offsets(plain, rows, columns)
    return conflict(found, beyond_units, is_standardized)


Found = tuple[str, str] | None


def conflict(found: Found, beyond_units: Found, is_standardized: bool) -> str | None:
    """The sentence on a contradiction, and on its remedy; no scaling of columns changes one beyond units."""
    if found is None and beyond_units is None:
        return None
    what, remedy = found or beyond_units  # type: ignore[misc]
    helps = found is not None and not is_standardized
    return f"{CONFLICT}{what}; {'use standardize=True, or ' if helps else ''}{remedy}"


#: Rows without noise: other units are no remedy.
ON_A_PLANE = (
    "y is a linear function of the columns but for rounding, so that rounding decides how large the log "
    "evidence is",
    "state the noise",
)


def _named(columns: Sequence[Any], j: int, n: int) -> str:
    """A column of n, by its name where each has one."""
    return repr(str(columns[j])) if len(columns) == n else f"coef_[{j}]"


def _of_parameters(model: Any, named: dict[str, np.ndarray], W: np.ndarray, columns: Sequence[Any]) -> Found:
    """Coefficients, intercepts and σ."""
    level = FALSE_CONFLICTS / (2 * model.n_params)
    for name, scale in (("coef", model.coef_scale), ("intercept", model.intercept_scale)):
        if name not in named or not named[name][0].size:
            continue
        mean = np.tensordot(W, named[name], axes=1)
        z = np.abs(mean - _measured_from(model, name)) / scale
        if z.max() > -ndtri(level):
            which, worst = "the intercept", float(np.ravel(mean)[np.argmax(z)])
            if name == "coef":
                n = mean.shape[-1]
                which = f"the coefficient of {_named(columns, int(np.argmax(z)) % n, n)}"
            return (
                f"{which} is {worst:.3g}, {z.max():.0f} times {name}_scale = {scale:.3g}",
                f"raise {name}_scale",
            )
    has_noise = "noise_std" in named and hasattr(model, "noise_prior")  # not of a family's own parameters
    return _of_noise(model, W @ named["noise_std"], level) if has_noise else None


def _of_contrasts(model: Any, named: dict[str, np.ndarray], W: np.ndarray, terms: Sequence[str]) -> Found:
    """Contrasts of each term, in columns by which their prior is that of coefficients: z² ~ χ²."""
    if "fixed_effects" not in named or len(terms) != named["fixed_effects"].shape[-1]:
        return None
    level, z = FALSE_CONFLICTS / model.n_params, np.tensordot(W, named["fixed_effects"], 1) / model.coef_scale
    for term in dict.fromkeys(terms):
        own = z[..., np.array(terms) == term].ravel()
        if chdtrc(len(own), own @ own) < level:
            return (
                f"effects of {term} are {np.sqrt(np.mean(own**2)):.1f} times their prior scale",
                "raise effect_scale, or scale= of the term",
            )
    return None


def _measured_from(model: Any, name: str) -> Any:
    """Where the prior of a parameter has its mean."""
    if name != "intercept":
        return 0.0
    return np.array(getattr(model, "intercept_centers", ()) or getattr(model, "intercept_center", 0.0))


def _of_offsets(model: Any, rows: Rows, columns: Sequence[Any]) -> Found:
    """Columns so far from zero that the line of least squares needs an intercept which the prior has not.

    Under the prior the intercept of least squares is N(0, intercept_scale² + its variance).
    """
    n, p = len(rows), model.n_features
    if not isinstance(model, LinearModel) or not model.fit_intercept or not 0 < p < n - LEAST_ROWS:
        return None
    X, y = rows.X[:MOST_ROWS], rows.y[:MOST_ROWS]  # type: ignore[index]
    center, scale = X.mean(axis=0), X.std(axis=0)
    varies = scale > 0
    Z = (X - center)[:, varies] / scale[varies]
    coef, *_ = np.linalg.lstsq(Z, y - y.mean(), rcond=None)
    ratio = center[varies] / scale[varies]
    noise = float(np.var(y - y.mean() - Z @ coef)) * len(y) / (len(y) - p - 1)
    intercept = y.mean() - ratio @ coef
    var = noise * (1 / len(y) + ratio @ np.linalg.pinv(Z.T @ Z) @ ratio)
    z = abs(intercept) / np.sqrt(model.intercept_scale**2 + var)
    if not z > -ndtri(FALSE_CONFLICTS / 2):
        return None
    j = int(np.flatnonzero(varies)[np.argmax(np.abs(ratio))]) if varies.any() else 0
    return (
        f"the line through the rows meets zero at {intercept:.3g}, {z:.0f} times what intercept_scale = "
        f"{model.intercept_scale:.3g} and the rows allow, since column {_named(columns, j, p)} has its mean "
        f"{abs(center[j]) / max(scale[j], np.finfo(float).tiny):.0f} standard deviations from zero",
        "centre the columns",
    )


def _without_noise(
    model: Any, named: dict[str, np.ndarray], W: np.ndarray, y_size: float, rows: Rows | None
) -> Found:
    """Rows on a plane, where an unknown σ is the rounding of y."""
    if "noise_std" not in named:
        return None
    n = 0.0 if rows is None else rows.total_weight
    # noise in units of the size of y that is rounding: a thousand times the spacing of doubles, more where
    # more than a thousand rows say how large it is
    # noise in units of noise_scale that is none, whatever y is: its prior ends at 10⁻³⁰
    nothing = max(2e-13 * max(1.0, n / 1000) * y_size, 1e-20 * getattr(model, "noise_scale", 1.0))
    return ON_A_PLANE if W @ named["noise_std"] <= nothing else None


def _of_noise(model: Any, std: float, level: float) -> Found:
    """σ where its prior has next to nothing."""
    if model.noise_prior is None:
        if 2 * stdtr(3, -std / model.noise_scale) > level:  # Student's t with three degrees of freedom
            return None
        return (
            f"the noise is {std:.3g}, {std / model.noise_scale:.0f} times noise_scale = "
            f"{model.noise_scale:.3g}",
            "raise noise_scale",
        )
    a, b = model.noise_prior
    if min(gammaincc(a, b / std**2), gammainc(a, b / std**2)) > level:
        return None
    return f"the noise variance is {std**2:.3g}, beyond InvGamma({a:g}, {b:g})", "change noise_prior"


def _of_spread(model: Any, rows: Rows, columns: Sequence[Any]) -> Found:
    """Columns in units that make the linear predictor far too small or far too large."""
    X = rows.X[:, : model.n_features]
    if len(X) < LEAST_ROWS or not X.shape[1]:
        return None
    spread = float(np.std(rows.y)) if hasattr(model, "noise_scale") else 1.0  # type: ignore[arg-type]
    if not spread > 0:
        return None
    reach = model.coef_scale * float(np.linalg.norm(np.ptp(X, axis=0))) / 2 / spread
    if 0 < reach < 0.05:
        return (
            f"with coef_scale = {model.coef_scale:.3g} all columns together move the linear predictor by "
            f"{reach:.1g} of what y asks for",
            "raise coef_scale",
        )
    widths = [model.coef_scale * float(np.std(x)) / spread for x in X.T]  # a copy of one column at a time
    j, width = int(np.argmax(widths)), max(widths)
    # ratios of the prior's spread of the linear predictor to that of y outside of which units must differ
    if width <= 20.0:
        return None
    return (
        f"with coef_scale = {model.coef_scale:.3g} column {_named(columns, j, X.shape[1])} moves the linear "
        f"predictor by {width:.1g} times what y asks for",
        "lower coef_scale",
    )
