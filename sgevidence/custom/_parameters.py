"""Parameters of a user's own model, by one of three kinds of prior.

**Priors by name** are a dictionary of ``scipy.stats`` distributions in the units of the parameters.  A cloud
is (M, d) standard normals z, and each parameter is a function of its own columns and of the parameters before
it (:mod:`~sgevidence.models._quantiles`): exact draws, a density that is normalised by construction, and no
Jacobian that anybody has to write.  A scalar parameter is a column (M, 1), so that it broadcasts against rows
as a number does.

**Other kinds** are functions of θ as it is, and the transform of nested sampling.  Each has what
:class:`NamedPriors` has: ``dimension``, ``natural`` (what a user's function is given),
``single`` (the same of one particle), ``simulated``, ``named``, ``unresolved``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import autograd.numpy as anp
import numpy as np
from autograd.tracer import getval, isbox
from scipy import stats
from scipy.special import ndtr
from scipy.stats.distributions import rv_frozen

from ..models import quantile, resolved
from ._user_function import numerical, read_only

Arguments = tuple[Any, tuple, Any, Any]  #: distribution, shapes, loc, scale


class Block(NamedTuple):
    """One named parameter."""

    name: str
    prior: Any  #: frozen, a function of the parameters before this one, or like :class:`Dirichlet`
    shape: tuple[int, ...]  #: () for a scalar
    columns: slice  #: its coordinates among those of z

    def value(self, z: Any, before: dict[str, Any]) -> Any:
        """The parameter, (M, *shape), a scalar (M, 1)."""
        z = z[:, self.columns]
        if hasattr(self.prior, "transform"):
            return self.prior.transform(z)
        z, (dist, shapes, loc, scale) = self._with_arguments(z, before)
        Q = quantile(dist, z, shapes)
        if shapes and np.isnan(getval(Q)).any() and np.isfinite(getval(z)).all():
            raise ValueError(
                f"the prior of {self.name!r}, {dist.name}, is not defined for all its shapes: "
                f"{[getval(a).ravel()[:3].tolist() for a in shapes]}"
            )
        return loc + scale * Q

    def resolved(self, z: np.ndarray, before: dict[str, Any]) -> np.ndarray:
        """Where scipy's quantiles belong to their z, (M,)."""
        z = z[:, self.columns]
        if hasattr(self.prior, "resolved"):
            fine = self.prior.resolved(z)
        else:
            z, (dist, shapes, _, _) = self._with_arguments(z, before)
            fine = resolved(dist, z, shapes, quantile(dist, z, shapes))
        return fine.reshape(len(z), -1).all(axis=1)

    def _with_arguments(self, z: Any, before: dict[str, Any]) -> tuple[Any, Arguments]:
        """z (M, *shape) and what the distribution is there."""
        M = len(z)
        z = anp.reshape(z, (M, *(self.shape or (1,))))
        prior = self.prior
        if isinstance(prior, rv_frozen):
            dist, *arguments = _arguments(prior)
        else:
            dist, *arguments = _arguments(self._given(before))
        shapes, loc, scale = arguments
        fit = [self._fitting(value, z) for value in (*shapes, loc, scale)]
        self._check(fit)
        return z, (dist, tuple(fit[:-2]), fit[-2], fit[-1])

    def _given(self, before: dict[str, Any]) -> Any:
        """The distribution given the parameters before."""
        try:
            prior = self.prior({name: read_only(value) for name, value in before.items()})
        except KeyError as error:
            raise ValueError(
                f"the prior of {self.name!r} asks for {error}, which is not among the parameters before it: "
                f"{list(before)}"
            ) from error
        return _continuous(prior, self.name)

    def _fitting(self, value: Any, z: Any) -> Any:
        """An argument in a shape that broadcasts to z (M, *shape); scalars of each particle are (M, 1)."""
        if not isbox(value):
            value = np.asarray(value, dtype=float)
        if value.shape == (len(z), 1) and np.ndim(getval(z)) > 2:
            value = anp.reshape(value, (len(z), *[1] * (np.ndim(getval(z)) - 1)))
        if not _broadcasts(value.shape, z.shape):
            raise ValueError(
                f"the prior of {self.name!r} has an argument of shape {value.shape} where the parameter has "
                f"{z.shape}: of {len(z)} parameter vectors, a scalar is ({len(z)}, 1)"
            )
        return value

    def _check(self, arguments: list) -> None:
        """Scipy answers nan for scales that no distribution has."""
        values = [getval(value) for value in arguments]
        if not all(np.isfinite(value).all() for value in values) or np.any(values[-1] == 0):
            raise FloatingPointError(f"arguments of the prior of {self.name!r} are 0, infinite or nan")
        if np.any(values[-1] < 0):
            raise ValueError(
                f"the prior of {self.name!r} has scale {np.min(values[-1]):.3g}: it must be positive"
            )


