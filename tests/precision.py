"""Single precision switched off, to compare to ten digits."""

from dataclasses import replace

from sgevidence.mixture.models import MixtureModel
from sgevidence.models import SoftmaxModel


def sum_in_double(monkeypatch) -> None:
    """The models that use single precision do not."""
    for model in (MixtureModel, SoftmaxModel):
        monkeypatch.setattr(model, "evaluation", replace(model.evaluation, single_precision_total=0.0))
