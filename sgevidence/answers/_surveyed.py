r"""The evidence of a posterior of which nothing is known: its prior is surveyed, climbed from, and weighed.

1. The prior is surveyed by draws that cover it evenly.
2. Half of the climbs start at draws that are more likely than their neighbours, half at any.  They are
   doubled while modes turn up that one climb alone has met.  What the best modes hide is climbed to, too.
3. Draws of a mixture q of t densities at the modes are weighed, and q is fitted to them
   (``_paired_draws.py``).
4. Every draw of the survey, and every point that a climb has visited, is held against q: where one would
   weigh more than the draws of q do, q is too thin, and has another t there.  A draw that is likelier than
   all modes is climbed from.

There is no answer where the density jumps, is flat, has more modes than climbs can count, or q stays too
thin.  The modes that one climb has met tell how many are met by none: with n_1 of N climbs, a part n_1/N of
the prior leads to modes that are not known (Good 1953).  A mode that rules less of the prior than one draw of
the survey is found by chance alone.  Where climbs do not know all modes, those that they know bound the
evidence from below, which annealing is held against.

Symbols: ``a, P`` = mode and its precision; ``N`` = draws of the survey; w = f/q with f the log joint
density; ``d`` = parameters.

References
----------
I. J. Good (1953), The population frequencies of species and the estimation of population parameters,
Biometrika 40, 237.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from ..history import Rows
from ..kernels import Coordinates
from ..models import Model
from ..particles import Weights, log_sum_exp
from ..targets import Likelihood, Target, climb_together, likelier, outstanding, peaks
from ._answer import Answer, Declined
from ._importance import MAX_PARETO_K, TDensity
from ._paired_draws import FITTED_DEGREES, TOLERANCE_NATS, PairedDraws, TMixture, adapted_draws

#: Values of the density, of one row each, beyond which annealing a part of the rows at a time costs less.
MAX_SURVEYED_VALUES = 5e7
#: Draws of the survey for each of the first climbs, these at most, and how many times as many there may be.
DRAWS_PER_CLIMB, MAX_FIRST_CLIMBS, MORE_CLIMBS = 256, 64, 4
#: Draws of the survey, the best, among which those that are likelier than their neighbours are sought.
N_BEST_DRAWS = 2048
#: Part of the survey that must be possible, distinct, and of the climbs that may end at a wall.
MIN_POSSIBLE, MIN_DISTINCT, MAX_WALLS = 0.98, 0.95, 0.05
#: Squared distance in widths per parameter, and nats (and more per parameter) within which two ends are one.
SAME_TOP_SQUARED, SAME_TOP_NATS = 0.25, (0.5, 0.1)
#: Nats of Laplace's evidence below the best at which a mode does not count, and at which it is as good.
NEGLIGIBLE_TOP_NATS, RIVAL_NATS, ALIKE_NATS = 12.0, 5.0, 0.1
#: Part of the climbs to the best mode that climbs to modes met once may be, to be content and to answer.
CONTENT_UNSEEN, MAX_UNSEEN = 0.25, 0.5
#: Modes that are given a t at most, and the share that all of them have in common; modes around which what
#: they hide is sought.
MAX_TOPS, MIN_TOP_SHARE, MAX_PROBED = 24, 0.1, 2
#: Precision of a mode at least, in widths of the prior: no t is wider than three of them.
MIN_TOP_PRECISION = 0.1
#: Effective draws of an answer, at least.
MIN_EFFECTIVE_SURVEYED = 400.0
#: Rounds of draws, as ROUNDS of ``_paired_draws.py``, but with draws of the survey for each pair in the place
#: of pairs.  There are two at least, which look for what climbs have missed.
SURVEYED_ROUNDS = (
    (10, 0, 0, 0.0, 0.0, 0.003),
    (10, 0, 0, 0.015, 0.3, 0.003),
    (10, 40, 2, 0.02, 0.5, 0.008),
    (10, 40, 2, 0.03, 0.5, 0.008),
    (10, 40, 0, 0.05, MAX_PARETO_K, 0.008),
)
#: Doubt of an evidence of modes that particles have not found.
LEAD = "the evidence is that of the modes which climbs from the prior have met, and {}: others may be missed"


class Points(NamedTuple):
    """Points at which the log joint density is known, −∞ where it is none."""

    theta: np.ndarray  #: (N, d)
    log_f: np.ndarray  #: (N,)


class Top(NamedTuple):
    """A mode, and how many climbs have met it."""

    a: np.ndarray
    value: float
    P: np.ndarray
    n_met: int

    @property
    def mass(self) -> float:
        """Laplace's log evidence, but for a constant, nats."""
        return self.value - 0.5 * float(np.linalg.slogdet(self.P)[1])

    @property
    def density(self) -> TDensity:
        """A t at the mode."""
        return TDensity(self.a, Coordinates.from_precision(self.P), FITTED_DEGREES)

    def has(self, theta: np.ndarray, value: float) -> bool:
        """Whether the end of another climb is this mode."""
        d, u = len(self.a), theta - self.a
        nats, more = SAME_TOP_NATS
        return bool(u @ self.P @ u < SAME_TOP_SQUARED * d and abs(value - self.value) < nats + more * d)


