"""Log evidence against rows seen, with its error."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..model_selection import named_models
from ._style import BAND, OUT_OF_RACE_NATS, Picture, axes, drawn, is_thin, legend, line_style, number


class EvidenceDisplay(Picture):
    """Log evidence of one or several models against the rows seen, with a band of standard errors.

    Parameters
    ----------
    paths : dict of str to dict of str to ndarray
        For each name an ``evidence_path_``: ``n_samples``, ``log_evidence`` and ``log_evidence_std``.

    See Also
    --------
    ComparisonDisplay : The evidences of all rows.
    SurpriseDisplay : The growth of the evidence, row by row.

    Notes
    -----
    A call of ``partial_fit`` that is cut in pieces takes them in random order, so that two models have the
    same rows only where calls end.  An averager knows where that is, and only these entries are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.displays import EvidenceDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((60, 2)), rng.standard_normal(60)
    >>> models = {s: BayesianLinearRegression(s, random_state=0) for s in (0.5, 1.0)}
    >>> for start in range(0, 60, 20):
    ...     for model in models.values():
    ...         model = model.partial_fit(X[start : start + 20], y[start : start + 20])
    >>> display = EvidenceDisplay.from_estimators(models, relative=True)
    >>> display.ax_.get_xlabel()
    'rows seen'
    """

    paths: Mapping[str, Mapping[str, np.ndarray]]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        name: str | None = None,
        ax: Any = None,
        n_std: float = 2.0,
        **line_params: Any,
    ) -> Self:
        """Draw one fitted estimator's path.

        Parameters
        ----------
        estimator : fitted estimator
            With ``evidence_path_``, alone, frozen or at the end of a pipeline.
        name : str, optional
            By default its class's.
        n_std : float, default=2.0
            Half the width of the band, in standard errors.
        """
        model = drawn(cls, estimator, "evidence_path_")
        paths = {name or type(model).__name__: model.evidence_path_}
        return cls(paths=paths).plot(ax, n_std=n_std, **line_params)

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any] | Sequence[Any] | Any,
        *,
        relative: bool = False,
        ax: Any = None,
        n_std: float = 2.0,
        **line_params: Any,
    ) -> Self:
        """Draw several models.

        Parameters
        ----------
        estimators : mapping, sequence or EvidenceModelAverager
            Fitted estimators.
        relative : bool, default=False
            Draw differences to the model that is best in the end, see :meth:`plot`.
        n_std : float, default=2.0
            Half the width of the band, in standard errors.
        """
        models = named_models(estimators).items()
        paths = {name: drawn(cls, model, "evidence_path_").evidence_path_ for name, model in models}
        if hasattr(estimators, "weights_path_"):
            paths = {
                name: _where(path, estimators.weights_path_["n_samples"]) for name, path in paths.items()
            }
        return cls(paths=paths).plot(ax, relative=relative, n_std=n_std, **line_params)

    def plot(self, ax: Any = None, *, relative: bool = False, n_std: float = 2.0, **line_params: Any) -> Self:
        """Draw.

        Parameters
        ----------
        relative : bool, default=False
            Draw differences to the model that is best in the end, with the band of the difference, and down
            to −20 nats; the number in brackets beside a name is its last difference.
        n_std : float, default=2.0
            Half the width of the band, in standard errors.
        """
        ax = axes(self, ax, figsize=(6.4, 4.0))
        best = max(self.paths, key=lambda name: self.paths[name]["log_evidence"][-1])
        widest = 0.0
        for k, (name, path) in enumerate(self.paths.items()):
            n, value, std = from_no_rows(path)
            if relative:
                n, value, std = _less(n, value, std, from_no_rows(self.paths[best]), name == best)
            label = f"{name} ({number(value[-1])})" if relative and name != best else name
            line = ax.plot(n, value, label=label, **(line_style(k) | line_params))[0]
            widest = max(widest, n_std * float(np.max(std)))
            ax.fill_between(n, value - n_std * std, value + n_std * std, color=line.get_color(), **BAND)
        ax.set_xlabel("rows seen")
        if relative:
            ax.set_ylim(bottom=max(ax.get_ylim()[0], -OUT_OF_RACE_NATS))
        ax.set_xlim(left=0)
        legend(ax, len(self.paths), title="model (nats at the end)" if relative else None)
        thin = is_thin(ax, np.array([widest]), line.get_linewidth(), axis=1)
        errors = f"± {n_std:g} standard errors" + ", thinner than the lines" * thin
        ax.set_ylabel("log evidence" + f" minus that of {best}" * relative + f" (nats)\n{errors}")
        return self


def _where(path: Mapping[str, np.ndarray], n_samples: np.ndarray) -> dict[str, np.ndarray]:
    """The entries at these numbers of rows."""
    kept = np.isin(path["n_samples"], n_samples)
    return {key: np.asarray(values)[kept] for key, values in path.items()}


def from_no_rows(path: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, log evidence and its error, beginning with no rows, whose evidence is one."""
    n, value, std = (
        np.concatenate([[0.0], path[key]]) for key in ("n_samples", "log_evidence", "log_evidence_std")
    )
    return n, value, std


def _less(
    n: np.ndarray, value: np.ndarray, std: np.ndarray, best: tuple[np.ndarray, ...], itself: bool
) -> Any:
    """Differences to the best where both paths have an entry; long paths are thinned."""
    shared, mine, its = np.intersect1d(n, best[0], return_indices=True)
    error = np.zeros(len(shared)) if itself else np.hypot(std[mine], best[2][its])
    return shared, value[mine] - best[1][its], error
