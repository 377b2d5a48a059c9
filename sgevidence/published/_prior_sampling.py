r"""The mean likelihood over draws from the prior (thesis Eq. 3.6).

    Ẑ = (1/M) Σ_i p(D | θ_i),   θ_i ~ p(θ)

Symbols: ``M`` = draws, ``theta`` = θ_i (M, d), ``ell`` = log p(D | θ_i) (M,).
"""

from numbers import Integral

import numpy as np

from .._compat import Interval
from ..history import Rows
from ..models import Model
from ..particles import Weights
from ..samplers import EvidenceResult, Progress, Sampler, answer, doubts_of_few

#: Draws weighted at a time, so that the likelihoods of a block of rows stay small.
DRAWS_AT_A_TIME = 2000


class PriorSampling(Sampler):
    """Mean likelihood over draws from the prior (thesis Eq. 3.6): unbiased, and useless for many rows.

    Parameters
    ----------
    n_particles : int, default=10000
        Draws M.  The standard error falls as 1/√M once the draws reach the posterior; how many that
        takes grows as the volume of the prior over that of the posterior, e^H, so that ten thousand
        suffice for about five nats of information.

    Notes
    -----
    *Cost*: M likelihoods of all rows, no gradients.  Memory is that of the draws, M d numbers.

    *When not to use it*: for more than a few parameters or some tens of rows.  No draw then comes near the
    posterior and log Ẑ is too low: for one parameter, a hundred rows and ten draws (thesis Fig. 3.2)
    typically by 24 nats.  The standard error cannot tell: from one set of weights it is at most one nat,
    whatever is missing.  An ``EvidenceWarning`` is given when fewer than 50 draws count.  It is a good
    check of other samplers on a handful of rows, where nothing can go wrong with it.

    References
    ----------
    S. A. Cameron, thesis, §3.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence.samplers import PriorSampling
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of([[-1.0], [0.0], [1.0]], [-1.0, 0.5, 1.0])
    >>> result = PriorSampling().run(model, rows, np.random.default_rng(0))
    >>> bool(abs(result.log_evidence - model.exact_log_evidence(rows)) < 4 * result.log_evidence_std)
    True
    """

    _parameter_constraints: dict = {"n_particles": [Interval(Integral, 2, None, closed="left")]}

    def __init__(self, n_particles: int = 10_000) -> None:
        self.n_particles = n_particles

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        M = self.n_particles
        theta, ell = [], []
        for done in range(0, M, DRAWS_AT_A_TIME):
            progress(f"{done} of {M} draws")
            theta.append(model.sample_prior(rng, min(DRAWS_AT_A_TIME, M - done)))
            ell.append(model.sum_log_likelihood(theta[-1], rows))
        weights = Weights(np.concatenate(ell))
        if not weights.ess:
            raise ValueError(
                f"the likelihood is zero or not a number for all {M} draws from the prior: no log evidence "
                "can be given"
            )
        log_Z, std = weights.log_mean, np.sqrt(weights.relative_variance)  # Eq. (3.6)
        result = answer(log_Z, std, np.concatenate(theta), weights, rows, start, n_likelihoods=M * len(rows))
        return result.doubted(doubts_of_few(weights, "raise n_particles, or use SGAIS()"), model)
