"""Thesis Figure 5.7: mixture of five Gaussians, SGAIS against nested sampling and AIS."""

from common import DEFAULT, PUBLISHED, against_n

from sgevidence import SGAIS
from sgevidence.samplers import AIS, Laplace, NestedSampling

samplers = {
    PUBLISHED: SGAIS.paper(),
    "NS": NestedSampling.paper(),
    "AIS": AIS.paper(),
    DEFAULT: SGAIS(),
    "Laplace": Laplace(n_particles=1000),
}
against_n(__doc__, "mixture", samplers, reference="Laplace", first=PUBLISHED)