class NamedPriors:
    """The joint prior of named parameters; TypeError or ValueError names one whose prior cannot be used.

    Values are frozen continuous distributions of ``scipy.stats``, functions of the dictionary of parameters
    before them that return one, objects with ``shape``, ``n_coordinates`` and ``transform`` such as
    :class:`Dirichlet`, or pairs of the first two and a shape.
    """

    def __init__(self, priors: Mapping[str, Any]) -> None:
        if not priors:
            raise ValueError("priors={} names no parameter")
        self.blocks: list[Block] = []
        start = 0
        for name, value in priors.items():
            if not isinstance(name, str):
                raise TypeError(f"names of parameters are strings, got {name!r}")
            prior, shape, size = _parsed(name, value)
            self.blocks.append(Block(name, prior, shape, slice(start, start + size)))
            start += size
        self.dimension = start

    @cached_property
    def hyperparameters(self) -> np.ndarray | None:
        """Columns of all parameters but those that are normal given others; None without these."""
        before: dict[str, Any] = {}
        hyper, z = np.ones(self.dimension, dtype=bool), np.zeros((1, self.dimension))
        for block in self.blocks:
            if not (hasattr(block.prior, "transform") or isinstance(block.prior, rv_frozen)):
                hyper[block.columns] = block._with_arguments(z[:, block.columns], before)[1][0].name != "norm"
            before[block.name] = block.value(z, before)
        return None if hyper.all() else np.flatnonzero(hyper)

    def natural(self, z: Any) -> dict[str, Any]:
        """Parameters by name, (M, *shape) each, a scalar (M, 1), differentiable by autograd."""
        found: dict[str, Any] = {}
        for block in self.blocks:
            found[block.name] = block.value(z, found)
        return found

    def named(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters for reports: scalars are (M,)."""
        p = self.natural(z)
        return {b.name: np.array(p[b.name] if b.shape else p[b.name][:, 0]) for b in self.blocks}

    def single(self, p: dict[str, Any], m: int) -> dict[str, Any]:
        """Parameters of one particle as a function of one θ wants them: numbers, and arrays of ``shape``."""
        return {b.name: _plain(p[b.name][m] if b.shape else p[b.name][m, 0]) for b in self.blocks}

    def simulated(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters with one θ for each row: scalars are (n,)."""
        return self.named(z)

    def unresolved(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Per name the particles whose value is not that of its place in the prior, (M,)."""
        p = self.natural(z)
        return {b.name: ~b.resolved(z, p) for b in self.blocks}


def _plain(value: Any) -> Any:
    """A number as a float, an array of its own, or what autograd traces."""
    if isbox(value):
        return value
    return float(value) if np.ndim(value) == 0 else np.array(value)


def _parsed(name: str, value: Any) -> tuple[Any, tuple[int, ...], int]:
    """Prior, shape and number of coordinates of one entry."""
    prior, shape = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    if hasattr(prior, "transform"):
        if shape is not None:
            raise ValueError(f"the prior of {name!r} has a shape of its own: give it without {shape!r}")
        return prior, prior.shape, prior.n_coordinates
    shape = None if shape is None else _shape(name, shape)
    if not isinstance(prior, stats.rv_continuous) and callable(prior) and not hasattr(prior, "dist"):
        if not isinstance(prior, stats.rv_discrete):
            return prior, shape or (), int(np.prod(shape or ()))
    prior = _continuous(prior, name)
    _, shapes, loc, scale = _arguments(prior)
    own = np.broadcast_shapes(*(np.shape(a) for a in (*shapes, loc, scale)))
    if shape is not None and not _broadcasts(own, shape):
        raise ValueError(f"the prior of {name!r} has arguments of shape {own}, and is to have {shape}")
    shape = own if shape is None else shape
    return prior, shape, int(np.prod(shape))


def _continuous(prior: Any, name: str) -> Any:
    """A frozen continuous distribution; TypeError for anything else."""
    if isinstance(prior, stats.rv_continuous):
        return prior()  # scipy.stats.norm for scipy.stats.norm()
    dist = getattr(prior, "dist", prior)
    if isinstance(dist, stats.rv_discrete):
        raise TypeError(
            f"the prior of {name!r} is discrete ({dist.name}): the samplers move continuous parameters; sum "
            "over its values inside of log_likelihood"
        )
    if isinstance(prior, rv_frozen) and isinstance(dist, stats.rv_continuous):
        return prior
    raise TypeError(
        f"the prior of {name!r} is a {type(prior).__name__}: give a continuous distribution such as "
        "scipy.stats.norm(0, 1), a function of the parameters before it that returns one, Dirichlet(...) "
        "or LKJ(...)"
    )


def _arguments(prior: Any) -> Arguments:
    """Distribution, shapes, loc and scale of a frozen distribution."""
    dist = prior.dist
    names = [*(name.strip() for name in (dist.shapes or "").split(",") if name.strip()), "loc", "scale"]
    given = {"loc": 0.0, "scale": 1.0} | dict(zip(names, prior.args)) | prior.kwds
    return dist, tuple(given[name] for name in names[:-2]), given["loc"], given["scale"]


def _shape(name: str, shape: Any) -> tuple[int, ...]:
    sizes = (
        (shape,) if isinstance(shape, Integral) else tuple(shape) if isinstance(shape, tuple | list) else ()
    )
    if not sizes or any(not isinstance(s, Integral) or isinstance(s, bool) or s < 1 for s in sizes):
        raise ValueError(
            f"the shape of {name!r} must be a positive integer or a tuple of them, got {shape!r}"
        )
    return tuple(map(int, sizes))


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Does an array of this shape broadcast to the other?"""
    try:
        return np.broadcast_shapes(shape, to) == tuple(to)
    except ValueError:
        return False


@dataclass(frozen=True)
class PlainParameters:
    """θ (M, d) as it is, whose prior is stated by a sampler and a density."""

    dimension: int

    def natural(self, theta: Any) -> Any:
        return theta

    simulated = natural

    def single(self, theta: Any, m: int) -> Any:
        return theta[m] if isbox(theta) else np.array(theta[m])  # a function may overwrite it

    def named(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        return {"theta": theta}

    def unresolved(self, theta: np.ndarray) -> dict[str, np.ndarray]:
        return {}


@dataclass(frozen=True)
class PriorTransform:
    """θ = prior_transform(u) of the unit cube, u = Φ(z), as nested samplers have it."""

    function: Callable  #: (u (M, d)) -> (M, D); (d,) -> (D,) where it takes one u at a time
    dimension: int  #: d, of u
    vectorized: bool

    def values(self, z: np.ndarray) -> np.ndarray:
        """θ (M, D); the function is given arrays of its own, which it may overwrite."""
        tiny = np.finfo(float)
        u = np.clip(ndtr(z), tiny.tiny, 1 - tiny.epsneg)
        if self.vectorized:
            theta = np.array(self.function(u.copy()), dtype=np.float64)
        else:
            theta = np.array([np.array(self.function(row.copy()), dtype=np.float64) for row in u])
        if theta.ndim != 2 or len(theta) != len(z):
            shape = "(M, d)" if self.vectorized else "(d,), with vectorized=False"
            raise ValueError(
                f"prior_transform must return the shape {shape}, but {z.shape} gave {theta.shape}"
            )
        return theta

    def natural(self, z: Any) -> Any:
        return numerical(self.values)(z)

    def single(self, theta: Any, m: int) -> Any:
        return theta[m] if isbox(theta) else np.array(theta[m])  # a function may overwrite it

    def simulated(self, z: np.ndarray) -> np.ndarray:
        return self.values(z)

    def named(self, z: np.ndarray) -> dict[str, np.ndarray]:
        return {"theta": self.values(z)}

    def unresolved(self, z: np.ndarray) -> dict[str, np.ndarray]:
        # largest z whose Φ(z) still says how much lies beyond, to a hundredth: 1 − Φ(7) is 10⁻¹², 10⁴
        # roundings
        return {"theta": np.any(z > 7.0, axis=1)}
