"""The helper: runs, by turns, and the channel to the gateway.

Each run has a turn of a few milliseconds, and a flood holds up no other run's lines. The helper
takes at most three quarters of a core, but for short whiles; commands that put out more wait in
their writes.
"""

import asyncio
import logging
import math
import os
import signal
import socket
import time
from collections import deque
from functools import partial
from typing import Any, Protocol

from tapui.core.hooks.matching import PatternError
from tapui.core.runs.reports import RulesTried, RunCounted, RunEnded, RunnerMessage, TriedLine
from tapui.emitters.runner.line_filter import NO_RULE, LineFilter, SearchAlarm
from tapui.emitters.runner.line_sender import ALL_BURST, ALL_CHARACTERS, ALL_RATE, Allowance, Window
from tapui.emitters.runner.messages import (
    AT_HELPER,
    RunFilter,
    RunnerPing,
    RunnerPong,
    RunnerReady,
    RunStart,
    RunStop,
    RunTaken,
    ToHelper,
    TryRules,
)
from tapui.emitters.runner.processes import HAS_PROC, ProcessTable, SpawnError, entry, processes
from tapui.emitters.runner.run import Run
from tapui.runtime.children.channel import Channel
from tapui.runtime.processes.reaping import become_reaper, children

MAX_RUNS = 250
TURN_SECONDS = 0.005
CPU_SHARE, CPU_BURST = 0.75, 0.25
"""How much of a core the helper takes, and seconds of it that it may save up."""
_LONGEST_REST = 0.02
TRY_SECONDS = 2.0
"""Seconds that rules are tried, over all turns."""
LEAVE_SECONDS = 1.5
"""When the gateway is gone: seconds from TERM to KILL."""
_LEAVE_AT_LAST = 4.0
_TABLE_SECONDS = 0.05
"""How long the table of processes is good for."""
_ROUND_SECONDS = 0.02
"""Seconds after which the channel is looked at between two turns."""
_MAX_UNSENT = 1024 * 1024
"""Bytes beyond which counts are left out."""

_log = logging.getLogger(__name__)


class HasTurns(Protocol):
    """What works by turns."""

    def turn(self, until: float) -> bool:
        """Work until a time; return whether more can be done at once."""


class Trial:
    """Rules that are tried on lines."""

    def __init__(self, ask: TryRules, helper: "Helper") -> None:
        """Raises `PatternError`."""
        self._ask = ask
        self._helper = helper
        self._filter = LineFilter(ask.rules, helper.alarm)
        self._tried: list[TriedLine] = []
        self._spent = 0.0

    def turn(self, until: float) -> bool:
        began = time.monotonic()
        lines, rules = self._ask.lines, self._filter
        while len(self._tried) < len(lines) and (now := time.monotonic()) < until:
            if self._spent + now - began > TRY_SECONDS:
                break
            before = sum(rules.timed_out.values())
            rule = rules.decide_one(lines[len(self._tried)])
            is_undecided = sum(rules.timed_out.values()) > before
            index = None if rule == NO_RULE else rule
            self._tried.append(TriedLine(rules.outcome(rule), index, is_undecided))
        self._spent += time.monotonic() - began
        if len(self._tried) < len(lines) and self._spent <= TRY_SECONDS:
            return True
        self._helper.tell(RulesTried(self._ask.id, self._tried))
        return False


