"""Which scales the prior of an estimator has, as parameters that can be set to others, and what has none.

A scale is a parameter of the estimator, ``scale=`` of one of its terms, or the scale of a distribution by
name of a user's model.  Names of priors without a scale, as concentrations, are told.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats.distributions import rv_frozen

from ..effects import Factor, Interaction

#: Parameters that are prior scales, and the power of the factor in each: variances are squares.
PRIOR_SCALES = ("coef_scale", "intercept_scale", "noise_scale", "mean_scale")
VARIANCES = ("noise_prior", "variance_prior")


class PriorScale(NamedTuple):
    """A scale, and the parameters that state it when it is multiplied."""

    name: str
    power: int
    value: Any
    parameter: str
    wrapped: Any  #: function of the new value, the value of the parameter

    def times(self, factor: float) -> dict[str, Any]:
        """Parameters of the estimator with this scale multiplied."""
        by = factor**self.power
        pair = isinstance(self.value, tuple | list)
        return {
            self.parameter: self.wrapped((self.value[0], self.value[1] * by) if pair else self.value * by)
        }


def prior_scales(estimator: Any, fitted: Any) -> tuple[list[PriorScale], list[str]]:
    """Scales of the prior, and names of priors that have none."""
    params = estimator.get_params(deep=False)
    is_jzs, priors = params.get("prior") == "jzs", params.get("priors")
    found = [] if is_jzs else list(_of_parameters(params, fitted))
    fixed = ["r of prior='jzs' where terms have no scale of their own"] * is_jzs
    found += _of_terms(params, is_jzs)
    if isinstance(priors, dict):
        found += (one for name in priors if (one := _of_name(priors, name)) is not None)
        fixed += [name for name in priors if _of_name(priors, name) is None]
    varied = {one.parameter for one in found}
    fixed += [
        name
        for name, value in params.items()
        if name.endswith(("_concentration", "_prior")) and value is not None and name not in varied
    ]
    fixed += list(getattr(getattr(fitted, "_family", None), "own", ()))
    if hasattr(fitted, "classes_") and type(getattr(fitted, "_family", None)).__name__ == "Ordinal":
        fixed.append("thresholds")
    blocks = () if is_jzs else getattr(getattr(fitted._model, "layout", None), "blocks", ())
    fixed += ["correlations of a level's effects"] * any(block.correlated for block in blocks)
    return found, fixed


def _of_parameters(params: dict[str, Any], fitted: Any) -> Iterator[PriorScale]:
    powers = {name: 1 for name in PRIOR_SCALES if name in params}
    powers |= {name: 2 for name in VARIANCES if (params.get(name) or getattr(fitted, f"{name}_", None))}
    if params.get("noise_std") is not None or "noise_prior" in powers:
        powers.pop("noise_scale", None)
    if not getattr(fitted, "_fits_intercept", params.get("fit_intercept", True)):
        powers.pop("intercept_scale", None)
    if any(_scale_of(part) is None for term in _terms(fitted) for part in _parts(term)):
        powers["effect_scale"] = 1
    for name, power in powers.items():
        value = params[name]
        value = getattr(fitted, f"{name}_", 1.0) if value is None else value  # that was used
        yield PriorScale(name, power, value, name, lambda new: new)


def _of_terms(params: dict[str, Any], is_jzs: bool) -> Iterator[PriorScale]:
    """Scales that terms have of their own."""
    terms = list(params.get("terms") or ())
    for k, term in enumerate(terms):
        own = [part for part in _parts(term) if _scale_of(part) is not None]
        if not own or (is_jzs and isinstance(term, Interaction)):
            continue

        def wrapped(by: float, k: int = k, term: Any = term) -> list[Any]:
            return [*terms[:k], _multiplied(term, by), *terms[k + 1 :]]

        yield PriorScale(f"scale of {term.name}", 1, 1.0, "terms", wrapped)


def _terms(fitted: Any) -> list[Any]:
    """Terms as they were given."""
    formula = getattr(fitted, "_formula", None) if getattr(fitted, "formula", None) is not None else None
    return list((getattr(fitted, "terms", None) or ()) if formula is None else formula.terms)


def _parts(term: Any) -> tuple:
    return (
        tuple(part for part in term if isinstance(part, Factor)) if isinstance(term, Interaction) else (term,)
    )


def _scale_of(part: Any) -> float | None:
    return getattr(part, "scale", None)


def _multiplied(term: Any, by: float) -> Any:
    """A term with its own scales multiplied; one of a product's is enough."""
    if not isinstance(term, Interaction):
        return term._replace(scale=term.scale * by)
    done, parts = False, []
    for part in term:
        is_next = not done and isinstance(part, Factor) and part.scale is not None
        parts.append(part._replace(scale=part.scale * by) if is_next else part)
        done |= is_next
    return Interaction(*parts)


def _of_name(priors: dict[str, Any], name: str) -> PriorScale | None:
    """The scale of a distribution of ``scipy.stats`` that does not end on both sides."""
    given = priors[name]
    prior, *shape = given if isinstance(given, tuple) else (given,)
    if not isinstance(prior, rv_frozen) or np.isfinite(prior.support()).all():
        return None
    shapes, loc, scale = prior.dist._parse_args(*prior.args, **prior.kwds)

    def wrapped(new: Any) -> dict[str, Any]:
        other = prior.dist(*shapes, loc=loc, scale=new)
        return {**priors, name: (other, *shape) if shape else other}

    return PriorScale(f"scale of {name}", 1, scale, "priors", wrapped)
