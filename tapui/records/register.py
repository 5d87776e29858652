"""Where each session's records are: a register of their folders, for reading without a gateway."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.files import private_file
from tapui.files.locked_folder import FILE_MODE, LockedFolder, folder_name

SESSIONS_FOLDER = "sessions"
GATEWAY_FOLDER = "gateway"
ELSEWHERE = "+"
"""Parts a folder's name from the process id where the folder itself was held or unusable."""

REGISTER_FILE = "sessions.jsonl"
_COMPACT_AT = 512 * 1024
_KEPT = 1000
_TRIES = 3
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
_STAND_INS = 3


class RegisterLine(Struct, rename="camel", frozen=True):
    """A line of the register: records of the session `session_id` are in `folder` (absolute)."""

    session_id: str
    folder: str


_decoder = msgspec.json.Decoder(RegisterLine)


def note(state_dir: Path, session_id: str, folder: Path) -> bool:
    """Add a session's folder to the register; return whether it should be compacted by now.

    One small write. The register is shared by all gateways of this home. Raises `OSError`, also
    for a folder whose name is not UTF-8.
    """
    try:
        line = msgspec.json.encode(RegisterLine(session_id, str(folder))) + b"\n"
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "a folder whose name is not UTF-8 cannot be noted") from None
    path = state_dir / REGISTER_FILE
    size = 0
    for _ in range(_TRIES):
        fd = os.open(path, _FLAGS, FILE_MODE)
        try:
            size = private_file.check_own(fd).st_size
            is_torn = size and os.pread(fd, 1, size - 1) != b"\n"
            _write(fd, b"\n" + line if is_torn else line)
            if _is_still(path, fd):
                break
        finally:
            os.close(fd)  # it was replaced by a compacted one: the line goes there, too
    return size > _COMPACT_AT


def _write(fd: int, data: bytes) -> None:
    """Write all of `data`; raises `OSError`, also where only a part of it has room."""
    if data and os.write(fd, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_still(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(fd))
    except FileNotFoundError:
        return False


def compact(state_dir: Path) -> None:
    """Rewrite a grown register with its newest 1,000 lines; raises `OSError`.

    Another process that does the same at the moment does it for us. What is added meanwhile is
    taken along.
    """
    path = state_dir / REGISTER_FILE
    fd = os.open(path, _FLAGS, FILE_MODE)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        size = os.fstat(fd).st_size
        if size > _COMPACT_AT and _is_still(path, fd):
            _replace(path, fd, size)
    finally:
        os.close(fd)


def _replace(path: Path, fd: int, size: int) -> None:
    lines = list(dict.fromkeys(reversed(_parse(os.pread(fd, size, 0)))))
    data = b"".join(msgspec.json.encode(line) + b"\n" for line in reversed(lines[:_KEPT]))
    fresh = path.with_name(f"{REGISTER_FILE}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    new = os.open(fresh, _FLAGS | os.O_EXCL, FILE_MODE)
    try:
        _write(new, data)
        os.fsync(new)
        fresh.replace(path)
        _write(new, os.pread(fd, os.fstat(fd).st_size - size, size))
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    finally:
        os.close(new)


def _parse(data: bytes) -> list[RegisterLine]:
    lines = []
    for line in data.split(b"\n"):
        # Lines that another version wrote, or a crash tore, only cost their own session.
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            lines.append(_decoder.decode(line))
    return lines


def sessions(state_dir: Path) -> dict[str, list[Path]]:
    """Return every known session's folders that exist, the newest used last.

    A session has several when its own was unusable or held by another gateway for a while.
    """
    try:
        data = (state_dir / REGISTER_FILE).read_bytes()
    except FileNotFoundError:
        data = b""
    found: dict[str, dict[Path, None]] = {}
    for line in _parse(data):
        folder = Path(line.folder)
        known = found.setdefault(line.session_id, {})
        known.pop(folder, None)
        known[folder] = None
    own = _by_name(state_dir / SESSIONS_FOLDER)
    for session_id, known in found.items():
        for folder in own.get(folder_name(session_id), ()):
            known.setdefault(folder)
    existing = {id_: [one for one in known if one.is_dir()] for id_, known in found.items()}
    return {id_: places for id_, places in existing.items() if places}


def folders(state_dir: Path, session_id: str) -> list[Path]:
    """Return the folders that hold records of one session, also when the register lacks it."""
    if known := sessions(state_dir).get(session_id):
        return known
    return _beside(state_dir / SESSIONS_FOLDER, folder_name(session_id))


def gateway_folders(state_dir: Path) -> list[Path]:
    return _beside(state_dir, GATEWAY_FOLDER)


def _beside(parent: Path, name: str) -> list[Path]:
    """Return the folder `name` in `parent` and those that stood in for it, if they exist."""
    return _by_name(parent).get(name, [])


def _by_name(parent: Path) -> dict[str, list[Path]]:
    """Return the folders in `parent` by name, each with those that stood in for it."""
    try:
        found = sorted(parent.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    named: dict[str, list[Path]] = {}
    for path in found:
        if path.is_dir():
            named.setdefault(path.name.partition(ELSEWHERE)[0], []).append(path)
    return named


class Place:
    """The folders for the records of one session, or of the gateway (no id), best first.

    `position` is the one in use. `is_noted`: the register has it.
    """

    def __init__(self, session_id: str | None, candidates: list[LockedFolder]) -> None:
        self.session_id = session_id
        self.candidates = candidates
        self.position = 0
        self.is_noted = session_id is None
        self._awaited: Path | None = None

    @classmethod
    def of_session(cls, state_dir: Path, session_id: str, workspace: str | None) -> "Place":
        """Return the place of a session; `workspace` is its host's folder for it, if it has one."""
        name = folder_name(session_id)
        own = list(_own_folders(state_dir, SESSIONS_FOLDER, name))
        if workspace is None:
            return cls(session_id, own)
        base = Path(workspace)
        if base.is_absolute() and "\0" not in workspace:
            base = Path(os.path.realpath(workspace))
        return cls(session_id, [LockedFolder(base, "files", "tap"), *own])

    @classmethod
    def of_gateway(cls, state_dir: Path) -> "Place":
        return cls(None, list(_own_folders(state_dir, GATEWAY_FOLDER)))

    @property
    def path(self) -> Path:
        return self.candidates[self.position].path

    @property
    def name(self) -> str:
        return "the gateway" if self.session_id is None else f"session {self.session_id}"

    def move(self, position: int, refusal: OSError) -> None:
        """Use another candidate, because of `refusal`."""
        if isinstance(refusal, FileNotFoundError) and self.position == 0:
            self._awaited = self.candidates[0].path.parents[1]
        self.position = position
        self.is_noted = self.session_id is None

    def returns(self) -> bool:
        """Go back to the workspace if it was missing and is there by now; say whether it was."""
        if self._awaited is None or not self._awaited.is_dir():
            return False
        self._awaited = None
        self.position = 0
        self.is_noted = False
        return True


def _own_folders(state_dir: Path, *parts: str) -> Iterator[LockedFolder]:
    """Yield the folder below the state folder, and those for when another process holds it."""
    *above, name = parts
    yield LockedFolder(state_dir, *above, name, makes_base=True)
    for number in range(_STAND_INS):
        other = f"{name}{ELSEWHERE}{os.getpid()}" + (f"-{number + 1}" if number else "")
        yield LockedFolder(state_dir, *above, other, makes_base=True)
