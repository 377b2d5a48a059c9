"""How a cloud crosses from one posterior to the next, and how particles move on the way."""

from ._anneal import Anneal, Annealed, Reweight, Rung, Weighed
from ._answer_cloud import PriorCloud, without_history
from ._base import (
    Adaptation,
    Answered,
    Moved,
    Offer,
    State,
    Step,
    Streams,
    Transition,
    check_likelihood,
    check_rows,
)
from ._climbs import Climbs
from ._confirm import confirmed_at_once
from ._constrained import ConstrainedMoves, covariance
from ._crossing import Crossing, committed
from ._from_folds import FromFolds
from ._from_modes import FromModes
from ._from_proposal import FromProposal, Proposal, Proposed, merged
from ._hmc import HMC, ExactMoves
from ._mode_search import Mode, ModeSearch
from ._modes import ModeImportance, Renewed
from ._sghmc import SGHMC, StochasticGradientMoves, StochasticGradients

__all__ = [
    "HMC",
    "SGHMC",
    "Anneal",
    "Answered",
    "Annealed",
    "Climbs",
    "ConstrainedMoves",
    "PriorCloud",
    "Crossing",
    "ExactMoves",
    "FromFolds",
    "FromModes",
    "FromProposal",
    "Mode",
    "ModeImportance",
    "ModeSearch",
    "Moved",
    "Offer",
    "Proposal",
    "Proposed",
    "Renewed",
    "Reweight",
    "Rung",
    "State",
    "Step",
    "StochasticGradientMoves",
    "StochasticGradients",
    "Streams",
    "Transition",
    "Adaptation",
    "Weighed",
    "check_likelihood",
    "check_rows",
    "confirmed_at_once",
    "covariance",
    "merged",
    "without_history",
    "committed",
]
