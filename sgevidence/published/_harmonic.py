r"""The harmonic mean of the likelihood over posterior draws, thesis Eq. 3.9.

    Ẑ = [ (1/M) Σ_i 1 / p(D | θ_i) ]⁻¹,   θ_i ~ p(θ | D)

Symbols: ``M`` = draws, ``theta`` = θ_i (M, d), ``ell`` = log p(D | θ_i) (M,).
"""

from numbers import Integral
from typing import Any

import numpy as np

from .._compat import Interval
from ..history import Memory, Rows
from ..models import Model
from ..particles import Cloud, Weights, systematic
from ..samplers import SGAIS, EvidenceResult, Progress, Sampler, answer
from ..targets import Path
from ..transitions import HMC, Adaptation, State, Streams, check_rows


class HarmonicMean(Sampler):
    """Harmonic mean of the likelihood over draws from the posterior (thesis Eq. 3.9): do not use it.

    It is here because it is well known, and to be compared with.  Each use gives an ``EvidenceWarning``.

    Parameters
    ----------
    n_particles : int, default=1000
        Draws M from the posterior.  No number of draws makes the estimate good.

    Notes
    -----
    1/Ẑ is unbiased, but its variance is infinite unless the likelihood is broader than the prior.  The rare
    draws that would carry the mean lie where the posterior meets the prior's tails; without them log Ẑ is
    too high.  ``log_evidence_std`` is computed from the draws as if the variance were finite and means
    nothing.

    The draws are exact and independent where the model has a formula (see :class:`Exact`).  Elsewhere the
    prior is annealed by SGAIS with HMC on all rows, and every particle is moved by HMC once more: this
    costs more than the evidence that SGAIS knows by then.

    *When not to use it*: for any decision.  The posterior draws, of equal weight, are good.

    References
    ----------
    S. A. Cameron, thesis, §3.1.3; R. M. Neal (2008), The harmonic mean of the likelihood: worst Monte
    Carlo method ever.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from sgevidence.samplers import HarmonicMean
    >>> from sgevidence.history import Rows
    >>> from sgevidence.models import LinearModel
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model, rows = LinearModel(1, noise_std=1.0), Rows.of(X, 2 * X[:, 0])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     result = HarmonicMean().run(model, rows, np.random.default_rng(0))
    >>> len(caught), bool(result.log_evidence > model.exact_log_evidence(rows))
    (1, True)
    """

    _parameter_constraints: dict = {"n_particles": [Interval(Integral, 2, None, closed="left")]}

    def __init__(self, n_particles: int = 1000) -> None:
        self.n_particles = n_particles

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        M = self.n_particles
        theta, counts = self._posterior(model, rows, rng, progress)
        ell = model.sum_log_likelihood(theta, rows)
        counts["n_likelihoods"] = counts.get("n_likelihoods", 0.0) + M * len(rows)
        inverse = Weights(-ell)
        log_Z, std = -inverse.log_mean, np.sqrt(inverse.relative_variance)  # Eq. (3.9)
        doubt = (
            f"the harmonic mean has infinite variance: the log evidence {log_Z:.2f} is probably too high, "
            "and its standard error means nothing; use SGAIS()"
        )
        return answer(log_Z, std, theta, Weights.ones(M), rows, start, **counts).doubted([doubt], model)

    def _posterior(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """M equally weighted draws, and what they cost."""
        M = self.n_particles
        if model.has_exact_posterior:
            prior = State(Cloud.planted(model.sample_prior(rng.spawn(1)[0], M)), Memory.empty())
            with np.errstate(all="ignore"):  # the formulas would overflow without a word of which row
                check_rows(rows, prior, prior.path(model, rows))
            return model.exact_posterior(rows, rng, M), {}
        sampler = SGAIS(n_particles=M, max_particles=M, reservoir_size=None)
        state, records = sampler.update(sampler.init(model, rng), model, rows, rng, progress)
        move = HMC().along(Path(model, Memory.empty(), rows), Streams.one(rng))
        coordinates = move.coordinates(state.seen, 1.0)
        theta = state.theta[systematic(state.all_weights.W, rng)]
        moved = move(theta, 1.0, coordinates, Adaptation())
        return moved.theta, dict(
            n_moves=1 + sum(r.n_moves for r in records),
            acceptance=moved.acceptance,
            n_likelihoods=sum(r.n_likelihoods for r in records),
            n_gradients=sum(r.n_gradients for r in records) + moved.n_gradients,
        )
