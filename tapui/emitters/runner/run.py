"""A run in the helper: a command, its output pipes, and its end."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO, Protocol, TypeVar

from tapui.core.runs.reports import RunEnded, RunStarted, Source
from tapui.emitters.runner.line_reader import LineReader
from tapui.emitters.runner.line_sender import LineSending, OnceTimers, Sink
from tapui.emitters.runner.messages import RunStart
from tapui.emitters.runner.processes import (
    ProcessEntry,
    ProcessTable,
    entry,
    send,
    spawn,
)
from tapui.runtime.processes.reaping import signal_group
from tapui.wire.provider import FilterRule

READ_BYTES = 64 * 1024
"""What is read of a pipe at once: as much as one holds."""
END_SECONDS = 2.0
"""Once a command has ended: how long what it started may take to end, too, until it is killed."""
CLOSE_SECONDS = 0.25
"""... and how long its output is then still waited for."""
_LAST_BYTES = 1024 * 1024
"""What is still read of an output that another process keeps open."""
_KILL_SECONDS = 0.1
"""Between two looks for what has to be killed."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class RunHost(Sink, Protocol):
    """What a run needs of the helper that it runs in."""

    def wake(self, run: "Run") -> None:
        """Give a run a turn."""

    def processes(self) -> ProcessTable:
        """Return all processes as they are now, or were a moment ago."""

    def has_orphans(self) -> bool:
        """Return whether processes lost their parents, as far as the system tells."""

    def ended(self, run: "Run") -> None:
        """Forget a run."""


class OutputPipe:
    """One pipe of a command."""

    def __init__(self, source: Source, pipe: IO[bytes], *, keeps_layout: bool) -> None:
        self.source = source
        self.pipe = pipe
        self.fd = pipe.fileno()
        self.reader = LineReader(keeps_layout=keeps_layout)
        self.is_open = True
        self.is_watched = False
        self.has_ended = False
        """Whether its last line was taken."""
        self.timer: asyncio.TimerHandle | None = None
        self.last_bytes = _LAST_BYTES
        os.set_blocking(self.fd, False)


