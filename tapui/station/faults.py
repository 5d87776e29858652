"""Faults of this process: its log, and why a gateway could not start.

The log is a private, rotating file in the state folder, one for each process, made with its first
line. What goes wrong with the log itself (a full disk) is reported nowhere: no place is left.
"""

import contextlib
import io
import logging
import logging.handlers
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tapui import invocation
from tapui.files import private_file
from tapui.files.private_file import private_folder
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, PortClaimedError, find_gateway
from tapui.runtime.websocket.listening import ListenError, PortTaken
from tapui.text import safe_text

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_FOLDER = "log"
_FILE_BYTES = 1024 * 1024
_OLDER = 2
"""Rotated files beside the one that is written."""
_KEPT = 10
"""Log files of former processes, rotated ones included, that are kept."""
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_log = logging.getLogger(__name__)


def log_path(home: Home, pid: int) -> Path:
    """Return where the process `pid` logs its faults; the file need not exist."""
    return home.state / _FOLDER / f"tapui-{pid}.log"


def log_files(home: Home) -> list[Path]:
    """Return the logs of faults that there are, the newest first."""
    found = []
    for file in (home.state / _FOLDER).glob("tapui-*.log"):
        with contextlib.suppress(FileNotFoundError):  # its process has removed it meanwhile
            found.append((file.stat().st_mtime, file))
    return [file for _, file in sorted(found, reverse=True)]


class _Format(logging.Formatter):
    """One line a record, then its traceback; text from outside is made visible."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return safe_text(super().formatMessage(record))

    def formatException(self, ei: object) -> str:  # noqa: N802
        return safe_text(super().formatException(ei), newlines=True)  # type: ignore[arg-type]


class LogFile(logging.handlers.RotatingFileHandler):
    """Writes to a file of mode 0600 that is no link; drops what cannot be written."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        super().__init__(
            path, maxBytes=most_bytes, backupCount=_OLDER, encoding="utf-8", delay=True
        )
        self.setFormatter(_Format("%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"))

    def _open(self) -> io.TextIOWrapper:
        path = Path(self.baseFilename)
        private_folder(path.parent.parent, path.parent.name)
        fd = os.open(path, _FLAGS, 0o600)
        try:
            private_file.check_own(fd)
        except OSError as error:
            os.close(fd)
            raise OSError(error.errno, f"{path}: {error.strerror}") from None
        os.fchmod(fd, 0o600)
        return open(fd, "a", encoding="utf-8", errors="backslashreplace")  # noqa: PTH123

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Drop the record: standard error may be the tower's."""


class _Terminal(logging.StreamHandler["SupportsWrite[str]"]):
    """Writes warnings and faults to standard error, for `serve`; a reader may be gone."""

    def __init__(self, stderr: "SupportsWrite[str]") -> None:
        super().__init__(stderr)
        self.setFormatter(_Format("%(levelname)s: %(message)s"))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Drop the record."""


@contextlib.contextmanager
def faults_logged(
    home: Home, stderr: "SupportsWrite[str] | None" = None, *, most_bytes: int = _FILE_BYTES
) -> Iterator[Path]:
    """Log the faults of this process until the end of the block; yield the file's path.

    These are: log records from warnings on, Python's own warnings, exceptions that end a thread
    or that have no caller to reach. They are written to `stderr`, too, where it is given.
    """
    path = log_path(home, os.getpid())
    handlers: list[logging.Handler] = [LogFile(path, most_bytes)]
    if stderr is not None:
        handlers.append(_Terminal(stderr))
    root = logging.getLogger()
    before = (logging.lastResort, threading.excepthook, sys.unraisablehook)
    for handler in handlers:
        handler.setLevel(logging.WARNING)
        root.addHandler(handler)
    logging.lastResort = handlers[0]
    logging.captureWarnings(capture=True)
    threading.excepthook = _thread_failed
    sys.unraisablehook = _unraisable
    _drop_oldest(path)
    try:
        yield path
    finally:
        logging.captureWarnings(capture=False)
        logging.lastResort, threading.excepthook, sys.unraisablehook = before
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def _thread_failed(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:
        return
    name = args.thread.name if args.thread is not None else "a thread"
    _log.error("%s ended with a fault", name, exc_info=args.exc_value)


def _unraisable(args: "sys.UnraisableHookArgs") -> None:
    what = args.err_msg or "a fault that could not be raised"
    _log.error("%s: %r", what, args.object, exc_info=args.exc_value)


def _drop_oldest(own: Path) -> None:
    """Drop the oldest logs of processes that have ended."""
    try:
        files = [
            (file.lstat().st_mtime, file)
            for file in own.parent.glob("tapui-*.log*")
            if not file.name.startswith(own.name) and not _is_written(file)
        ]
        for _, file in sorted(files)[:-_KEPT]:
            file.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("old logs could not be dropped: %s", error)


def _is_written(file: Path) -> bool:
    """Return whether a process of that number runs; it may be the one that writes the file."""
    number = file.name.removeprefix("tapui-").partition(".")[0]
    try:
        os.kill(int(number), 0)
    except (ValueError, ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


@dataclass(frozen=True, slots=True)
class StartFault:
    """A failed start. `text` is safe for a terminal."""

    code: int
    text: str


def start_fault(error: Exception, home: Home | None = None) -> StartFault:
    """Return what an exception of a start means; what is not foreseen is logged.

    `home` is where to look whether a port that is taken belongs to a gateway of this person.
    """
    if isinstance(error, PortTaken) and home is not None:
        own = find_gateway(home, error.port)
        if own is not None:
            return StartFault(2, safe_text(_held_by_own(own)))
    if isinstance(error, ListenError | PortClaimedError):
        return StartFault(2, safe_text(str(error)))
    if isinstance(error, OSError) and error.strerror:
        where = error.filename or "the state folder"
        return StartFault(1, safe_text(f"{where}: {error.strerror}"))
    _log.error("the gateway could not start", exc_info=error)
    return StartFault(1, safe_text(f"the gateway could not start: {type(error).__name__}: {error}"))


def _held_by_own(own: GatewayFile) -> str:
    shows, ends = invocation.command(), invocation.command(f"stop --port {own.port}")
    return (
        f"a gateway of yours already serves port {own.port} (pid {own.pid}): `{shows}` shows it, "
        f"`{ends}` ends it; choose another port with --port N"
    )
