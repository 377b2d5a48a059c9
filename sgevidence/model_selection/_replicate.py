"""Independent seeds of one fit: their evidence pooled, and whether they agree as their errors claim."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.random import sample_without_replacement

from ..exceptions import warn_caller
from ..history import task_workers
from ..samplers import pool
from ._candidates import candidate, for_last_step, last_step


@dataclass(frozen=True, repr=False)
class Replicates:
    """Independent fits of one model to the same rows, pooled.

    It has the attributes of a fitted estimator that :func:`compare` and the displays read.

    Parameters
    ----------
    estimators_ : list of estimators
        The fits, each with a seed of its own.
    log_evidences_, log_evidences_std_ : ndarray of shape (n,)
        Log evidence of each fit, nats.
    log_evidence_ : float
        Log of the mean of the evidences, nats.
    log_evidence_std_ : float
        Its standard error, nats: from the fits' claims, times √(Q / (n−1)) where that is more than one.
    disagreement_ : float
        Standard deviation of ``log_evidences_``, nats.
    claimed_ : float
        Root mean square of ``log_evidences_std_``, nats: what the disagreement should be.
    p_value_ : float
        Probability of a disagreement Q at least as large if the claimed errors are true.
    n_samples_seen_, data_fingerprint_ : int or None
        As the estimators have them.

    See Also
    --------
    replicate : Makes one.
    """

    estimators_: list[Any]
    log_evidences_: np.ndarray
    log_evidences_std_: np.ndarray
    log_evidence_: float
    log_evidence_std_: float
    disagreement_: float
    claimed_: float
    p_value_: float
    n_samples_seen_: int | None
    data_fingerprint_: int | None

    def __repr__(self) -> str:
        each = ", ".join(f"{z:.2f} ± {s:.2f}" for z, s in zip(self.log_evidences_, self.log_evidences_std_))
        return (
            f"Replicates of {type(last_step(self.estimators_[0])).__name__}, {len(self.estimators_)} seeds\n"
            f"  log evidence   {self.log_evidence_:.3f} ± {self.log_evidence_std_:.3f} nats\n"
            f"  seeds          {each}\n"
            f"  disagreement   {self.disagreement_:.3f} nats, claimed {self.claimed_:.3f} "
            f"(p = {self.p_value_:.2g})"
        )

    def __sklearn_tags__(self) -> Any:
        return get_tags(last_step(self.estimators_[0]))

    @property
    def warnings_(self) -> list[str]:
        """Why the pooled answer should not be trusted as it is."""
        found = pool(self.log_evidences_, self.log_evidences_std_)
        return found.doubts("raise the sampler's max_particles and n_particles", of="seeds")


def replicate(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    n: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: ArrayLike | None = None,
) -> Replicates:
    """Fit clones with independent seeds, pool their evidence and see whether they agree.

    Parameters
    ----------
    estimator : estimator
        With ``random_state`` and, after ``fit``, ``log_evidence_`` and ``log_evidence_std_``; also in a
        pipeline.  It is not fitted itself.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), optional
    n : int, default=5
        Fits.  With five, errors three times too small are found out four times in five.
    n_jobs : int or None, default=None
        Fits at a time, through joblib.  The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seeds of the clones are drawn from it.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.

    Returns
    -------
    Replicates
        ``log_evidence_``, ``log_evidence_std_`` of the pool, ``disagreement_`` beside ``claimed_``,
        ``p_value_`` and the fits.

    Raises
    ------
    ValueError
        If ``n`` is less than two, or the estimator has no ``random_state``.
    TypeError
        If it has no ``log_evidence_`` after ``fit``.

    Warns
    -----
    EvidenceWarning
        If the seeds disagree more than their errors claim (p < 0.01).

    See Also
    --------
    compare : Takes replicates in the place of estimators.

    Notes
    -----
    Seeds show the scatter of the estimate, not an error that they all share: a mode that no seed finds, or a
    bias of the moves.  For that, ask another sampler.

    Examples
    --------
    >>> import numpy as np
    >>> from sgevidence import BayesianGMM, replicate
    >>> X = np.random.default_rng(0).standard_normal((60, 1))
    >>> pool = replicate(BayesianGMM(1), X, n=3, random_state=0)
    >>> pool.log_evidences_.shape, pool.log_evidence_std_ < 0.5
    ((3,), True)
    """
    if not isinstance(n, Integral) or n < 2:
        raise ValueError(f"n must be an integer of at least 2, got {n!r}")
    clones = [clone(estimator) for _ in range(n)]
    if not seed(clones, random_state):
        raise ValueError(f"{type(estimator).__name__} has no random_state: its replicates would be one fit")
    params = {} if sample_weight is None else {"sample_weight": sample_weight}
    if not get_config()["enable_metadata_routing"]:
        params = for_last_step(estimator, params)
    with task_workers(n_jobs, n, X):
        fits = Parallel(n_jobs=n_jobs, pre_dispatch="all")(delayed(_fit)(one, X, y, params) for one in clones)
    found = pooled(fits)
    warn_caller(*found.warnings_)
    return found


def pooled(fits: Sequence[Any]) -> Replicates:
    """The pool of fits that differ in their seeds only."""
    one, *_ = each = [candidate(f"fit {i}", fit) for i, fit in enumerate(fits)]
    log_Z, s = np.array([(c.log_evidence, c.log_evidence_std) for c in each]).T
    found = pool(log_Z, s)
    return Replicates(
        estimators_=list(fits),
        log_evidences_=log_Z,
        log_evidences_std_=s,
        log_evidence_=found.log_evidence,
        log_evidence_std_=found.log_evidence_std,
        disagreement_=found.disagreement,
        claimed_=found.claimed,
        p_value_=found.p_value,
        n_samples_seen_=one.n_samples,
        data_fingerprint_=one.fingerprint,
    )


def _fit(estimator: Any, X: Any, y: Any, params: dict[str, Any]) -> Any:
    return estimator.fit(X, y, **params)


def seed(clones: Iterable[Any], random_state: Any) -> int:
    """Distinct seeds for every ``random_state`` parameter of every clone, in pipelines too: their number.

    The clones are changed in place.
    """
    seeded = [
        (one, key)
        for one in clones
        for key in sorted(one.get_params(deep=True))
        if key == "random_state" or key.endswith("__random_state")
    ]
    rng = check_random_state(random_state)
    for (one, key), value in zip(
        seeded, sample_without_replacement(2**31 - 1, len(seeded), random_state=rng)
    ):
        one.set_params(**{key: int(value)})
    return len(seeded)
