"""Thesis Figure 5.2: linear regression, sequential SG-MCMC and its hybrid against nested sampling."""

from common import against_n

from sgevidence.samplers import Exact, NestedSampling, SequentialSGMCMC

samplers = {
    "sequential": SequentialSGMCMC.paper(),
    "sequential, hybrid": SequentialSGMCMC.paper(initial=NestedSampling.paper()),
    "NS": NestedSampling.paper(),
    "exact": Exact(),
}
against_n(__doc__, "linear", samplers, reference="exact", first="sequential")
