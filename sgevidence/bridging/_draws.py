r"""Draws as an array of chains, and a log density at them: a user's own, or those of PyMC and Stan.

An array has chains first, or steps first as emcee has them, or both in one axis.  A draw depends on the one
before it in its chain, and chains do not depend on each other.  So the axis along which neighbours are alike
is that of the steps; and where walkers alternate along one axis, draws are like those one round earlier and
not like those in between.

**Mixing** is how many independent draws chains are worth, and whether the chains agree:

    n_eff = C T / τ,    τ = −1 + 2 Σ_k (ρ_2k + ρ_2k+1),    ρ_t = 1 − (W − mean_c s_ct) / V

The sum runs over the initial positive monotone sequence (Geyer 1992), and V counts what chains differ by,
so chains in different modes are worth hardly more draws than there are chains.

Symbols
-------
======  =========  =============================================================
x       ``x``      a scalar along C chains of T draws, (C, T)
s_ct    ``s``      autocovariance of chain c at lag t
W, V    ``W, V``   variance within chains; of all draws, from within and between
R̂       ``r_hat``  √(V / W)
======  =========  =============================================================

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Bürkner (2021), Rank-normalization, folding, and
localization: an improved R̂ for assessing convergence of MCMC.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import ndtri
from scipy.stats import rankdata

from ..rows import refuse_unreadable


class Mixing(NamedTuple):
    """Effective number of draws, at most as many as there are, and R̂.

    ``excess`` is the variance between chains in units of what the autocorrelation within them explains.
    """

    n_effective: float
    r_hat: float
    excess: float = 1.0


def mixing(x: np.ndarray) -> Mixing:
    """The mixing of one scalar along chains, (C, T)."""
    C, T = x.shape
    s = autocovariances(x)
    W, between = s[0] * T / (T - 1), x.mean(axis=1).var(ddof=1) if C > 1 else 0.0
    V = s[0] + between
    if not V > 0:  # a constant is known from any draw
        return Mixing(float(C * T), 1.0)
    tau = _time(1.0 - (W - s) / V)
    if not W > 0:
        return Mixing(float(C * T / tau), np.inf, np.inf)
    explained = W * _time(s / s[0]) / T
    return Mixing(float(C * T / tau), float(np.sqrt(V / W)), float(between / explained))


def autocovariances(x: np.ndarray) -> np.ndarray:
    """Averages over chains (C, T), by lag, (T,)."""
    T = x.shape[1]
    transform = np.fft.rfft(x - x.mean(axis=1, keepdims=True), next_fast_len(2 * T))
    return np.fft.irfft(np.abs(transform) ** 2, next_fast_len(2 * T))[:, :T].mean(axis=0) / T


def correlations(x: np.ndarray) -> np.ndarray:
    """Autocorrelations within chains (C, T), by lag, (T,); zero of a constant."""
    s = autocovariances(x)
    return s / s[0] if s[0] > 0 else np.zeros_like(s)


def _time(rho: np.ndarray) -> float:
    """τ, at least 1, by the initial positive monotone sequence."""
    rho = np.append(1.0, rho[1:])
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = np.logical_and.accumulate(pairs > 0)
    return max(float(-1.0 + 2.0 * np.minimum.accumulate(pairs)[positive].sum()), 1.0)


def split_mixing(x: np.ndarray) -> Mixing:
    """The worse mixing of place and width: normal scores of x and of |x − median|, chains cut in two."""
    T = x.shape[1] // 2
    halves = np.concatenate([x[:, :T], x[:, -T:]])
    both = [mixing(normal_scores(y)) for y in (halves, np.abs(halves - np.median(halves)))]
    apart = max(both, key=lambda m: m.r_hat)
    return Mixing(min(m.n_effective for m in both), apart.r_hat, apart.excess)


def normal_scores(x: np.ndarray) -> np.ndarray:
    """Ranks among all, as quantiles of the standard normal, shape of x."""
    return ndtri((rankdata(x).reshape(x.shape) - 0.375) / (x.size + 0.25))


#: Standard errors of an autocorrelation of independent draws, beyond which it is seen.
SEEN_STD = 5.0
#: Largest autocorrelation elsewhere, as a share of that along the steps, with which the order is plain.
MOST_ELSEWHERE = 0.5
#: Shortest chain, in draws, in which an autocorrelation can be seen at all.
MIN_CHAIN_DRAWS = 20


LogDensity = Callable[[np.ndarray], np.ndarray]  # (M, d) -> (M,)


def posterior_of(draws: Any) -> Any:
    """The variables of an InferenceData, a DataTree or a Dataset; None of what is none of them."""
    return getattr(getattr(draws, "posterior", draws), "data_vars", None)


def as_chains(draws: Any) -> tuple[np.ndarray, list[str]]:
    """A copy of the draws, (C, T, d), and the names of the d columns."""
    variables = posterior_of(draws)
    refuse_unreadable(draws=draws)
    if variables is not None:
        theta, names = _flattened(variables)
    else:
        theta = np.array(draws, dtype=float)
        theta = theta[None] if theta.ndim == 2 else theta
        names = [f"column {j}" for j in range(theta.shape[-1] if theta.ndim else 0)]
        if theta.ndim == 3 and theta.size and np.isfinite(theta).all():
            theta = chains_first(theta)
    _check(theta, names)
    return theta, names


def variable_of(posterior: Any, name: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """One variable, (chains, draws, ...); ValueError where it is not there or has another ``shape``."""
    if name not in posterior:
        raise ValueError(
            f"the draws have no variable {name!r} of the model, only {[str(k) for k in posterior][:20]}"
        )
    variable = posterior[name]
    if not {"chain", "draw"} <= set(variable.dims):
        raise ValueError(f"the variable {name!r} has the dimensions {variable.dims}, not chain and draw")
    values = np.asarray(variable.transpose("chain", "draw", ...).values, dtype=float)
    if shape is not None and values.shape[2:] != shape:
        raise ValueError(
            f"draws of {name!r} have the shape {values.shape[2:]}, and the model has {shape}: is this the "
            "model of these draws?"
        )
    return values


def _flattened(variables: Any) -> tuple[np.ndarray, list[str]]:
    """The variables side by side in their order, the last index of each fastest."""
    columns, names = [], []
    for name in variables:
        values = variable_of(variables, name)
        columns.append(values.reshape(*values.shape[:2], -1))
        index = [",".join(map(str, i)) for i in np.ndindex(values.shape[2:])]
        names += [f"{name}[{i}]" if i else str(name) for i in index]
    return np.concatenate(columns, axis=2), names


def _check(theta: np.ndarray, names: list[str]) -> None:
    if theta.ndim != 3 or not theta.size:
        raise ValueError(f"draws must be (n, d) or (chains, n, d) and not empty, got the shape {theta.shape}")
    C, T, d = theta.shape
    if T < MIN_CHAIN_DRAWS:
        raise ValueError(
            f"chains of {T} draws are too short (at least {MIN_CHAIN_DRAWS}); {C} chains were given, "
            "in the order (chains, n, d)"
        )
    if C * (T // 2) < 2 * d:
        raise ValueError(
            f"{C * T} draws are too few for {d} columns: a Gaussian is fitted to each half of them, for "
            f"which at least {4 * d} are needed"
        )
    if not np.isfinite(theta).all():
        raise ValueError("the draws contain nan or infinity")
    if (copies := C - len(np.unique(theta.reshape(C, -1), axis=0))) > 0:
        raise ValueError(f"{copies} of the {C} chains are copies of others: give each a seed of its own")
    for half in np.array_split(theta, 2, axis=1):
        x = half.reshape(-1, d)
        if (constant := np.ptp(x, axis=0) == 0).any():
            which = ", ".join(np.array(names)[constant][:5])
            raise ValueError(
                f"{which}: all draws of a half are equal; leave constants out of draws and density"
            )
        # smallest eigenvalue of the correlation matrix; below, columns are linearly dependent up to rounding
        if np.linalg.eigvalsh(np.atleast_2d(np.corrcoef(x.T)))[0] < 1e-12:
            raise ValueError(
                "the columns of the draws are linearly dependent, so there is no density in all of them: "
                "leave out functions of other columns, and the last of probabilities that sum to one"
            )


def one_by_one(log_density: Callable[[np.ndarray], Any]) -> LogDensity:
    """A log density of one draw, for several."""

    def of_several(theta: np.ndarray) -> np.ndarray:
        values = [np.asarray(log_density(t), dtype=float) for t in theta]
        for value in values:
            if value.size != 1:
                raise ValueError(f"log_density gave the shape {value.shape} for one draw, not a number")
        return np.array([value.item() for value in values])

    return of_several


def evaluate(log_density: LogDensity, theta: np.ndarray) -> np.ndarray:
    """log p at θ (…, d) → (…,), in blocks of copies, so that no buffer is shared with the user's function."""
    # draws per call of the log density: a model that holds (draws, rows) in memory stays small
    draws_per_call = 1000
    points = theta.reshape(-1, theta.shape[-1])
    out = np.empty(len(points))
    for start in range(0, len(points), draws_per_call):
        block = points[start : start + draws_per_call].copy()
        M, d = block.shape
        given = log_density(block)
        refuse_unreadable(log_density=given)
        value = np.asarray(given, dtype=float)
        if value.shape != (M,):
            raise ValueError(
                f"log_density gave the shape {value.shape} for {M} draws of {d} columns, and must give "
                f"({M},); a function of one draw needs vectorized=False"
            )
        out[start : start + M] = value
    if np.isnan(out).any() or (out == np.inf).any():
        where = points[~(out < np.inf)][0]
        raise ValueError(f"log_density is nan or infinite at {np.array2string(where, threshold=10)}")
    return out.reshape(theta.shape[:-1])


