"""Commands that only the person may give, where no gateway can tell who asks."""

import argparse
import os
from typing import TYPE_CHECKING

from tapui.cli.context import home, loaded
from tapui.cli.failure import Failure

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
    setting = loaded(args).settings.approvals
    if setting.command_line == _ALWAYS:
        return
    from tapui.core.trust.person import Case, judge

    judged = judge(_found(), ())
    is_taken = judged.case is Case.TAKEN or (
        judged.case is Case.TERMINAL and setting.new_terminals == "take"
    )
    if "TAP_PROVIDER_TOKEN" in os.environ:
        is_taken, why = False, "it was started for a provider"
    else:
        why = judged.why
    if not is_taken:
        raise Failure(
            f"{why}: {way} that you opened before the first session began (settings: "
            f'approvals.new-terminals = "take", approvals.command-line = "{_ALWAYS}")'
        )


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
    if why is not None:
        raise Failure(f"{why}: start tapui in a terminal of your own")


def _found() -> "Identified":
    from tapui.hosts.copilot.finding.discovery import Discovery
    from tapui.runtime.agents import Agents
    from tapui.runtime.processes.sights import look

    agents = Agents(home().state)
    for cli in Discovery(home().copilot).scan():
        # One without a session is named as the gateway does, by its process.
        name = cli.sessions[0] if cli.sessions else f"pid {cli.process.pid}"
        agents.note(cli.process.pid, f"session {name}")
    return agents.identified(look(os.getpid()))