class Run:
    """One command that runs, from its start on."""

    def __init__(self, ask: RunStart, mark: str, host: RunHost) -> None:
        """Start it. Raises `SpawnError` and `PatternError`; then nothing runs."""
        self.id = ask.run
        self._mark = mark
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._includes_stderr = ask.include_stderr
        self._timers = OnceTimers(self.guarded)
        self._sending = LineSending(ask.run, ask.rules, host, self._timers, self._wake)
        self._is_stopped = False
        self._status: int | None = None
        """The exit code, or less than 0 for a signal; None while it runs."""
        self._is_closing = False
        """Whether only output that is there already is still read."""
        self._is_held = False
        self._process = spawn(ask, mark)
        self.pid = self._process.pid
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._outputs = [
            OutputPipe("stderr", self._process.stderr, keeps_layout=ask.keeps_layout),
            OutputPipe("stdout", self._process.stdout, keeps_layout=ask.keeps_layout),
        ]
        found = entry(self.pid)
        started = found.started if found else None
        host.tell(RunStarted(self.id, self.pid, started))
        for output in self._outputs:
            self._watch(output)

    def guarded(self, call: Callable[[], T]) -> T | None:
        """Call something of this run: what fails there unforeseen ends it, and nothing else."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - logged; others go on
            _log.exception("run %s failed", self.id)
            self._fail(f"the runner failed at it ({type(error).__name__}: {error})")
            return None

    def stop(self, grace: float) -> None:
        """End it: TERM to all of its processes, KILL to what is left after `grace` seconds."""
        if not self._is_stopped:
            self._is_stopped = True
            self._signal(signal.SIGTERM)
        self._timers.once(self._kill, grace, is_sooner=True)

    def refilter(self, version: int, rules: Sequence[FilterRule]) -> None:
        self._sending.refilter(version, rules)

    def taken(self, lines: int, characters: int) -> None:
        """The gateway took so much."""
        self._sending.taken(lines, characters)
        self._wake()

    def look(self) -> None:
        """A child process of the helper has ended: it may be this one, or one of its own."""
        if self._status is None:
            self._status = _exit_status(self.pid)
            if self._status is None:
                return
            if self._host.has_orphans():
                self._signal(signal.SIGTERM)
            self._timers.once(self._end_late, END_SECONDS)
        self._wake()

    def turn(self, until: float) -> bool:
        """Filter what was read, until a time; return whether more can be done at once."""
        return bool(self.guarded(lambda: self._work(until)))

    def _work(self, until: float) -> bool:
        is_over = self._status is not None
        while self._sending.may_send(is_over=is_over) and self._has_lines():
            self._sending.filter_some()
            if time.monotonic() >= until:
                return True
        self._check_end()
        return False

    def _wake(self) -> None:
        self._host.wake(self)

    # Output

    def _watch(self, output: OutputPipe) -> None:
        wants = output.is_open and not output.reader.is_unread and not self._is_closing
        if wants != output.is_watched:
            output.is_watched = wants
            if wants:
                self._loop.add_reader(output.fd, self.guarded, partial(self._read, output))
            else:
                self._loop.remove_reader(output.fd)

    def _read(self, output: OutputPipe) -> None:
        """Read once. While closing, an output with nothing to read is at its end."""
        if output.reader.is_unread:
            self._watch(output)
            return
        try:
            data = os.read(output.fd, READ_BYTES)
        except BlockingIOError:
            if self._is_closing:
                self._is_held = True
                self._close(output)
            return
        output.last_bytes -= len(data) if self._is_closing else 0
        if data:
            output.reader.feed(data, time.monotonic())
        if not data or output.last_bytes <= 0:
            self._close(output)
        self._wake()

    def _close(self, output: OutputPipe) -> None:
        output.is_open = False
        self._watch(output)
        output.pipe.close()

    def _has_lines(self) -> bool:
        """Take the next lines out of what was read, unless some are left; return if there are."""
        if self._sending.has_lines:
            return True
        self._outputs.reverse()  # by turns, stdout first
        for output in self._outputs:
            while output.reader.is_unread:
                if self._give(output, output.reader.take()):
                    return True
            if self._is_closing and output.is_open:
                self._read(output)  # as far as there is something, and then it is closed
                return self._has_lines()
            self._watch(output)
            if output.is_open:
                self._wait_for_rest(output)
            elif not output.has_ended:
                output.has_ended = True
                if self._give(output, output.reader.rest()):
                    return True
        return False

    def _give(self, output: OutputPipe, lines: list[str]) -> bool:
        """Hand lines over to be filtered; return whether there are any."""
        self._sending.count_truncated(output.reader.truncated)
        output.reader.truncated = 0
        if output.source == "stderr" and not self._includes_stderr:
            self._sending.note("stderr", lines)
            return False
        if lines:
            self._sending.give(output.source, lines)
        return bool(lines)

    def _wait_for_rest(self, output: OutputPipe) -> None:
        """A beginning without an end is a line when nothing follows it."""
        due = output.reader.due
        if due is not None and output.timer is None:
            take = partial(self._take_rest, output)
            output.timer = self._loop.call_at(due, self.guarded, take)

    def _take_rest(self, output: OutputPipe) -> None:
        output.timer = None
        if self._sending.has_lines or output.reader.is_unread:
            return  # it is looked at again after these
        if self._give(output, output.reader.overdue(time.monotonic())):
            self._wake()
        elif output.is_open:
            self._wait_for_rest(output)

    # The end

    def _signal(self, number: signal.Signals) -> list[ProcessEntry]:
        """Signal all processes of the run; return those that are known.

        What gave itself a session is let go with a command that ended by itself.
        """
        found = self._host.processes().members(self.pid, self._mark, os.getpid())
        if not self._is_stopped:
            found = [process for process in found if process.session == self.pid]
        signal_group(self.pid, number)
        send([process for process in found if process.group != self.pid], number)
        return found

    def _kill(self) -> None:
        """Kill all of it, and look again: it may have forked meanwhile."""
        left = self._signal(signal.SIGKILL)
        if left or self._status is None:
            self._timers.once(self._kill, _KILL_SECONDS)
        self._wake()

    def _end_late(self) -> None:
        """The command ended a while ago: end the rest, and wait for its output no longer."""
        self._kill()
        self._timers.once(self._close_late, CLOSE_SECONDS)

    def _close_late(self) -> None:
        self._is_closing = True
        for output in self._outputs:
            self._watch(output)
        self._wake()

    def _check_end(self) -> None:
        """Tell the end, if everything before it was told."""
        if self._status is None or not all(output.has_ended for output in self._outputs):
            return
        if self._sending.has_lines:
            return
        left: list[ProcessEntry] = []
        if self._host.has_orphans():
            left = self._host.processes().members(self.pid, self._mark, os.getpid())
            is_waiting = self._is_stopped or any(one.session == self.pid for one in left)
            if left and is_waiting and not self._is_closing:
                return  # until they end, or are killed
        signal_group(self.pid, signal.SIGKILL)  # where nothing is known of its members
        self._process.wait()
        self._sending.close()
        self._finish(self._ended(self._status, left))

    def _ended(self, status: int, left: list[ProcessEntry]) -> RunEnded:
        return RunEnded(
            self.id,
            self._sending.counts(),
            code=status if status >= 0 else None,
            signal=_signal_name(-status) if status < 0 else None,
            last_words=self._sending.last_words,
            last_error=self._sending.last_error,
            left=[f"{process.name} {process.pid}" for process in left],
            is_held=self._is_held,
        )

    def _fail(self, error: str) -> None:
        self._is_stopped = True
        self._signal(signal.SIGKILL)
        self._process.poll()  # or the helper asks for its exit code later
        self._sending.close()
        self._finish(
            RunEnded(
                self.id,
                self._sending.counts(),
                error=error,
                last_words=self._sending.last_words,
                last_error=self._sending.last_error,
            )
        )

    def _finish(self, ended: RunEnded) -> None:
        self._timers.cancel()
        for output in self._outputs:
            if output.timer is not None:
                output.timer.cancel()
            if output.is_open:
                self._close(output)
        self._host.tell(ended)
        self._host.ended(self)


def _exit_status(pid: int) -> int | None:
    """Return the exit code of a child, less than 0 for a signal; None while it runs.

    The process is left as a zombie so that its pid is not reused.
    """
    if not hasattr(os, "waitid"):  # macOS has none before Python 3.13
        gone, status = os.waitpid(pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if gone else None
    found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
