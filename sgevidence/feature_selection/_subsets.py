"""Subsets of columns with their evidences, as chains and averages ask for them, whatever the model is."""

from collections.abc import Sequence

import numpy as np

#: Nats below the best subset from which on a neighbour is not remembered.
NEGLIGIBLE_SUBSET_NATS = 25.0


class Subsets:
    """Log of evidence times prior of subsets, each a bit mask of groups; remembers what was asked.

    A subclass says what the evidence of a subset is.  Every subset has the columns ``always``, the columns of
    a group go in together, and ``log_size_prior`` (n_groups + 1,) is the log prior probability of one subset,
    by its number of groups.
    """

    is_exact = True  #: Are the evidences of neighbours those that each has by itself?
    is_spent = False  #: Have so many subsets been weighed that a search should end?

    def __init__(
        self,
        always: Sequence[int],
        groups: Sequence[Sequence[int]],
        log_size_prior: np.ndarray,
        n_rows: float,
    ) -> None:
        self.always, self.groups = list(always), [list(g) for g in groups]
        self.log_size_prior, self.n_rows = log_size_prior, n_rows
        self.evidences: dict[int, tuple[float, float]] = {}  #: log evidence and rounding of those met
        self.best = -np.inf
        self._flips: dict[int, np.ndarray] = {}

    def evidence(self, state: int) -> tuple[float, float]:
        """Log evidence of a subset, and the error that rounding has left it, nats."""
        raise TypeError(f"{type(self).__name__} does not say what an evidence is")

    def evidences_of_flips(self, state: int) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`evidence` of the subsets with one group more or less, (n_groups,) each."""
        raise TypeError(f"{type(self).__name__} does not say what evidences of neighbours are")

    def weigh(self, states: Sequence[int]) -> None:
        """Ask for the evidences of many subsets, where together they cost less than one by one."""

    def log_prior(self, state: int) -> float:
        """Log prior probability of a subset."""
        return float(self.log_size_prior[state.bit_count()])

    def log_joint(self, state: int) -> float:
        """Log of evidence times prior of a subset."""
        if state not in self.evidences:
            self.evidences[state] = self.evidence(state)
        joint = self.evidences[state][0] + self.log_prior(state)
        if not self.is_exact:  # estimates may be far too high, from where little is explained
            self.best = max(self.best, joint)
        return joint

    def flips(self, state: int) -> np.ndarray:
        """Log of evidence times prior of the subsets with one group more or less, (n_groups,)."""
        if state not in self._flips:
            evidence, lost = self.evidences_of_flips(state)
            others = [state ^ (1 << g) for g in range(len(self.groups))]
            joint = evidence + np.array([self.log_prior(other) for other in others])
            self.best = max(self.best, joint.max()) if self.is_exact else self.best
            for g in np.flatnonzero(joint > self.best - NEGLIGIBLE_SUBSET_NATS) if self.is_exact else ():
                self.evidences.setdefault(others[g], (float(evidence[g]), float(lost[g])))
            self._flips[state] = joint
        return self._flips[state]

    def accurate_flips(self, state: int) -> np.ndarray:
        """:meth:`flips`, by which probabilities are told, where estimates that lead are cheaper."""
        return self.flips(state)

    def columns(self, state: int) -> list[int]:
        """Columns of a subset."""
        return self.always + [j for g, group in enumerate(self.groups) if state >> g & 1 for j in group]
