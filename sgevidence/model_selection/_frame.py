"""A comparison as a DataFrame: imported only where pandas is installed."""

from typing import Any

from pandas import DataFrame

from ._report import Comparison


class ComparisonFrame(Comparison, DataFrame):
    """A DataFrame that prints as a summary; parts of it and what is computed from it are plain DataFrames."""

    _metadata = ["_facts"]

    @property
    def _constructor(self) -> Any:
        return DataFrame


class SubsetFrame(ComparisonFrame):
    """A comparison of subsets of columns, which are many: its first rows print as a summary, too."""

    @property
    def _constructor(self) -> Any:
        return SubsetFrame
