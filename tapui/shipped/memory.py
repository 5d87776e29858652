"""`memory`: notes that agents keep, as files of one folder, and by whom each was written.

What is in a note is data: nothing of it goes into a prompt by itself. The files are the documents'
own (`~/.copilot-cli/memories`); a hidden file beside them says who wrote what.
"""

import asyncio
import os
import re
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tapui.files import private_file
from tapui.files.foreign_file import read_up_to, reason
from tapui.files.locked_folder import locked
from tapui.files.private_file import private_folder
from tapui.home.paths import typed_path
from tapui.provider import Context, Provider, Session, ToolError
from tapui.settings.settings import Memory
from tapui.wire.errors import CallError

FOLDER_VARIABLE = "TAPUI_MEMORY_FOLDER"
MAX_BYTES = 256 * 1024
"""Of a note."""
MAX_NOTES = 1_000
_NAME = re.compile(r"[\w-][\w.-]{0,99}\Z")
"""As the documents have names, and none that is hidden."""
_WRITERS = ".writers.json"
_SAVING = ".saving"
_MAX_WRITERS = 1024 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {
            "type": "string",
            "enum": ["save", "read", "list", "delete"],
            "description": "The operation to perform.",
        },
        "path": {
            "type": "string",
            "description": "Memory file name (e.g. 'notes.md'). Required for save/read/delete.",
        },
        "content": {"type": "string", "description": "Content to save. Required for 'save'."},
    },
    "required": ["command"],
}
DESCRIPTION = "Persistent memory store. Save, read, list, or delete named memory files."


class NoteWriter(Struct, frozen=True, omit_defaults=True):
    """Who wrote a note last: `by` is "agent" or "person"; `at` is seconds since the epoch."""

    by: str
    at: float
    sha256: str
    session: str = ""
    label: str = ""


class Note(Struct, frozen=True):
    """A note; `writer` is None where another program has written it."""

    name: str
    size: int
    changed: float
    writer: NoteWriter | None = None


class MemoryStanding(Struct, frozen=True, rename="camel"):
    """The notes of this machine, for `tapui status` and `tapui doctor`. `fault` says why none can
    be read or saved."""

    folder: str
    notes: int
    asks_before_writes: bool
    fault: str | None = None


class MemoryFault(Exception):  # noqa: N818 - a state of the folder or the name
    """A note cannot be read or written; the text says why."""


def default_folder() -> Path:
    """Return the documents' folder."""
    return Path.home() / ".copilot-cli" / "memories"


def memories_of(settings: Memory) -> "Memories":
    """Return the notes of the person's settings."""
    return Memories(typed_path(settings.folder) if settings.folder else default_folder())


def memory_standing(settings: Memory) -> MemoryStanding:
    """Look at the notes; nothing is changed."""
    memories = memories_of(settings)
    notes, fault = 0, memories.fault()
    try:
        notes = len(memories.notes())
    except MemoryFault as error:
        fault = fault or str(error)
    return MemoryStanding(str(memories.folder), notes, settings.ask_writes, fault)


def name_of(path: str) -> str:
    """Return the name of a note: the last part of a path, as in the documents.

    Raises `MemoryFault` for what is no name.
    """
    name = path.rstrip("/").rpartition("/")[2]
    if not _NAME.match(name):
        raise MemoryFault(
            f"'{path[:100]}' cannot be a memory's name: letters, digits, _ - and dots, at most"
            " 100, no dot first"
        )
    return name


class Memories:
    """The notes of a folder; several processes may use it. Not on a loop: files are read."""

    def __init__(
        self, folder: Path, clock: Callable[[], float] = time.time, *, most: int = MAX_NOTES
    ) -> None:
        self.folder = folder
        self._clock = clock
        self._most = most

    def notes(self) -> list[Note]:
        """Return the notes by name. Raises `MemoryFault`."""
        fd = self._open()
        if fd is None:
            return []
        try:
            writers = _writers(fd)
            return [note for name in _names(fd) if (note := _note(fd, name, writers))]
        except OSError as error:
            raise self._fault(error) from None
        finally:
            os.close(fd)

    def read(self, name: str) -> str | None:
        """Return a note's text; None for none of that name. Raises `MemoryFault`."""
        fd = self._open()
        if fd is None:
            return None
        try:
            return _content(fd, name).decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._fault(error, name) from None
        finally:
            os.close(fd)

    def save(self, name: str, text: str, *, by: str, session: str = "", label: str = "") -> None:
        """Write a note whole, or leave it as it was. Raises `MemoryFault`."""
        data = text.encode("utf-8", "replace")
        if len(data) > MAX_BYTES:
            raise MemoryFault(f"a memory has at most {MAX_BYTES:,} bytes; this has {len(data):,}")
        try:
            with locked(private_folder(self.folder.parent, self.folder.name)) as fd:
                names = _names(fd)
                if name not in names and len(names) >= self._most:
                    raise MemoryFault(f"there are {self._most:,} memories: delete some first")
                private_file.write(fd, _SAVING, data)
                os.rename(_SAVING, name, src_dir_fd=fd, dst_dir_fd=fd)
                digest = sha256(data).hexdigest()
                writer = NoteWriter(by, self._clock(), digest, session, label[:100])
                _keep_writer(fd, name, writer)
        except OSError as error:
            raise self._fault(error, name) from None

    def delete(self, name: str) -> bool:
        """Remove a note; return whether there was one. Raises `MemoryFault`."""
        if self._is_missing():
            return False
        try:
            with locked(private_folder(self.folder.parent, self.folder.name)) as fd:
                os.unlink(name, dir_fd=fd)
                _keep_writer(fd, name, None)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._fault(error, name) from None
        return True

    def fault(self) -> str | None:
        """Return why no note can be saved; None where one can."""
        return private_file.unwritable(self.folder)

    def _is_missing(self) -> bool:
        return not os.path.lexists(self.folder)

    def _open(self) -> int | None:
        """Open the folder; None where there is none yet. Raises `MemoryFault`."""
        try:
            return os.open(self.folder, _FOLDER)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._fault(error) from None

    def _fault(self, error: OSError, name: str = "") -> MemoryFault:
        where = f"{self.folder}/{name}" if name else str(self.folder)
        return MemoryFault(f"{where}: {reason(error)}")


