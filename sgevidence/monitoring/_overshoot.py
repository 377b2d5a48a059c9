r"""How far the threshold is overshot: false alarms as a fraction of the martingale's bound.

Rows whose noise is not Gaussian about a level are learnt more slowly, a young run and an old one differ by
more, and there are twice as many alarms; where volatility clusters there are more than the bound says.  Which
kind they are is what the posterior of the members says.

Symbols
-------
======  ==============  ===============================================================
here    code            meaning
======  ==============  ===============================================================
R, S    ``log_member``  (R, columns, S, noises × tails): log posterior of the members of
                        each run, S structures; rows of any shape have the rest
w       ``weight``      posterior of the runs, (R,)
======  ==============  ===============================================================
"""

import numpy as np

from ._tails import TAILS

#: Measured on streams without a change: of Gaussian noise about a level, and the middle of eight other kinds
#: (0.31 to 0.66, see docs/monitoring.md).
PLAIN, OTHER = 0.22, 0.45
#: Fraction for rows whose volatility is seen to cluster: 100 streams of 400 rows of a GARCH(0.1, 0.85), half
#: of which are seen to, gave 40 alarms.  It is no member of the family, and the bound does not hold.
CLUSTERED = 4.2


def overshoot_of_members(log_member: np.ndarray, structures: list[str], weight: np.ndarray) -> float:
    """The fraction for rows that have these posteriors; the mean of columns."""
    about_a_level = [name in ("level", "trend") for name in structures]
    tails = np.array([name in ("Gaussian", "strays") for name in TAILS])
    regular = np.resize(tails, log_member.shape[3])  # the kinds of tails alternate
    members = np.exp(log_member[:, :, about_a_level][..., regular])
    plain = float(weight @ members.sum((2, 3)).mean(1))
    volatile = np.array([name == "volatile" for name in structures], dtype=bool)
    clustered = float(weight @ np.exp(log_member[:, :, volatile]).sum((2, 3)).mean(1))
    return PLAIN * plain + OTHER * (1.0 - plain - clustered) + CLUSTERED * clustered
