"""Posterior probabilities of models and of their terms, Bayes factors, and what errors leave of them.

    p_k = π_k Z_k / Σ_j π_j Z_j,        log Z ~ N(log Ẑ, C),  C = diag(std²) where errors are independent,

gives draws of p_k whose quantiles are an interval: the Monte-Carlo error of the evidences, not the
uncertainty between the models, which p_k itself is.

Symbols
-------
=========  =======================  ==============================
symbol     meaning                  name
=========  =======================  ==============================
Z_k        evidence of model k      ``log_evidences`` (nats)
std_k      standard error of log Z  ``log_evidences_std`` (nats)
C          covariance of the errors ``covariance`` (nats²)
π_k        prior of model k         ``log_prior``
p_k        posterior probability    ``probabilities``
=========  =======================  ==============================

A Bayes factor has the error of its difference:

    log B_ab = log Z_a − log Z_b,        std² = std_a² + std_b²  (independent runs)

References
----------
R. E. Kass, A. E. Raftery (1995), Bayes Factors, Journal of the American Statistical Association 90, 773:
the scale of 2 log B in Section 3.2.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..effects import formula_terms
from ..particles import log_sum_exp
from ..tables import Table, in_pandas, with_errors
from ._candidates import candidate, check_comparable

#: Upper limits of 2 log B (nats) and their words, Kass and Raftery (1995), Section 3.2.
WORDS_OF_EVIDENCE = (
    (2.0, "not worth more than a bare mention"),
    (6.0, "positive"),
    (10.0, "strong"),
    (math.inf, "very strong"),
)


class LogBayesFactor(NamedTuple):
    """A log Bayes factor and its standard error, nats; prints ``1.76 ± 0.02 nats``."""

    value: float
    std: float

    def __repr__(self) -> str:
        return f"log Bayes factor {with_errors(np.array([self.value]), np.array([self.std]))[0]} nats"


#: Draws of the evidences: the 5 % quantile is then known to 0.2 percentage points of its level.
N_EVIDENCE_DRAWS = 10_000


def as_printed(name: Any) -> str:
    """Name of a model in a printed table, where a formula is known by its shape."""
    return str(name).replace("formula=", "", 1)


def printed_names(names: Sequence[Any]) -> list[str]:
    """Names of models in a printed table: what they differ by, where all are of one class."""
    printed = [as_printed(name) for name in names]
    head = printed[0].partition("(")[0] + "("
    is_class = head[:-1].isidentifier() and len(printed) > 1
    are_alike = is_class and all(name.startswith(head) and name.endswith(")") for name in printed)
    return [name[len(head) : -1] for name in printed] if are_alike else printed


def printed_probabilities(probabilities: Sequence[float] | np.ndarray) -> list[str]:
    """With three digits, and no certainty that rounding makes: only a model that is alone has 1."""
    if len(probabilities) == 1 and probabilities[0] == 1:
        return ["1.000"]
    return [">0.999" if p >= 0.9995 else "<0.001" if p < 0.0005 else f"{p:.3f}" for p in probabilities]


def log_model_prior(model_prior: ArrayLike | Mapping[str, float] | None, names: Sequence[str]) -> np.ndarray:
    """Normalised log prior probabilities of models, (n_models,).

    Prior weights are in the order of ``names``, or by name as it is or as tables print it; None is uniform.
    ValueError if they are not one positive number per model.
    """
    if model_prior is None:
        model_prior = np.ones(len(names))
    elif isinstance(model_prior, Mapping):
        by_name = {as_printed(name): weight for name, weight in model_prior.items()}
        printed = [as_printed(name) for name in names]
        if set(by_name) != set(printed) or len(by_name) < len(model_prior):
            raise ValueError(f"model_prior has keys {sorted(model_prior)}, the models are {sorted(printed)}")
        model_prior = [by_name[name] for name in printed]
    prior = np.asarray(model_prior, dtype=float)
    if prior.shape != (len(names),) or not np.all(np.isfinite(prior) & (prior > 0)):
        raise ValueError(
            f"model_prior must be {len(names)} positive numbers, one a model, got {model_prior!r}"
        )
    log_prior = np.log(prior)
    return log_prior - log_sum_exp(log_prior)


def probabilities(log_joint: np.ndarray) -> np.ndarray:
    """exp(log_joint) normalised over the last axis; (..., n_models)."""
    p = np.exp(log_joint - log_joint.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def probability_interval(
    log_evidences: ArrayLike,
    log_evidences_std: ArrayLike,
    log_prior: ArrayLike | None = None,
    *,
    level: float = 0.9,
    covariance: ArrayLike | None = None,
) -> np.ndarray:
    """Monte-Carlo interval of models' posterior probabilities from the errors of their evidences.

    Parameters
    ----------
    log_evidences, log_evidences_std : array-like of shape (n_models,)
        Log evidences and their standard errors, nats.  With a nan among the errors all bounds are nan.
    log_prior : array-like of shape (n_models,), optional
        Log prior probabilities; uniform by default.
    level : float, default=0.9
        Probability of the central interval.
    covariance : array-like of shape (n_models, n_models), optional
        Covariance of the errors where they are shared, nats²; by default they are independent.

    Returns
    -------
    ndarray of shape (2, n_models)
        Lower and upper bounds.  The draws have a fixed seed: the same evidences give the same interval.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1, or an error is negative.

    Examples
    --------
    >>> from sgevidence.model_selection import probability_interval
    >>> probability_interval([-10.0, -11.0], [0.1, 0.2]).round(2)
    array([[0.65, 0.2 ],
           [0.8 , 0.35]])
    """
    log_Z, std = np.asarray(log_evidences, dtype=float), np.asarray(log_evidences_std, dtype=float)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    if np.any(std < 0):
        raise ValueError(f"standard errors cannot be negative, got {std}")
    if np.any(np.isnan(std)):
        return np.full((2, len(log_Z)), np.nan)
    log_joint = log_Z if log_prior is None else log_Z + np.asarray(log_prior, dtype=float)
    if not np.any(std):
        return np.tile(probabilities(log_joint), (2, 1))
    noise = np.random.default_rng(0).standard_normal((N_EVIDENCE_DRAWS, len(log_Z)))
    draws = probabilities(log_joint + (std * noise if covariance is None else noise @ _root(covariance)))
    return np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)


def _root(covariance: ArrayLike) -> np.ndarray:
    """A symmetric R with R R = C, which may be singular; that of a diagonal C has the standard errors."""
    size, directions = np.linalg.eigh(np.asarray(covariance, dtype=float))
    return (directions * np.sqrt(np.maximum(size, 0.0))) @ directions.T


def log_bayes_factor(a: Any, b: Any) -> LogBayesFactor:
    """Log Bayes factor of one fitted model over another.

    Parameters
    ----------
    a, b : fitted estimators
        With ``log_evidence_``, alone, frozen or at the end of a pipeline, fitted on the same rows with seeds
        of their own.

    Returns
    -------
    LogBayesFactor
        ``(value, std)``: log p(data | a) − log p(data | b) and its standard error, in nats.  Positive speaks
        for ``a``.

    Raises
    ------
    TypeError
        If one has no ``log_evidence_``.
    ValueError
        If they have not seen the same rows; the message says what differs.

    See Also
    --------
    compare : Several models in a table.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from sgevidence import BayesianLinearRegression, log_bayes_factor
    >>> from sgevidence.samplers import Exact
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, y = scale(X), scale(y)
    >>> good, poor = (BayesianLinearRegression(s, sampler=Exact()).fit(X, y) for s in (0.7, 10.0))
    >>> value, std = log_bayes_factor(good, poor)
    >>> value > 500, std
    (True, 0.0)
    """
    first, second = candidate("the first model", a), candidate("the second model", b)
    check_comparable([first, second])
    return LogBayesFactor(
        first.log_evidence - second.log_evidence, math.hypot(first.log_evidence_std, second.log_evidence_std)
    )


def in_words(log_factor: float) -> str:
    """The strength of a log Bayes factor (nats) of either sign; its direction is the sign."""
    return next(words for limit, words in WORDS_OF_EVIDENCE if 2 * abs(log_factor) <= limit)


def term_probabilities(comparison: Any) -> Any:
    """Probability that each term belongs into the formula, from a comparison of formulas.

    Parameters
    ----------
    comparison : DataFrame or Table
        The table of :func:`compare`, or ``comparison_`` of an :class:`EvidenceSearch`.  The models differ in
        ``formula``, as those of :func:`sub_formulas`.

    Returns
    -------
    DataFrame, or Table where pandas is not installed
        One row per term, in the order of the longest formula: ``probability``, the sum over the formulas that
        have the term, and ``n_formulas``, how many they are.  A line is in formulas of its slopes and of its
        curve ``s``, too.  An intercept of a group is ``1 | subject``, a
        slope ``days | subject``.

    Raises
    ------
    TypeError
        For what is no table.
    ValueError
        If the models do not differ in a formula.

    Notes
    -----
    A main effect is in every formula that has one of its interactions, so that it is at least as probable.
    Formulas are equally probable before the rows are seen, unless ``compare(model_prior=...)`` says more.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sgevidence import BayesianGLM, EvidenceSearch, sub_formulas, term_probabilities
    >>> rng = np.random.default_rng(0)
    >>> dose, sex = rng.uniform(0, 5, 60), rng.choice(["f", "m"], 60)
    >>> frame = pd.DataFrame({"dose": dose, "sex": sex, "y": rng.poisson(np.exp(0.4 * dose))})
    >>> formulas = {"formula": sub_formulas("y ~ dose * sex")}
    >>> search = EvidenceSearch(BayesianGLM("poisson", random_state=0), formulas).fit(frame, frame["y"])
    >>> term_probabilities(search.comparison_)["probability"].round().tolist()
    [1.0, 0.0, 0.0]
    """
    if getattr(comparison, "columns", None) is None:
        raise TypeError(f"comparison must be a table, as comparison_ of a search is, got {comparison!r}")
    name = next((one for one in comparison.columns if str(one).rsplit("__", 1)[-1] == "formula"), None)
    if name is None:
        raise ValueError("the models do not differ in a formula: compare those of sub_formulas(formula)")
    terms = [formula_terms(formula) for formula in comparison[name]]
    found: dict[tuple, str] = {}
    for one in sorted(terms, key=len, reverse=True):
        found |= {term: label for term, label in one.items() if label is not None and term not in found}
    inside = np.array([[term in one for one in terms] for term in found]).reshape(len(found), len(terms))
    probability = inside @ np.asarray(comparison["probability"], dtype=float)
    columns = {"probability": probability, "n_formulas": inside.sum(axis=1)}
    return in_pandas(Table(columns, list(found.values())))
