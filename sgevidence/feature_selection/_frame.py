"""Subsets as a DataFrame: imported only where pandas is installed."""

from collections.abc import Mapping, Sequence
from typing import Any

from pandas import DataFrame, Index

from ._subset_table import Summarised


class SubsetFrame(Summarised, DataFrame):
    """A DataFrame that prints its subsets; parts of it and what is computed from it are plain DataFrames."""

    @property
    def _constructor(self) -> Any:
        return DataFrame


def subset_frame(columns: Mapping[str, Any], index: Sequence[str]) -> DataFrame:
    """The table of a selector."""
    return SubsetFrame(columns, index=Index(index, name="model"))
