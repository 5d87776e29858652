"""Child processes of tapui's own programs: their start, their log, a new start after a failure."""

import asyncio
import contextlib
import logging
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tapui import update
from tapui.runtime.children.child import STOP_SECONDS, Child, Command, Ended, OnLine, Source

_log = logging.getLogger(__name__)
INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPATH",
    "PYTHONPYCACHEPREFIX",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
)
"""What such a process gets of the environment."""
NETWORK = (
    *("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("all_proxy", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)
"""What one gets besides that calls servers: its way to them, and whom a connection trusts."""
LOG_FORMAT = "%(levelname)s %(name)s: %(message)s"
"""How such a process writes its log, on its standard error."""
_LINE = re.compile(r"(INFO|WARNING|ERROR|CRITICAL) ([\w.]+): (.*)")


@dataclass(slots=True)
class Backoff:
    """The pauses between restarts: `first` seconds, doubled each time up to `longest`.

    After a child that ran for `steady` seconds they begin with `first` again.
    """

    first: float = 1.0
    longest: float = 30.0
    steady: float = 30.0
    _last: float = 0.0

    def pause(self, ran: float) -> float:
        """Return the seconds to wait after a child that ran for `ran` seconds."""
        if ran >= self.steady:
            self._last = 0.0
        self._last = min(self._last * 2, self.longest) if self._last else self.first
        return self._last


class Supervisor:
    """Keeps a child running until it ends with exit code 0, or until `stop()`.

    `on_line` takes its output. `on_fault` gets each other end, or the error of a start that
    failed, with the seconds until the next start.
    """

    def __init__(
        self,
        command: Command,
        on_line: OnLine,
        on_fault: Callable[[Ended | OSError, float], None],
        backoff: Backoff | None = None,
    ) -> None:
        self._command = command
        self._on_line = on_line
        self._on_fault = on_fault
        self._backoff = backoff or Backoff()
        self._child: Child | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The running child's process id; None between two children."""
        return self._child.pid if self._child is not None else None

    async def run(self) -> None:
        """Start the child, and start it again, until it ends with exit code 0 or `stop()`.

        When this is cancelled, the child is killed.
        """
        while not self._stopping.is_set():
            fault = await self._run_once()
            if fault is None or self._stopping.is_set():
                return
            pause = self._backoff.pause(fault.seconds if isinstance(fault, Ended) else 0.0)
            self._on_fault(fault, pause)
            with contextlib.suppress(TimeoutError):  # the pause is over
                async with asyncio.timeout(pause):
                    await self._stopping.wait()

    async def _run_once(self) -> Ended | OSError | None:
        try:
            self._child = child = await Child.start(self._command, self._on_line)
        except OSError as error:
            return error
        try:
            ended = await (child.stop() if self._stopping.is_set() else child.wait())
        except asyncio.CancelledError:
            child.kill()
            raise
        finally:
            self._child = None
        return None if ended.code == 0 else ended

    async def stop(self, within: float = STOP_SECONDS) -> None:
        """End the child in order, within `within` seconds; `run()` then returns."""
        self._stopping.set()
        if self._child is not None:
            await self._child.stop(within)


def own_program(
    module: str,
    *args: str,
    environ: Mapping[str, str],
    is_whole: bool = False,
    besides: tuple[str, ...] = (),
) -> Command:
    """Return the command that runs one of our modules with this interpreter.

    It gets what is `INHERITED` of the environment, and `besides`; with `is_whole`, all of it.
    """
    kept = (*INHERITED, *besides)
    names = environ if is_whole else [name for name in kept if name in environ]
    return Command(
        # -P: what lies in the folder that tapui was started in is never imported.
        (sys.executable, "-P", "-m", module, *args),
        {name: environ[name] for name in names},
        cwd=Path("/"),
    )


class ProgramLog:
    """Takes the output of such a process into the log of this one."""

    def __init__(self) -> None:
        self._level = logging.INFO

    def take(self, source: Source, text: str) -> None:
        """Log a line of its log; one without a level belongs to the line before."""
        update.look_at(text)
        line = _LINE.match(text)
        if line is None:
            _log.log(self._level, "%s: %s", source, text)
            return
        self._level = logging.getLevelNamesMapping()[line[1]]
        logging.getLogger(line[2]).log(self._level, "%s", line[3])
