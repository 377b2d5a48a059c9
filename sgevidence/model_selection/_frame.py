"""A comparison as a DataFrame: imported only where pandas is installed."""

from typing import Any

from pandas import DataFrame

from ._summary import Summarised


class ComparisonFrame(Summarised, DataFrame):
    """A DataFrame that prints as a summary; parts of it and what is computed from it are plain DataFrames."""

    @property
    def _constructor(self) -> Any:
        return DataFrame
