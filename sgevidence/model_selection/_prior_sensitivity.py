"""How much of an answer is the prior: evidence and posterior means under other prior scales.

Draws θ_i with weights W_i from the posterior under the prior p are, with weights W_i p'(θ_i)/p(θ_i), draws
from that under p', and

    log Z' = log Z + log Σ_i W_i p'(θ_i) / p(θ_i):

no row is looked at again.  The effective number of draws that is left says whether to believe it.

Which scales the prior of an estimator has, as parameters that can be set to others, and what has none.

A scale is a parameter of the estimator, ``scale=`` of one of its terms, or the scale of a distribution by
name of a user's model.  Names of priors without a scale, as concentrations, are told.
"""

import copy
import warnings
from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.stats.distributions import rv_frozen
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._compat import Interval, validate_params
from ..answers import pareto_k
from ..effects import Factor, Interaction
from ..estimators import CONFLICT, EvidenceEstimator, scalar_names
from ..exceptions import warn_caller
from ..tables import LINE_WIDTH, Table, with_errors
from ._candidates import last_step

#: Parameters that are prior scales, and the power of the factor in each: variances are squares.
PRIOR_SCALES = ("coef_scale", "intercept_scale", "noise_scale", "mean_scale", "transition_coef_scale")
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
    is_known = params.get("noise_std") is not None or getattr(fitted, "_std_unit", None) is not None
    if is_known or "noise_prior" in powers:
        powers.pop("noise_scale", None)
    if not getattr(fitted, "_fits_intercept", params.get("fit_intercept", True)):
        powers.pop("intercept_scale", None)
    if params.get("transitions") is None:
        powers.pop("transition_coef_scale", None)
    if any(getattr(part, "scale", None) is None for term in _terms(fitted) for part in _parts(term)):
        powers["effect_scale"] = 1
    for name, power in powers.items():
        value = params[name]
        value = getattr(fitted, f"{name}_", 1.0) if value is None else value  # that was used
        yield PriorScale(name, power, value, name, lambda new: new)


def _of_terms(params: dict[str, Any], is_jzs: bool) -> Iterator[PriorScale]:
    """Scales that terms have of their own."""
    terms = list(params.get("terms") or ())
    for k, term in enumerate(terms):
        own = [part for part in _parts(term) if getattr(part, "scale", None) is not None]
        if not own or (is_jzs and isinstance(term, Interaction)):
            continue

        def wrapped(by: float, k: int = k, term: Any = term) -> list[Any]:
            return [*terms[:k], _multiplied(term, by), *terms[k + 1 :]]

        yield PriorScale(f"scale of {term.name}", 1, 1.0, "terms", wrapped)


def _terms(fitted: Any) -> list[Any]:
    """Terms as they were given, those of another parameter among them."""
    formula = getattr(fitted, "_formula", None) if getattr(fitted, "formula", None) is not None else None
    given = (getattr(fitted, "terms", None) or ()) if formula is None else formula.terms
    return [*given, *getattr(getattr(fitted, "_other", None), "terms", ())]


def _parts(term: Any) -> tuple:
    return (
        tuple(part for part in term if isinstance(part, Factor)) if isinstance(term, Interaction) else (term,)
    )


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


#: Pareto k of weights from which their variance is infinite, and the share of effective draws that must be
#: left: draws of bridges are chains, and stand for fewer than they are.  At a quarter 4 of 36 answers for
#: classes under wider priors were off by 0.09 to 0.23 nats, with k from 0.26 to 0.41 (2026-11-28).
MAX_REWEIGHTED_PARETO_K, MIN_REWEIGHTED_SHARE = 0.5, 0.6


class ReweightedEvidence(NamedTuple):
    """Evidence under another prior, from the draws under the first.

    Parameters
    ----------
    log_evidence, log_evidence_std : float
        Nats; the error of the first fit and that of the weights.
    ess : float
        Effective draws that are left.
    is_reliable : bool
        At least 100, and six tenths of those of the first fit, and Pareto k̂ of the weights below ½, so that
        their variance exists: otherwise fit again.
    weights : ndarray of shape (M,)
        Weights of ``particles_`` under the other prior.
    """

    log_evidence: float
    log_evidence_std: float
    ess: float
    is_reliable: bool
    weights: np.ndarray


