r"""The table of a posterior: means, standard deviations, intervals, effective draws of each scalar.

The weighted mean μ̂ = Σ_i W_i f_i has the variance Σ_i W_i² (f_i − μ̂)², so that f has

    ess = Σ_i W_i (f_i − μ̂)² / Σ_i W_i² (f_i − μ̂)²

effective draws; particles that are alike are one, with the sum of their weights.
"""

from collections.abc import Sequence
from html import escape
from itertools import product
from typing import Any

import numpy as np

from ..tables import ROUNDING_SHARE, Table, to_digits, with_errors

#: Axes of the named parameters, without the draws.  A regression has the last of them only; covariances have
#: the first of them, as many as their kind.
DIMENSIONS = {
    "coef": ("class", "feature"),
    "intercept": ("class",),
    "weights": ("component",),
    "means": ("component", "feature"),
    "covariances": ("component", "feature", "other_feature"),
    "stds": ("component", "feature"),
    "category_probabilities": ("component", "level"),
    "theta": ("parameter",),
    "fixed_effects": ("class", "level_of_factor"),
    "effects": ("effect",),
    "effect_stds": ("term",),
    "noise": ("effect_of_other",),
    "zeros": ("effect_of_other",),
    "noise_stds": ("curve_of_other",),
    "zeros_stds": ("curve_of_other",),
}


class ParameterTable(Table):
    """Posterior of each scalar parameter; the repr fits into eighty columns.

    Parameters
    ----------
    columns : mapping of str to sequence
        ``mean``, ``sd``, the bounds of the interval such as ``5%`` and ``95%``, and more.
    index : sequence of str
        Names of the parameters, such as ``coef[bmi]``.
    heading : str
        Printed above the table.
    notes : sequence of str
        Printed below.
    """

    def __init__(self, columns: Any, index: Sequence[str], heading: str = "", notes: Sequence[str] = ()):
        super().__init__(columns, index)
        self.heading, self.notes = heading, list(notes)

    def _printed(self) -> Table:
        """Numbers of a row to the same decimal, by its standard deviation."""
        scaled = [name for name in self.columns if name == "mean" or name == "sd" or name.endswith("%")]
        stds = np.where(self["sd"] > ROUNDING_SHARE * np.abs(self["mean"]), self["sd"], 0.0)
        values = {name: self[name] for name in self.columns} | {"sd": stds}
        cells = {
            name: [to_digits(v, sd) if name in scaled else plain(name, v) for v, sd in zip(column, stds)]
            for name, column in values.items()
        }
        return Table(cells, self.index)

    def to_string(self) -> str:
        """The table as text, with its heading and notes.

        Returns
        -------
        str
        """
        return "\n".join(filter(None, [self.heading, self._printed().to_string(), *self.notes]))

    def _repr_html_(self) -> str:
        above = f"<p>{escape(self.heading)}</p>" if self.heading else ""
        tags = ["pre" if "\n" in note else "p" for note in self.notes]  # a table, or a sentence
        below = "".join(f"<{tag}>{escape(note)}</{tag}>" for tag, note in zip(tags, self.notes))
        return above + self._printed()._repr_html_() + below


def parameter_table(model: Any, level: float) -> ParameterTable:
    """The summary of a fitted estimator."""
    q, W = bounds(level), model.particle_weights_
    known = model._parameters(model.particles_)
    named = model._summarised(dict(known))
    named.pop("effects", None)  # one for each level: they are in effects_
    moments = {
        name: model._posterior_mean_and_std(name) if name in known else model._mean_and_std(values)
        for name, values in named.items()
    }
    single = merged_weights(model.particles_, W)
    names, rows = [], []
    for label, name, index in scalar_names(model, {k: v.shape[1:] for k, v in named.items()}):
        values, mean, sd = named[name][(slice(None), *index)], *(moment[index] for moment in moments[name])
        low, high = weighted_quantiles(values, W, q)
        names.append(label)
        rows.append((mean, sd, low, high, effective_draws(values - mean, single)))
    columns = dict(zip(["mean", "sd", *map(percent, q), "ess"], np.array(rows).reshape(-1, 5).T))
    above = "\n".join([heading(model), *model._prior_notes()])
    return ParameterTable(columns, names, above, [*model._summary_notes(), *warned(model)])


def heading(model: Any) -> str:
    """Model, rows and evidence in a line."""
    rows = f"{model.n_samples_seen_} row" + "s" * (model.n_samples_seen_ != 1)
    rows = rows if getattr(model, "_has_rows", True) else "no rows"
    (evidence,) = with_errors(np.array([model.log_evidence_]), np.array([model.log_evidence_std_]))
    return f"{type(model).__name__}, {rows}, log evidence {evidence} nats"


