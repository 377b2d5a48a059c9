"""Rows as users bring them: arrays, frames, files, Dask; columns known beside them; labels and levels."""

from ._bad_cells import cells_named, validated
from ._collections import Collection, blocks, is_dask, names_of, refuse_unknown_sizes, together
from ._given import arrays_of, at_once, collection_in
from ._input import (
    check_count,
    check_prior_pair,
    column_indices,
    fingerprint,
    generator,
    joined_fingerprint,
    looks_normalised,
    refuse_extreme,
    refuse_unreadable,
)
from ._known import KNOWN, WithKnown, joined, with_known
from ._labels import categories_of, label_indices, levels_in, two_labels
from ._levels import checksum, codes_of, declared_levels, decoded, first_of_levels, given_levels, levels_of
from ._sources import Part, RowSource
from ._text_files import ROW_NAMES, TextFormat, kind_of_text

__all__ = [
    "KNOWN",
    "Collection",
    "Part",
    "ROW_NAMES",
    "RowSource",
    "TextFormat",
    "kind_of_text",
    "WithKnown",
    "arrays_of",
    "at_once",
    "blocks",
    "categories_of",
    "cells_named",
    "check_count",
    "check_prior_pair",
    "checksum",
    "codes_of",
    "collection_in",
    "column_indices",
    "declared_levels",
    "decoded",
    "fingerprint",
    "first_of_levels",
    "generator",
    "given_levels",
    "is_dask",
    "joined",
    "joined_fingerprint",
    "label_indices",
    "levels_in",
    "levels_of",
    "looks_normalised",
    "names_of",
    "refuse_extreme",
    "refuse_unknown_sizes",
    "refuse_unreadable",
    "together",
    "two_labels",
    "validated",
    "with_known",
]
