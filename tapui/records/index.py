"""Where each session's records are: an index beside them, for reading without a gateway."""

import contextlib
import fcntl
import os
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.home.locked_folder import FILE_MODE, folder_name

SESSIONS_FOLDER = "sessions"
GATEWAY_FOLDER = "gateway"
ELSEWHERE = "+"
"""Parts a folder's name from the process id where the folder itself was held or unusable."""

_INDEX = "sessions.jsonl"
_COMPACT_AT = 512 * 1024
_KEPT = 1000
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW


class Place(Struct, rename="camel", frozen=True):
    """A line of the index: records of the session `session_id` are in `folder` (absolute)."""

    session_id: str
    folder: str


_decoder = msgspec.json.Decoder(Place)


def note(state_dir: Path, session_id: str, folder: Path) -> None:
    """Add a session's folder to the index; raises `OSError`.

    The index is one small write, shared by all gateways of this home; when it has grown it is
    rewritten with the newest 1,000 places.
    """
    line = msgspec.json.encode(Place(session_id, str(folder))) + b"\n"
    path = state_dir / _INDEX
    for _ in range(3):
        fd = os.open(path, _FLAGS, FILE_MODE)
        try:
            # Without the lock the line could only be lost to a rewrite in the same instant.
            with contextlib.suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not _is_still(path, fd):
                continue
            size = os.fstat(fd).st_size
            if size > _COMPACT_AT:
                _compact(path, fd)
                continue
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(fd, line)
            return
        finally:
            os.close(fd)


def _is_still(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def _compact(path: Path, fd: int) -> None:
    """Replace the index by its newest places, while `fd` holds its lock."""
    places = list(dict.fromkeys(reversed(_parse(os.pread(fd, os.fstat(fd).st_size, 0)))))
    data = b"".join(msgspec.json.encode(place) + b"\n" for place in reversed(places[:_KEPT]))
    fresh = path.with_name(f"{_INDEX}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    new = os.open(fresh, _FLAGS | os.O_EXCL, FILE_MODE)
    try:
        os.write(new, data)
        os.fsync(new)
    finally:
        os.close(new)
    fresh.replace(path)


def _parse(data: bytes) -> list[Place]:
    places = []
    for line in data.split(b"\n"):
        # Lines that another version wrote, or a crash tore, only cost their own session.
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            places.append(_decoder.decode(line))
    return places


def sessions(state_dir: Path) -> dict[str, list[Path]]:
    """Return every known session's folders that exist, the newest used last.

    A session has several when its own was unusable or held by another gateway for a while.
    """
    try:
        data = (state_dir / _INDEX).read_bytes()
    except FileNotFoundError:
        data = b""
    found: dict[str, dict[Path, None]] = {}
    for place in _parse(data):
        folder = Path(place.folder)
        known = found.setdefault(place.session_id, {})
        known.pop(folder, None)
        known[folder] = None
    for session_id, known in found.items():
        for folder in _beside(state_dir / SESSIONS_FOLDER, folder_name(session_id)):
            known.setdefault(folder)
    existing = {id_: [one for one in known if one.is_dir()] for id_, known in found.items()}
    return {id_: places for id_, places in existing.items() if places}


def folders(state_dir: Path, session_id: str) -> list[Path]:
    """Return the folders that hold records of one session, also when the index lacks it."""
    if known := sessions(state_dir).get(session_id):
        return known
    return _beside(state_dir / SESSIONS_FOLDER, folder_name(session_id))


def gateway_folders(state_dir: Path) -> list[Path]:
    """Return the folders that hold records of no session."""
    return _beside(state_dir, GATEWAY_FOLDER)


def _beside(parent: Path, name: str) -> list[Path]:
    """Return the folder `name` in `parent` and those that stood in for it, if they exist."""
    try:
        found = sorted(parent.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in found if path.name.partition(ELSEWHERE)[0] == name and path.is_dir()]
