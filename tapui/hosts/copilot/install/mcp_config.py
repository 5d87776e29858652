"""tapui's entry among the MCP servers of Copilot CLI: written, removed, and what has become of it.

The file is `mcp-config.json` in Copilot's folder. Everything else in it stays unchanged, in its
order; an entry that a person has changed is known by its fields, and left alone. Copilot's own
commands hold `.mcp-writer.lock` while they write; so does this, where that is there.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tapui.files import private_file
from tapui.files.foreign_file import rewritten, text_of

NAME = "tapui"
FILE = "mcp-config.json"
ARGUMENTS = ("-P", "-m", "tapui", "mcp-door")
"""With -P nothing is imported from the client's folder, which may be a hostile repository."""
_FORMER_ARGUMENTS = ARGUMENTS[1:]
"""Those of entries that an earlier tapui wrote."""
_SERVERS = "mcpServers"
_LOCK = ".mcp-writer.lock"
_LOCK_PAUSE = 0.05
_KEPT_ENVIRONMENT = ("TAPUI_HOME", "TAPUI_PORT")
"""What the door must have as the command that installs it had it; clients hand on little else."""

EntryState = Literal["missing", "installed", "outdated", "edited", "unreadable"]


class NotOursError(Exception):
    """The file, or the entry in it, is left alone. The text says what to do."""


def own_entry(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry that this tapui writes, with its own Python."""
    entry: dict[str, Any] = {
        "type": "local",
        "command": sys.executable,
        "args": list(ARGUMENTS),
        "tools": ["*"],
    }
    kept = {name: environ[name] for name in _KEPT_ENVIRONMENT if environ.get(name)}
    return {**entry, "env": kept} if kept else entry


def doors(copilot_home: Path) -> list[str]:
    """Return the names of the servers of `mcp-config.json` that are MCP doors, tapui's own entry or
    one that the person has written; none where the file cannot be read."""
    try:
        servers = _read(copilot_home / FILE).get(_SERVERS, {})
    except (OSError, ValueError, RecursionError):
        return []
    return [name for name, entry in servers.items() if _is_door(entry)]


def _is_door(entry: Any) -> bool:
    match entry:
        case {"command": str(), "args": ["-P", "-m", "tapui", "mcp-door", *_]}:
            return True
        case {"command": str(), "args": ["-m", "tapui", "mcp-door", *_]}:  # of an earlier tapui
            return True
        case {"command": str(program), "args": ["mcp-door", *_]}:
            return Path(program).name == NAME
    return False


@dataclass(frozen=True, slots=True)
class McpConfig:
    """The file in one `COPILOT_HOME`, and the entry that belongs into it."""

    copilot_home: Path
    entry: dict[str, Any]
    lock_seconds: float = 5.0
    """How long another program's lock is waited for."""

    @property
    def path(self) -> Path:
        return self.copilot_home / FILE

    def state(self) -> EntryState:
        """Return what there is; `edited` is also an entry that tapui did not write."""
        try:
            found = _entry_in(_read(self.path))
        except FileNotFoundError:
            return "missing"
        except (OSError, ValueError, RecursionError):
            return "unreadable"
        if found is None:
            return "missing"
        if not _is_written_by_tapui(found):
            return "edited"
        return "installed" if self._is_current(found) else "outdated"

    def _is_current(self, found: dict[str, Any]) -> bool:
        """Return whether an entry of ours starts this tapui; `python` and `python3` are one."""
        program = Path(found["command"])
        is_same = program.parent == Path(self.entry["command"]).parent and program.exists()
        return is_same and all(found.get(one) == self.entry.get(one) for one in ("args", "env"))

    def program(self) -> str | None:
        try:
            found = _entry_in(_read(self.path))
        except (OSError, ValueError, RecursionError):
            return None
        command = found.get("command") if isinstance(found, dict) else None
        return command if isinstance(command, str) else None

    def check(self) -> None:
        """Raise `NotOursError` if the file, or the entry, is not ours to write or remove."""
        state = self.state()
        if state == "edited":
            raise NotOursError(
                f"the entry {NAME} in {self.path} was not written by tapui, or was changed since, "
                f"and is left alone; remove it first: copilot mcp remove {NAME}"
            )
        if state == "unreadable":
            raise NotOursError(
                f"{self.path} is a link, or cannot be read as JSON, and is left alone; mend it "
                "first, or add the entry by hand"
            )

    def install(self) -> None:
        """Put the entry in; raises `NotOursError` and `OSError`."""
        with self._locked() as folder:
            self.check()
            found = _read(self.path) if self.path.exists() else {}
            found.setdefault(_SERVERS, {})[NAME] = self.entry
            self._write(folder, found)

    def uninstall(self) -> None:
        """Take the entry out; raises `NotOursError` and `OSError`."""
        with self._locked() as folder:
            self.check()
            if self.state() != "missing":
                found = _read(self.path)
                del found[_SERVERS][NAME]
                self._write(folder, found)

    def _write(self, folder: int, found: dict[str, Any]) -> None:
        before = self.path.read_bytes() if self.path.exists() else b""
        try:
            data = rewritten(json.dumps(found, indent=2, ensure_ascii=False) + "\n", before)
        except UnicodeEncodeError:  # half of a character, which was an escape in the file
            data = rewritten(json.dumps(found, indent=2) + "\n", before)
        private_file.write(folder, FILE, data)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the lock of the file's writers; yields the folder."""
        self.copilot_home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(self.copilot_home, os.O_RDONLY | os.O_DIRECTORY)
        lock = -1
        try:
            with contextlib.suppress(FileNotFoundError):  # no command of Copilot has written yet
                lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            if lock >= 0:
                _take(lock, self.copilot_home / _LOCK, self.lock_seconds)
            yield folder
        finally:
            os.close(folder)
            if lock >= 0:
                os.close(lock)


def _read(path: Path) -> dict[str, Any]:
    """Return the file's content. Raises `OSError`, `ValueError` and `RecursionError`."""
    if path.is_symlink():
        raise OSError(0, "it is a link", str(path))
    found = json.loads(text_of(path))
    if not isinstance(found, dict) or not isinstance(found.get(_SERVERS, {}), dict):
        raise ValueError("it is no list of MCP servers")  # noqa: TRY004 - of the file
    return found


def _take(lock: int, path: Path, within: float) -> None:
    deadline = time.monotonic() + within
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                text = "another program writes Copilot's MCP servers; try again"
                raise OSError(0, text, str(path)) from None
            time.sleep(_LOCK_PAUSE)
        else:
            return


def _entry_in(found: dict[str, Any]) -> Any:
    return found.get(_SERVERS, {}).get(NAME)


def _is_written_by_tapui(entry: Any) -> bool:
    """Return whether an entry is one that a tapui has written, perhaps with another Python."""
    if not isinstance(entry, dict):
        return False
    rest = {key: one for key, one in entry.items() if key not in ("command", "args", "env")}
    environment = entry.get("env", {})
    return (
        rest == {"type": "local", "tools": ["*"]}
        and entry.get("args") in (list(ARGUMENTS), list(_FORMER_ARGUMENTS))
        and isinstance(entry.get("command"), str)
        and isinstance(environment, dict)
        and set(environment) <= set(_KEPT_ENVIRONMENT)
    )