class Helper:
    """The one object of the helper's process."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.alarm = SearchAlarm()
        self.everything = Window(float("inf"), ALL_CHARACTERS)
        self.rate = Allowance(ALL_RATE, ALL_BURST)
        self.is_leaving = False
        self._has_left = asyncio.Event()
        # A gateway that does not read has its commands wait in their writes (`Window`).
        self._channel = Channel("the gateway", AT_HELPER, self._heard, most_unsent=math.inf)
        self._inbox: deque[ToHelper] = deque()
        self._runs: dict[str, Run] = {}
        self._active: dict[HasTurns, None] = {}
        self._is_due = False
        """Whether a round is to come: messages, or runs that are active."""
        self._table = ProcessTable()
        self._table_at = float("-inf")
        self._cpu_left = CPU_BURST
        self._cpu_used, self._cpu_at = time.process_time(), time.monotonic()
        own = entry(os.getpid())
        self._mark = f"{os.getpid()}.{own.started if own else time.time_ns()}/"
        self._is_reaper = HAS_PROC and become_reaper()

    async def run(self, channel: socket.socket) -> None:
        """Serve the gateway until it is gone."""
        self._loop.set_exception_handler(self._failed)
        self._loop.add_signal_handler(signal.SIGCHLD, self._look)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._leave)
        self._channel.ended.add_done_callback(lambda _: self._gone())
        await self._channel.open(channel)
        self.tell(RunnerReady(os.getpid(), self._mark, self._is_reaper))
        await self._has_left.wait()
        self._channel.close()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End after what was not foreseen: the gateway starts another helper."""
        loop.default_exception_handler(context)
        os._exit(1)

    def _soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._round)

    def _round(self) -> None:
        """Take messages and give turns, for as long as the channel may wait."""
        self._is_due = False
        self._take_messages()
        until = time.monotonic() + _ROUND_SECONDS
        for one in list(self._active):
            now = time.monotonic()
            if now > until:
                break
            del self._active[one]
            if one.turn(now + TURN_SECONDS):
                self._active[one] = None
        self._rest()
        if self._active or self._inbox:
            self._soon()

    def _rest(self) -> None:
        """Rest when the helper has taken more than its share of a core."""
        used, now = time.process_time(), time.monotonic()
        earned = CPU_SHARE * (now - self._cpu_at) - (used - self._cpu_used)
        self._cpu_used, self._cpu_at = used, now
        self._cpu_left = min(self._cpu_left + earned, CPU_BURST)
        if self._cpu_left < 0 and not self.is_leaving:
            time.sleep(min(-self._cpu_left / CPU_SHARE, _LONGEST_REST))

    # The channel

    def tell(self, message: RunnerMessage) -> None:
        is_full = self._channel.unsent > _MAX_UNSENT
        if not (self.is_leaving or (isinstance(message, RunCounted) and is_full)):
            self._channel.send(message)

    def _heard(self, message: ToHelper) -> None:
        if self.is_leaving:
            return
        if isinstance(message, RunnerPing):
            self.tell(RunnerPong())
        else:
            self._inbox.append(message)
            self._soon()

    def _gone(self) -> None:
        if not self.is_leaving:
            _log.info("the gateway is gone")
            self._leave()

    def _take_messages(self) -> None:
        """Do what the gateway asks for, up to the first start: that takes a millisecond or two."""
        while self._inbox:
            message = self._inbox.popleft()
            if isinstance(message, RunStart):
                self._start(message)
                return
            if isinstance(message, TryRules):
                try:
                    self._active[Trial(message, self)] = None
                except PatternError as error:
                    self.tell(RulesTried(message.id, error=str(error)))
            elif not isinstance(message, RunnerPing) and (run := self._runs.get(message.run)):
                # A run that is not there has ended meanwhile.
                run.guarded(partial(_tell_run, run, message))

    # Runs

    def _start(self, ask: RunStart) -> None:
        if self.is_leaving:
            return
        try:
            if len(self._runs) >= MAX_RUNS:
                raise SpawnError(f"there are {MAX_RUNS} runs already")
            self._runs[ask.run] = Run(ask, self._mark + ask.run, self)
        except (SpawnError, PatternError) as error:
            self.tell(RunEnded(ask.run, error=str(error)))

    def wake(self, run: Run) -> None:
        if run.id in self._runs:
            self._active[run] = None
            self._soon()

    def ended(self, run: Run) -> None:
        self._runs.pop(run.id, None)
        self._check_left()

    def processes(self) -> ProcessTable:
        """Return all processes as they are now, or were a moment ago."""
        if time.monotonic() - self._table_at > _TABLE_SECONDS:
            self._table = ProcessTable(processes())
            # Of when it was read: where that takes long, it is not read again for each run.
            self._table_at = time.monotonic()
        return self._table

    def has_orphans(self) -> bool:
        """Return whether processes lost their parents, as far as the system tells."""
        if not self._is_reaper:
            return True
        leaders = {run.pid for run in self._runs.values()}
        return any(pid not in leaders for pid in children())

    def _look(self) -> None:
        """Collect children that have ended: runs' leaders, and orphans."""
        self._table_at = float("-inf")
        leaders = {run.pid for run in self._runs.values()}
        for pid in children() if self._is_reaper else ():
            if pid not in leaders:
                os.waitpid(pid, os.WNOHANG)
        for run in list(self._runs.values()):
            run.guarded(run.look)

    def _leave(self) -> None:
        """The gateway is gone, or wants the helper to end: end everything."""
        if self.is_leaving:
            return
        self.is_leaving = True
        self._inbox.clear()
        for run in list(self._runs.values()):
            run.guarded(partial(run.stop, LEAVE_SECONDS))
        self._loop.call_later(_LEAVE_AT_LAST, self._give_up)
        self._check_left()

    def _check_left(self) -> None:
        if self.is_leaving and not self._runs:
            self._has_left.set()

    def _give_up(self) -> None:
        """Something cannot be killed, or no longer ends: it is left."""
        if self._runs:
            _log.warning("%d runs did not end", len(self._runs))
        self._has_left.set()


def _tell_run(run: Run, message: RunStop | RunFilter | RunTaken) -> None:
    if isinstance(message, RunStop):
        run.stop(message.grace)
    elif isinstance(message, RunFilter):
        run.refilter(message.version, message.rules)
    else:
        run.taken(message.lines, message.characters)
