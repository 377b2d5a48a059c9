"""Subsets of columns with their evidences, and chains over them.

Where there are too many to enumerate chains walk over them (Madigan and York 1995).  One step of a chain is a
flip and a swap:

* flip a group g of S with probability ∝ √(π(S′)/π(S)), S′ = S △ g, and accept with min(1, Z(S)/Z(S′)), where
  Z sums these roots over all flips (Zanella 2020): the evidences of all neighbours are known anyway;
* remove a group of S at random, and draw one to put there from its conditional probabilities, which leaves π
  as it is.

With B the subsets that the *other* chain has met, and their neighbours, the sum Z of evidence times prior
over all subsets is Σ_B π / (share of the chain's steps that are in B) (George and McCulloch 1997).  The
inclusion probability of a group is its renormalised probability within B (Clyde, Ghosh and Littman 2011)
times that share, plus the share of steps that are outside of B and have the group.  Where B has less than
half of the steps, or evidences of neighbours are estimates, the inclusion probability is the mean along the
chain of the group's probability given all other groups (Rao and Blackwell).

Two chains run from different ends, until they agree or have had enough.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from ..samplers import SILENT, Progress

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


#: Steps between two looks at the chains, looks at least and at most.
STEPS, MIN_LOOKS, MAX_LOOKS = 150, 4, 24
#: Steps that one chain takes before it is the other one's turn, so that both have some of a bounded search.
STEPS_OF_TURN = 10
#: Difference of an inclusion probability between the chains at which they agree, also where evidences are
#: estimates (the error of the mean of both is half of that), and that is said.
AGREED_GAP, AGREED_GAP_OF_ESTIMATES, DOUBTFUL_GAP = 0.01, 0.03, 0.05
#: Steps for each at which conditional probabilities are computed, where estimates that lead are cheaper.
STEPS_PER_CONDITIONAL = 4
#: Subsets of B, at most; share of steps in B from which on B is used.
MAX_SUBSETS_OF_B, COVERED_SHARE = 20_000, 0.5
#: Share of the probability of all subsets met that may be of estimated evidences.
UNREFINED_SHARE = 0.05
#: Batches of a chain, whose scatter is an error bar with 14 degrees of freedom.  That of the four halves,
#: with three, was far too short by chance, but sees what is slower than a batch: the longer one is reported.
BATCHES = 8


class Searched(NamedTuple):
    """The subsets that two chains have met."""

    inclusion: np.ndarray  #: (n_groups,)
    gap: float  #: largest difference between the chains
    log_evidence: float  #: log Σ evidence times prior over all subsets, nats
    log_evidence_std: float


class Chain:
    """One chain, which can be continued."""

    def __init__(self, neighbours: Subsets, state: int, rng: np.random.Generator) -> None:
        self.neighbours, self.state, self.rng = neighbours, state, rng
        self.states: list[int] = []
        self.inclusion: list[np.ndarray] = []
        self._visited: set[int] = set()
        self.met: dict[int, float] = {}  #: subsets visited and their neighbours

    def run(self, steps: int) -> None:
        """Take ``steps`` more steps."""
        for _ in range(steps):
            self._flip()
            self._swap()
            self.states.append(self.state)
            if self.neighbours.is_exact or len(self.states) % STEPS_PER_CONDITIONAL == 0:
                self.inclusion.append(self._conditional())
            if self.state not in self._visited:
                self._visited.add(self.state)
                self.met[self.state] = self.neighbours.log_joint(self.state)
                flips = self.neighbours.flips(self.state)
                near = np.flatnonzero(flips > self.neighbours.best - NEGLIGIBLE_SUBSET_NATS)
                for g in near:  # of several estimates the highest: it is looked at, where it is too high
                    other = self.state ^ (1 << int(g))
                    self.met[other] = max(self.met.get(other, -np.inf), float(flips[g]))

    def _flip(self) -> None:
        now, there = self.neighbours, self.neighbours.flips(self.state)
        rates = 0.5 * (there - now.log_joint(self.state))
        g = self._draw(rates)
        other = self.state ^ (1 << g)
        gain = now.log_joint(other) - now.log_joint(self.state)
        back = 0.5 * (now.flips(other) - now.log_joint(other)) if np.isfinite(gain) else rates
        log_ratio = np.logaddexp.reduce(rates) - np.logaddexp.reduce(back)
        if not now.is_exact:  # the flip and its way back are drawn by two estimates of one ratio
            log_ratio += gain + back[g] - rates[g]
        if np.log(self.rng.random()) < log_ratio:
            self.state = other

    def _swap(self) -> None:
        members = [g for g in range(len(self.neighbours.groups)) if self.state >> g & 1]
        if members:
            rest = self.state ^ (1 << int(self.rng.choice(members)))
            there = self.neighbours.flips(rest).copy()
            there[[g for g in members if rest >> g & 1]] = -np.inf
            other = rest ^ (1 << self._draw(there))
            if self.neighbours.is_exact or self._is_kept(other, rest, there):
                self.state = other

    def _is_kept(self, other: int, rest: int, there: np.ndarray) -> bool:
        """Metropolis and Hastings, where what a group is drawn by is an estimate."""
        old, new = ((state ^ rest).bit_length() - 1 for state in (self.state, other))
        gain = self.neighbours.log_joint(other) - self.neighbours.log_joint(self.state)
        return bool(np.log(self.rng.random()) < gain + there[old] - there[new])

    def _draw(self, log_p: np.ndarray) -> int:
        total = np.cumsum(np.exp(log_p - log_p.max()))  # rng.choice checks its argument for 50 µs
        return int(np.searchsorted(total / total[-1], self.rng.random(), side="right"))

    def _conditional(self) -> np.ndarray:
        """Probability of each group given whether the others are in, (n_groups,)."""
        change = self.neighbours.accurate_flips(self.state) - self.neighbours.log_joint(self.state)
        is_in = np.array([self.state >> g & 1 for g in range(len(change))], dtype=bool)
        return expit(np.where(is_in, -change, change))

    @property
    def along(self) -> np.ndarray:
        """Inclusion probabilities by the conditional ones, (n_groups,)."""
        return np.mean(self.kept(self.inclusion), axis=0)

    @staticmethod
    def kept(steps: list) -> list:
        """After the burn-in."""
        return steps[int(0.25 * len(steps)) :]  # share of a chain that is left out of means


class Estimate(NamedTuple):
    """From the steps of one chain, given what the other has met."""

    covered: float  #: share of the steps in B
    within: np.ndarray  #: inclusion probabilities by B and the steps outside, (n_groups,)
    log_sums: list[float]  #: log Z by halves of the chain
    std: float  #: of log Z, by batches of the chain


def search(neighbours: Subsets, rng: np.random.Generator, progress: Progress = SILENT) -> Searched:
    """Run two chains until they agree."""
    # groups of the subset that the second chain starts from, at most
    size = min(10, len(neighbours.groups) // 2, max(int(neighbours.n_rows) // 4, 1))
    start = sum(1 << int(g) for g in rng.choice(len(neighbours.groups), size=size, replace=False))
    chains = [Chain(neighbours, state, child) for state, child in zip((0, start), rng.spawn(2))]
    gap = np.inf
    for look in range(MAX_LOOKS):
        for _ in range(STEPS // STEPS_OF_TURN):
            if not neighbours.is_spent:
                for chain in chains:
                    chain.run(STEPS_OF_TURN)
                progress(_words(chains, gap))
        if look + 1 < MIN_LOOKS and not neighbours.is_spent:
            continue
        estimates = [estimate(*pair) for pair in (chains, chains[::-1])] if neighbours.is_exact else []
        by_B = neighbours.is_exact and min(e.covered for e in estimates) >= COVERED_SHARE
        one, other = [e.within for e in estimates] if by_B else [chain.along for chain in chains]
        gap = float(np.abs(one - other).max())
        if gap < (AGREED_GAP if neighbours.is_exact else AGREED_GAP_OF_ESTIMATES) or neighbours.is_spent:
            break
    if not neighbours.is_exact:
        refine(chains, neighbours)
        estimates = [estimate(*pair) for pair in (chains, chains[::-1])]
    sums = [value for e in estimates for value in e.log_sums]
    if len(sums) < 4:  # a half of a chain was never where the other one was
        bound = float(logsumexp(list((chains[0].met | chains[1].met).values())))
        return Searched((one + other) / 2, gap, bound, np.inf)
    by_batches = float(np.hypot(estimates[0].std, estimates[1].std)) / 2
    return Searched(
        (one + other) / 2, gap, float(np.mean(sums)), max(by_batches, float(np.std(sums, ddof=1)) / 2)
    )


def _words(chains: list[Chain], gap: float) -> str:
    n_met = max(len(chain.met) for chain in chains)  # their union would take longer than their steps
    differ = f", probabilities of the columns differ by {gap:.3f}" if np.isfinite(gap) else ""
    return f"search: step {len(chains[0].states)} of {STEPS * MAX_LOOKS} at most, {n_met} subsets met{differ}"


def refine(chains: list[Chain], neighbours: Subsets) -> None:
    """Evidences in the place of estimates, for the neighbours that carry the probability of all met."""
    for chain in chains:
        known = chain.met.keys() & neighbours.evidences.keys()
        chain.met |= {state: neighbours.log_joint(state) for state in known}
    met = chains[0].met | chains[1].met
    guessed = [state for state in met if state not in neighbours.evidences]
    joint = np.array([met[state] for state in guessed])
    order = np.argsort(-joint, kind="stable")
    share = np.exp(joint[order] - logsumexp(list(met.values())))
    rest = share.sum() - np.cumsum(share) + share  # of this one and all after it
    neighbours.weigh([guessed[i] for i in order[rest > UNREFINED_SHARE]])
    for i in order[rest > UNREFINED_SHARE]:
        value = neighbours.log_joint(guessed[i])
        for chain in chains:
            if guessed[i] in chain.met:
                chain.met[guessed[i]] = value


def estimate(chain: Chain, other: Chain) -> Estimate:
    """The estimate of one chain, where B are the best subsets that the other chain has met."""
    n_groups = len(chain.neighbours.groups)
    best = sorted(other.met.items(), key=lambda item: -item[1])[:MAX_SUBSETS_OF_B]
    B = {state for state, _ in best}
    joint = np.array([value for _, value in best])
    mass = logsumexp(joint)
    steps = chain.kept(chain.states)
    hits = np.array([state in B for state in steps])
    outside = members([state for state, hit in zip(steps, hits) if not hit], n_groups)
    within = hits.mean() * (np.exp(joint - mass) @ members([state for state, _ in best], n_groups))
    return Estimate(
        covered=float(hits.mean()),
        within=within + outside.sum(axis=0) / len(steps),
        log_sums=[float(mass - np.log(half.mean())) for half in np.array_split(hits, 2) if half.any()],
        std=_std_of_log_share(hits),
    )


def _std_of_log_share(hits: np.ndarray) -> float:
    """By batches, and never less than by one more step outside."""
    means = [batch.mean() for batch in np.array_split(hits, BATCHES)]
    std = np.hypot(np.std(means, ddof=1) / np.sqrt(BATCHES), 1 / len(hits))
    return float(std / max(hits.mean(), 1 / len(hits)))


def members(states: list[int], n_groups: int) -> np.ndarray:
    """Which groups are in, (n_states, n_groups)."""
    size = max((n_groups + 7) // 8, 1)
    packed = np.frombuffer(b"".join(state.to_bytes(size, "little") for state in states), dtype=np.uint8)
    return np.unpackbits(packed.reshape(-1, size), axis=1, count=n_groups, bitorder="little")
