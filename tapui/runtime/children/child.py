"""A child process: a process group of its own, and an end in bounded time.

Works on any event loop, in any thread: no SIGCHLD handler is involved. A thread per child waits
for its end.
"""

import asyncio
import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast

from tapui.runtime.processes.reaping import signal_group

STOP_SECONDS = 3.0
"""The default time between TERM and KILL."""
_LAST_OUTPUT = 0.5
"""Seconds for what is left in the pipes once the child has ended."""

_LOOP_LOOK = 0.1
"""Seconds between two looks of a child's thread whether the loop that it told of the end closed."""


LINE_BYTES = 8 * 1024
"""A line of output is cut at this many bytes."""
LINES_A_SECOND = 200
BYTES_A_SECOND = 1024 * 1024
"""Beyond these rates a child's output is not read until the next second: a child that floods waits
in its own writes, and nothing is lost."""

_log = logging.getLogger(__name__)

Source = Literal["stdout", "stderr"]
OnLine = Callable[[Source, str], None]
"""Takes each line of output, without its end; called on the event loop."""


class ChildOutput(asyncio.Protocol):
    """One output pipe of a child, taken apart into lines.

    With `drops`, what comes beyond the rates is read, dropped and told of in a line: the child
    never waits for its reader.
    """

    def __init__(self, source: Source, on_line: OnLine, *, drops: bool = False) -> None:
        self._source = source
        self._drops = drops
        self._dropped = 0
        self._on_line = on_line
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.ReadTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unread = bytearray()
        self._line = bytearray()
        self._is_cut = False
        self._second = 0.0
        self._lines = 0
        self._bytes = 0
        self._is_finishing = False
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        self._take()

    def _take(self) -> None:
        while self._unread and self._may_take():
            end = self._unread.find(b"\n")
            part = self._unread[:end] if end >= 0 else self._unread[:]
            del self._unread[: len(part) + (end >= 0)]
            self._bytes += len(part)
            room = LINE_BYTES - len(self._line)
            self._is_cut = self._is_cut or len(part) > room
            self._line += part[:room]
            if end >= 0:
                self._emit()
        if self._drops and not self._may_take():
            self._dropped += self._unread.count(b"\n")
            self._unread.clear()
        if self._timer is None and not self._may_take():
            if self._transport is not None and not self._drops:
                self._transport.pause_reading()
            self._timer = self._loop.call_at(self._second + 1.0, self._resume)

    def _may_take(self) -> bool:
        now = self._loop.time()
        if now - self._second >= 1.0:
            self._second, self._lines, self._bytes = now, 0, 0
        is_over = self._lines >= LINES_A_SECOND or self._bytes >= BYTES_A_SECOND
        return self._is_finishing or not is_over

    def _emit(self) -> None:
        self._lines += 1
        text = self._line.removesuffix(b"\r").decode("utf-8", "replace")
        if self._is_cut:
            text += "…"
        self._line.clear()
        self._is_cut = False
        try:
            self._on_line(self._source, text)
        except Exception:  # noqa: BLE001 - logged; the rest of the output and the end still come
            _log.exception("a line of a child's %s was not taken", self._source)

    def _resume(self) -> None:
        self._timer = None
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._line[:] = b"... %d more lines" % dropped
            self._emit()
        self._take()
        if self._timer is None and self._transport and not self._transport.is_closing():
            self._transport.resume_reading()

    def finish(self) -> None:
        """The child has ended: read what is left without a pause."""
        self._is_finishing = True
        if self._timer is not None:
            self._timer.cancel()
            self._resume()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        elif not self.closed.done():
            self.closed.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """The pipe is closed; a last line without an end is a line too."""
        self._is_finishing = True
        if self._timer is not None:
            self._timer.cancel()
            self._resume()
        self._take()
        if self._line:
            self._emit()
        self.closed.set_result(None)


@dataclass(frozen=True, slots=True)
class Command:
    """What is started. `environ` is the whole environment: nothing else is inherited."""

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path | None = None
    inherited: tuple[int, ...] = ()
    """Open files that it has under the same numbers."""
    drops_output: bool = False
    """Whether output that comes too fast is dropped; else the child waits in its own writes."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended: with an exit `code`, or by a `signal`, after it ran for `seconds`."""

    code: int | None
    signal: int | None
    seconds: float

    def __str__(self) -> str:
        if self.signal is None:
            return f"exit code {self.code}"
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"signal {self.signal}"


