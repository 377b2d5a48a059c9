r"""The Laplace approximation, corrected by importance sampling.

    log Z ≈ log p(D, a) + (d/2) log 2π − ½ log |P| + log K!

Its modes are those that climbs find.  They are held against the draws of other samplers, too: particles and
live points that all missed a mode agree with each other, and their error bar says nothing.

Symbols: ``a, P`` = mode and −∇∇ log p(D, θ) there, ``d`` = parameters, ``K`` = exchangeable components (K!
labellings of each mode), ``M`` = importance draws, ``theta`` (M, d); ``W`` = normalised weights of draws.
"""

from collections.abc import Callable
from math import lgamma
from numbers import Integral

import numpy as np
from scipy.stats import chi2

from .._compat import Interval
from ..answers import importance_draws, log_joint_of_many
from ..history import Rows
from ..models import Model
from ..particles import Weights, log_sum_exp
from ..targets import Likelihood, Target, concave_mode, gaussian, peaks, sampled
from ..transitions import MODE_SEARCH_ROWS, Climbs, Mode
from ._base import SILENT, EvidenceResult, Progress, Sampler
from ._direct import answer, doubts_of_few

#: Prior draws of which a start is the best, at least; likelihood values (draws × rows) and draws, at most.
BEST_OF, VALUES, MOST_DRAWS = 100, 5e6, 100_000
#: Share of the evidence in other modes that is not said.
NEGLIGIBLE_SHARE = 0.01
#: Starts of a second look; importance draws of a mode, and the share of them that must count.
N_CLIMB_STARTS, N_IMPORTANCE_DRAWS, RELIABLE_SHARE = 24, 2000, 0.05
#: Part of a mode's mass that is outside its region; nats, and standard errors beside them, by which draws
#: must misrepresent a mode.
OUTSIDE_SHARE, DOUBTFUL_NATS, DOUBTFUL_ERRORS = 0.01, 0.5, 3.0


