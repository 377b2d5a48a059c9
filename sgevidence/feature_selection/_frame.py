"""The best subsets as a DataFrame: imported only where pandas is installed."""

from typing import Any

from pandas import DataFrame

from ._reports import Subsets


class SubsetFrame(Subsets, DataFrame):
    """A DataFrame that prints as a summary, as its first rows do."""

    @property
    def _constructor(self) -> Any:
        return SubsetFrame