class Tops:
    """The modes of one posterior."""

    def __init__(self, target: Target, widths: np.ndarray) -> None:
        self.target, self.widths = target, widths
        self.tops: list[Top] = []
        self.n_climbs, self.n_walls, self.ways = 0, 0, Points(np.empty((0, len(widths))), np.empty(0))

    def climb(self, starts: np.ndarray, counts: bool = False) -> None:
        """From each of the starts (K, d) to a mode.  Climbs from draws of the survey are counted."""
        ends = climb_together(self.target, starts, self.widths)
        if counts:
            self.n_climbs, self.n_walls = self.n_climbs + len(starts), self.n_walls + int(ends.is_wall.sum())
        self.ways = Points(*map(np.concatenate, zip(self.ways, (ends.path, ends.path_value))))
        for theta, value in zip(ends.theta[order := np.argsort(-ends.value)], ends.value[order]):
            if not np.isfinite(value):
                continue
            known = next((k for k, top in enumerate(self.tops) if top.has(theta, value)), None)
            if known is None:
                self.tops.append(Top(theta, float(value), self._precision(theta), 2 - counts))
            else:
                self.tops[known] = self.tops[known]._replace(n_met=self.tops[known].n_met + counts)

    def _precision(self, theta: np.ndarray) -> np.ndarray:
        """Curvature at the end of a climb, which no direction is without, (d, d)."""
        with np.errstate(all="ignore"):
            P = self.target.derivatives(theta)[2] * np.outer(self.widths, self.widths)
        width, V = np.linalg.eigh(np.where(np.isfinite(P), P, np.eye(len(P))))
        return (V * np.clip(width, MIN_TOP_PRECISION, None)) @ V.T / np.outer(self.widths, self.widths)

    @property
    def counted(self) -> list[Top]:
        """Modes that count, the heaviest first."""
        found = sorted(self.tops, key=lambda top: -top.mass)
        return [top for top in found if top.mass > found[0].mass - NEGLIGIBLE_TOP_NATS]

    def doubt(self, content: bool = False) -> str:
        """Why climbs do not know all modes; "" if they do.  ``content`` asks whether more need to be made."""
        found = self.counted
        if not found:
            return "no climb has ended at a mode"
        rivals = [top for top in found if top.mass > found[0].mass - RIVAL_NATS]
        best = max(top.n_met for top in found if top.mass > found[0].mass - ALIKE_NATS)
        n_once = sum(top.n_met == 1 for top in self.tops)
        if any(top.n_met == 1 for top in rivals) and (content or len(self.tops) > 1):
            return "a mode that counts was met by one climb alone"
        # one wide basin, and no rare mode counts
        is_clear = best > 0.25 * self.n_climbs and all(top.n_met > 2 for top in rivals)
        if n_once > (CONTENT_UNSEEN if content else MAX_UNSEEN) * best and (content or not is_clear):
            return f"{n_once} of {self.n_climbs} climbs end at modes that no other has met"
        if self.n_walls > MAX_WALLS * self.n_climbs:
            return "climbs end where the density jumps"
        return ""


