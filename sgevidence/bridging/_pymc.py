"""Draws and log density of a PyMC model, on its unconstrained scale."""

from typing import Any

import numpy as np

from ._draws import LogDensity, one_by_one, posterior_of, variable_of


def from_pymc(model: Any, data: Any) -> tuple[np.ndarray, LogDensity]:
    """Unconstrained draws and log density of a PyMC model, as ``bridge_evidence`` takes them.

    Parameters
    ----------
    model : pymc.Model
    data : arviz.InferenceData, xarray.DataTree or xarray.Dataset
        The posterior, as ``pm.sample`` returns it.

    Returns
    -------
    draws : ndarray of shape (chains, draws, d)
        On the scale of the model's ``value_vars``, in their order.
    log_density : callable (M, d) -> (M,)
        The model's log density with the Jacobian of that scale and all constants, potentials included.

    Raises
    ------
    ImportError
        Without PyMC: ``pip install "sgevidence[pymc]"``.
    ValueError
        If a variable of the model has no draws, draws of another shape or beyond its bounds, or is discrete.

    Examples
    --------
    >>> from sgevidence.bridging import bridge_evidence, from_pymc
    >>> found = bridge_evidence(*from_pymc(model, data))  # doctest: +SKIP
    """
    try:
        from pytensor.graph.replace import graph_replace
    except ImportError as error:
        raise ImportError('from_pymc needs PyMC: pip install "sgevidence[pymc]"') from error
    if not hasattr(model, "free_RVs"):
        raise TypeError(f"model must be a pymc.Model, got {type(model).__name__}")
    if discrete := [variable.name for variable in model.discrete_value_vars]:
        raise ValueError(f"{discrete[0]!r} is discrete: sum the model over it, a density is needed")
    free = model.free_RVs
    posterior = posterior_of(data)
    if posterior is None:
        raise ValueError(f"data must be the posterior of pm.sample, got {type(data).__name__}")
    shape_of = model.eval_rv_shapes()
    given = [variable.type(variable.name) for variable in free]
    values = [variable_of(posterior, v.name, tuple(map(int, shape_of[v.name]))) for v in free]
    transforms = [model.rvs_to_transforms[variable] for variable in free]
    outside = [
        x if transform is None else transform.forward(x, *variable.owner.inputs)
        for x, variable, transform in zip(given, free, transforms)
    ]
    outside = graph_replace(outside, dict(zip(free, given)), strict=False)  # bounds may be variables
    forward = model.compile_fn(outside, inputs=given, point_fn=False, on_unused_input="ignore")
    n_chains, n_draws = values[0].shape[:2]
    rows = [
        forward(*(np.asarray(x[c, t], dtype=v.dtype) for x, v in zip(values, given)))
        for c in range(n_chains)
        for t in range(n_draws)
    ]
    for k, variable in enumerate(free):
        if not np.isfinite([row[k] for row in rows]).all():
            raise ValueError(f"draws of {variable.name!r} are missing, infinite or beyond its bounds")
    shapes = [np.shape(part) for part in rows[0]]
    draws = np.array([np.concatenate([np.ravel(part) for part in row]) for row in rows], dtype=float)
    log_p = model.compile_fn(model.logp(), inputs=model.value_vars, point_fn=False)
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]

    def log_density(theta: np.ndarray) -> Any:
        parts = zip(np.split(theta, cuts), shapes, model.value_vars)
        return log_p(*(part.reshape(shape).astype(v.dtype) for part, shape, v in parts))

    return draws.reshape(n_chains, n_draws, -1), one_by_one(log_density)
