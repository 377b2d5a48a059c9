"""Draws and log density of a Stan model in BridgeStan, on its unconstrained scale."""

from pathlib import Path
from typing import Any

import numpy as np

from ._draws import LogDensity, one_by_one, posterior_of, variable_of


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
