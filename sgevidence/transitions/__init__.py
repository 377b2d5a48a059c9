"""How a cloud crosses from one posterior to the next, and how particles move on the way."""

from ._anneal import Anneal, Reweight, Rung
from ._answer_cloud import PriorCloud, without_history
from ._base import (
    COUNTS,
    LATEST,
    Adaptation,
    Answered,
    Info,
    Moved,
    Offer,
    State,
    Step,
    Streams,
    Transition,
    check_likelihood,
    check_rows,
)
from ._confirm import confirmed_at_once
from ._constrained import ConstrainedMoves, covariance
from ._crossing import Crossing, committed
from ._from_folds import FromFolds
from ._from_modes import FromModes
from ._from_proposal import FromProposal, Proposal, merged
from ._hmc import HMC, ExactMoves
from ._mode_search import MODE_SEARCH_ROWS, Climbs, Mode, ModeSearch
from ._sghmc import SGHMC, StochasticGradientMoves, StochasticGradients

__all__ = [
    "COUNTS",
    "Info",
    "LATEST",
    "HMC",
    "SGHMC",
    "Anneal",
    "Answered",
    "Climbs",
    "ConstrainedMoves",
    "PriorCloud",
    "Crossing",
    "ExactMoves",
    "FromFolds",
    "FromModes",
    "FromProposal",
    "MODE_SEARCH_ROWS",
    "Mode",
    "ModeSearch",
    "Moved",
    "Offer",
    "Proposal",
    "Reweight",
    "Rung",
    "State",
    "Step",
    "StochasticGradientMoves",
    "StochasticGradients",
    "Streams",
    "Transition",
    "Adaptation",
    "check_likelihood",
    "check_rows",
    "confirmed_at_once",
    "covariance",
    "merged",
    "without_history",
    "committed",
]
