"""Commands that only the person may give, where no gateway can tell who asks."""

import argparse
import os
from typing import TYPE_CHECKING

from tapui.cli.context import home, loaded
from tapui.cli.failure import Failure
from tapui.invocation import is_inside

if TYPE_CHECKING:
    from tapui.core.effects import Identified

_ALWAYS = "always"
"""The setting `approvals.command-line` by which no process is looked at: what looks is not loaded
then (`core.trust.person.ALWAYS`)."""


def need_person(
    args: argparse.Namespace, way: str = "allow it in the tower or in a terminal"
) -> None:
    """Refuse what a gateway without a tower would refuse, as far as that is known without one.

    `way` says how the person can do it. Raises `Failure`.
    """
    if loaded(args).settings.approvals.command_line == _ALWAYS:
        return
    from tapui.core.trust.person import judge, shell_of

    found = _found()
    # The shell in which tapui could be started.
    judged = judge(found, (shell_of(found.sight),))
    why = "it was started for an agent" if is_inside() else judged.why
    if "TAP_PROVIDER_TOKEN" in os.environ:
        why = "it was started for a provider"
    if why:
        raise Failure(f'{why}: {way} of yours (setting: approvals.command-line = "{_ALWAYS}")')


def refuse_agents(args: argparse.Namespace) -> None:
    """Refuse to begin a gateway or a tower below an agent: what is decided there would count as the
    person's.

    Its environment tells, and what is known of agents by now. Raises `Failure`.
    """
    if loaded(args).settings.approvals.command_line == _ALWAYS:
        return
    from tapui.core.trust.person import inside

    found = _found()
    why = inside(found.sight, found.agents) if found.sight is not None else None
    why = why or ("it was started for an agent" if is_inside() else None)
    if why is not None:
        raise Failure(f"{why}: start tapui in a terminal of your own")


def _found() -> "Identified":
    from tapui.core.effects import AgentProcess, Identified
    from tapui.hosts.copilot.finding.discovery import Discovery
    from tapui.runtime.processes.sights import look, system

    agents = []
    for cli in Discovery(home().copilot).scan():
        process = system.status(cli.process.pid)
        if process is not None:
            # One without a session is named as the gateway does, by its process.
            name = cli.sessions[0] if cli.sessions else f"pid {process.pid}"
            agents.append(AgentProcess(process.pid, process.start, f"session {name}"))
    return Identified(look(os.getpid()), tuple(agents), system.now())