def chains_first(theta: np.ndarray) -> np.ndarray:
    """The draws (C, T, d) with one chain after the other, whichever axis has the steps."""
    C, T, d = theta.shape
    scores = np.stack([normal_scores(x) for x in np.moveaxis(theta, 2, 0)], axis=-1)
    if C == 1:
        walkers = _walkers(scores[0])
        return theta.reshape(T // walkers, walkers, d).swapaxes(0, 1)
    if C < MIN_CHAIN_DRAWS:
        return theta
    if T < MIN_CHAIN_DRAWS:
        return theta.swapaxes(0, 1)
    along_first = np.mean(scores[1:] * scores[:-1])
    along_second = np.mean(scores[:, 1:] * scores[:, :-1])
    is_seen = along_first > SEEN_STD / np.sqrt(C * T)
    return theta.swapaxes(0, 1) if is_seen and along_second < MOST_ELSEWHERE * along_first else theta


def _walkers(scores: np.ndarray) -> int:
    """Walkers that alternate in a chain (T, d): the lag of the largest autocorrelation, with none before."""
    T = len(scores)
    rho = np.mean([correlations(x[None])[: T // MIN_CHAIN_DRAWS + 1] for x in scores.T], axis=0)
    if len(rho) < 3:
        return 1
    lag = 2 + int(np.argmax(rho[2:]))
    is_plain = np.abs(rho[1:lag]).max() < MOST_ELSEWHERE * rho[lag]
    return lag if rho[lag] > SEEN_STD / np.sqrt(T) and is_plain and T % lag == 0 else 1


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
