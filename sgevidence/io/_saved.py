"""Checkpoints: estimators as skops archives, in files that are complete and whose reading runs no code.

A file with a checksum is complete or not there: two lines and an archive.

    sgevidence-state 2
    SHA-256 of all that follows, in hex
    a line of JSON: the version that wrote the file, the class, the fields of our classes in the archive
    the archive

A skops archive is a zip file, which may have something in front, so that skops reads the whole file, too.

A file is written beside its place, under a lock that the system takes back from a process that is killed: a
part without a lock is one that nobody will finish, and the next call removes it.
"""

import contextlib
import dataclasses
import errno
import hashlib
import importlib
import io
import json
import os
import pickle
import re
import stat
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from sklearn.base import BaseEstimator

from ..exceptions import SavedFileError
from ..model_selection import checked_scorer, evidence_scorer, evidence_scorers

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


try:
    import fcntl
except ImportError:  # not on Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

PACKAGE = __name__.partition(".")[0]
MAGIC = b"sgevidence-state "
#: Number of the layout above and of the modules that files name; another layout gets another number.
STATE = 3
DIGEST = 64  #: hex digits of SHA-256
#: Hex digits in the name of a file that is being written.
DIGITS_OF_PART = 8
#: Characters of a state number, or of a version.
MAX_DIGITS = 64


def must_be_a_file(path: Path, error: type[Exception]) -> None:
    """Refuse what is there and no regular file: a folder, a pipe or a device, links followed."""
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe, a socket or a device"
        raise error(f"{path} is {kind}: give the path of a file")


def write(path: Path, header: dict, archive: bytes) -> None:
    """Replace the file at ``path``, or what it links to, when the new one is complete."""
    body = json.dumps({"version": version()} | header).encode() + b"\n" + archive
    digest = hashlib.sha256(body).hexdigest().encode()
    _replace(Path(os.path.realpath(path)), MAGIC + b"%d\n" % STATE + digest + b"\n" + body)


def read(path: Path) -> tuple[dict, bytes]:
    """Header and archive of a file that is whole, and that this version reads."""
    must_be_a_file(path, SavedFileError)
    data = path.read_bytes()
    first, _, rest = data.partition(b"\n")
    number = first.removeprefix(MAGIC)
    if not first.startswith(MAGIC) or not number.isdigit() or len(number) > MAX_DIGITS:
        raise SavedFileError(f"{path} was not written by {PACKAGE}.save: it is {_kind(data)}")
    if int(number) > STATE:
        raise SavedFileError(
            f"{path} has state number {int(number)}, and {PACKAGE} {version()} reads up to {STATE}: upgrade"
        )
    if int(number) < STATE:
        raise SavedFileError(f"{path} was written before the folders of {PACKAGE} moved: fit again")
    digest, body = rest[:DIGEST], rest[DIGEST + 1 :]
    if (
        number != b"%d" % STATE  # such as "02"
        or hashlib.sha256(body).hexdigest().encode() != digest
        or (rest[DIGEST : DIGEST + 1] != b"\n")
    ):
        raise SavedFileError(
            f"{path} is damaged: its checksum is that of other bytes; it was cut off or changed after it was "
            "written"
        )
    line, _, archive = body.partition(b"\n")
    header = _header(path, line)
    if _number(header["version"]) > _number(version()):
        raise SavedFileError(
            f"{path} was written by {PACKAGE} {header['version']}, which is newer than {version()}: upgrade"
        )
    _must_not_grow(path, archive)
    return header, archive


def _header(path: Path, line: bytes) -> dict[str, Any]:
    """The version and the fields of classes, of the types that :func:`write` gives them."""
    try:
        header = json.loads(line)
        fields, of_version = header["fields"], header["version"]
        well_formed = isinstance(of_version, str) and len(of_version) <= MAX_DIGITS
        well_formed = well_formed and isinstance(fields, dict)
    except (ValueError, TypeError, KeyError, RecursionError):
        well_formed = False
    if not well_formed:
        raise SavedFileError(f"{path} has no header of {PACKAGE}.save: somebody else has made or changed it")
    return header


def _must_not_grow(path: Path, archive: bytes) -> None:
    """Archives are stored as they are: one that unpacks to more than its size was made by somebody else."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            entries = file.infolist()
            unpacked = sum(entry.file_size for entry in entries)
    except zipfile.BadZipFile:  # which skops will say
        return
    if unpacked > len(archive):
        raise SavedFileError(
            f"{path} would unpack {len(archive):,} bytes to {unpacked:,}: {PACKAGE}.save packs nothing, so "
            "somebody else has made it"
        )
    packed = [e for e in entries if e.compress_type != zipfile.ZIP_STORED or e.compress_size != e.file_size]
    if packed:  # a size may be a lie
        raise SavedFileError(
            f"{path} has {packed[0].filename!r} packed, or of two sizes: {PACKAGE}.save packs nothing, so "
            "somebody else has made it"
        )


def version() -> str:
    return importlib.import_module(PACKAGE).__version__  # after all layers are imported


def _number(version: str) -> tuple[int, ...]:
    """Numbers of a version such as "0.10.1", to be compared; suffixes do not count."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def _kind(data: bytes) -> str:
    """A guess in words at the program that wrote a foreign file."""
    if not data:
        return "empty"
    if data.startswith(b"PK"):
        return "a zip archive, perhaps of skops.io.dump: read it with skops.io.load"
    if data.startswith(b"\x80") or data[:2] in (b"\x1f\x8b", b"\x78\x9c"):
        return "a pickle or a joblib file, perhaps, which may run any code: read it with its own library"
    if MAGIC.startswith(data) or data.startswith(MAGIC[:-1]):
        return "damaged in its first line"
    return "something else"


def _replace(path: Path, data: bytes) -> None:
    """Write beside the file and rename over it, so that nobody ever sees a part."""
    _remove_unfinished(path)
    part, file = _locked_part(path)
    try:
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                os.replace(part, path)  # before the lock is given back
        if fcntl is None:
            os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    if os.name == "posix":  # the name, too, must survive a power cut
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _locked_part(path: Path) -> tuple[Path, BinaryIO]:
    """A new file beside ``path`` that no other process takes for one that nobody will finish.

    Whoever may not read the file at ``path`` may not read the new one, either.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to save into", str(path.parent))
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    while True:
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:DIGITS_OF_PART]}.part")
        file = open(part, "xb", opener=None if mode is None else _private)
        if mode is not None:
            os.chmod(part, mode)
        with contextlib.suppress(OSError):  # some file systems have no locks
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
        if part.exists():  # not removed before the lock was there
            return part, file
        file.close()


def _private(path: str, flags: int) -> int:
    """Open a file that nobody else may read."""
    return os.open(path, flags, 0o600)


def _remove_unfinished(path: Path) -> None:
    """Parts of processes that were killed, and nothing else, whatever its name."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{{DIGITS_OF_PART}}}\.part")
    with contextlib.suppress(OSError):
        for part in path.parent.iterdir():
            if not name.fullmatch(part.name) or not stat.S_ISREG(part.lstat().st_mode):
                continue
            with contextlib.suppress(OSError), open(part, "rb") as file:
                if not MAGIC.startswith(file.read(len(MAGIC))):
                    continue
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    part.unlink()
            if fcntl is None:
                with contextlib.suppress(OSError):
                    part.unlink()
