"""The tools that the server leaves to its client: files are written here, and commands run here.

The server's own editing tools (`replace_string_in_file`, `apply_patch` …) work out the whole new
text of a file, and have it written by `insert_edit_into_file` or `create_file` of the client; they
are shown to the model only where the client has registered both. `run_in_terminal` is the client's
alone. Nothing here asks the person: the conversation does, before.
"""

import asyncio
import contextlib
import difflib
import os
import secrets
import shutil
import signal
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tapui.files.foreign_file import inner_parts, open_within, read_up_to, real_path, reason
from tapui.invocation import INSIDE

CREATE, EDIT, RUN = "create_file", "insert_edit_into_file", "run_in_terminal"
WRITERS = frozenset({CREATE, EDIT, "replace_string_in_file", "apply_patch"})
"""The tools that end in a file being written here, the server's own among them."""
MAX_FILE = 512 * 1024
"""Bytes of a file that is written, and of what it was: their diff is shown whole."""
OUTPUT = 32 * 1024
"""Bytes that are kept of a command's output, from its beginning and from its end."""
RUN_SECONDS = 600.0
"""How long a command may take."""
_MOST_PAIRS = 4_000_000
"""Pairs of lines that are compared: that takes seconds, and more could take hours."""
_DRAIN = 5.0
"""Seconds for what is left in the output once the command has ended: a process that has left its
group may hold it open."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OUTSIDE = "it is outside of the session's folder"
_CHANGED = "the file was changed since the person was shown the difference: try again"
_PATH = {"type": "string", "description": "The absolute path of the file"}


def _shell() -> str:
    return shutil.which("bash", path="/bin:/usr/bin:/usr/local/bin") or "/bin/sh"


def definitions() -> list[dict[str, Any]]:
    """Return the tools as `conversation/registerTools` takes them."""

    def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return {"name": name, "description": description, "inputSchema": schema}

    why = {"type": "string", "description": "Why, in one sentence"}
    # The server reads the shell's name from the description.
    run = f"Runs a command in the session's folder and returns its output. Shell: {_shell()}"
    return [
        tool(
            CREATE,
            "Creates a file in the session's folder with this content.",
            filePath=_PATH,
            content={"type": "string", "description": "The whole content"},
        ),
        tool(
            EDIT,
            "Writes the whole new text of a file in the session's folder.",
            filePath=_PATH,
            code={"type": "string", "description": "The whole new text"},
            explanation=why,
        ),
        tool(
            RUN,
            run,
            command={"type": "string", "description": "The command"},
            explanation=why,
        ),
    ]


class NotDoneError(Exception):
    """Why nothing was written; the model reads the text."""


# Files


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A file that is to get another text. `path` has no links in it; `before` is what it has now,
    None where it is not there."""

    path: str
    before: bytes | None
    text: str
    diff: str

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many lines are added, and how many removed."""
        lines = self.diff.split("\n")[2:]
        return (
            sum(line.startswith("+") for line in lines),
            sum(line.startswith("-") for line in lines),
        )


def path_of(given: Any, folder: str) -> str:
    """Return the path without links that a tool's argument means, which may be a file's address.

    Raises `NotDoneError` for what names no file.
    """
    if not isinstance(given, str) or not given:
        raise NotDoneError("it names no file")
    if given.startswith("file://"):
        given = unquote(urlsplit(given).path)
    try:
        return real_path(Path(folder, given))
    except (OSError, RuntimeError):
        raise NotDoneError("no file can have this name") from None


def is_inside(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or in it, both without links."""
    return path == folder or inner_parts(folder, path) is not None


def planned_write(given: Any, text: Any, folder: str) -> FileWrite:
    """Return what writing a file would change. `folder` has no links in it.

    Raises `NotDoneError`.
    """
    path = path_of(given, folder)
    if not isinstance(text, str):
        raise NotDoneError("there is no text to write")
    if inner_parts(folder, path) is None:
        raise NotDoneError(_OUTSIDE)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise NotDoneError("the text is not valid Unicode") from None
    before = _read(path, folder)
    if max(len(data), len(before or b"")) > MAX_FILE:
        raise NotDoneError(f"a file of more than {MAX_FILE:,} bytes is not written")
    try:
        old = (before or b"").decode()
    except UnicodeDecodeError:
        raise NotDoneError("what is there is no text in UTF-8") from None
    return FileWrite(path, before, text, _diff(path, None if before is None else old, text))


def _diff(path: str, old: str | None, new: str) -> str:
    """Return the whole difference; of very many lines all of the old and all of the new ones."""
    olds, news = (old or "").split("\n") if old else [], new.split("\n")
    names = "/dev/null" if old is None else path, path
    if len(olds) * len(news) <= _MOST_PAIRS:
        return "\n".join(difflib.unified_diff(olds, news, *names, lineterm=""))
    head = [f"--- {names[0]}", f"+++ {path}", f"@@ -1,{len(olds)} +1,{len(news)} @@"]
    return "\n".join([*head, *(f"-{one}" for one in olds), *(f"+{one}" for one in news)])


