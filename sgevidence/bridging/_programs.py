"""Draws and log density of models of other programs, on their unconstrained scale: PyMC, and Stan by
BridgeStan.
"""

from pathlib import Path
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


def from_bridgestan(model: Any, draws: Any) -> tuple[np.ndarray, LogDensity]:
    """Unconstrained draws and log density of a Stan model, as ``bridge_evidence`` takes them.

    Parameters
    ----------
    model : bridgestan.StanModel
        With the data of the draws.
    draws : path, sequence of paths, arviz.InferenceData, xarray.DataTree or xarray.Dataset
        CmdStan's CSV files, one a chain, without warm-up; or the posterior.

    Returns
    -------
    draws : ndarray of shape (chains, draws, d)
        Unconstrained parameters.
    log_density : callable (M, d) -> (M,)
        With the Jacobian and all constants, also those of statements with ``~``; −inf where the model
        raises, as for a matrix that is not positive definite.

    Raises
    ------
    ValueError
        If a parameter of the model has no draws, or a vector more entries than the model.

    Examples
    --------
    >>> from sgevidence.bridging import bridge_evidence, from_bridgestan
    >>> found = bridge_evidence(*from_bridgestan(model, fit.runset.csv_files))  # doctest: +SKIP
    """
    names = list(model.param_names())
    is_files = isinstance(draws, str | Path | list | tuple)
    values = _of_files(draws, names) if is_files else _of_variables(posterior_of(draws), names)
    rows = [model.param_unconstrain(np.ascontiguousarray(row)).copy() for chain in values for row in chain]

    def log_density(theta: np.ndarray) -> float:
        try:
            return model.log_density(np.ascontiguousarray(theta), propto=False, jacobian=True)
        except RuntimeError:  # where Stan's own sampler rejects
            return -np.inf

    return np.array(rows).reshape(*values.shape[:2], -1), one_by_one(log_density)


def _of_files(files: Any, names: list[str]) -> np.ndarray:
    """Columns of CmdStan's files, (chains, draws, parameters)."""
    chains = []
    for path in [files] if isinstance(files, str | Path) else files:
        with open(path, encoding="utf-8") as text:
            lines = [line for line in text if line.strip() and not line.startswith("#")]
        header = lines[0].strip().split(",")
        if lost := [name for name in names if name not in header]:
            raise ValueError(f"{path} has no column {lost[0]!r}, a parameter of the model")
        chains.append(np.loadtxt(lines[1:], delimiter=",", ndmin=2)[:, [header.index(n) for n in names]])
    if len({chain.shape for chain in chains}) > 1:
        raise ValueError(
            f"the chains have {[len(chain) for chain in chains]} draws: give chains of one length"
        )
    return np.array(chains)


def _of_variables(posterior: Any, names: list[str]) -> np.ndarray:
    """Entries of ArviZ variables by Stan's names, whose indices count from one."""
    if posterior is None:
        raise ValueError("draws must be CmdStan's CSV files, or a posterior as of ArviZ")
    entries = [(name, tuple(map(int, index))) for name, *index in (name.split(".") for name in names)]
    shapes = dict(entries)  # the last entry of a variable has its largest indices
    found = {name: variable_of(posterior, name, shape) for name, shape in shapes.items()}
    columns = [found[name][(..., *np.array(index, dtype=int) - 1)] for name, index in entries]
    return np.stack(columns, axis=-1)
