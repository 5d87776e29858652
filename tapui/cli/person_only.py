"""Commands that only the person may give, where no gateway can tell who asks."""

import argparse
import os

from tapui.cli.failure import Failure
from tapui.cli.starting import home, loaded
from tapui.core.effects import Identified
from tapui.core.trust.person import ALWAYS, Case, PersonVerdict, judge
from tapui.runtime.processes.sights import look


def need_person(
    args: argparse.Namespace, way: str = "allow it in the tower or in a terminal"
) -> None:
    """Refuse what a gateway without a tower would refuse, as far as that is known without one.

    `way` says how the person can do it. Raises `Failure`.
    """
    setting = loaded(args).settings.approvals
    if setting.command_line == ALWAYS:
        return
    judged = _judged()
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
            f'approvals.new-terminals = "take", approvals.command-line = "{ALWAYS}")'
        )


def refuse_agents(args: argparse.Namespace) -> None:
    """Refuse to begin a tower below an agent: what is decided there would count as the person's.

    Only its environment tells, before any session is known. Raises `Failure`.
    """
    if loaded(args).settings.approvals.command_line == ALWAYS:
        return
    sight = look(os.getpid())
    if sight is not None and sight.marked is not None:
        why = judge(Identified(sight), ()).why
        raise Failure(f"{why}: start tapui in a terminal of your own")


def _judged() -> PersonVerdict:
    from tapui.hosts.copilot.stored import stored_sessions
    from tapui.runtime.askers import Agents

    agents = Agents(home().state)
    for session in stored_sessions(home().copilot):
        if session.pid is not None:
            agents.note(session.pid, f"session {session.id}")
    return judge(agents.identified(look(os.getpid())), ())
