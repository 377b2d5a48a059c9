"""A file with a checksum that is complete or not there.

Two lines and an archive:

    sgevidence-state 1
    SHA-256 of all that follows, in hex
    a line of JSON: the version that wrote the file, the class, the fields of our classes in the archive
    the archive

A skops archive is a zip file, which may have something in front, so that skops reads the whole file, too.
"""

import contextlib
import hashlib
import importlib
import json
import os
import uuid
from pathlib import Path

from ..exceptions import SavedFileError

PACKAGE = __name__.partition(".")[0]
MAGIC = b"sgevidence-state "
#: Number of the layout above; another layout gets another number.
STATE = 1
DIGEST = 64  #: hex digits of SHA-256


def write(path: Path, header: dict, archive: bytes) -> None:
    """Replace the file at ``path``, or what it links to, when the new one is complete."""
    body = json.dumps({"version": version()} | header).encode() + b"\n" + archive
    digest = hashlib.sha256(body).hexdigest().encode()
    _replace(Path(os.path.realpath(path)), MAGIC + b"%d\n" % STATE + digest + b"\n" + body)


def read(path: Path) -> tuple[dict, bytes]:
    """Header and archive of a file that is whole, and that this version reads."""
    data = path.read_bytes()
    first, _, rest = data.partition(b"\n")
    number = first.removeprefix(MAGIC)
    if not first.startswith(MAGIC) or not number.isdigit():
        raise SavedFileError(f"{path} was not written by {PACKAGE}.save: it is {_kind(data)}")
    if int(number) > STATE:
        raise SavedFileError(
            f"{path} has state number {int(number)}, and {PACKAGE} {version()} reads up to {STATE}: upgrade"
        )
    digest, body = rest[:DIGEST], rest[DIGEST + 1 :]
    if (
        number != b"%d" % STATE
        or hashlib.sha256(body).hexdigest().encode() != digest
        or (rest[DIGEST : DIGEST + 1] != b"\n")
    ):
        raise SavedFileError(
            f"{path} is damaged: its checksum is that of other bytes; it was cut off or changed after it was "
            "written"
        )
    line, _, archive = body.partition(b"\n")
    header = json.loads(line)
    if _number(header["version"]) > _number(version()):
        raise SavedFileError(
            f"{path} was written by {PACKAGE} {header['version']}, which is newer than {version()}: upgrade"
        )
    return header, archive


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
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with open(part, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
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
