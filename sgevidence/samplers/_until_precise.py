"""Independent runs of a sampler, until the log evidence is known as well as it should be.

The estimate Ẑ_i of each run is unbiased, and so is their plain mean whatever the runs claim of themselves:

    log Ẑ = log (1/n) Σ_i Ẑ_i,        u_i = Ẑ_i / Σ_j Ẑ_j,        claimed error of log Ẑ: √Σ_i u_i² s_i²
    Q = Σ_i (x_i − x̄)² / s_i² ~ χ²_{n−1},     x_i = log Ẑ_i + s_i²/2,     x̄ = Σ_i x_i s_i⁻² / Σ_i s_i⁻²
    std = claimed · max(1, √(Q / (n−1)))

A mean weighted by 1/s_i² would be sharper if the claims were true, and is wrong where it matters: a run that
missed a mode claims a small error, because all its particles agree.  The scale factor is that of the Particle
Data Group (Birge ratio): the claims are never made smaller, and a disagreement is not averaged away.

Symbols: ``log_Z, s`` = log Ẑ_i and s_i; ``shares`` = u_i; ``Q`` = Cochran's statistic of disagreement; ``n``
= runs so far; ``std`` = standard error of their pool, which falls about as 1/√n.

Runs may share work for a while, such as a walk over strata: lender and answer know which.

References
----------
W. G. Cochran (1954), The Combination of Estimates from Different Experiments, Biometrics 10, 101.
R. T. Birge (1932), The Calculation of Errors by the Method of Least Squares, Physical Review 40, 207.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import ceil
from numbers import Integral, Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2
from sklearn.utils.parallel import Parallel, delayed

from .._compat import HasMethods, Interval
from ..answers import ComponentEvidence
from ..history import Rows, task_workers
from ..models import Model
from ..particles import Weights, log_sum_exp
from ._base import EvidenceResult, Parts, Progress, Sampler
from ._direct import answer
from ._sgais import SGAIS

#: p-value below which a warning is given: one false alarm in a hundred sets of honest runs.
DOUBTFUL_P_VALUE = 0.01


class Pool(NamedTuple):
    """Mean of independent runs."""

    log_evidence: float  #: nats
    log_evidence_std: float  #: nats
    shares: np.ndarray  #: u, (n,)
    disagreement: float  #: standard deviation of the runs' log evidences, nats; nan for one run
    claimed: float  #: what it should be by their errors
    p_value: float  #: of a Q at least as large if the claims are true

    def doubts(self, advice: str, of: str = "runs") -> list[str]:
        """That the runs disagree, if they do."""
        if self.p_value >= DOUBTFUL_P_VALUE:
            return []
        return [
            f"{len(self.shares)} {of} disagree by {self.disagreement:.2f} nats where their errors "
            f"claim {self.claimed:.2f} (p = {self.p_value:.1g}): the error of a single fit is not to be "
            f"trusted, {advice}"
        ]


def pool(log_Z: np.ndarray, s: np.ndarray) -> Pool:
    """Pool runs by their log evidences and standard errors, (n,) each."""
    n, total = len(log_Z), float(log_sum_exp(log_Z))
    u = np.exp(log_Z - total)
    Q = disagreement(log_Z, s)
    return Pool(
        log_evidence=total - float(np.log(n)),
        log_evidence_std=float(np.linalg.norm(u * s)) * max(1.0, float(np.sqrt(Q / max(n - 1, 1)))),
        shares=u,
        disagreement=float(np.std(log_Z, ddof=1)) if n > 1 else np.nan,
        claimed=float(np.sqrt(np.mean(s**2))),
        p_value=float(chi2.sf(Q, n - 1)) if n > 1 else 1.0,
    )


def disagreement(log_Z: np.ndarray, s: np.ndarray) -> float:
    """Cochran's Q of log evidences with claimed errors ``s``, about χ²_{n−1} if the claims are true.

    Unbiased and with an error of s nats, log Ẑ is low by s²/2 on average: x = log Ẑ + s²/2 has one mean
    for all.  An error of zero (a closed form) is taken for the rounding of its digits.
    """
    s = np.maximum(s, 1e-9 * np.maximum(1.0, np.abs(log_Z)))
    x = log_Z + 0.5 * s**2
    return float(np.sum((x - np.average(x, weights=s**-2.0)) ** 2 / s**2))


class UntilPrecise(Parts, Sampler):
    """Independent runs of a sampler, pooled, until the standard error of the log evidence is small enough.

    Parameters
    ----------
    tolerance : float, default=0.1
        Wanted standard error of the log evidence, nats.  0.1 knows a Bayes factor to a seventh.
    max_seconds : float or None, default=60.0
        No run is started that would end later, by the mean time of those before; the first is always
        finished.  None: until the target is met.
    sampler : sampler, default=SGAIS()
        Any object with ``run``.
    n_jobs : int or None, default=None
        Runs at a time, through joblib.  The result does not depend on it, unless time runs out.

    See Also
    --------
    replicate : A given number of fits, side by side.

    Notes
    -----
    The log evidence is that of the mean of the runs' evidences, its error what they claim, or what they
    disagree by where that is more; so at least two runs are made, unless there is a closed form.  Runs come
    in batches that at most double their number, as many as the error so far asks for: the target is looked
    at seldom, so that a lucky look ends it too early seldom.  Draws are those of all runs, by their evidence.

    ``diagnostics`` of the result has ``n_runs``, their ``disagreement`` and what is ``claimed`` for it, nats,
    and the ``p_value`` of that.

    An :class:`EvidenceWarning` is given if the target is not met, or if the runs disagree more than they
    claim (p < 0.01).  Runs do not show the errors that they share: a mode that none finds, a bias.

    *When not to use it*: for rows that come as a stream, since all are needed for each run.  If the target is
    far below the error of a run, more particles are cheaper than more runs.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression
    >>> from sgevidence.samplers import UntilPrecise
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> model = BayesianLinearRegression(noise_std=1.0, sampler=UntilPrecise(tolerance=0.03), random_state=0)
    >>> model.fit(X, 2 * X[:, 0]).log_evidence_std_ <= 0.03
    True
    """

    _parameter_constraints: dict = {
        "tolerance": [Interval(Real, 0, None, closed="neither")],
        "max_seconds": [Interval(Real, 0, None, closed="left"), None],
        "sampler": [HasMethods(["run"])],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        tolerance: float = 0.1,
        max_seconds: float | None = 60.0,
        sampler: Any = SGAIS(),  # noqa: B008  (each gets its own: see Parts)
        n_jobs: int | None = None,
    ) -> None:
        self.tolerance = tolerance
        self.max_seconds = max_seconds
        self.sampler = self._own("sampler", sampler)
        self.n_jobs = n_jobs

    def _run(
        self, model: Model, rows: Rows, rng: np.random.Generator, progress: Progress, start: float
    ) -> EvidenceResult:
        results: list[EvidenceResult] = []
        batch = 1
        while batch:
            # runs that are to be independent share nothing
            with sharing(None), task_workers(self.n_jobs, batch, rows.X):
                results += Parallel(n_jobs=self.n_jobs, pre_dispatch="all")(
                    delayed(self.sampler.run)(model, rows, one, progress.alone()) for one in rng.spawn(batch)
                )
            found = pool(*np.array([(r.log_evidence, r.log_evidence_std) for r in results]).T)
            progress.done(
                f"{len(results)} runs, log evidence "
                f"{found.log_evidence - progress.log_unit * rows.total_weight:.2f} "
                f"± {found.log_evidence_std:.3f} nats, wanted ± {self.tolerance:g}"
            )
            batch = self._runs_to_go(found, perf_counter() - start)
        return _together(results, found, rows, start).doubted(self._doubts(found, perf_counter() - start))

    def _runs_to_go(self, found: Pool, seconds: float) -> int:
        """Runs of the next batch; none if the target is met or the time is up."""
        n, std = len(found.shares), found.log_evidence_std
        if std == 0.0 or (n > 1 and std <= self.tolerance):
            return 0
        wanted = min(max(ceil(n * (std / self.tolerance) ** 2) - n, 1), n)
        if self.max_seconds is None:
            return wanted
        return max(min(wanted, int((self.max_seconds - seconds) / (seconds / n))), 0)

    def _doubts(self, found: Pool, seconds: float) -> list[str]:
        doubts = found.doubts("raise the sampler's max_particles and n_particles")
        if found.log_evidence_std > self.tolerance:
            doubts.append(
                f"the log evidence is known to {found.log_evidence_std:.2g} nats after {len(found.shares)} "
                f"runs in {seconds:.1f} s, tolerance={self.tolerance:g} is not met: raise max_seconds, or "
                "the sampler's max_particles and n_particles"
            )
        elif len(found.shares) == 1 and found.log_evidence_std > 0.0:
            doubts.append("there was time for one run only, whose error is its own claim: raise max_seconds")
        return doubts


def _together(results: list[EvidenceResult], found: Pool, rows: Rows, start: float) -> EvidenceResult:
    """One answer; the runs have warned already of what they doubt."""
    weights = np.concatenate([u * r.weights for u, r in zip(found.shares, results)])
    with np.errstate(divide="ignore"):
        log_weights = Weights(np.log(weights))
    theta = np.concatenate([r.theta for r in results])
    counts = {name: sum(getattr(r, name) for r in results) for name in ("n_likelihoods", "n_gradients")}
    one = answer(found.log_evidence, found.log_evidence_std, theta, log_weights, rows, start, **counts)
    more = dict(
        n_runs=len(results),
        disagreement=found.disagreement,
        claimed=found.claimed,
        p_value=found.p_value,
    )
    doubting = [r for r in results if r.warnings]
    said = [f"{len(doubting)} of {len(results)} runs: {doubting[0].warnings[0]}"] if doubting else []
    components = _pooled_components([r.components for r in results], found)
    return one._replace(diagnostics=one.diagnostics | more, warnings=tuple(said), components=components)


def _pooled_components(runs: list[ComponentEvidence | None], found: Pool) -> ComponentEvidence | None:
    """Evidences of every number of components, pooled as the largest number's are; None if a run has none."""
    known = [one for one in runs if one is not None]
    if len(known) < len(runs):
        return None
    log_Z = np.array([one.log_evidence for one in known])  # (n, K)
    total = log_sum_exp(log_Z, axis=0)
    u = np.exp(log_Z - total)
    covariance = np.einsum("ri,rij,rj->ij", u, np.array([one.covariance for one in known]), u)
    covariance = covariance * (found.log_evidence_std**2 / max(covariance[-1, -1], 1e-300))
    in_use = found.shares @ np.array([one.in_use for one in known])
    return ComponentEvidence(known[0].n, total - np.log(len(known)), covariance, in_use)


shared: ContextVar[Any] = ContextVar("shared", default=None)


@contextmanager
def sharing(work: Any) -> Iterator[None]:
    """Answers meanwhile may take this work from ``shared``; None: each does its own."""
    token = shared.set(work)
    try:
        yield
    finally:
        shared.reset(token)
