"""The runs of emitters: the core's requests go to the runner, which reports to the core."""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.core.effects import SetRunFilter, StartRun, StopRun, TryFilter
from tapui.core.emitters.plans import EmitterPlan
from tapui.core.runs.reports import RunEnded
from tapui.emitters.runner.environment import command_environment
from tapui.emitters.runner.messages import RunStart
from tapui.emitters.runner.runner import Runner
from tapui.hosts.port import Report
from tapui.shipped import ARGUMENTS, SERVICES
from tapui.text import safe_text

if TYPE_CHECKING:
    from tapui.runtime.turn import LoopTurn

CLOSE_SECONDS = 2.0
"""How long runs may take to end with the gateway; what has not ended by then is killed."""
_MAX_TOLD = 1_000

_log = logging.getLogger(__name__)


def is_ours(plan: EmitterPlan) -> bool:
    """Return whether a plan runs a provider that ships with this tapui."""
    is_started_so = plan.is_provider and plan.args[: len(ARGUMENTS)] == ARGUMENTS
    return is_started_so and _is_own_python(plan.command or "")


def _is_own_python(command: str) -> bool:
    """Return whether a command is this interpreter, by any of the names in its folder: `python` and
    `python3.11`, say."""
    own, given = Path(sys.executable), Path(command)
    return given.parent == own.parent and given.resolve() == own.resolve()


class RunShell:
    """Use it on the gateway's loop. The runner's helper process starts with the first run."""

    def __init__(
        self,
        turn: "LoopTurn",
        report: Report,
        gateway_url: str,
        own: Mapping[str, str] | None = None,
    ) -> None:
        """`own` are variables that tapui's own providers get besides."""
        self._own = dict(own or {})
        self._turn = turn
        self._gateway_url = gateway_url
        self._report = report
        self._environ = dict(os.environ)
        self._told: set[tuple[str, tuple[str, ...]]] = set()
        tell: Callable[..., object] = turn.tell  # mypy follows no partial of a `ParamSpec`
        self._tell = partial(tell, turn.gateway.runs.reported)
        self._runner = Runner(
            self._tell,
            lambda text: report(f"emitters: {text}", "warning"),
            environ=self._environ,
            on_helper=lambda pid: turn.note_agent(pid, "an emitter"),
        )

    def carry_out(self, effect: StartRun | StopRun | SetRunFilter) -> None:
        match effect:
            case StopRun(run):
                self._runner.stop(run)
            case SetRunFilter(run, version, rules):
                self._runner.set_filter(run, version, rules)
            case StartRun(run):
                try:
                    self._runner.start(self._asked(effect))
                except Exception as error:  # noqa: BLE001 - logged and told; the other runs go on
                    _log.exception("run %s could not be asked for", run)
                    self._tell(RunEnded(run, error=f"it could not be started: {error}"))

    def _asked(self, effect: StartRun) -> RunStart:
        plan = effect.plan
        env, refused = command_environment(self._environ, dict(plan.env))
        if refused:
            self._tell_refused(plan.name, tuple(refused))
        if effect.token is not None:
            env["TAP_PROVIDER_TOKEN"] = effect.token.reveal()
            env["TAP_GATEWAY"] = self._gateway_url
        if effect.session is not None:
            env["TAP_SESSION"] = effect.session
        if is_ours(plan):
            env = {name: value for name, value in env.items() if name not in SERVICES}
            env |= {name: self._environ[name] for name in SERVICES if name in self._environ}
            env |= self._own
        return RunStart(
            effect.run,
            plan.command or "",
            plan.cwd,
            env,
            shell=plan.shell,
            args=list(plan.args) if plan.is_provider else None,
            include_stderr=plan.include_stderr,
            rules=effect.rules,
            keeps_layout=effect.keeps_layout,
        )

    def _tell_refused(self, name: str, refused: tuple[str, ...]) -> None:
        if (name, refused) not in self._told and len(self._told) < _MAX_TOLD:
            self._told.add((name, refused))
            names = safe_text(", ".join(refused), limit=200)
            self._report(f"emitter {name} does not get these variables: {names}", "warning")

    async def try_filter(self, effect: TryFilter) -> None:
        """Answer what rules make of lines."""
        tried = await self._runner.try_rules(effect.rules, list(effect.lines))
        self._turn.answer(effect.ticket, tried)

    async def close(self) -> None:
        await self._runner.close(CLOSE_SECONDS)
