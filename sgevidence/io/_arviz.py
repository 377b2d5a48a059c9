"""The posterior as ArviZ has it: named draws, the run's record, log likelihoods, the evidence."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..estimators import dimension_labels, dimensions
from ..model_selection import behind_transformers
from ..particles import spread


def to_arviz(estimator: Any, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
    """A fitted estimator's posterior for ArviZ; ``to_netcdf`` stores it.

    Parameters
    ----------
    estimator : fitted estimator
        Alone, frozen or at the end of a pipeline.
    X : array-like of shape (n_samples, n_features), optional
        Rows whose log likelihood under each draw is wanted.  In a pipeline's units, if it is one.
    y : array-like of shape (n_samples,), optional
        Their targets; not for densities.

    Returns
    -------
    arviz.InferenceData, or xarray.DataTree with ArviZ 1.0 and later
        With the groups

        * ``posterior``: equally weighted draws, one chain, of the named parameters in their natural space,
          with the dimensions ``feature``, ``class``, ``component``;
        * ``sample_stats``: the ``evidence_path_``, with a dimension ``chunk``; ``lambdas``, the annealing
          schedules of all chunks one after the other, ``n_annealing_steps`` of them each;
        * ``log_likelihood``, if X is given: ``y`` (``X`` for densities) with a dimension ``row``.

        ``log_evidence`` and ``log_evidence_std`` (nats), ``n_samples_seen``, ``data_fingerprint`` and the
        ``model`` are in the attributes of the whole and of ``posterior``.

    Raises
    ------
    ImportError
        If ArviZ is not installed.
    TypeError
        If the estimator has no posterior of its own: an averager.

    Notes
    -----
    Weighted particles are repeated in proportion to their weight, as in ``posterior_samples()``: effective
    sample sizes that ArviZ finds along the draws mean nothing; ``ess`` in ``sample_stats`` does.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, to_arviz
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> model = BayesianLinearRegression(random_state=0).fit(X, X[:, 0])
    >>> to_arviz(model).posterior.coef.dims  # doctest: +SKIP
    ('chain', 'draw', 'feature')
    """
    try:
        import arviz
        import xarray
    except ImportError as error:
        raise ImportError("to_arviz needs ArviZ: pip install arviz") from error
    model, _ = behind_transformers(estimator)
    if not hasattr(model, "posterior_samples"):
        raise TypeError(f"{type(model).__name__} has no posterior_samples: give one of its models")
    attributes, draws = _attributes(model), _posterior(model)
    groups: dict[str, Any] = {
        "posterior": xarray.Dataset(draws, _coordinates(model, draws), attributes),
        "sample_stats": xarray.Dataset(_path(model.evidence_path_)),
    }
    if X is not None:
        name = "X" if y is None else "y"
        log_likelihood = _log_likelihood(*behind_transformers(estimator, X), y)
        groups["log_likelihood"] = xarray.Dataset({name: (("chain", "draw", "row"), log_likelihood[None])})
    if "InferenceData" in vars(arviz):  # ArviZ 1 answers hasattr with the name of xarray's tree
        return arviz.InferenceData(attrs=attributes, **groups)
    tree = xarray.DataTree.from_dict(groups)
    tree.attrs = attributes
    return tree


Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]


def _posterior(model: Any) -> Variables:
    """Draws with a chain of their own, and the names of their dimensions."""
    out: Variables = {}
    for name, draws in model.posterior_samples().items():
        out[name] = (("chain", "draw", *dimensions(model, name, draws.ndim - 1)), draws[None])
    return out


def _coordinates(model: Any, variables: Variables) -> dict[str, np.ndarray]:
    """Names of columns, of classes, and numbers of the rest."""
    sizes = {dim: size for dims, draws in variables.values() for dim, size in zip(dims, draws.shape)}
    return {dim: np.array(dimension_labels(model, dim, size)) for dim, size in sizes.items()}


def _path(path: dict[str, np.ndarray]) -> dict[str, tuple[str, np.ndarray]]:
    """A variable a column; schedules of unequal length one after the other."""
    stats = {name: ("chunk", np.asarray(values)) for name, values in path.items() if name != "lambdas"}
    if "lambdas" in path:
        stats["lambdas"] = ("step", np.concatenate([np.zeros(0), *path["lambdas"]]))
    return stats


def _attributes(model: Any) -> dict[str, Any]:
    return {
        "inference_library": "sgevidence",
        "model": type(model).__name__,
        "log_evidence": float(model.log_evidence_),
        "log_evidence_std": float(model.log_evidence_std_),
        "n_samples_seen": int(model.n_samples_seen_),
        "data_fingerprint": int(model.data_fingerprint_),
    }


def _log_likelihood(model: Any, X: Any, y: Any) -> np.ndarray:
    """log p(row | draw) for the draws of ``posterior_samples()``, (M, n)."""
    theta = model.particles_[spread(model.particle_weights_, len(model.particles_))]
    return np.asarray(model._log_likelihood(theta, model._rows_to_score(X, y)))