def _names(fd: int) -> list[str]:
    """Return the names of plain files that are not hidden."""
    found = []
    for name in sorted(os.listdir(fd)):
        with suppress(FileNotFoundError):  # it has gone since
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            if stat.S_ISREG(mode) and _NAME.match(name):
                found.append(name)
    return found


def _content(fd: int, name: str) -> bytes:
    """Raises `OSError`, also for what is no plain file."""
    file = os.open(name, _READ, dir_fd=fd)
    try:
        private_file.check_own(file)
        return read_up_to(file, MAX_BYTES)
    finally:
        os.close(file)


def _note(fd: int, name: str, writers: dict[str, NoteWriter]) -> Note | None:
    try:
        info = os.stat(name, dir_fd=fd, follow_symlinks=False)
        writer = writers.get(name)
        if writer is not None and sha256(_content(fd, name)).hexdigest() != writer.sha256:
            writer = None  # another program has written it since
    except OSError:
        return None
    return Note(name, info.st_size, info.st_mtime, writer)


def _writers(fd: int) -> dict[str, NoteWriter]:
    """Return who wrote what; nothing where that cannot be read."""
    try:
        file = os.open(_WRITERS, _READ, dir_fd=fd)
    except OSError:
        return {}
    try:
        private_file.check_own(file)
        found = msgspec.json.decode(read_up_to(file, _MAX_WRITERS), type=dict[str, NoteWriter])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    finally:
        os.close(file)
    return found


def _keep_writer(fd: int, name: str, writer: NoteWriter | None) -> None:
    """Raises `OSError`."""
    names = set(_names(fd))
    kept = {one: by for one, by in _writers(fd).items() if one in names and one != name}
    if writer is not None:
        kept[name] = writer
    private_file.write(fd, _WRITERS, msgspec.json.encode(kept))


def memory(memories: Memories, given: dict[str, Any], session: str, label: str) -> str:
    """Carry out a call of the tool, with the documents' answers. Raises `MemoryFault`."""
    command = _text(given, "command")
    path = _text(given, "path")
    if command == "list":
        return "\n".join(one.name for one in memories.notes()) or "No memories saved yet."
    if not path:
        return "Error: 'path' is required for save/read/delete."
    if command not in ("save", "read", "delete"):
        return f"Unknown command: {command[:100]}"
    name = name_of(path)
    match command:
        case "save":
            content = _text(given, "content")
            memories.save(name, content, by="agent", session=session, label=label)
            return f"Saved memory '{name}'."
        case "read":
            found = memories.read(name)
            return f"Memory '{name}' not found." if found is None else found
    return f"Deleted memory '{name}'." if memories.delete(name) else f"Memory '{name}' not found."


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise MemoryFault(f"'{key}' is a text")
    return value


def provider(folder: Path | None = None) -> Provider:
    """Return the provider, with the notes of a folder: by default the one of the setting."""
    given = os.environ.get(FOLDER_VARIABLE)
    memories = Memories(folder or (Path(given) if given else default_folder()))
    made = Provider("memory", metadata={"folder": str(memories.folder)})

    @made.background
    async def told(session: Session) -> None:
        if (fault := await asyncio.to_thread(memories.fault)) is not None:
            session.log(f"memory: no note can be saved: {fault}")

    def call(arguments: dict[str, Any], context: Context) -> str:
        try:
            return memory(memories, arguments, context.session.id, context.session.label)
        except MemoryFault as error:
            raise ToolError(CallError.INTERNAL, str(error)) from None

    made.tool(name="memory", description=DESCRIPTION, parameters=SCHEMA)(call)
    return made