class Child:
    """One running child process; make it with `Child.start()`.

    It leads a session and process group of its own. When it ends, what it left running in that
    group is killed. Its standard input is a pipe that closes when this process dies, however it
    dies: a child that should not outlive its parent watches for the end of its input. Nothing is
    written to it; `channel.py` talks to children.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_running = False
        self._is_unwanted = False
        self._lock = threading.Lock()
        """Held while the pid comes and goes, so that no signal goes to its next owner."""
        self._is_closed = threading.Event()
        """Set when the loop has closed the pipes."""
        self._spawned: asyncio.Future[None] = self._loop.create_future()
        self._connected = asyncio.Event()
        self._outputs: list[ChildOutput] = []
        self._draining: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[Ended] = self._loop.create_future()

    @classmethod
    async def start(cls, command: Command, on_line: OnLine) -> "Child":
        """Start `command`.

        Raises `OSError` when it cannot be started, `ValueError` when it is none (a NUL in it).
        """
        child = cls()
        name = f"child {Path(command.argv[0]).name}"
        threading.Thread(target=child._live, args=(command,), name=name, daemon=True).start()
        try:
            await child._spawned
            process = child._process
            assert process is not None
            drops = command.drops_output
            await child._read(ChildOutput("stdout", on_line, drops=drops), process.stdout)
            await child._read(ChildOutput("stderr", on_line, drops=drops), process.stderr)
        except BaseException:
            child.kill()
            raise
        finally:
            child._connected.set()
        return child

    async def _read(self, output: ChildOutput, pipe: IO[bytes] | None) -> None:
        self._outputs.append(output)
        await self._loop.connect_read_pipe(lambda: output, pipe)

    @property
    def pid(self) -> int:
        """The child's process id, which is its group's too."""
        assert self._process is not None, "a child that was started has one"
        return self._process.pid

    async def wait(self) -> Ended:
        """Wait for the child's end; all its lines were handed over by then."""
        return await asyncio.shield(self._ended)

    async def stop(self, within: float = STOP_SECONDS) -> Ended:
        """End the child in order: close its input and send TERM to its group.

        What still runs after `within` seconds, or when this is cancelled, is killed.
        """
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(within):
                return await self.wait()
        except TimeoutError:
            self.kill()
            return await self.wait()
        except asyncio.CancelledError:
            self.kill()
            raise

    def kill(self) -> None:
        self._is_unwanted = True
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:
            if self._is_running:
                signal_group(self.pid, number)

    def _live(self, command: Command) -> None:
        """Start the process and wait for its end, in a thread."""
        try:
            process = _popen(command)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._tell(self._fail, error)
            return
        started = time.monotonic()
        with self._lock:
            self._process = process
            self._is_running = True
            if self._is_unwanted:
                signal_group(process.pid, signal.SIGKILL)
        self._tell(self._begin)
        code = self._await_end(process)
        seconds = time.monotonic() - started
        ended = Ended(code, None, seconds) if code >= 0 else Ended(None, -code, seconds)
        if self._tell(self._finish, ended):
            # A loop that closes drops what it was told and has not done.
            while not self._is_closed.wait(_LOOP_LOOK) and not self._loop.is_closed():
                pass
        _close_pipes(process)

    def _await_end(self, process: "subprocess.Popen[bytes]") -> int:
        """Wait for the exit, and end the rest of the group before its id can be given anew."""
        if hasattr(os, "waitid"):  # macOS has none before Python 3.13
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            with self._lock:
                self._is_running = False
                signal_group(process.pid, signal.SIGKILL)
                return process.wait()
        code = process.wait()
        with self._lock:
            self._is_running = False
            signal_group(process.pid, signal.SIGKILL)
        return code

    def _tell(self, told: Callable[..., None], *args: object) -> bool:
        """Have the loop call `told`; return False when the loop has closed."""
        try:
            self._loop.call_soon_threadsafe(told, *args)
        except RuntimeError:
            return False
        return True

    def _fail(self, error: Exception) -> None:
        if not self._spawned.done():
            self._spawned.set_exception(error)

    def _begin(self) -> None:
        if not self._spawned.done():
            self._spawned.set_result(None)

    def _finish(self, ended: Ended) -> None:
        self._draining = self._loop.create_task(self._drain(ended), name=f"drain {self.pid}")

    async def _drain(self, ended: Ended) -> None:
        """Hand over what is left of the output, and close the pipes."""
        await self._connected.wait()
        for output in self._outputs:
            output.finish()
        closed = [output.closed for output in self._outputs]
        if closed:
            await asyncio.wait(closed, timeout=_LAST_OUTPUT)
            for output in self._outputs:
                output.close()  # still open: a process that left the group holds it
            await asyncio.wait(closed)
        assert self._process is not None
        _close_pipes(self._process)
        self._is_closed.set()
        self._ended.set_result(ended)


def _popen(command: Command) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command.argv,
        env=dict(command.environ),
        cwd=command.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        pass_fds=command.inherited,
    )


def _close_pipes(process: "subprocess.Popen[bytes]") -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