def _read(path: str, folder: str) -> bytes | None:
    try:
        fd, _ = open_within(folder, path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotDoneError(f"what is there cannot be read: {reason(error)}") from None
    try:
        return read_up_to(fd, MAX_FILE + 1)
    finally:
        os.close(fd)


def write(planned: FileWrite, folder: str) -> None:
    """Put the text into the file, which must still be what it was; folders on the way are made.

    A reader sees the old file or the new one. No link is followed. Raises `NotDoneError`.
    """
    parts = inner_parts(folder, planned.path)
    if parts is None:
        raise NotDoneError(_OUTSIDE)
    *folders, name = parts
    try:
        fd = os.open(folder, _FOLDER)
        try:
            for part in folders:
                with contextlib.suppress(FileExistsError):  # what it is shows when it is opened
                    os.mkdir(part, dir_fd=fd)
                inner = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = inner
            _replace(fd, name, planned)
        finally:
            os.close(fd)
    except OSError as error:
        raise NotDoneError(f"it cannot be written: {reason(error)}") from None


def _replace(folder: int, name: str, planned: FileWrite) -> None:
    bits = _check_unchanged(folder, name, planned.before)
    fresh = f".tapui-{secrets.token_hex(8)}"
    fd = os.open(fresh, _NEW, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
            file.write(planned.text.encode())
            os.fchmod(fd, bits)
            file.flush()
            os.fsync(fd)
        os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # it has its new name already
            os.unlink(fresh, dir_fd=folder)
        raise


def _check_unchanged(folder: int, name: str, before: bytes | None) -> int:
    """Return the permissions that a file is to have; raises `NotDoneError` for another one than
    was shown."""
    try:
        fd = os.open(name, _FILE, dir_fd=folder)
    except FileNotFoundError:
        if before is not None:
            raise NotDoneError(_CHANGED) from None
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask
    try:
        info = os.fstat(fd)
        is_same = stat.S_ISREG(info.st_mode) and read_up_to(fd, MAX_FILE + 1) == before
        if not is_same:
            raise NotDoneError(_CHANGED)
        return stat.S_IMODE(info.st_mode) & 0o777
    finally:
        os.close(fd)


# Commands


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended, and its output. Without a `code` it was killed by a signal; for `late`
    it was killed because it ran for so many seconds."""

    code: int | None
    output: str
    late: float = 0.0
    is_cut: bool = False
    """Whether the middle of its output is left out."""

    @property
    def text(self) -> str:
        """Return what the model reads."""
        if self.late:
            return f"{self.output}\n[killed: it ran for more than {self.late:g} s]".lstrip("\n")
        ended = "killed by a signal" if self.code is None else f"exit code {self.code}"
        return f"{self.output}\n[{ended}]".lstrip("\n")


async def run(
    command: str, folder: str, environ: Mapping[str, str], *, seconds: float = RUN_SECONDS
) -> CommandEnd:
    """Run a command with the shell, without input, in a process group of its own.

    What it leaves running is killed with it. Raises `NotDoneError`.
    """
    try:
        transport, running = await asyncio.get_running_loop().subprocess_exec(
            _Running,
            *(_shell(), "-c", command),
            cwd=folder,
            env={**environ, INSIDE: "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise NotDoneError(f"it cannot be started: {error}") from None
    try:
        ended, _ = await asyncio.wait({running.exited}, timeout=seconds)
    finally:
        # What it has left running is in its group.
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all of it has ended
            os.killpg(transport.get_pid(), signal.SIGKILL)
        await asyncio.wait({running.closed}, timeout=_DRAIN)
        transport.close()  # a process that has left the group may hold the pipe
    code = transport.get_returncode()
    late = 0.0 if ended else seconds
    return CommandEnd(
        code if code is not None and code >= 0 else None, running.output(), late, running.is_cut
    )


class _Running(asyncio.SubprocessProtocol):
    """A command that runs: its end, and its output, of which a long one loses its middle.

    `exited` is done when the command has ended, `closed` when its output has as well, which another
    process may hold.
    """

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._first, self._last = bytearray(), bytearray()
        self._left_out = 0

    @property
    def is_cut(self) -> bool:
        return self._left_out > 0

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - there is one pipe
        room = OUTPUT - len(self._first)
        self._first += data[:room]
        self._last += data[room:] if room > 0 else data
        if (over := len(self._last) - OUTPUT) > 0:
            del self._last[:over]
            self._left_out += over

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.closed.set_result(None)

    def output(self) -> str:
        gap = b"\n[... %d bytes left out ...]\n" % self._left_out if self._left_out else b""
        whole = bytes(self._first) + gap + bytes(self._last)
        return whole.decode("utf-8", "replace").rstrip("\n")
