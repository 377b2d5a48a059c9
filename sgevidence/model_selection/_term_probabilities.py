"""Which terms belong into a formula: probabilities of formulas, summed for each term."""

from typing import Any

import numpy as np

from ..effects import formula_terms
from ..tables import Table, in_pandas


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
