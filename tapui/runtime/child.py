"""Child processes under supervision: own process group, bounded output, an end in bounded time.

Works on any event loop, in any thread: no SIGCHLD handler is involved. A thread per child waits
for its end.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast

LINE_BYTES = 8 * 1024
"""A line of output is cut at this many bytes."""
LINES_A_SECOND = 200
BYTES_A_SECOND = 1024 * 1024
"""Beyond these rates a child's output is not read until the next second: a child that floods waits
in its own writes, and nothing is lost."""
STOP_SECONDS = 3.0
"""The default time between TERM and KILL."""
_LAST_OUTPUT = 0.5
"""Seconds for what is left in the pipes once the child has ended."""

Source = Literal["stdout", "stderr"]
OnLine = Callable[[Source, str], None]
"""Takes each line of output, without its end; called on the event loop."""


@dataclass(frozen=True, slots=True)
class Command:
    """What is started. `environ` is the whole environment: nothing else is inherited."""

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    cwd: Path | None = None


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
    group is killed. Its standard input is a pipe that nothing is written to and that closes when
    this process dies, however it dies: a child that should not outlive its parent watches for
    the end of its input.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._started = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._outputs: list[_Output] = []
        self._finishing: asyncio.Task[None] | None = None
        self._reaping = threading.Lock()
        """Held while the pid is given back, so that no signal goes to its next owner."""

    @classmethod
    async def start(cls, command: Command, on_line: OnLine) -> "Child":
        """Start `command`. Raises `OSError` when it cannot be started."""
        starting = asyncio.ensure_future(cls._start(command, on_line))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_kill_unwanted)
            raise

    @classmethod
    async def _start(cls, command: Command, on_line: OnLine) -> "Child":
        child = cls(await asyncio.to_thread(_popen, command))
        try:
            await child._read("stdout", child._process.stdout, on_line)
            await child._read("stderr", child._process.stderr, on_line)
        except BaseException:
            child.kill()
            raise
        finally:
            name = f"child {child.pid}"
            threading.Thread(target=child._wait_for_end, name=name, daemon=True).start()
        return child

    async def _read(self, source: Source, pipe: IO[bytes] | None, on_line: OnLine) -> None:
        output = _Output(source, on_line)
        self._outputs.append(output)
        await self._loop.connect_read_pipe(lambda: output, pipe)

    @property
    def pid(self) -> int:
        """The child's process id, which is its group's too."""
        return self._process.pid

    async def wait(self) -> Ended:
        """Wait for the child's end; all its lines were handed over by then."""
        return await asyncio.shield(self._ended)

    async def stop(self, within: float = STOP_SECONDS) -> Ended:
        """End the child in order: close its input and send TERM to its group.

        What still runs after `within` seconds, or when this is cancelled, is killed.
        """
        self._close_input()
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
        """Send KILL to the child's group."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with self._reaping:
            if self._process.returncode is None:
                # Not there: it ended this moment. Not permitted: macOS, for one that has ended.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, number)

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _wait_for_end(self) -> None:
        """Wait in a thread; end the rest of the group before the pid is given back."""
        if sys.platform == "linux":
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
            with self._reaping:
                code = self._process.wait()
        else:
            code = self._process.wait()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        seconds = time.monotonic() - self._started
        ended = Ended(code, None, seconds) if code >= 0 else Ended(None, -code, seconds)
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._finish, ended)

    def _finish(self, ended: Ended) -> None:
        self._close_input()
        self._finishing = self._loop.create_task(self._drain(ended), name=f"drain {self.pid}")

    async def _drain(self, ended: Ended) -> None:
        """Hand over what is left of the output, and close the pipes."""
        for output in self._outputs:
            output.finish()
        closed = [output.closed for output in self._outputs]
        await asyncio.wait(closed, timeout=_LAST_OUTPUT)
        for output in self._outputs:
            output.close()  # still open: a process that left the group holds it
        await asyncio.wait(closed)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
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
    )


def _kill_unwanted(starting: "asyncio.Future[Child]") -> None:
    """End a child whose starter was cancelled meanwhile."""
    if not starting.cancelled() and starting.exception() is None:
        starting.result().kill()


class _Output(asyncio.Protocol):
    """One output pipe of a child, taken apart into lines."""

    def __init__(self, source: Source, on_line: OnLine) -> None:
        self._source = source
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
        """The pipe is read from now on."""
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Take what came, as far as the rate allows."""
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
        if self._timer is None and not self._may_take():
            if self._transport is not None:
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
        self._on_line(self._source, text)

    def _resume(self) -> None:
        self._timer = None
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
        """Read no more."""
        if self._transport is not None:
            self._transport.close()
        elif not self.closed.done():
            self.closed.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """The pipe is closed; a last line without an end is a line too."""
        self._is_finishing = True
        if self._timer is not None:
            self._timer.cancel()
        self._take()
        if self._line:
            self._emit()
        self.closed.set_result(None)


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

    `on_line` takes its output. `on_fault` is told of each other end, or of the error when it
    could not be started, with the seconds until the next start.
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
            with contextlib.suppress(TimeoutError):
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