def correlation_tables(names: Sequence[str], covariances: np.ndarray) -> list[str]:
    """Lower triangle of each component's correlations, from its covariances (K, p, p)."""
    stds = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
    correlations = covariances / (stds[:, :, None] * stds[:, None, :])
    rows, last = [f"{j + 1} {name}" for j, name in enumerate(names)], len(names) - 1
    return [
        Table(
            {str(j + 1): [f"{r:.2f}" if i > j else "" for i, r in enumerate(R[:, j])] for j in range(last)},
            rows,
            f"correlations of component {k}",
        ).to_string()
        for k, R in enumerate(correlations)
    ]


def warned(model: Any) -> list[str]:
    """A line where the fit doubts itself."""
    n = len(model.warnings_)
    return [f"warned: {n} warning{'s' * (n > 1)} in warnings_ say{'s' * (n == 1)} why."] if n else []


def plain(name: str, value: float) -> str:
    """An effective number of draws, or a probability."""
    return f"{value:.0f}" if name == "ess" else f"{value:.3f}"


def bounds(level: float) -> list[float]:
    """Probabilities below the two ends of the central interval; ValueError if the level is none."""
    if not 0 < level < 1:
        raise ValueError(f"level must be a probability between 0 and 1, got {level!r}")
    return [(1 - level) / 2, (1 + level) / 2]


def percent(q: float) -> str:
    """The name of a quantile, ``5%``."""
    return f"{100 * q:.4g}%"


def weighted_quantiles(values: np.ndarray, W: np.ndarray, q: Sequence[float]) -> np.ndarray:
    """Quantiles of values (M,) with weights W, between middles of the distribution function's steps."""
    order = np.argsort(values)
    values, W = values[order], W[order]
    return np.interp(q, np.cumsum(W) - 0.5 * W, values)


def merged_weights(theta: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Weights (M,) in which the first of equal particles has the weight of all of them, and the others 0."""
    _, first, which = np.unique(theta, axis=0, return_index=True, return_inverse=True)
    out = np.zeros(len(W))
    np.add.at(out, first[which.reshape(-1)], W)
    return out


def effective_draws(deviation: np.ndarray, W: np.ndarray) -> float:
    """ess of the mean of a parameter, from its deviations from the mean (M,)."""
    largest = np.max(np.abs(deviation))
    if not largest > 0:
        return float(1 / np.sum(W**2))
    u = deviation / largest
    return float(W @ u**2 / (W**2 @ u**2))


def dimensions(model: Any, name: str, n: int) -> tuple[str, ...]:
    """Names of the n axes of a named parameter; of a user's own parameter they are numbered."""
    known = model._dimensions.get(name, tuple(f"{name}_dim_{i}" for i in range(n)))
    return known[:n] if name in ("covariances", "stds") else known[len(known) - n :]


def dimension_labels(model: Any, dimension: str, size: int) -> list[Any]:
    """Names of columns, classes as they came, numbers of anything else."""
    if dimension == "class":
        return list(model.classes_)
    if dimension == "level":
        columns = dimension_labels(model, "feature", model.n_features_in_)
        return [f"{name}={level}" for name, known in zip(columns, model.categories_) for level in known]
    if dimension in getattr(model, "_place_names", {}):
        return model._place_names[dimension]
    if dimension not in ("feature", "other_feature"):
        return list(range(size))
    if hasattr(model, "coef_names_"):  # not columns of X alone
        return list(model.coef_names_)
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" if names is None else names[j] for j in getattr(model, "columns_", range(size))]


def scalar_names(model: Any, shapes: dict[str, tuple[int, ...]]) -> list[tuple[str, str, tuple[int, ...]]]:
    """All scalars of named parameters of these shapes as (``"coef[bmi]"``, ``"coef"``, index).

    They are in the order of the parameters, and together for each class and for each component.
    """
    found = []
    for name, shape in shapes.items():
        axes = dimensions(model, name, len(shape))
        labels = [dimension_labels(model, axis, size) for axis, size in zip(axes, shape)]
        # axes by whose places a table is grouped
        is_grouped = bool(axes) and axes[0] in ("class", "component", "state")
        for index in product(*map(range, shape)):
            words = ", ".join(str(label[i]) for label, i in zip(labels, index))
            found.append((index[0] if is_grouped else -1, f"{name}[{words}]" if words else name, name, index))
    first = [entry for entry in found if entry[0] >= 0]
    alone = [entry for entry in found if entry[0] < 0]
    return [entry[1:] for entry in [*sorted(first, key=lambda entry: entry[0]), *alone]]