def surveyed_answer(
    model: Model, rows: Rows, rng: np.random.Generator, size: int, tolerance: float = TOLERANCE_NATS
) -> Answer | Declined:
    """Evidence and ``size`` draws of the posterior, or why a survey does not answer."""
    n_draws = model.n_surveyed
    if not is_short(model, rows):
        return Declined("rows are many for a survey of the prior")
    target = Target(model, Likelihood(rows))
    survey = surveyed(target, n_draws, rng)
    possible = np.isfinite(survey.log_f)
    ell = survey.log_f[possible] - model.log_prior(survey.theta[possible])
    if possible.mean() < MIN_POSSIBLE:
        return Declined("the density ends within the prior")
    if len(np.unique(np.round(ell, 9))) < MIN_DISTINCT * len(ell):
        return Declined("the density is flat, or has steps")
    survey = Points(survey.theta[possible], survey.log_f[possible])
    tops = Tops(target, np.std(survey.theta, axis=0))
    first = int(np.clip(n_draws // DRAWS_PER_CLIMB, 8, MAX_FIRST_CLIMBS)) // 2
    best = np.argsort(-survey.log_f)[:N_BEST_DRAWS]
    high = best[peaks(survey.theta[best], survey.log_f[best], len(best))]
    order = np.r_[high, np.setdiff1d(best, high, assume_unique=True)]
    any_of = rng.permutation(len(survey.log_f))
    done, until = 0, first
    while done < until <= first * MORE_CLIMBS:
        tops.climb(survey.theta[np.r_[order[done:until], any_of[done:until]]], counts=True)
        done, until = until, until * (2 if tops.doubt(content=True) else 1)
    for top in tops.counted[:MAX_PROBED]:
        with np.errstate(all="ignore"):
            tops.climb(np.array([likelier(model, rows, top.a), *outstanding(target, top.a, top.P, rng)]))
    doubt = tops.doubt()
    try:
        found = _from_tops(tops, survey, rng, size, tolerance)
    except np.linalg.LinAlgError:
        found = Declined("draws of t densities at the modes have no covariance")
    if doubt and isinstance(found, Answer):
        return Declined(doubt, found._replace(doubts=(LEAD.format(doubt),)))
    return Declined(doubt) if doubt else found


def is_short(model: Model, rows: Rows) -> bool:
    """Whether so few rows are there that a survey costs less than annealing."""
    return model.n_surveyed * len(rows) <= MAX_SURVEYED_VALUES


def surveyed(target: Target, n: int, rng: np.random.Generator) -> Points:
    """n draws of the prior, which cover it evenly where it is a standard normal."""
    model = target.model
    if model.has_normal_coordinates:
        u = qmc.Sobol(model.n_params, rng=rng).random(n)
        theta = ndtri(np.clip(u, 1e-16, 1 - 1e-16))
    else:
        theta = model.sample_prior(rng, n)
    log_f = values(target, theta)
    return Points(theta, np.where(np.isnan(log_f), -np.inf, log_f))


def values(target: Target, theta: np.ndarray) -> np.ndarray:
    """Log joint density, (M,), of few points at a time: rows are one block then, and a point counts once."""
    size = max(target.model.evaluation.block_elements // max(len(target.likelihood.rows), 1), 100)
    with np.errstate(all="ignore"):
        return np.concatenate([target.value(theta[i : i + size]) for i in range(0, len(theta), size)])


def _from_tops(
    tops: Tops, survey: Points, rng: np.random.Generator, size: int, tolerance: float
) -> Answer | Declined:
    """The answer of draws around the modes, once no known point is where they are too few."""
    counted, target = tops.counted[:MAX_TOPS], tops.target
    mass = Weights(np.array([top.mass for top in counted])).W
    shares = mass + MIN_TOP_SHARE / len(mass)
    modes = [(top.a, top.P) for top in counted]
    n_rows, n_values = len(target.likelihood.rows), len(survey.log_f)

    def missed(draws: PairedDraws, q: TMixture) -> list[TDensity]:
        """Modes to which outstanding points lead, and a t at a known point where q is too thin."""
        known, n_known = Points(*map(np.concatenate, zip(survey, tops.ways))), len(tops.tops)
        log_f, log_w = draws.log_w + log_sum_exp(draws.each, axis=0), known.log_f - q.log_density(known.theta)
        i = int(np.argmax(log_w))
        tops.climb(np.array([*draws.theta[[np.argmax(log_f), np.argmax(draws.log_w)]], known.theta[i]]))
        lacks = [top.density for top in tops.tops[n_known:]]
        if draws.are_outweighed_by(log_w[i]):
            away = (np.array([part.m for part in q.parts]) - known.theta[i]) / tops.widths
            width = max(float(np.sum(away**2, axis=1).min()) / away.shape[1], 1e-12) ** 0.5
            lacks.append(TDensity(known.theta[i], Coordinates(np.diag(width * tops.widths)), FITTED_DEGREES))
        return lacks

    most = min(len(survey.log_f), DRAWS_PER_CLIMB * MAX_FIRST_CLIMBS)
    rounds = [(most // per_pair, *rest) for per_pair, *rest in SURVEYED_ROUNDS]
    found = adapted_draws(
        partial(values, target), modes, shares / shares.sum(), 0, rng, tolerance, missed, rounds
    )
    if found is None:
        return Declined("no draw of t densities at the modes is possible")
    n_values += len(tops.ways.log_f) + found.n_draws
    ess = found.draws.weights.ess
    if not (found.suffices and ess > MIN_EFFECTIVE_SURVEYED):
        words = f"{ess:.0f} draws of t densities at {len(tops.tops)} modes are effective"
        return Declined(words)
    answer = found.answer(found.draws.std, n_rows, size, rng)
    return answer._replace(n_likelihoods=float(n_values * n_rows))
