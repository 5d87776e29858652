"""The runs of emitters: the core's requests go to the runner, and their outcome comes back."""

import logging
import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tapui.core.effects import SetRunFilter, StartRun, StopRun, TryFilter
from tapui.core.runs.reports import (
    RulesTried,
    RunEnded,
    RunReport,
    RunStarted,
)
from tapui.emitters.runner.environment import command_environment
from tapui.emitters.runner.messages import (
    RunStart,
)
from tapui.emitters.runner.runner import Runner, TrialError
from tapui.hosts.port import Report
from tapui.text import safe_text

if TYPE_CHECKING:
    from tapui.runtime.turn import LoopTurn

CLOSE_SECONDS = 2.0
"""How long runs may take to end with the gateway; what has not ended by then is killed."""
_MAX_TOLD = 1_000

_log = logging.getLogger(__name__)


class RunShell:
    """Use it on the gateway's loop. The runner's helper process starts with the first run."""

    def __init__(
        self,
        turn: "LoopTurn",
        report: Report,
        gateway_url: str,
    ) -> None:
        self._turn = turn
        self._gateway_url = gateway_url
        self._report = report
        self._environ = dict(os.environ)
        self._names: dict[str, str] = {}
        """Of the runs under way, by their ids."""
        self._started: set[str] = set()
        """Runs whose processes were there."""
        self._told: set[tuple[str, tuple[str, ...]]] = set()
        self._runner = Runner(
            self._take,
            self._fault,
            environ=self._environ,
            on_helper=lambda pid: turn.note_agent(pid, "an emitter"),
        )

    def start(self, effect: StartRun) -> None:
        """Start a run; its status is reported to the core."""
        self._names[effect.run] = effect.plan.name
        try:
            self._runner.start(self._asked(effect))
        except Exception as error:  # noqa: BLE001 - logged and told; the other runs go on
            _log.exception("run %s could not be asked for", effect.run)
            self._take(RunEnded(effect.run, error=f"it could not be started: {error}"))

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
            args=list(plan.args) if plan.is_provider else None,
            include_stderr=plan.include_stderr,
            rules=effect.rules,
        )

    def stop(self, effect: StopRun) -> None:
        self._runner.stop(effect.run)

    def set_filter(self, effect: SetRunFilter) -> None:
        """Filter what follows by other rules."""
        self._runner.set_filter(effect.run, effect.version, effect.rules)

    async def try_filter(self, effect: TryFilter) -> None:
        """Say what rules make of lines."""
        try:
            tried = await self._runner.try_rules(effect.rules, list(effect.lines))
        except TrialError as error:
            tried = RulesTried(0, error=str(error))
        self._turn.answer(effect.ticket, tried)

    async def close(self) -> None:
        """End all runs, and the helper process."""
        await self._runner.close(CLOSE_SECONDS)

    # What the runner tells

    def _take(self, report: RunReport) -> None:
        if isinstance(report, RunStarted):
            self._started.add(report.run)
        elif isinstance(report, RunEnded):
            report = self._end_of(report)
        self._turn.tell(self._turn.gateway.emitters.reported, report)

    def _end_of(self, ended: RunEnded) -> RunEnded:
        """Forget a run. An error after the start means that the helper died."""
        if ended.left:
            name, left = self._names.get(ended.run, ""), ", ".join(ended.left)
            _log.info("emitter %s left processes running: %s", name, safe_text(left, limit=300))
        is_lost = ended.error is not None and (ended.is_lost or ended.run in self._started)
        self._names.pop(ended.run, None)
        self._started.discard(ended.run)
        return replace(ended, is_lost=is_lost)

    def _fault(self, text: str) -> None:
        self._report(f"emitters: {text}", "warning")

    def _tell_refused(self, name: str, refused: tuple[str, ...]) -> None:
        if (name, refused) not in self._told and len(self._told) < _MAX_TOLD:
            self._told.add((name, refused))
            names = safe_text(", ".join(refused), limit=200)
            self._report(f"emitter {name} does not get these variables: {names}", "warning")
