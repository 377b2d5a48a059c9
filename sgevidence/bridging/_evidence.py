"""Log evidence from posterior draws of any sampler, with an error bar and what speaks against both.

Warp-III bridge sampling: the posterior is centred, whitened and made symmetric before the bridge.

    p̃(x) = |det L| [p(m + L x) + p(m − L x)] / 2,    ω(x) = p̃(x) / N(x; 0, I)

p̃ has the mass of p for any m and L, no skewness and nearly unit width, so that the standard normal is close.
m and L L' are mean and covariance of draws other than those that the bridge uses.

Draws of another posterior than that of p are seen by moves that leave p as it is (Barker 1965): to the mirror
image, and to a draw y of the normal,

    E_p[x_j / (1 + e^a)] = 0,    a = log p(m + L x) − log p(m − L x),
    E_p[(y_j² − x_j²) / (1 + ω(x) / ω(y))] = 0.

Symbols
-------
=======  ===========  ==========================================================
θ        ``theta``    draws of the posterior, (C, T, d)
x        ``x``        L⁻¹(θ − m), and draws of the standard normal
g        ``g``        n_q Z / (n_p ω + n_q Z), up to a factor, at draws of the posterior, (C, T)
=======  ===========  ==========================================================

References
----------
X.-L. Meng and S. Schilling (2002), Warp bridge sampling; S. Frühwirth-Schnatter (2004), Estimating marginal
likelihoods for mixture and Markov switching models using bridge sampling techniques (the error with
autocorrelated draws).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from .._compat import validate_params
from ..answers import bridge, cross_fitted
from ..exceptions import warn_caller
from ..kernels import Coordinates
from ..rows import generator
from ._draws import LogDensity, Mixing, as_chains, evaluate, mixing, one_by_one, split_mixing


class Half(NamedTuple):
    """The bridge to the draws of one half, in nats.

    ``n_gaussian`` is the effective number of draws of the Gaussian, ``mismatch`` the largest distance of the
    means above from zero, in standard errors.
    """

    log_Z: float
    var_q: float
    var_p: float
    n_gaussian: float
    mismatch: float


def bridged(
    log_density: LogDensity,
    theta: np.ndarray,
    log_p: np.ndarray,
    other: np.ndarray,
    rng: np.random.Generator,
) -> Half:
    """A bridge between the draws ``theta``, of density ``log_p``, and a Gaussian fitted to ``other``."""
    C, T, d = theta.shape
    # draws of the Gaussian are as many as those of the posterior, and at least this number
    n_p, n_q = C * T, max(C * T, 1000)
    m, scale = other.reshape(-1, d).mean(axis=0), other.reshape(-1, d).std(axis=0)
    correlation = np.atleast_2d(np.cov(((other - m) / scale).reshape(-1, d).T))
    warp = Coordinates(scale[:, None] * np.linalg.cholesky(correlation))
    x_p = warp.whiten((theta - m).reshape(-1, d))
    x_q = rng.standard_normal((n_q, d))
    height = log_p.max()  # large constants would cost digits
    here, mirror = log_p.ravel() - height, evaluate(log_density, m - warp.unwhiten(x_p)) - height
    log_omega = _log_ratio(x_p, here, mirror, warp)
    plus, minus = (evaluate(log_density, m + warp.unwhiten(y)) - height for y in (x_q, -x_q))
    log_omega_q = _log_ratio(x_q, plus, minus, warp)
    if not (log_omega_q > -np.inf).any():
        raise ValueError("log_density is −inf at all draws of a Gaussian that was fitted to the draws")
    estimate = bridge(log_omega_q, log_omega[None])
    log_g = log_expit(estimate.log_Z - np.log(n_p / n_q) - log_omega).reshape(C, T)
    g = np.exp(log_g - log_g.max())  # up to a factor
    var_p = g.var() / g.mean() ** 2 / mixing(g).n_effective
    barker = expit(log_omega_q[:n_p] - log_omega)[:, None]
    flows = np.hstack([x_p * expit(mirror - here)[:, None], (x_q[:n_p] ** 2 - x_p**2) * barker])
    return Half(
        estimate.log_Z + height,
        estimate.var_q,
        var_p,
        n_q / (1 + n_q * estimate.var_q),
        max(_mean_in_errors(flow.reshape(C, T)) for flow in flows.T),
    )


def _log_ratio(x: np.ndarray, log_p: np.ndarray, mirror: np.ndarray, warp: Coordinates) -> np.ndarray:
    """log ω, (M,)."""
    log_q = -0.5 * np.sum(x**2, axis=1) - 0.5 * x.shape[1] * np.log(2 * np.pi)
    return np.logaddexp(log_p, mirror) - np.log(2) + np.log(np.diag(warp.L)).sum() - log_q


def _mean_in_errors(x: np.ndarray) -> float:
    """The distance of the mean from zero along chains (C, T), in standard errors."""
    return float(abs(x.mean()) / np.sqrt(x.var() / mixing(x).n_effective + 1e-300))


class BridgeEvidence(NamedTuple):
    """A log evidence from draws, nats.

    Parameters
    ----------
    log_evidence, log_evidence_std : float
        The estimate and its standard error.
    doubts : tuple of str
        The texts of the warnings; empty if nothing was found to speak against the estimate.
    """

    log_evidence: float
    log_evidence_std: float
    doubts: tuple[str, ...]


@validate_params(
    {
        "draws": "no_validation",
        "log_density": [callable],
        "vectorized": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def bridge_evidence(
    draws: Any, log_density: LogDensity, *, vectorized: bool = True, random_state: Any = None
) -> BridgeEvidence:
    """Log evidence from posterior draws of any sampler, by warped bridge sampling.

    Parameters
    ----------
    draws : array-like of shape (n, d), (chains, n, d) or (steps, walkers, d), or ArviZ data
        Draws on an unconstrained scale (log σ, not σ), in the order in which the chains made them.  Their
        autocorrelation tells which axis has the steps, so that emcee's ``get_chain()`` and
        ``get_chain(flat=True)``, in which walkers alternate, are given as they are.  An
        ``arviz.InferenceData``, an ``xarray.DataTree`` with the group ``posterior``, or an ``xarray.Dataset``
        is flattened: its variables side by side in their order, the last index of each fastest.  Select the
        parameters of the density, as in ``data.posterior[["mu", "log_sigma"]]``, without functions of them.
    log_density : callable (M, d) -> (M,)
        log likelihood + log prior of M draws at a time, nats, with all normalising constants and the Jacobian
        of the unconstrained scale.  −inf outside of the support.
    vectorized : bool, default=True
        False: ``log_density`` takes one draw (d,) and gives a number.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of the fitted Gaussians.

    Returns
    -------
    BridgeEvidence
        ``log_evidence``, ``log_evidence_std`` (nats) and ``doubts``.

    Raises
    ------
    ValueError
        If draws are not finite, too few, constant or linearly dependent, if chains are copies of each other,
        or if ``log_density`` gives another shape, nan, +inf, or −inf at a draw.

    Warns
    -----
    EvidenceWarning
        For each doubt: chains disagree; fewer than a hundred effective draws, or five per chain; the halves
        disagree; the posterior is too unlike a Gaussian; the draws are not of ``log_density``'s posterior; a
        standard error above one nat.

    Notes
    -----
    A Gaussian is fitted to each half of the draws (the first and the second of every chain) and bridged to
    the other half, with the posterior centred, whitened and made symmetric (Warp-III; a skewed posterior
    costs no more than a symmetric one).  The estimate is the mean of the two, and its error bar has the
    effective numbers of draws in it (Frühwirth-Schnatter 2004) and is at least half the difference of the
    halves.

    *Cost*: four evaluations of ``log_density`` per draw.

    *When not to trust it*: a mode that no chain has visited is missing in silence.

    References
    ----------
    X.-L. Meng and S. Schilling (2002), Warp bridge sampling.  Q. F. Gronau and others (2017), A tutorial on
    bridge sampling; the R package bridgesampling.  S. Frühwirth-Schnatter (2004), Estimating marginal
    likelihoods for mixture and Markov switching models using bridge sampling techniques.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import bridge_evidence
    >>> draws = np.random.default_rng(0).gamma(3.0, size=(4, 500, 2))
    >>> def log_density(theta):  # of log rates: two gamma posteriors with their Jacobian
    ...     return (3.0 * theta - np.exp(theta)).sum(axis=1)
    >>> found = bridge_evidence(np.log(draws), log_density, random_state=0)
    >>> abs(found.log_evidence - 2 * np.log(2.0)) < 4 * found.log_evidence_std < 0.1
    True
    """
    theta, names = as_chains(draws)
    log_density = log_density if vectorized else one_by_one(log_density)
    log_p = evaluate(log_density, theta)
    if (log_p == -np.inf).any():
        raise ValueError("log_density is −inf at draws: they are not of the posterior that it describes")
    (first, second), at = np.array_split(theta, 2, axis=1), np.array_split(log_p, 2, axis=1)
    rngs = generator(random_state).spawn(2)
    halves = [
        bridged(log_density, first, at[0], second, rngs[0]),
        bridged(log_density, second, at[1], first, rngs[1]),
    ]
    log_Z, std, half_gap = cross_fitted(*halves)
    error = max(std, half_gap)
    columns = [*np.moveaxis(theta, 2, 0), log_p]
    chains = _chain_doubts([split_mixing(x) for x in columns], [*names, "the log density"], theta.shape[:2])
    doubts = (*chains, *_half_doubts(halves, half_gap / std, error))
    warn_caller(*doubts)
    return BridgeEvidence(float(log_Z), float(error), doubts)


def _chain_doubts(found: list[Mixing], names: list[str], shape: tuple[int, int]) -> list[str]:
    """Whether the chains have mixed."""
    # variance between chains up to which short ones agree, in units of what their autocorrelation explains
    max_excess = 3.0
    (C, T), out = shape, []
    apart = int(np.argmax([m.r_hat if m.excess > max_excess else 0.0 for m in found]))
    slow = int(np.argmin([m.n_effective for m in found]))
    # R̂ above which chains disagree
    if (r_hat := found[apart].r_hat) > 1.05 and found[apart].excess > max_excess:
        who = "the chains" if C > 1 else "the two halves of the chain"
        out.append(
            f"{who} disagree, or are too short to agree (R̂ of {names[apart]} is {r_hat:.2f}): modes may have "
            "other shares in the posterior than among the draws, and the evidence is then wrong by more than "
            "its error: run longer chains"
        )
    # effective draws of all chains, five each, of the quantity that mixes worst, for a believable error bar
    if (n := found[slow].n_effective) < 100.0:
        out.append(
            f"the {C * T} draws are worth {n:.0f} independent draws of {names[slow]}, too few for the error "
            "bar to be believed: run longer chains"
        )
    elif n < 5.0 * C:
        out.append(
            f"each chain of {T} draws is worth {n / C:.1f} independent draws of {names[slow]}, so its "
            "autocorrelation is not known: run longer chains"
        )
    return out


def _half_doubts(halves: list[Half], gap: float, std: float) -> list[str]:
    """Whether the bridges hold."""
    max_std_apart = 5.0  # standard errors by which two estimates may differ that ought to agree
    out = []
    if gap > max_std_apart:
        a, b = (half.log_Z for half in halves)
        out.append(
            f"the halves of the draws disagree ({a:.2f} and {b:.2f} nats): the chains have not settled, or "
            "the posterior's tails are too heavy for a Gaussian"
        )
    # effective draws of the Gaussian, of either half, for a believable error bar
    if (n := min(half.n_gaussian for half in halves)) < 50.0:
        out.append(
            f"{n:.0f} effective draws of the fitted Gaussian meet the posterior, which is too unlike it for "
            "the error bar to be believed: give more draws, or parameters with a posterior closer to normal"
        )
    if (z := max(half.mismatch for half in halves)) > max_std_apart:
        out.append(
            f"draws and log_density are probably of two posteriors (they differ by {z:.0f} standard errors): "
            "is the Jacobian of the unconstrained scale in log_density, and are the columns in its order?"
        )
    if std > 1.0:  # standard error, nats, above which an estimate is too vague to be used
        out.append(f"the log evidence is uncertain by {std:.1f} nats: give more draws")
    return out
