"""Checkpoints: estimators as skops archives, in files that are complete and whose reading runs no code."""

import dataclasses
import importlib
import io
import os
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from ..exceptions import SavedFileError
from ..model_selection import checked_scorer, evidence_scorer, evidence_scorers
from ._state_file import PACKAGE, must_be_a_file, read, version, write

#: Beside our own classes: what averages and searches hold.  A function could be called with anything, so that
#: not all of ours are in it.
HELD_CLASSES = frozenset(
    {"sklearn.utils._bunch.Bunch"}
    | {
        f"{f.__module__}.{f.__qualname__}"
        for f in (checked_scorer, evidence_scorer, *evidence_scorers.values())
    }
)


def save(estimator: Any, path: str | os.PathLike) -> None:
    """Write an estimator, averager, selector or monitor to a file, from which its stream can be continued.

    Parameters
    ----------
    estimator : scikit-learn estimator
        An estimator of this package, or one that contains some, such as a pipeline or a search.
    path : str or path-like
        An existing file is replaced when the new one is complete: after a crash at any moment, the file is
        the old one or the new one.

    Raises
    ------
    ImportError
        If skops is not installed.
    TypeError
        If the object is no estimator.
    ValueError
        If the estimator holds a function that has no import path: a lambda, or one defined in another; if
        there is a folder, a pipe or a device at the path, or where it links to.

    See Also
    --------
    load : The way back.

    Notes
    -----
    After :func:`load` the next ``partial_fit`` gives the digits of the uninterrupted stream.  Functions of a
    :class:`~sgevidence.BayesianModel` are stored as their import path, and not as code.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from sgevidence import BayesianLinearRegression, load, save
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> model = BayesianLinearRegression(random_state=0).partial_fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.sge"))
    ...     again = load(os.path.join(folder, "model.sge"))
    >>> again.log_evidence_ == model.log_evidence_
    True
    """
    skops_io = _skops()
    if not isinstance(estimator, BaseEstimator):
        raise TypeError(f"save takes estimators, averagers and monitors, got a {type(estimator).__name__}")
    must_be_a_file(Path(path), ValueError)
    _check_import_paths(estimator)
    archive = skops_io.dumps(estimator)
    names = skops_io.get_untrusted_types(data=archive)
    header = {
        "class": type(estimator).__name__,
        "fields": {name: fields for name in names if (fields := _fields(_own_class(name))) is not None},
    }
    write(Path(path), header, archive)


def load(path: str | os.PathLike, trusted: Sequence[str] = ()) -> Any:
    """An estimator from a file that :func:`save` has written; no code of the file is run.

    Parameters
    ----------
    path : str or path-like
    trusted : sequence of str, default=()
        Import paths of functions and classes, outside of this package and of scikit-learn's estimators, that
        the file may name, such as the functions of a :class:`~sgevidence.BayesianModel`.  Their modules are
        imported.

    Returns
    -------
    estimator : scikit-learn estimator
        As it was saved: its next ``partial_fit`` gives the digits of the uninterrupted stream.

    Raises
    ------
    ImportError
        If skops is not installed.
    FileNotFoundError
        If there is no file.
    SavedFileError
        A ValueError: if the file was not written by :func:`save`, is damaged, was written by a newer version
        or by an older one that keeps other numbers, or names what is not ``trusted``.

    See Also
    --------
    save : The way there, with an example.
    """
    skops_io = _skops()
    header, archive = read(Path(path))
    try:
        unknown = skops_io.get_untrusted_types(data=archive)
        ours = [name for name in unknown if name in HELD_CLASSES or _own_class(name) is not None]
        _check_fields(path, header)
        if foreign := sorted(set(unknown) - set(ours) - set(trusted)):
            raise SavedFileError(
                f"{path} names {', '.join(foreign)}, which would be imported: "
                f"if you trust this file, call load(path, trusted={foreign})"
            )
        estimator = skops_io.loads(archive, trusted=[*ours, *trusted])
    except SavedFileError:
        raise
    except (ImportError, AttributeError) as error:  # the user's module is another one now
        raise SavedFileError(f"{path} names what cannot be imported here: {error}") from error
    except Exception as error:  # whatever skops raises on a file that somebody else has made
        raise SavedFileError(
            f"{path} cannot be read by skops ({type(error).__name__}: {error}); it was written by "
            f"{PACKAGE} {header['version']}"
        ) from error
    if not isinstance(estimator, BaseEstimator):
        raise SavedFileError(f"{path} holds a {type(estimator).__name__}, which is no estimator")
    try:
        estimator.get_params()
    except AttributeError as error:  # a parameter that there was not yet
        raise SavedFileError(
            f"{path} was written by {PACKAGE} {header['version']}, whose {type(estimator).__name__} has "
            f"other parameters: read the file with that version, or fit again ({error})"
        ) from error
    return estimator


def trusted_types(estimator: Any) -> list[str]:
    """Names of the classes and functions that skops has to be told to trust in an estimator.

    Parameters
    ----------
    estimator : scikit-learn estimator

    Returns
    -------
    list of str
        For ``skops.io.load(path, trusted=...)`` and
        ``mlflow.sklearn.log_model(estimator, skops_trusted_types=...)``.

    Raises
    ------
    ImportError
        If skops is not installed.
    """
    skops_io = _skops()
    return skops_io.get_untrusted_types(data=skops_io.dumps(estimator))


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("saved files are skops archives, which need skops: pip install skops") from error
    return skops.io


def _own_class(name: str) -> type | None:
    """The class of this package that has this import path: a name in a module that it only uses has none."""
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] != PACKAGE:
        return None
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError):  # also of names that are none
        return None
    return found if isinstance(found, type) and found.__module__ == module else None


def _fields(cls: type | None) -> list[str] | None:
    """Names of what a tuple or dataclass holds, which another version may hold in another order."""
    if cls is None:
        return None
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return list(cls._fields) if issubclass(cls, tuple) and hasattr(cls, "_fields") else None


def _check_import_paths(estimator: Any) -> None:
    """Functions are stored by name: refuse one that its name does not lead to, as pickle does."""

    class Nowhere(io.RawIOBase):
        def write(self, data: Any) -> int:
            return memoryview(data).nbytes

    try:
        pickle.Pickler(Nowhere(), protocol=5).dump(estimator)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{type(estimator).__name__} holds what has no import path ({error}): functions are saved by "
            "name, so define them at the top of a module"
        ) from error


def _check_fields(path: Any, header: dict) -> None:
    """The classes of the file are those of this version."""
    for name, fields in header["fields"].items():
        if _fields(_own_class(name)) != fields:
            raise SavedFileError(
                f"{path} was written by {PACKAGE} {header['version']}, whose {name.rpartition('.')[2]} holds "
                f"other fields than that of {version()}: read the file with that version, or fit again"
            )
