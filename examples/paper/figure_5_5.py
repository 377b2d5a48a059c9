"""Thesis Figure 5.5: linear regression, SGAIS against nested sampling and AIS."""

from common import DEFAULT, PUBLISHED, against_n

from sgevidence import SGAIS
from sgevidence.samplers import AIS, Exact, NestedSampling

samplers = {
    PUBLISHED: SGAIS.paper(),
    "NS": NestedSampling.paper(),
    "AIS": AIS.paper(),
    DEFAULT: SGAIS(),
    "exact": Exact(),
}
against_n(__doc__, "linear", samplers, reference="exact", first=PUBLISHED)
