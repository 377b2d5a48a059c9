"""Names of models at the command line, and the estimators that they are."""

import re
from typing import Any

import numpy as np

from ..effects import Factor
from ..estimators import BayesianGLM, BayesianGMM, BayesianLinearRegression, BayesianSoftmaxRegression
from ..rows import KNOWN

#: Numbers of components, more of which nobody means.
MOST_COMPONENTS = 100
#: Classes for a row, more of which are no classes.
MOST_CLASSES = 0.5
#: A model and the names of what its ``fit`` is given beside X and y.
Models = dict[str, tuple[Any, tuple[str, ...]]]


def given(rows: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Arguments of ``fit`` and ``partial_fit`` beside X and y."""
    return {name: getattr(rows, name) for name in names}


def component_counts(text: str) -> list[int]:
    """Numbers of "1-7" or "1,2,4"; ValueError for other texts."""
    counts: list[int] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2] or found[1]):
            raise ValueError(f"--mixture {text}: give numbers of components, as 1-7 or 1,2,4")
        if int(found[2] or found[1]) > MOST_COMPONENTS:
            raise ValueError(f"--mixture {text}: {MOST_COMPONENTS} components at most")
        counts += range(int(found[1]), int(found[2] or found[1]) + 1)
    return list(dict.fromkeys(counts))


def densities(
    counts: list[int], rows: Any, columns: list, factors: list, covariance: str, standardize: bool, seed: int
) -> Models:
    """Mixtures of X."""
    if len(columns) > 1:
        raise ValueError("mixtures of different columns are of different data: give --features once")
    if factors or any(getattr(rows, known) is not None for known in KNOWN):
        raise ValueError("mixtures have no offset, no trials, no event and no factors")
    params: dict[str, Any] = dict(covariance_type=covariance, standardize=standardize, random_state=seed)
    return {f"K={k}": (BayesianGMM(k, **params), ("sample_weight",)) for k in counts}


def regressions(
    rows: Any, columns: list, factors: list, family: str | None, standardize: bool, seed: int
) -> Models:
    """Each family with each set of columns, those among ``factors`` by their levels."""
    text = np.asarray(rows.y).dtype.kind not in "fiu"
    n_levels = len(np.unique(np.asarray(rows.y, dtype=str))) if text else 0
    if n_levels > max(2, MOST_CLASSES * len(rows.y)):
        raise ValueError(
            f"--target has {n_levels} different texts in {len(rows.y)} rows, such as {str(rows.y[0])!r}, "
            "which are no classes: numbers that are written otherwise need --decimal or --thousands"
        )
    by_target = "linear" if not text else "bernoulli" if factors and n_levels == 2 else "softmax"
    families = [by_target] if family is None else family.split(",")
    models: Models = {}
    for name in families:
        for names in columns or [None]:
            words = name if len(columns) < 2 else f"{name}: {', '.join(names)}"
            params = dict(columns=names, standardize=standardize, random_state=seed)
            if factors:
                used = factors if names is None else [one for one in factors if one in names]
                linear = None if names is None else [one for one in names if one not in factors]
                params |= dict(columns=linear, terms=[Factor(one) for one in used])  # [] leaves text unread
            models[words] = regression(name, params, rows)
    return models


def regression(name: str, params: dict, rows: Any) -> tuple[Any, tuple[str, ...]]:
    """One of them; of a family's name that is not known the estimator says which there are."""
    makers = {"linear": BayesianLinearRegression, "softmax": BayesianSoftmaxRegression}
    if name not in makers:
        return BayesianGLM(name, **params), ("sample_weight", *KNOWN)
    for known in KNOWN:
        if getattr(rows, known) is not None:
            raise ValueError(
                f"{name} has no {known}: give --family of a generalised linear model, as poisson"
            )
    if name == "softmax" and "terms" in params:
        raise ValueError(
            "softmax has no factors: give --family bernoulli for two classes, or leave the factors out"
        )
    return makers[name](**params), ("sample_weight",)
