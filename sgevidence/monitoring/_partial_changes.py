r"""A change in some of the columns, while the others go on as before.

A run that began at row s says that a column has changed there, with members that know nothing (F, the density
of its rows so far), or has not (C): then its rows are those of the run that was the most probable among the
older ones before each row.  All columns change with probability one half; else each by itself with ρ = 1/p,
but at least one of the p.  So with G = log F − log C of each column

.. math::
    \frac{p(\text{rows} \mid s)}{\prod_j C_j} = \tfrac12 \prod_j e^{G_j} + \frac{1}{2 (1 - (1-ρ)^p)}
    \sum_j (1-ρ)^{j-1}\, ρ e^{G_j} \prod_{i > j} (ρ e^{G_i} + 1 - ρ),

where j is the first column that has changed: the terms are positive, and nothing cancels.  Without this a run
pays in every column for learning anew what has not changed there, and an older one with heavy tails in one
column is cheaper.

Symbols
-------
======  ===============  ==================================================
here    code             meaning
======  ===============  ==================================================
G       ``log_gain``     of each run, (capacity, columns)
w       ``log_weight``   log posterior of the runs before the row, (R,)
        ``log_z``        log density of the row if the column is new, (R, columns)
======  ===============  ==================================================
"""

import numpy as np


def learn_columns(log_gain: np.ndarray, log_weight: np.ndarray, log_z: np.ndarray) -> np.ndarray:
    """Log predictive density of a row under each run, (R,), which then learns it; nats.

    Runs are in the order of their beginnings; ``log_gain`` changes in place."""
    p = log_z.shape[1]
    if p == 1:
        return log_z[:, 0]
    before, leader = log_gain.copy(), _leaders(log_weight)
    continued = log_z.copy()  # of the oldest run: it goes on as nothing else does
    density: dict[int, np.ndarray] = {}
    for run in sorted(set(leader[1:].tolist())):  # each is led by an older one
        if run:
            continued[run] = density[int(leader[run])]
        gain = before[run] + log_z[run] - continued[run]
        density[run] = continued[run] + _log_column(gain) - _log_column(before[run])
    if density:
        continued[1:] = np.array([density[int(run)] for run in leader[1:]])
    log_gain += log_z - continued
    return continued.sum(1) + _log_run(log_gain) - _log_run(before)


def _leaders(log_weight: np.ndarray) -> np.ndarray:
    """The most probable among the runs that began before each, (R,); of the first, itself."""
    numbers = np.arange(len(log_weight))
    is_record = log_weight >= np.maximum.accumulate(log_weight)
    upto = np.maximum.accumulate(np.where(is_record, numbers, 0))
    return np.append(0, upto[:-1])


def _log_column(gain: np.ndarray) -> np.ndarray:
    """Log density of a column's rows over C, whatever the others do, (columns,)."""
    p = gain.shape[-1]
    share = 0.5 + 0.5 / p / _at_least_one(p)
    return np.logaddexp(np.log(share) + gain, np.log1p(-share))


def _log_run(gain: np.ndarray) -> np.ndarray:
    """Log density of a run's rows over that of columns that all go on, (R,)."""
    p = gain.shape[1]
    changed, stays = gain - np.log(p), np.log1p(-1.0 / p)
    later = np.cumsum(np.logaddexp(changed, stays)[:, ::-1], axis=1)[:, ::-1]
    later = np.column_stack([later[:, 1:], np.zeros(len(gain))])
    log_any = np.logaddexp.reduce(np.arange(p) * stays + changed + later, axis=1) - np.log(_at_least_one(p))
    return np.logaddexp(log_any, gain.sum(1)) + np.log(0.5)


def _at_least_one(p: int) -> float:
    """Probability that one of p columns changes, or more do, each with 1/p."""
    return 1.0 - (1.0 - 1.0 / p) ** p
