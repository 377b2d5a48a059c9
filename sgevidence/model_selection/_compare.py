"""Models side by side: a table of evidences, Bayes factors and probabilities, each with its error.

Δ_k = log Z_k − log Z_best,   std_k² + std_best² − 2 cov(k, best),
log₁₀ B = Δ_k / log 10,   p_k = π_k Z_k / Σ_j π_j Z_j
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..mixture.estimators import error_covariance
from ._candidates import Candidate, candidate, candidates, is_search, last_step, named_models, row_arguments
from ._facts import facts_of, robustness
from ._predictive_check import predictive_check
from ._probabilities import in_words, log_model_prior, probabilities, probability_interval
from ._report import ComparisonTable
from ._summary import UNCHECKED

#: Types of parameters that stand in a column as they are.
SCALARS = {int, float, str, bool}


def compare(
    models: Any,
    *,
    model_prior: ArrayLike | Mapping[str, float] | None = None,
    level: float = 0.9,
    check: Any = None,
    sensitivity: Any = None,
) -> Any:
    """Rank models of the same rows by their evidence.

    Parameters
    ----------
    models : mapping, sequence, EvidenceModelAverager, GridSearchCV or its ``cv_results_``
        Fitted estimators by name, or in a list (named by the parameters in which they differ), also as the
        last step of a pipeline or frozen.  An averager is compared model by model.  A search needs
        ``scoring=evidence_scorers``, ``refit="log_evidence"`` and ``cv=FullData()``.  One fitted mixture
        stands for 1 … ``n_components`` components, whose errors are shared (``component_evidence_``).  One
        fitted ``EvidenceFeatureSelector`` stands for its best subsets, with probabilities among all of them.
    model_prior : array-like of shape (n_models,), dict or None, default=None
        Positive prior weights of the models, in their order (of a search, that of its grid) or by name.  None
        is uniform, or an averager's own.  It changes the probabilities only: evidences and Bayes factors do
        not depend on it.
    level : float, default=0.9
        Probability of the interval of ``probability``, half of the rest on each side.
    check : tuple, dict or frame, optional
        Arguments of :func:`predictive_check`: ``(X, y)``, a frame that has the y of formulas, or such as
        ``dict(X=X, y=y, offset=offset)``: the table says whether a model reproduces these rows.  By default
        there is no such check, and the model with the most evidence may fit badly.
    sensitivity : tuple, dict or frame, optional
        Rows as for ``check``, arguments of ``fit``: the best model and the next are fitted under each prior
        scale divided and multiplied by three (:func:`prior_sensitivity`), and ``report()`` says how far the
        Bayes factor moves with the scale that matters most.  This takes some ten fits, so that the default is
        None.

    Returns
    -------
    pandas.DataFrame, or Table where pandas is not installed
        One row per model, the best first.  It prints as a summary in eighty columns: log evidence and
        standard error, probability, Bayes factor against the best, and a word where there is doubt:
        ``warned`` if the fit warned, ``open`` if the best is ahead by less than two standard errors,
        ``misfit`` if the model does not reproduce the rows of ``check``; a line below says if none of the
        models does.  ``to_latex()`` writes what is printed, and ``report()`` what a paper needs: its four
        columns, the sentence on the Bayes factor, priors and software, as text, Markdown, LaTeX or HTML.  The
        columns are

        * ``rank``, by log evidence;
        * the parameters in which the models of a search or of a list differ, by name;
        * ``log_evidence``, ``log_evidence_std``: nats;
        * ``difference``, ``difference_std``: log evidence minus the best's, and its standard error, nats;
        * ``log10_bayes_factor``: the Bayes factor against the best, to base ten;
        * ``evidence_against``: the Bayes factor of the best over this one, in words (Kass and Raftery 1995);
        * ``probability``, ``probability_low``, ``probability_high``: posterior probability, and the interval
          that the standard errors leave it;
        * ``n_samples``: rows seen;
        * ``warnings``: what the fit warned of, joined;
        * ``misfit``, with ``check``: statistics that the model does not reproduce, joined; "–" if no rows of
          the model can be simulated.

    Raises
    ------
    AttributeError
        If one mixture does not know the evidences of all numbers of components, with the reason.
    TypeError
        If a model is not fitted, or has no evidence.
    ValueError
        If the evidences are of different rows, targets, classes or kinds of models, or not finite: the
        message says which; if a search has not kept the error bars, or is to be checked.

    See Also
    --------
    log_bayes_factor : Two models.
    predictive_check : Does a model fit at all?
    ComparisonDisplay : The table as a picture.
    replicate : Is the standard error true?

    Notes
    -----
    The interval says how far the probabilities are uncertain because the evidences are; it draws
    log Z_k ~ N(log_evidence, log_evidence_std²) with a fixed seed, jointly where errors are shared.  The
    words of ``evidence_against`` ignore the standard errors: read them together with ``difference_std``.

    References
    ----------
    R. E. Kass, A. E. Raftery (1995), Bayes Factors, Journal of the American Statistical Association 90, 773.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sgevidence import BayesianLinearRegression, compare
    >>> from sgevidence.samplers import Exact
    >>> X, y = load_diabetes(return_X_y=True)
    >>> sampler = Exact()
    >>> fits = {f"noise {s}": BayesianLinearRegression(s, sampler=sampler).fit(X, y) for s in (52, 54, 56)}
    >>> table = compare(fits)
    >>> table
              log evidence ± error  probability  Bayes factor
    noise 54          -2419.32 ± 0        0.474             1
    noise 56          -2419.79 ± 0        0.295          0.62
    noise 52          -2420.04 ± 0        0.230          0.49
    >>> table["probability"].round(3).tolist()
    [0.474, 0.295, 0.23]
    """
    found, covariance = side_by_side(models)
    names = [one.name for one in found]
    if model_prior is None and hasattr(models, "named_estimators_"):
        model_prior = getattr(models, "model_prior", None)
    if model_prior is None and knows_subsets(models):
        listed = last_step(models).models_
        log_prior, mass = np.asarray(listed["log_prior"]), float(np.sum(listed["probability"]))
    else:
        log_prior, mass = log_model_prior(model_prior, names), 1.0
    columns = evidence_columns(found, covariance, log_prior, level, mass)
    order = np.argsort(-columns["log_evidence"], kind="stable")
    if check is not None:
        columns["misfit"] = np.array(_misfits(models, check))
    columns = _parameters([one.parameters for one in found]) | columns
    ranked = {"rank": np.arange(1, len(found) + 1)} | {key: value[order] for key, value in columns.items()}
    table = comparison_table(ranked, [names[k] for k in order])
    table._facts = facts_of(models, np.exp(log_prior[order]))
    if sensitivity is not None:
        if knows_subsets(models) or knows_components(models) or len(found) < 2:
            raise ValueError(
                "sensitivity= is of two models at least, each given as an estimator or by a search"
            )
        table._facts = table._facts._replace(robustness=robustness(models, (order[0], order[1]), sensitivity))
    return table


def evidence_columns(
    found: list[Candidate],
    covariance: np.ndarray,
    log_prior: np.ndarray,
    level: float = 0.9,
    mass: float = 1.0,
) -> dict[str, np.ndarray]:
    """Columns of the table that :func:`compare` returns, of models with ``mass`` of all probability."""
    log_Z, std = np.array([(one.log_evidence, one.log_evidence_std) for one in found]).T
    best = int(np.argmax(log_Z))
    with np.errstate(invalid="ignore"):
        difference = np.where(log_Z == log_Z[best], 0.0, log_Z - log_Z[best])  # one may be infinite
    of_difference = np.maximum(std**2 + std[best] ** 2 - 2 * covariance[best], 0.0)
    difference_std = np.where(np.arange(len(found)) == best, 0.0, np.sqrt(of_difference))
    low, high = mass * probability_interval(log_Z, std, log_prior, level=level, covariance=covariance)
    return {
        "log_evidence": log_Z,
        "log_evidence_std": std,
        "difference": difference,
        "difference_std": difference_std,
        "log10_bayes_factor": difference / np.log(10),
        "evidence_against": np.array([in_words(d) if k != best else "" for k, d in enumerate(difference)]),
        "probability": mass * probabilities(log_Z + log_prior),
        "probability_low": low,
        "probability_high": high,
        "n_samples": np.array([one.n_samples if one.n_samples is not None else "unknown" for one in found]),
        "warnings": np.array(["; ".join(one.warnings) for one in found]),
    }


def _parameters(found: list[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """A column for each parameter that all models state, objects in a line of text."""
    names = [name for name in found[0] if all(name in one for one in found)]
    return {name: _column([one[name] for one in found]) for name in names}


def _column(values: list[Any]) -> np.ndarray:
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    kinds = {type(value) for value in values}
    return np.array(values if len(kinds) == 1 and kinds <= SCALARS else [_in_a_line(one) for one in values])


def _in_a_line(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return " ".join(str(value).split())


def _misfits(models: Any, check: Any) -> list[str]:
    """Statistics of the rows that each model does not reproduce."""
    if is_search(models):
        raise ValueError("a search does not keep its models, which check= is of: fit those of interest")
    if knows_subsets(models):
        raise ValueError("check= is of fitted models, and subsets of a selector are not: fit each")
    if knows_components(models):
        raise ValueError("check= is of fitted models, and smaller numbers of components are not: fit each")
    rows = {"random_state": 0} | row_arguments(check)  # the same table each time
    found, refusals = [], []
    for model in named_models(models).values():
        try:
            found.append(", ".join(predictive_check(model, **rows).misfits))
        except TypeError as error:  # of this kind of model
            found.append(UNCHECKED)
            refusals.append(error)
    if len(refusals) == len(found):
        raise refusals[0]
    return found


def comparison_table(columns: dict[str, np.ndarray], names: list[str], of_subsets: bool = False) -> Any:
    """A table that prints as a comparison; a DataFrame where pandas is installed."""
    if find_spec("pandas") is None:
        return ComparisonTable(columns, names)
    from pandas import Index

    from ._frame import ComparisonFrame, SubsetFrame

    return (SubsetFrame if of_subsets else ComparisonFrame)(columns, index=Index(names, name="model"))


def side_by_side(models: Any) -> tuple[list[Candidate], np.ndarray]:
    """Evidences of models of the same rows, and the covariance of their errors, (n_models, n_models), nats².

    ``models`` and errors are those of :func:`compare`, or one selector, or one mixture: AttributeError if the
    evidences of its numbers of components are not known, with the reason.
    """
    if knows_components(models):
        model = last_step(models)
        found, seen = model.component_evidence_, candidate("the mixture", model)
        rows = zip(found["n_components"], found["log_evidence"], found["log_evidence_std"])
        of_each = [
            seen._replace(
                name=f"n_components={k}",
                log_evidence=float(log_Z),
                log_evidence_std=float(std),
                parameters={"n_components": k},
            )
            for k, log_Z, std in rows
        ]
        return of_each, model.component_evidence_covariance_
    if knows_subsets(models):
        model = last_step(models)
        found, seen = model.models_, candidate("the selector", model)
        rows = zip(found.index, found["log_evidence"], found["log_evidence_std"])
        of_each = [
            seen._replace(name=str(name), log_evidence=float(log_Z), log_evidence_std=float(std))
            for name, log_Z, std in rows
        ]
        return of_each, np.diag([one.log_evidence_std**2 for one in of_each])
    of_each = candidates(models)
    if is_search(models):
        return of_each, np.diag([one.log_evidence_std**2 for one in of_each])
    return of_each, error_covariance([last_step(model) for model in named_models(models).values()])


def knows_subsets(models: Any) -> bool:
    """Whether it is one selection of columns, which has an evidence for each of its subsets."""
    return hasattr(type(last_step(models)), "inclusion_probabilities_")


def knows_components(models: Any) -> bool:
    """Whether it is one mixture, which has an evidence for every number of components."""
    return hasattr(type(last_step(models)), "component_evidence_")
