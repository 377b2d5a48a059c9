"""Answers of which a transition was not sure: taken after all if the transitions after it find clearly less.

An estimate without bias is hardly ever much too high (Eq. 3.10), and particles that lost their way claim too
little.
"""

from typing import TypeGuard

import numpy as np

from ..particles import Cloud
from ._base import Offer, Step
from ._modes import Renewed

#: Standard errors, and nats, by which what is offered must exceed what particles claim; or how much larger
#: their error bar must be.
SIGNIFICANT, CLEAR, BLUNTER = 3.0, 0.5, 3.0


def is_better(offered: Offer | None, cloud: Cloud) -> TypeGuard[Offer]:
    """Whether particles claim so much less than what was offered that they lost something, or know less."""
    if offered is None:
        return False
    std = np.hypot(offered.cloud.log_evidence_std, cloud.log_evidence_std)
    exceeds = offered.cloud.log_evidence - cloud.log_evidence > max(SIGNIFICANT * std, CLEAR)
    return bool(exceeds or cloud.log_evidence_std > BLUNTER * offered.cloud.log_evidence_std)


def taken(offered: Offer, step: Step) -> Step:
    """The step with what was offered in the place of the particles."""
    adaptation = step.state.adaptation._replace(components=offered.components)
    state = step.state._replace(cloud=offered.cloud, ell=None, adaptation=adaptation)
    return Step(state, Renewed(n_renewals=1))
