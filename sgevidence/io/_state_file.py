"""A file with a checksum that is complete or not there.

Two lines and an archive:

    sgevidence-state 2
    SHA-256 of all that follows, in hex
    a line of JSON: the version that wrote the file, the class, the fields of our classes in the archive
    the archive

A skops archive is a zip file, which may have something in front, so that skops reads the whole file, too.

A file is written beside its place, under a lock that the system takes back from a process that is killed: a
part without a lock is one that nobody will finish, and the next call removes it.
"""

import contextlib
import errno
import hashlib
import importlib
import io
import json
import os
import re
import stat
import uuid
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from ..exceptions import SavedFileError

try:
    import fcntl
except ImportError:  # not on Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

PACKAGE = __name__.partition(".")[0]
MAGIC = b"sgevidence-state "
#: Number of the layout above and of the modules that files name; another layout gets another number.
STATE = 2
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
