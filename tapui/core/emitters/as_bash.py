"""The command of an emitter as a session's shell would be given it: that is what rules and gates
judge."""

import posixpath
import shlex

from tapui.core.emitters.given import EmitterPlan
from tapui.policies.rules import is_within

_USUAL = frozenset(
    f"{place}{name}" for place in ("", "/bin/", "/usr/bin/") for name in ("bash", "sh")
)


def as_bash(plan: EmitterPlan, folder: str) -> str:
    """Return a command with the program that reads it, unless that is bash or sh, and with the
    folder where it runs, unless that is in the session's."""
    command = plan.command or ""
    if has_other_shell(plan):
        command = shlex.join((plan.shell or "", "-c", command))
    if not is_within(plan.cwd, posixpath.normpath(folder)):
        command = f"cd {shlex.quote(plan.cwd)} && {command}"
    return command


def has_other_shell(plan: EmitterPlan) -> bool:
    """Return whether something else than bash or sh reads a command."""
    return plan.shell is not None and plan.shell not in _USUAL