def reweight_prior(estimator: Any, **prior: Any) -> ReweightedEvidence:
    """Evidence of a fitted estimator under another prior, from its draws.

    Parameters
    ----------
    estimator : fitted estimator
        A regression or a mixture, alone or at the end of a pipeline.
    **prior : Any
        Parameters of its prior and their other values, such as ``coef_scale=3.0``.

    Returns
    -------
    ReweightedEvidence

    Raises
    ------
    TypeError
        If the estimator is not one of this library, has its prior as functions, or has factors, groups,
        curves or hidden states.
    ValueError
        For parameters that state no prior, or other parameters in the model.

    Warns
    -----
    EvidenceWarning
        If too few draws count under the other prior (``is_reliable`` is False): the evidence may then be off
        by nats beyond its error.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sgevidence import BayesianLinearRegression, reweight_prior
    >>> X, y = load_diabetes(return_X_y=True)
    >>> fit = BayesianLinearRegression(random_state=0).fit(X, y)
    >>> found = reweight_prior(fit, coef_scale=0.7)
    >>> again = BayesianLinearRegression(coef_scale=0.7).fit(X, y)
    >>> found.is_reliable, abs(found.log_evidence - again.log_evidence_) < 4 * found.log_evidence_std
    (True, True)
    """
    model = last_step(estimator)
    if not isinstance(model, EvidenceEstimator) or not hasattr(model, "n_features_in_"):
        raise TypeError(f"{type(model).__name__} is no fitted estimator of this library")
    if unknown := sorted(set(prior) - priors_of(model)):
        raise ValueError(f"{unknown} do not state a prior of {type(model).__name__}")
    if not model._draws_tell_priors:
        raise TypeError("draws of factors, groups, curves and hidden states are not reweighted: fit again")
    found = _reweighted(model, prior)
    if not found.is_reliable:
        stated = ", ".join(f"{name}={value!r}" for name, value in prior.items())
        warn_caller(
            f"{found.ess:.0f} of the draws count under {stated}, too few or too unequally: the log evidence "
            "may be off by nats beyond its error; fit again with that prior"
        )
    return found


def priors_of(model: Any) -> set[str]:
    """Parameters that state a prior, under which draws can be reweighted."""
    return {*PRIOR_SCALES, *VARIANCES, "weight_concentration"} & set(model.get_params(deep=False))


def _reweighted(model: Any, prior: dict[str, Any]) -> ReweightedEvidence:
    log_ratio = _log_prior_ratio(model, prior)
    W = model.particle_weights_
    top = np.max(log_ratio[W > 0])
    ratio = np.where(W > 0, np.exp(np.minimum(log_ratio - top, 0.0)), 0.0)
    mean = W @ ratio
    weights = W * ratio / mean
    ess, before = 1 / np.sum(weights**2), 1 / np.sum(W**2)
    std = float(np.sqrt(np.sum((W * (ratio / mean - 1)) ** 2)))
    with np.errstate(divide="ignore"):
        tail = pareto_k(np.log(weights))
    return ReweightedEvidence(
        log_evidence=float(model.log_evidence_ + top + np.log(mean)),
        log_evidence_std=float(np.hypot(model.log_evidence_std_, std)),
        ess=float(ess),
        is_reliable=bool(ess >= max(100.0, MIN_REWEIGHTED_SHARE * before) and tail < MAX_REWEIGHTED_PARETO_K),
        weights=weights,
    )


def _log_prior_ratio(fitted: Any, prior: dict[str, Any]) -> np.ndarray:
    """log p'(θ_i) − log p(θ_i), (M,), in coordinates that do not depend on the prior."""
    model, theta = fitted._model, fitted.particles_
    model, theta = model.in_plain(theta)
    known = getattr(fitted, "_has_offset", False) + getattr(getattr(fitted, "_family", None), "n_known", 0)
    no_rows = np.zeros((1, getattr(model, "n_features", 0) + known))  # offset and trials are the last columns
    other = copy.copy(fitted).set_params(**prior)._make_model(no_rows, None)
    with np.errstate(all="ignore"):
        return np.asarray(other.log_prior(theta) - model.log_prior(theta))


class SensitivityTable(Table):
    """Evidence and posterior means by prior; prints within eighty columns, the evidence first.

    Parameters
    ----------
    columns : mapping of str to sequence
    index : sequence of str
        The prior of each row.
    """

    #: Names of priors that have no scale, or no parameter that states one.
    not_varied: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = {
            "log evidence ± error": with_errors(
                np.asarray(self["log_evidence"]), np.asarray(self["log_evidence_std"])
            ),
            "difference": [f"{d:+.2f}" for d in self["difference"]],
        }
        for name in self.columns[len(EVIDENCE) :]:
            more = shown | {name: [f"{value:.3g}" for value in self[name]]}
            lines = Table(more, self.index).to_string().splitlines()
            if len(lines) > len(self) + 1 or max(map(len, lines)) > LINE_WIDTH:
                break
            shown = more
        text = Table(shown, self.index).to_string()
        return f"{text}\nnot varied: {', '.join(self.not_varied)}" if self.not_varied else text


#: First columns of the table.
EVIDENCE = ("log_evidence", "log_evidence_std", "difference", "ess")


