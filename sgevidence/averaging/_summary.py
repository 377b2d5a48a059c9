r"""The summary of an average: its models, and the parameters that they have in common.

The posterior of a coefficient is the mixture of the models' posteriors, with a point at zero for models
without the column:

    E[f] = Σ_k w_k E_k[f],     Var[f] = Σ_k w_k (Var_k[f] + (E_k[f] − E[f])²).
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from ..estimators import ParameterTable, bounds, percent, scalar_names, weighted_quantiles
from ..model_selection import last_step
from ..tables import Table, with_errors


class ModelTable(Table):
    """Models, the index, with their weights; the repr fits into eighty columns."""

    def to_string(self) -> str:
        """The table as text, without its last column, the warnings.

        Returns
        -------
        str
        """
        return self._printed().to_string()

    def _printed(self) -> Table:
        weight, low, high, log_Z, std, warnings = self.columns
        cells = {name: [f"{value:.3f}" for value in self[name]] for name in (weight, low, high)}
        cells["log evidence ± error"] = with_errors(self[log_Z], self[std])
        if any(self[warnings]):
            cells["doubt"] = ["warned" if words else "" for words in self[warnings]]
        return Table(cells, self.index)


class AverageSummary(NamedTuple):
    """Models of an average with their weights, and averaged parameters.

    Parameters
    ----------
    models : Table
        One row per model, the heaviest first: ``weight``, its interval of 90 % as ``5%`` and ``95%``,
        ``log_evidence``, ``log_evidence_std`` (nats), ``warnings``.
    parameters : ParameterTable or None
        Parameters averaged over models, if these are regressions of one kind that see the same columns:
        ``probability`` (sum of the weights of the models that have the parameter), ``mean``, ``sd`` and the
        bounds of the interval.  A coefficient is zero in models without its column.
    """

    models: Table
    parameters: ParameterTable | None

    def __repr__(self) -> str:
        return "\n\n".join(repr(table) for table in self if table is not None)

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self if table is not None)


def summary(averager: Any, level: float) -> AverageSummary:
    """The tables of a fitted average."""
    q = bounds(level)
    order = np.argsort(-averager.weights_, kind="stable")
    low, high = averager.weights_interval_
    models = [last_step(child) for child in averager.estimators_]
    columns = {
        "weight": averager.weights_,
        "5%": low,
        "95%": high,
        "log_evidence": averager.log_evidences_,
        "log_evidence_std": averager.log_evidences_std_,
        "warnings": np.array(["; ".join(getattr(model, "warnings_", ())) for model in models]),
    }
    names = list(averager.named_estimators_)
    table = ModelTable({name: values[order] for name, values in columns.items()}, [names[k] for k in order])
    return AverageSummary(table, _parameters(averager, models, q) if _are_alike(averager) else None)


def _are_alike(averager: Any) -> bool:
    """Their coefficients mean the same: one class, one kind of family, no transformers in between."""
    kinds = set()
    for child in averager.estimators_:
        model = last_step(child)
        family = getattr(model, "_family", None)
        kinds.add((type(model), type(family), getattr(family, "link", None)))
        transforms = isinstance(child, Pipeline) and len(child.steps) > 1
        if transforms or not hasattr(model, "coef_"):
            return False
    return len(kinds) == 1


def _parameters(averager: Any, models: list[Any], q: list[float]) -> ParameterTable:
    """Mixtures of the posteriors of the models' parameters."""
    draws: list[dict[str, np.ndarray]] = []
    for model in models:
        named = model._summarised(dict(model._parameters(model.particles_)))
        named.pop("effects", None)  # one for each level, as in summary() of a model
        scalars = scalar_names(model, {name: values.shape[1:] for name, values in named.items()})
        draws.append({label: named[name][(slice(None), *index)] for label, name, index in scalars})
    labels, rows = [], []
    for label in dict.fromkeys(label for one in sorted(draws, key=len, reverse=True) for label in one):
        has = np.array([label in one for one in draws])
        # parameters that are zero in a model that does not have them
        if not has.all() and label.partition("[")[0] not in ("coef", "intercept"):
            continue
        at_zero = [np.zeros(len(model.particles_)) for model in models]
        values = np.concatenate([one.get(label, zero) for one, zero in zip(draws, at_zero)])
        W = np.concatenate([w * model.particle_weights_ for w, model in zip(averager.weights_, models)])
        mean = W @ values
        sd = np.sqrt(W @ (values - mean) ** 2)
        labels.append(label)
        rows.append((averager.weights_[has].sum(), mean, sd, *weighted_quantiles(values, W, q)))
    columns = dict(zip(["probability", "mean", "sd", *map(percent, q)], np.array(rows).reshape(-1, 5).T))
    return ParameterTable(columns, labels, "averaged over models")
