"""The runner in the gateway's process: it keeps the helper, and reports the status of runs."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

import msgspec

from tapui.core.runs.reports import (
    RulesTried,
    RunEnded,
    RunFiltered,
    RunLines,
    RunnerMessage,
    RunReport,
    RunStarted,
)
from tapui.emitters.runner.helper_process import HelperProcess, Patience
from tapui.emitters.runner.messages import (
    FromHelper,
    RunFilter,
    RunnerPong,
    RunnerReady,
    RunStart,
    RunStop,
    RunTaken,
    TryRules,
)
from tapui.emitters.runner.processes import kill_leftovers
from tapui.runtime.children.lines import LineError
from tapui.runtime.children.supervisor import Backoff
from tapui.text import safe_text
from tapui.wire.provider import FilterRule

STOP_GRACE = 5.0
"""Seconds between TERM and KILL, unless a stop names others."""
CLOSE_GRACE = 1.5
"""The same when the runner is closed."""
CLOSE_SECONDS = 10.0
"""How long all may take to end then."""
MAX_TRIALS = 8
"""Trials under way at once."""


_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Known:
    """A run that has not ended."""

    ask: RunStart
    is_sent: bool = False
    started: RunStarted | None = None
    stop: RunStop | None = None
    """The order to stop it."""
    is_held: bool = False
    owed_lines: int = 0
    owed_characters: int = 0
    """What was taken while it is held, and the helper was not told."""


class Runner:
    """Runs commands in a helper process, which starts with the first and ends after the last.

    Use it on one event loop; nothing blocks there. A helper that dies, or is silent for too long,
    is replaced, after a pause that grows. Its runs end with an error, and what is left of them is
    killed before that is reported. `on_report` is called on the loop, with a run's end last; its
    lines count as taken when it returns, unless the run is held. `on_fault` gets a text about a
    lost helper, `on_helper` the process id of each helper.
    """

    def __init__(
        self,
        on_report: Callable[[RunReport], object],
        on_fault: Callable[[str], None],
        *,
        environ: Mapping[str, str],
        on_helper: Callable[[int], None] = lambda _: None,
        patience: Patience | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._on_report = on_report
        self._on_fault = on_fault
        self._environ = environ
        self._on_helper = on_helper
        self._patience = patience or Patience()
        self._backoff = backoff or Backoff()
        self._runs: dict[str, _Known] = {}
        self._trials: dict[int, tuple[TryRules, asyncio.Future[RulesTried]]] = {}
        self._trial_ids = count(1)
        self._helper: HelperProcess | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._all_ended = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return self._helper.pid if self._helper is not None else None

    def start(self, ask: RunStart) -> None:
        """Start a run: `run.started` and the others follow, or `run.ended` with an error."""
        if self._closing.is_set():
            raise RuntimeError("the runner is closed")
        if ask.run in self._runs:
            raise ValueError(f"run {ask.run} is there already")
        self._runs[ask.run] = known = _Known(ask)
        self._send_start(known)
        self._keep()

    def stop(self, run: str, grace: float = STOP_GRACE) -> None:
        """End a run: TERM, and KILL after `grace` seconds; its last lines still come."""
        known = self._runs.get(run)
        if known is None:
            return
        known.stop = RunStop(run, grace)
        if known.is_sent:
            self._say(known.stop)

    def set_filter(self, run: str, version: int, rules: tuple[FilterRule, ...]) -> None:
        """Filter what follows by other rules; `run.filtered` stands before the first such line."""
        known = self._runs.get(run)
        if known is not None and known.is_sent:
            self._say(RunFilter(run, version, rules))
        elif known is not None:
            known.ask = msgspec.structs.replace(known.ask, rules=rules, version=version)
            self._tell(RunFiltered(run, version))

    async def try_rules(self, rules: tuple[FilterRule, ...], lines: list[str]) -> RulesTried:
        """Return what rules make of lines, or an `error`."""
        ask = TryRules(next(self._trial_ids), rules, lines)
        if self._closing.is_set() or len(self._trials) >= MAX_TRIALS:
            return RulesTried(ask.id, error="too many trials at once")
        tried: asyncio.Future[RulesTried] = asyncio.get_running_loop().create_future()
        self._trials[ask.id] = ask, tried
        try:
            self._say(ask)
            self._keep()
            return await tried
        finally:
            del self._trials[ask.id]

    def hold(self, run: str) -> None:
        """Take no more of a run than a window of lines, until `release`; its command then waits."""
        if known := self._runs.get(run):
            known.is_held = True

    def release(self, run: str) -> None:
        known = self._runs.get(run)
        if known is not None and known.is_held:
            known.is_held = False
            lines, known.owed_lines = known.owed_lines, 0
            characters, known.owed_characters = known.owed_characters, 0
            if lines:
                self._say(RunTaken(run, lines, characters))

    async def close(self, within: float = CLOSE_SECONDS) -> None:
        """End all runs and the helper; the ends are reported before this returns.

        What has not ended after `within` seconds is killed.
        """
        self._closing.set()
        grace = min(CLOSE_GRACE, within * 0.75)
        for run, known in list(self._runs.items()):
            if known.is_sent:
                self.release(run)
                self.stop(run, grace)
            else:
                self._end(RunEnded(run, error="the runner was closed"))
        try:
            async with asyncio.timeout(within):
                while self._runs:
                    self._all_ended.clear()
                    await self._all_ended.wait()
                await self._let_go()
        except TimeoutError:
            if self._helper is not None:
                self._helper.kill()
            await self._let_go()

    async def _let_go(self) -> None:
        if self._helper is not None:
            self._helper.retire()
        if self._keeper is not None:
            await asyncio.wait({self._keeper})

    # The helper

    def _keep(self) -> None:
        if self._keeper is None:
            loop = asyncio.get_running_loop()
            self._keeper = loop.create_task(self._keep_helper(), name="runner")

    def _is_busy(self) -> bool:
        return bool(self._runs or self._trials)

    async def _keep_helper(self) -> None:
        """Run helpers, one after the other, as long as there is something to run."""
        try:
            while self._is_busy():
                fault, seconds = await self._run_helper()
                if fault is None or self._closing.is_set():
                    continue
                pause = self._backoff.pause(seconds)
                self._on_fault(f"{fault}; the next one starts in {pause:g} s at the soonest")
                with contextlib.suppress(TimeoutError):  # the pause is over
                    async with asyncio.timeout(pause):
                        await self._closing.wait()
        finally:
            self._keeper = None
            self._end_runs("the runner was closed", everything=True)
            self._fail_trials("the runner was closed")

    async def _run_helper(self) -> tuple[str | None, float]:
        """Start a helper and wait for its end; return what was wrong, and the seconds it ran."""
        helper = HelperProcess(self._take, self._is_busy, self._patience)
        try:
            await helper.start(self._environ)
        except OSError as error:
            fault = f"the runner cannot be started: {error.strerror or error}"
            self._end_runs(fault, everything=True)
            self._fail_trials(fault)
            return fault, 0.0
        self._helper = helper
        self._on_helper(helper.pid)
        try:
            for known in list(self._runs.values()):
                self._send_start(known)
            for ask, _ in list(self._trials.values()):
                self._say(ask)
            if self._closing.is_set():
                helper.retire()
            ended = await helper.wait()
        finally:
            self._helper = None
        is_silent = ", for it gave no sign of life" if helper.was_silent else ""
        fault = f"the runner ended ({ended}{is_silent})"
        await self._clear(helper)
        self._end_runs(fault, everything=False)
        if helper.is_retired and ended.code == 0:
            return None, ended.seconds
        self._fail_trials(fault)
        return fault, ended.seconds

    async def _clear(self, helper: HelperProcess) -> None:
        """Kill what is left of runs whose helper has ended."""
        sent = [known for known in self._runs.values() if known.is_sent]
        if helper.ready is None or not sent:
            return
        started = [known.started for known in sent if known.started is not None]
        leaders = {one.pid: one.started for one in started}
        marks = {helper.ready.mark + known.ask.run for known in sent}
        killed = await asyncio.to_thread(kill_leftovers, leaders, marks)
        _log.info("%d processes were left of %d runs, and killed", killed, len(sent))

    def _end_runs(self, fault: str, *, everything: bool) -> None:
        for run, known in list(self._runs.items()):
            if known.is_sent or everything:
                self._end(RunEnded(run, error=fault, is_lost=True))

    def _fail_trials(self, fault: str) -> None:
        for ask, _ in list(self._trials.values()):
            self._tried(RulesTried(ask.id, error=fault))

    # Messages

    def _send_start(self, known: _Known) -> None:
        if self._helper is not None and not self._helper.is_retired:
            known.is_sent = True
            self._say(known.ask)
            if known.stop is not None:
                self._say(known.stop)

    def _say(self, message: RunnerMessage) -> None:
        if self._helper is None:
            return
        try:
            self._helper.send(message)
        except LineError as error:
            match message:
                case RunStart(run):
                    self._end(RunEnded(run, error=f"it cannot be started: {error}"))
                case RunFilter(run, version):
                    self._tell(RunFiltered(run, version, str(error)))
                case TryRules(id=number):
                    self._tried(RulesTried(number, error=str(error)))
                case _:
                    name = type(message).__name__
                    _log.warning("the runner was not told (%s): %s", name, error)

    def _take(self, message: FromHelper) -> None:
        """Take a message of the helper; those of a run that has ended are ignored."""
        match message:
            case RunnerReady():
                if not message.is_reaper:
                    _log.info("processes that leave their session cannot be ended on this system")
            case RunnerPong():
                pass  # the channel has counted it
            case RulesTried():
                self._tried(message)
            case RunEnded():
                self._end(message)
            case _ if known := self._runs.get(message.run):
                if isinstance(message, RunStarted):
                    known.started = message
                self._tell(message)
                if isinstance(message, RunLines):
                    self._taken(known, message)

    def _taken(self, known: _Known, message: RunLines) -> None:
        """Let the helper send as many more lines as were taken, unless the run is held."""
        lines, characters = len(message.lines), sum(len(one.text) for one in message.lines)
        if known.is_held:
            known.owed_lines += lines
            known.owed_characters += characters
        else:
            self._say(RunTaken(message.run, lines, characters))

    def _tried(self, tried: RulesTried) -> None:
        _, waiting = self._trials.get(tried.id, (None, None))
        if waiting is not None and not waiting.done():
            waiting.set_result(tried)

    def _end(self, ended: RunEnded) -> None:
        """Report the end of a run. An error after the start means that the helper has failed."""
        known = self._runs.pop(ended.run, None)
        if known is None:
            return
        if ended.left:
            left = safe_text(", ".join(ended.left), limit=300)
            _log.info("run %s left processes running: %s", ended.run, left)
        is_lost = ended.is_lost or (ended.error is not None and known.started is not None)
        self._tell(msgspec.structs.replace(ended, is_lost=is_lost))
        self._all_ended.set()

    def _tell(self, report: RunReport) -> None:
        try:
            self._on_report(report)
        except Exception:  # noqa: BLE001 - logged; the other runs and their ends still come
            _log.exception("a report of run %s was not taken", report.run)
