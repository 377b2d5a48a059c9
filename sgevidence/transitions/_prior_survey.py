r"""The prior at a hundred thousand points, before the first rows are annealed with two thousand.

Particles know of the prior what as many draws can meet.  Where a narrow peak, or a plateau at whose edge no
gradient leads, rules less than a thousandth of the prior, they agree on an answer that lacks it, and the
weights look as they should.  The likelihood of the first rows at many more draws costs little beside
annealing them,

    N / (M · E)        (N draws once; M particles, E evaluations for each on the way to λ = 1),

so they are taken.  Where M of them count, their mean weight is the answer.  Else annealing starts from all of
them, and its first step ends where M count.

A part of the prior that no draw has met is in no answer.  Where the draws differ nobody can say what it might
hold.  Where all N agree to the last digit, the rows may say nothing of θ, or all that they say is in such a
part, of less than 3/N of the prior with 95 % (Hanley and Lippman-Hand 1983, JAMA 249, 1743): that is
reported, and the error bar is 1/N.

Symbols: θ_i ``theta`` = draws of the prior, (N, d); ℓ_i ``ell`` = log-likelihood of the first rows, (N,);
``M`` = particles that annealing moves.
"""

from typing import NamedTuple

import numpy as np

from ..history import Memory
from ..particles import Cloud, Weights, ess, siblings
from ..targets import Path
from ._anneal import Anneal
from ._base import Info, State, Step, Streams, check_rows

#: Draws of the prior: of a part of 10⁻⁴ they meet ten.
N_SURVEYED = 100_000
#: Evaluations of the likelihood that annealing to the first rows costs a particle, a gradient counted as
#: three (30 to 350, measured on linear models of 2 to 30 parameters), and the share that a survey may cost.
EVALUATIONS, SURVEYED_SHARE = 200.0, 0.25


class PriorSurvey(NamedTuple):
    """Weigh the first rows at many draws of the prior; anneal where too few of the draws count."""

    anneal: Anneal

    def applies(self, state: State, path: Path) -> bool:
        """Whether these are the first rows of a model that may have several modes."""
        return not path.model.has_one_mode and state.n_rows == 0 and self.anneal.resampling is not None

    def __call__(self, state: State, path: Path, rng: Streams) -> Step:
        """The answer of the draws; or the state with all of them and their ℓ, for annealing to start from.

        :class:`ImpossibleRowsError` if no draw can explain the rows.
        """
        M, scheme = state.cloud.M, self.anneal.resampling
        parts, values = [state.theta], [path.increment(state.theta)]
        n_more = self.n_draws(values[0], path) - M
        while n_more > 0:
            # draws that are evaluated in one call at least: seven particles made 14 000 calls of one fit
            parts.append(path.model.sample_prior(rng.noise, min(max(M, 1000), n_more)))
            values.append(path.increment(parts[-1]))
            n_more -= len(parts[-1])
        cloud, ell = Cloud.planted(np.concatenate(parts)), np.concatenate(values)
        if not np.isfinite(ell).any():
            check_rows(path.chunk, state, path)
        cost = float(cloud.M * len(path.chunk))
        alike = float(cloud.M) if np.all(ell == ell[0]) else np.nan
        state = state._replace(adaptation=state.adaptation._replace(alike=alike))
        weighted = cloud.weighted(ell)
        if scheme is None or cloud.M == M or weighted.weights.ess < M:
            return Step(state._replace(cloud=cloud, ell=ell), Info(cost), crossed=False)
        parents = scheme(weighted.W, rng.resampling, M)
        family = siblings(parents, weighted.log_evidence_std**2)
        cloud = Cloud(cloud.theta[parents], Weights.ones(M), weighted.log_evidence, family)
        return Step(
            state._replace(cloud=cloud, ell=None), Info(cost, ess=weighted.weights.ess, lambdas=(1.0,))
        )

    def n_draws(self, ell: np.ndarray, path: Path) -> int:
        """N, by what annealing M particles of these ℓ (M,) would cost."""
        M, n_rows = len(ell), max(len(path.chunk), 1)
        annealed = ess(ell) < self.anneal.target_ess * M
        # likelihood values (draws × rows) that a survey may cost though nothing is annealed: tenths of a
        # second
        affordable = max(SURVEYED_SHARE * EVALUATIONS * M if annealed else 0.0, 1e7 / n_rows)
        # numbers in all draws that are held at a time: 64 MB
        return int(min(N_SURVEYED, affordable, 8_000_000 / path.model.n_params))

    def restarted(self, state: State, path: Path, rng: Streams) -> Step:
        """All rows at hand once more from the prior, where the cloud has lost its way.

        A cloud that knows nothing of the one before; declines where rows are gone.
        """
        if not path.memory.complete:
            return Step(state, crossed=False)
        theta = path.model.sample_prior(rng.noise, self.anneal.n_particles(0.0))
        afresh = State(Cloud.planted(theta), Memory.empty())
        again = Path(path.model, afresh.memory, path.all_rows)
        step = self(afresh, again, rng)
        if not step.crossed:
            step = self.anneal(step.state, again, rng)
        learnt = step.state.adaptation
        adaptation = state.adaptation._replace(log_eps=learnt.log_eps, alike=learnt.alike)
        return Step(state._replace(cloud=step.state.cloud, adaptation=adaptation), step.info)
