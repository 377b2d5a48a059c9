"""A comparison as a DataFrame: imported only where pandas is installed."""

from typing import Any

from pandas import DataFrame

from ._summary import Comparison


class ComparisonFrame(Comparison, DataFrame):
    """A DataFrame that prints as a summary; parts of it and what is computed from it are plain DataFrames."""

    _metadata = ["_facts"]

    @property
    def _constructor(self) -> Any:
        return DataFrame
