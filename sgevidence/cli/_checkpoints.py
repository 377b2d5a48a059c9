"""Checkpoints of the commands: files that a later run, after a crash or a kill, continues from."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from ..io import load, save
from ..rows import RowSource
from ._models import Models, given

#: Rows of ``watch`` from one checkpoint to the next.
WATCHED_ROWS = 500


def resumed(fresh: Any, path: Path) -> Any:
    """The estimator of the file, or the fresh one where there is no file yet.

    ValueError if the file is damaged, or that of a run with other options.
    """
    if not path.exists():
        return fresh
    found = load(path)
    wanted, known = (
        {"class": type(one).__name__} | {name: repr(value) for name, value in one.get_params(False).items()}
        for one in (fresh, found)
    )
    if differing := [name for name in wanted if wanted[name] != known.get(name)]:
        words = ", ".join(f"{name}={known.get(name)} in the place of {wanted[name]}" for name in differing)
        raise ValueError(f"{path} is a checkpoint of {words}: give these options again, or another file")
    return found


def learnt_in_batches(models: Models, source: RowSource, folder: str, steps: Any) -> dict[str, Any]:
    """The models after all batches of a file, each saved in the folder after each of its batches."""
    os.makedirs(folder, exist_ok=True)
    classes = labels(source) if any(is_classifier(model) for model, _ in models.values()) else None
    return {
        name: learnt(model, names, source, Path(folder) / f"{number}.sge", classes)
        for number, (name, (model, names)) in enumerate(steps(models.items()))
    }


def learnt(model: Any, names: tuple[str, ...], source: RowSource, path: Path, classes: Any) -> Any:
    """A model after the batches that it has not seen."""
    model, n_rows = resumed(model, path), 0
    more = {"classes": classes} if is_classifier(model) else {}
    for part in source.batches(get_tags(model).input_tags.allow_nan):
        n_before, weight = n_rows, part.sample_weight
        n_rows += len(part.X) if weight is None else int(np.count_nonzero(weight))
        n_seen = getattr(model, "n_samples_seen_", 0)
        if n_before < n_seen < n_rows:
            raise ValueError(f"{path} ends within the rows of a batch: its rows are those of other data")
        if n_rows > n_seen:
            model.partial_fit(part.X, part.y, **given(part, names), **more)
            save(model, path)
    if n_rows < model.n_samples_seen_:
        raise ValueError(f"{path} has learnt {model.n_samples_seen_} rows, and {source.source} has {n_rows}")
    return model


def labels(source: RowSource) -> np.ndarray:
    """All labels of rows with a weight, as a first batch need not have each."""
    found = []
    for part in source.batches():
        y, weight = np.asarray(part.y), part.sample_weight
        found.append(np.unique(y if weight is None else y[weight > 0]))
    return np.unique(np.concatenate(found))
