"""The runs of emitters: what the core asks goes to the runner, and what becomes of it back."""

import logging
import os
from collections.abc import Callable, Sequence

from tapui.core.effects import SetRunFilter, StartRun, StopRun, TryFilter
from tapui.core.emitters.inputs import EmitterInputs
from tapui.core.emitters.plans import (
    RunEnd,
    RunLineRead,
    TriedRules,
)
from tapui.emitters.runner.environment import command_environment
from tapui.emitters.runner.messages import (
    LineRule,
    RunCounted,
    RunCounts,
    RunEnded,
    RunFiltered,
    RunLines,
    RunStart,
    RunStarted,
)
from tapui.emitters.runner.runner import RunEvent, Runner, TrialError
from tapui.hosts.port import Report
from tapui.text import safe_text
from tapui.wire.emitters import EmitterCounts
from tapui.wire.provider import FilterRule

CLOSE_SECONDS = 2.0
"""How long runs may take to end with the gateway; what has not ended by then is killed."""
_MAX_TOLD = 1_000

TellEmitters = Callable[[Callable[[EmitterInputs, float], None]], None]

_log = logging.getLogger(__name__)


class RunShell:
    """Use it on the gateway's loop. The runner's helper process starts with the first run."""

    def __init__(
        self,
        tell: TellEmitters,
        report: Report,
        gateway_url: str,
        on_helper: Callable[[int], None],
    ) -> None:
        self._tell = tell
        self._gateway_url = gateway_url
        self._report = report
        self._environ = dict(os.environ)
        self._names: dict[str, str] = {}
        """Of the runs under way, by their ids."""
        self._started: set[str] = set()
        """Runs whose processes were there."""
        self._told: set[tuple[str, tuple[str, ...]]] = set()
        self._runner = Runner(self._take, self._fault, environ=self._environ, on_helper=on_helper)

    def start(self, effect: StartRun) -> None:
        """Start a run; whatever becomes of it is told."""
        self._names[effect.run] = effect.plan.name
        try:
            self._runner.start(self._asked(effect))
        except Exception as error:  # noqa: BLE001 - logged and told; the other runs go on
            _log.exception("run %s could not be asked for", effect.run)
            self._end(effect.run, RunEnd(error=f"it could not be started: {error}"))

    def _asked(self, effect: StartRun) -> RunStart:
        plan = effect.plan
        env, refused = command_environment(self._environ, dict(plan.env))
        if refused:
            self._tell_refused(plan.name, tuple(refused))
        if effect.token is not None:
            env["TAP_PROVIDER_TOKEN"] = effect.token.reveal()
            env["TAP_GATEWAY"] = self._gateway_url
        return RunStart(
            effect.run,
            plan.command or "",
            plan.cwd,
            env,
            shell=plan.shell,
            args=list(plan.args) if plan.kind == "provider" else None,
            include_stderr=plan.include_stderr,
            rules=_line_rules(effect.rules),
        )

    def stop(self, effect: StopRun) -> None:
        """End a run."""
        self._runner.stop(effect.run)

    def set_filter(self, effect: SetRunFilter) -> None:
        """Filter what follows by other rules."""
        self._runner.set_filter(effect.run, effect.version, _line_rules(effect.rules))

    async def try_filter(self, effect: TryFilter) -> None:
        """Say what rules make of lines."""
        try:
            found = await self._runner.try_rules(_line_rules(effect.rules), list(effect.lines))
            lines = tuple((one.outcome, one.rule, one.is_undecided) for one in found.lines)
            tried = TriedRules(lines)
        except TrialError as error:
            tried = TriedRules(error=str(error))
        self._tell(lambda inputs, now: inputs.filter_tried(effect.ticket, tried, now))

    async def close(self) -> None:
        """End all runs, and the helper process."""
        await self._runner.close(CLOSE_SECONDS)

    # What the runner tells

    def _take(self, event: RunEvent) -> None:
        run = event.run
        if isinstance(event, RunLines):
            lines = [
                RunLineRead(one.text, one.outcome, one.source, one.rule) for one in event.lines
            ]
            self._tell(lambda inputs, now: inputs.run_lines(run, lines, now))
        elif isinstance(event, RunCounted):
            counts = _counted(event.counts)
            self._tell(lambda inputs, now: inputs.run_counted(run, counts, now))
        elif isinstance(event, RunStarted):
            self._started.add(run)
            self._tell(lambda inputs, now: inputs.run_started(run, now))
        elif isinstance(event, RunFiltered):
            version, error = event.version, event.error
            self._tell(lambda inputs, now: inputs.run_filtered(run, version, error, now))
        else:
            self._take_end(event)

    def _take_end(self, event: RunEnded) -> None:
        if event.left:
            name, left = self._names.get(event.run, ""), ", ".join(event.left)
            _log.info("emitter %s left processes running: %s", name, safe_text(left, limit=300))
        end = RunEnd(
            code=event.code,
            signal=event.signal,
            error=event.error,
            # What ran, and ended with an error, has ended for want of a runner.
            is_lost=event.error is not None and (event.is_lost or event.run in self._started),
            counts=_counted(event.counts),
            last_words=tuple(event.last_words),
        )
        self._end(event.run, end)

    def _end(self, run: str, end: RunEnd) -> None:
        self._names.pop(run, None)
        self._started.discard(run)
        self._tell(lambda inputs, now: inputs.run_ended(run, end, now))

    def _fault(self, text: str) -> None:
        self._report(f"emitters: {text}", "warning")

    def _tell_refused(self, name: str, refused: tuple[str, ...]) -> None:
        if (name, refused) not in self._told and len(self._told) < _MAX_TOLD:
            self._told.add((name, refused))
            names = safe_text(", ".join(refused), limit=200)
            self._report(f"emitter {name} does not get these variables: {names}", "warning")


def _line_rules(rules: Sequence[FilterRule]) -> list[LineRule]:
    return [LineRule(rule.match, rule.outcome) for rule in rules]


def _counted(counts: RunCounts) -> EmitterCounts:
    """Return what the runner counts; what becomes of kept lines is counted by the core."""
    return EmitterCounts(
        lines=counts.lines,
        dropped=counts.dropped,
        truncated=counts.truncated,
        undecided=counts.timed_out,
    )
