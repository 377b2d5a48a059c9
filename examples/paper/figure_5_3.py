"""Thesis Figure 5.3: logistic regression, sequential SG-MCMC and its hybrid against nested sampling."""

from common import against_n

from sgevidence.samplers import Laplace, NestedSampling, SequentialSGMCMC

samplers = {
    "sequential": SequentialSGMCMC.paper(),
    "sequential, hybrid": SequentialSGMCMC.paper(initial=NestedSampling.paper()),
    "NS": NestedSampling.paper(),
    "Laplace": Laplace(n_particles=1000),
}
against_n(__doc__, "logistic", samplers, reference="Laplace", first="sequential")
