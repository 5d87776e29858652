"""The ways into sessions that tapui's extension of Copilot CLI opens (`extension.mjs`).

Each session of a CLI with the extension has a file `tapui/doors/<pid of the CLI>-<pid>.json` in
Copilot's folder, private to its user. It names the session, a port on loopback, and the token that
must be said there.
"""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import psutil
from msgspec import Struct

from tapui.secret import Secret

FOLDER = ("tapui", "doors")
_MAX_BYTES = 4096
_MAX_PORT = 65535


class _DoorFile(Struct):
    port: int
    token: str
    pid: int
    session: str


@dataclass(frozen=True, slots=True)
class ExtensionDoor:
    """A way into the session `session`: the process `pid` listens on `port` for `token`."""

    port: int
    token: Secret = field(compare=False)
    pid: int
    session: str


def doors_of(copilot_home: Path, cli: int, uid: int) -> tuple[ExtensionDoor, ...]:
    """Return the ways into the sessions of the CLI with the process id `cli`.

    A file that is not private, or whose process is not a child of this very CLI, does not count.
    """
    folder = copilot_home.joinpath(*FOLDER)
    try:
        paths = sorted(folder.glob(f"{cli}-*.json"))
    except OSError:
        return ()  # no extension has ever run here
    found = (_door(path, cli, uid) for path in paths)
    return tuple(one for one in found if one is not None)


def _door(path: Path, cli: int, uid: int) -> ExtensionDoor | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != uid or info.st_mode & 0o077:
            return None
        text = file.read(_MAX_BYTES)
    try:
        said = msgspec.json.decode(text, type=_DoorFile)
        is_its = psutil.Process(said.pid).ppid() == cli
    except (msgspec.MsgspecError, psutil.Error, ValueError, OverflowError):
        return None
    if not is_its or not 0 < said.port <= _MAX_PORT:
        return None
    return ExtensionDoor(said.port, Secret(said.token), said.pid, said.session)