def starts(model: Model, search: Target, n: int, rng: np.random.Generator) -> np.ndarray:
    """Where climbs begin, (n, d): the best of many prior draws, the best of their neighbours, and any."""
    if model.slots is not None:
        return model.starts(search.likelihood.rows, n, rng)
    fewest = BEST_OF * n
    n_draws = int(np.clip(VALUES / len(search.likelihood.rows), fewest, MOST_DRAWS))
    draws = model.sample_prior(rng, n_draws)
    value = np.concatenate([search.value(draws[i : i + fewest]) for i in range(0, n_draws, fewest)])
    order = np.argsort(-np.nan_to_num(value, nan=-np.inf))[:fewest]
    third = -(-n // 3)
    local = draws[order][
        peaks(draws[order], value[order], third)
    ]  # a spike has the best draws, and need not have the mass
    return np.concatenate([draws[order[:third]], local, draws[: n - third - len(local)]])[:n]


def modes_from_starts(
    model: Model, rows: Rows, n_starts: int, rng: np.random.Generator, progress: Progress = SILENT
) -> list[Mode]:
    """Maxima in which climbs end, the best first: sought on a sample of the rows, then on all of them."""
    few = sampled(model, rows, None, MODE_SEARCH_ROWS, rng).rows
    radius = chi2.isf(OUTSIDE_SHARE, model.n_params) / model.n_params
    climbs = Climbs(model, rows, few, float(radius))
    for i, start in enumerate(starts(model, climbs.few, n_starts, rng)):
        progress(f"search {i} of {n_starts}")
        climbs.up(start)
    return climbs.regions()


def doubts_of_missed_modes(
    model: Model,
    rows: Rows,
    theta: np.ndarray,
    W: np.ndarray,
    log_Z: float,
    std: float,
    rng: np.random.Generator,
) -> list[str]:
    """Whether modes that climbs find hold evidence that the draws, and their error bar, do not have."""
    if model.has_one_mode or model.slots is not None:
        return []
    missed, target = 0.0, Target(model, Likelihood(rows))
    with np.errstate(all="ignore"):
        modes = modes_from_starts(model, rows, N_CLIMB_STARTS, rng)
    for mode in modes:
        near = float(W[mode.near(model, theta)].sum())
        draws, weights = importance_draws(target.value, mode.a, mode.P, 0.0, N_IMPORTANCE_DRAWS, rng)
        mass = Weights(np.where(mode.near(model, draws), weights.log_w, -np.inf))
        share = np.exp(min(mass.log_mean - log_Z, 700.0))
        is_more = share > near * np.exp(DOUBTFUL_NATS + DOUBTFUL_ERRORS * std)
        if mass.ess > RELIABLE_SHARE * N_IMPORTANCE_DRAWS and is_more:
            missed += share - near
    if not missed > NEGLIGIBLE_SHARE:
        return []
    return [
        f"modes in which there are too few draws hold {missed:.2g} times the evidence that is reported, "
        "which is too low: use more draws, or SGAIS()"
    ]


#: log p(rows, θ) of a cloud, and the variance of what it is off by.
LogJoint = Callable[[np.ndarray], tuple[np.ndarray, float]]
OTHER_MODES = (
    "modes beside the highest hold some {:.0f}% of the evidence, and only the highest is counted: use SGAIS()"
)


class Laplace(Sampler):
    """A Gaussian at the highest mode, corrected by importance sampling from a t around it.

    Parameters
    ----------
    n_particles : int, default=5000
        Importance draws M, on which the standard error falls as 1/√M: a few hundredths of a nat for a
        dozen parameters.
    correct : bool, default=True
        ``log_evidence`` is the importance sampling estimate, with its own standard error.  With False it
        is the Laplace approximation, and the standard error is the distance between the two, which
        estimates its bias, joined with the error of the importance sampling.
    n_starts : int, default=24
        Points from which modes are sought: merged k-means solutions for mixtures; for other models prior
        draws, one half the best of 100 n_starts, the other half as they come.

    Notes
    -----
    The mode is found by damped Newton ascent.  Modes of mixtures count K! times, once for each labelling;
    draws that cross into another labelling are left out, so that no labelling counts twice.  The weighted
    draws are the posterior draws of the result.  With ``correct=False`` they are the same.

    ``diagnostics["laplace"]`` of the result is the approximation without correction, in nats.

    *Source*: standard; see D. J. C. MacKay (2003), Information Theory, Inference, and Learning Algorithms,
    ch. 27 and 29.

    *Cost*: some ten passes over the rows for derivatives, and M likelihoods of all rows; only those are
    counted in ``n_likelihoods``.

    *When not to use it*: for posteriors with several modes that matter, of which only the highest is
    counted, as in mixtures with more components than the data have clusters; for hundreds of parameters,
    where few of the draws count; for a model whose mode has no curvature in some direction.  An
    ``EvidenceWarning`` is given when fewer than 50 draws count, or 5 % of them, and when other modes that the
    starts found hold more than 1 % of the evidence; a mode that no start finds is missing in silence.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import Laplace
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> result = Laplace().run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {
        "n_particles": [Interval(Integral, 2, None, closed="left")],
        "correct": ["boolean"],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_particles: int = 5000, correct: bool = True, n_starts: int = 24) -> None:
        self.n_particles = n_particles
        self.correct = correct
        self.n_starts = n_starts

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        M = self.n_particles
        alone = self._of_one_mode(model, rows, rng)
        doubts, (a, P, log_joint) = ([], alone) if alone else self._of_many(model, rows, rng, progress)
        K = 1 if model.slots is None else len(model.slots)
        log_copies, d = lgamma(K + 1), len(a)
        half_log_det = np.sum(np.log(np.diag(np.linalg.cholesky(P))))
        laplace = float(log_joint(a[None])[0][0] + 0.5 * d * np.log(2 * np.pi) - half_log_det + log_copies)
        progress(f"Laplace approximation {laplace:.2f}, weighting {M} draws around the mode")
        noise_var = [0.0]

        def of_draws(theta: np.ndarray) -> np.ndarray:
            value, noise_var[0] = log_joint(theta)
            return value

        theta, weights = importance_draws(of_draws, a, P, log_copies, M, rng)
        if model.slots is not None:
            widths = np.diag(np.linalg.inv(P))[model.slots]
            inside = model.is_canonical(theta, (a[model.slots], widths))
            weights = weights.add(np.where(inside, 0.0, -np.inf))
        # share of the draws that must count: a t around the only mode of a regression leaves a quarter or
        # more, and one around one of several modes a fiftieth
        doubts += doubts_of_few(weights, "the posterior is far from Gaussian: use SGAIS()", 0.05)
        log_Z, std = weights.log_mean, np.sqrt(weights.relative_variance + noise_var[0])
        if not self.correct:
            log_Z, std = laplace, np.hypot(std, laplace - log_Z)
        result = answer(log_Z, std, theta, weights, rows, start, n_likelihoods=M * len(rows))
        return result._replace(diagnostics=result.diagnostics | {"laplace": laplace}).doubted(doubts, model)

    @staticmethod
    def _of_one_mode(
        model: Model, rows: Rows, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, LogJoint] | None:
        """The mode of a log-concave posterior, which no start misses; None of others, or if it is not found.

        Sums at the mode hold all of the log-likelihood but its third order, and draws need few rows.
        """
        if not model.is_log_concave:
            return None
        anchor = concave_mode(model, rows, rng, np.zeros(model.n_params))
        if anchor is None:
            return None
        return *gaussian(model, anchor), lambda theta: log_joint_of_many(model, rows, anchor, theta, rng)

    def _of_many(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress
    ) -> tuple[list[str], tuple[np.ndarray, np.ndarray, LogJoint]]:
        """The highest of the modes that are found, and what the others hold."""
        target, modes = (
            Target(model, Likelihood(rows)),
            modes_from_starts(model, rows, self.n_starts, rng, progress),
        )
        if not modes:
            raise ValueError(
                "no maximum of the posterior with a positive definite curvature was found: there is no "
                "Laplace approximation; use SGAIS()"
            )
        masses = np.array([mode.log_evidence for mode in modes])
        share = 1 - np.exp(masses[0] - log_sum_exp(masses))
        doubts = [] if share < NEGLIGIBLE_SHARE else [OTHER_MODES.format(100 * share)]
        return doubts, (modes[0].a, modes[0].P, lambda theta: (target.value(theta), 0.0))