@validate_params({"factor": [Interval(Real, 1, None, closed="neither")]}, prefer_skip_nested_validation=True)
def prior_sensitivity(estimator, X, y=None, *, factor=3.0, **fit_params) -> SensitivityTable:
    """Evidence and posterior means under prior scales that are smaller and larger.

    Parameters
    ----------
    estimator : estimator
        A regression or a mixture, which states its prior by parameters, also at the end of a pipeline; it is
        cloned.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
        Not for mixtures.
    factor : float, default=3.0
        Each prior scale is divided and multiplied by it, one at a time: half an order of magnitude either
        way is what two careful people may differ by.
    **fit_params : Any
        Other arguments of ``fit`` of the estimator, such as ``sample_weight``, ``offset`` and ``event``.

    Returns
    -------
    SensitivityTable
        A row for the prior as given and two for each scale, with the columns ``log_evidence``,
        ``log_evidence_std``, ``difference`` from the first row (nats), ``ess`` (effective draws where the
        cloud was reweighted; nan where the model was fitted), and the posterior mean of each parameter in
        the data's units, first those that move most.  It prints what fits into eighty columns.  Its attribute
        ``not_varied`` names priors that have no scale, as concentrations, and a line below the table does.

    Raises
    ------
    TypeError
        If the estimator states no prior scales: a model of one's own whose prior has no names.

    See Also
    --------
    reweight_prior : Any other prior of a fitted estimator.
    replicate : Sensitivity to the seed.

    Notes
    -----
    Scales are those of parameters, ``effect_scale`` of terms that have no ``scale`` of their own, those of
    terms, and of a user's priors by name that do not end on both sides.  An evidence that is exact is
    computed anew; factors, groups, curves, hidden states and models of one's own are fitted again.  Otherwise
    the draws are reweighted where that is reliable, as :func:`reweight_prior` says.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sgevidence import BayesianLinearRegression, prior_sensitivity
    >>> from sgevidence.samplers import Exact
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BayesianLinearRegression(columns=[2], sampler=Exact(), random_state=0)
    >>> prior_sensitivity(model, X, y)[["log_evidence", "difference"]].round(2)
                         log_evidence  difference
    as given                 -2464.09        0.00
    coef_scale / 3           -2464.35       -0.26
    coef_scale * 3           -2465.03       -0.95
    intercept_scale / 3      -2462.99        1.09
    intercept_scale * 3      -2465.19       -1.10
    noise_scale / 3          -2464.77       -0.69
    noise_scale * 3          -2464.84       -0.75
    """
    if isinstance(estimator, Pipeline):
        X, estimator = clone(estimator[:-1]).fit_transform(X, y), estimator[-1]
    if not isinstance(estimator, EvidenceEstimator):
        raise TypeError(
            f"{type(estimator).__name__} is no model of this library: give one model, as best_estimator_ "
            "of a search; compare(models, sensitivity=dict(X=X, y=y)) varies the priors of several"
        )
    targets = () if y is None else (y,)
    first = clone(estimator).fit(X, *targets, **fit_params)
    scales, fixed = prior_scales(estimator, first)
    if not scales:
        raise TypeError(f"{type(estimator).__name__} has no parameters that state prior scales")
    rows = [(first.log_evidence_, first.log_evidence_std_, np.nan, _means(first))]
    names = ["as given"]
    for scale in scales:
        for sign, by in (("/", 1 / factor), ("*", factor)):
            names.append(f"{scale.name} {sign} {factor:g}")
            prior = scale.times(by)
            is_named = scale.parameter in priors_of(first)
            has_weights = first.log_evidence_std_ > 0 and is_named and first._draws_tell_priors
            found = _reweighted(first, prior) if has_weights else None
            if found is not None and found.is_reliable:
                other = copy.copy(first)
                other.particle_weights_ = found.weights
                rows.append((found.log_evidence, found.log_evidence_std, found.ess, _means(other)))
                continue
            with warnings.catch_warnings():  # that other priors contradict the data is what is asked
                warnings.filterwarnings("ignore", message=CONFLICT)
                again = clone(estimator).set_params(**prior).fit(X, *targets, **fit_params)
            rows.append((again.log_evidence_, again.log_evidence_std_, np.nan, _means(again)))
    log_Z, std, ess, means = zip(*rows)
    evidence = (log_Z, std, np.array(log_Z) - log_Z[0], ess)
    moved = sorted(means[0], key=lambda key: -np.ptp([one[key][0] for one in means]) / means[0][key][1])
    columns = dict(zip(EVIDENCE, evidence)) | {key: [one[key][0] for one in means] for key in moved}
    table = SensitivityTable(columns, names)
    table.not_varied = tuple(fixed)
    return table


def _means(fitted: Any) -> dict[str, tuple[float, float]]:
    """Posterior mean and standard deviation of each scalar parameter, by name."""
    moments = {
        name: tuple(map(np.asarray, fitted._posterior_mean_and_std(name)))
        for name in fitted._parameters(fitted.particles_[:1])
    }
    scalars = scalar_names(fitted, {name: mean.shape for name, (mean, _) in moments.items()})
    tiny = np.finfo(float).tiny
    return {
        label: (float(moments[name][0][at]), max(float(moments[name][1][at]), tiny))
        for label, name, at in scalars
    }
