r"""Do two classes differ only in who has not answered?  A missing answer that is a level may be all they are.

Rows are shared among classes by their probabilities.  Of two classes k, l and of a column, separate
probabilities are compared with common ones, given these shares, with DM the Dirichlet-multinomial
probability of counts:

    of the answers:  log DM(answers_k) + log DM(answers_l) − log DM(answers_k + answers_l),
    of the silence:  the same, of (answered, missing).

Sums over columns say what tells the classes apart.

Symbols: ``c`` = concentration of the levels; ``R`` = shares, (K, n); counts of levels, (K, L).
"""

from typing import Any

import numpy as np
from scipy.special import gammaln

#: Nats for other shares of missing answers, from which on two classes differ in them.  Classes that there are
#: had 160 and more in 160 × 6 answers, and of a class too many, which splits one by chance, up to 9.
MIN_SILENCE_NATS = 10.0
#: Particles whose classes share out the rows.
PARTICLES_OF_SHARES = 32


def differ_by_silence(
    model: Any, theta: np.ndarray, log_evidence: float, rows: Any, is_missing: list[bool]
) -> tuple | None:
    """Two classes, in the slots of ``weights_``, that missing answers alone tell apart; None if none are.

    None, too, where the rows, whose log evidence is given, speak for a single class.  ``is_missing`` says
    which columns have a missing answer as their last level.
    """
    one = [_log_dm(n, model.category_concentration) for n in _counts(model, rows.weight[None], rows)]
    if log_evidence <= np.sum(one):
        return None
    answers, silence = _told(model, _shares(model, theta, rows), rows, is_missing)
    found = np.argwhere(np.triu((silence > MIN_SILENCE_NATS) & (answers <= 0.0), 1))
    return tuple(found[np.argmax(silence[tuple(found.T)])].tolist()) if len(found) else None


def _shares(model: Any, theta: np.ndarray, rows: Any) -> np.ndarray:
    """Rows of each class by weight, (K, n)."""
    chosen = np.unique(np.linspace(0, len(theta) - 1, PARTICLES_OF_SHARES).astype(int))
    log_p = model.component_log_densities(model.canonicalize(theta)[chosen], rows.X)
    p = np.exp(log_p - np.max(log_p, axis=0))
    return np.mean(p / p.sum(axis=0), axis=1) * rows.weight


def _told(model: Any, R: np.ndarray, rows: Any, is_missing: list[bool]) -> tuple[np.ndarray, np.ndarray]:
    """Nats by which answers, and missing ones, speak for two classes and not for one, (K, K) each."""
    K, c = len(R), model.category_concentration
    answers, silence = np.zeros((K, K)), np.zeros((K, K))
    for counts, has_missing in zip(_counts(model, R, rows), is_missing):
        if has_missing:
            missing, counts = counts[:, -1], counts[:, :-1]
            silence += _apart(np.stack([counts.sum(axis=1), missing], axis=1), c)
        answers += _apart(counts, c)
    return answers, silence


def _counts(model: Any, R: np.ndarray, rows: Any) -> list[np.ndarray]:
    """Counts of the levels of each column among rows that are shared out, (K, L) each."""
    columns = zip(rows.X.T, model.n_levels)
    return [np.stack([R @ (x == level) for level in range(L)], axis=1) for x, L in columns]


def _apart(counts: np.ndarray, c: float) -> np.ndarray:
    """Log Bayes factor of probabilities of their own, for each pair of classes, (K, K)."""
    alone, both = _log_dm(counts, c), _log_dm(counts[:, None] + counts, c)
    return alone[:, None] + alone - both


def _log_dm(counts: np.ndarray, c: float) -> np.ndarray:
    """Log probability of counts of levels, in one order, under a symmetric Dirichlet prior."""
    total, n_levels = counts.sum(axis=-1), counts.shape[-1]
    own = (gammaln(counts + c) - gammaln(c)).sum(axis=-1)
    return own + gammaln(n_levels * c) - gammaln(total + n_levels * c)
