"""The sessions that Copilot keeps on disk, held by a CLI or not, read without it."""

import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tapui.hosts.copilot.finding.discovery import Discovery
from tapui.wire.surrogates import without_surrogates

_WORKSPACE_FILE = "workspace.yaml"
EVENTS = "events.jsonl"
_MAX_WORKSPACE_BYTES = 16 * 1024
"""Bytes that are read of what a session says of itself; an honest one has 300."""
_MOST_CHARS = 4_096
_MOST_FILES = 20_000
"""Files of a session whose sizes are added up."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session on disk.

    `used_at` is when something happened in it last, UTC; `size` the bytes of all its files; `pid`
    the program that holds it, None when it can be resumed.
    """

    id: str
    title: str
    cwd: str
    branch: str
    client: str
    used_at: datetime
    size: int
    pid: int | None

    def matches(self, words: list[str]) -> bool:
        """Return whether each of these lower-case words is in its title, folder, branch or id."""
        text = "\n".join((self.title, self.cwd, self.branch, self.id)).lower()
        return all(word in text for word in words)


def stored_sessions(copilot_home: Path) -> list[StoredSession]:
    """Return the sessions in which something was said, the one used last first."""
    holders = {
        session: cli.process.pid
        for cli in Discovery(copilot_home).scan()
        for session in cli.sessions
    }
    found = [
        session
        for folder in _folders(copilot_home)
        if (session := _read(folder, holders.get(folder.name))) is not None
    ]
    return sorted(found, key=lambda one: one.used_at, reverse=True)


def folder_of(copilot_home: Path, session_id: str) -> str:
    """Return the folder that a session has noted as its own; "" where it has noted none."""
    return _read_workspace(copilot_home / "session-state" / session_id / _WORKSPACE_FILE)("cwd")


def title_of(copilot_home: Path, session_id: str) -> str:
    """Return the title that a session has noted; "" where it has noted none."""
    return _read_workspace(copilot_home / "session-state" / session_id / _WORKSPACE_FILE)("name")


def _folders(copilot_home: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(copilot_home / "session-state") as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False) and entry.name.isprintable():
                        yield entry
                except OSError:
                    continue  # removed while we looked
    except FileNotFoundError:
        return  # no CLI has ever run here


def _read(folder: "os.DirEntry[str]", pid: int | None) -> StoredSession | None:
    path = Path(folder.path)
    try:
        events = (path / EVENTS).stat(follow_symlinks=False)
        if not stat.S_ISREG(events.st_mode) or not events.st_size:
            return None
        field = _read_workspace(path / _WORKSPACE_FILE)
        size = _size(path)
    except FileNotFoundError:
        return None  # nothing was ever said in it, or it was deleted while we looked
    except OSError as error:
        _log.warning("the session %s is not listed: %s", folder.name, error)
        return None
    return StoredSession(
        id=folder.name,
        title=field("name"),
        cwd=field("cwd"),
        branch=field("branch"),
        client=field("client_name"),
        used_at=datetime.fromtimestamp(events.st_mtime, UTC),
        size=size,
        pid=pid,
    )


def _read_workspace(path: Path) -> Callable[[str], str]:
    """Return what gives a field of what a session says of itself; "" where it cannot be read.

    The loader is the one in Python: that in C ends the process when brackets are nested deeply.
    """
    import yaml

    fields: object = None
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(_MAX_WORKSPACE_BYTES + 1)
        if len(data) <= _MAX_WORKSPACE_BYTES:
            fields = yaml.load(data, Loader=yaml.BaseLoader)  # noqa: S506 - makes text, nothing else
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        _log.info("%s cannot be read: %s", path, error)

    def field(name: str) -> str:
        text = fields.get(name) if isinstance(fields, dict) else None
        return without_surrogates(text)[:_MOST_CHARS] if isinstance(text, str) else ""

    return field


def _size(folder: Path) -> int:
    """Return the bytes of a folder's files, no link followed."""
    size = count = 0
    for root, _folders, files in os.walk(folder):
        for name in files:
            count += 1
            if count > _MOST_FILES:
                return size
            try:
                size += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118 - many files
            except FileNotFoundError:
                continue  # removed while we looked
    return size
