"""How a cloud crosses from one posterior to the next, and how particles move on the way."""

from ._anneal import Anneal, Annealed, Rung
from ._base import (
    Adaptation,
    FromAllRows,
    Moved,
    Offer,
    State,
    Step,
    Streams,
    Transition,
    check_likelihood,
    check_rows,
)
from ._commit import committed
from ._confirm import confirmed_at_once
from ._constrained import ConstrainedMoves, covariance
from ._crossing import Crossing
from ._escort import Escort, Escorted
from ._from_folds import FromFolds
from ._from_proposal import FromProposal, Proposal, Proposed, merged, without_history
from ._hmc import HMC, ExactMoves
from ._mini_batches import StochasticGradientMoves
from ._mode_search import Mode, ModeSearch
from ._modes import ModeImportance, Renewed, is_renewed
from ._offers import is_better, taken
from ._rejuvenate import Rejuvenate
from ._reweight import Reweight, Weighed
from ._sghmc import SGHMC, SGNHT
from ._two_sided_escort import TwoSidedEscort
from ._watchlist import FARTHER, SHORT, Watchlist, nearest

__all__ = [
    "FARTHER",
    "HMC",
    "SGHMC",
    "SGNHT",
    "SHORT",
    "Anneal",
    "Annealed",
    "TwoSidedEscort",
    "ConstrainedMoves",
    "Crossing",
    "Escort",
    "Escorted",
    "ExactMoves",
    "FromAllRows",
    "FromFolds",
    "FromProposal",
    "Mode",
    "ModeImportance",
    "ModeSearch",
    "Moved",
    "Offer",
    "Proposal",
    "Proposed",
    "Rejuvenate",
    "Renewed",
    "Reweight",
    "Rung",
    "State",
    "Step",
    "StochasticGradientMoves",
    "Streams",
    "Transition",
    "Adaptation",
    "Watchlist",
    "Weighed",
    "check_likelihood",
    "check_rows",
    "confirmed_at_once",
    "covariance",
    "is_better",
    "is_renewed",
    "merged",
    "nearest",
    "taken",
    "without_history",
    "committed",
]
