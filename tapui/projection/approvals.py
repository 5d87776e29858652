"""What an approval asks and who asks it, on one line each (nothing here is made safe yet)."""

from collections.abc import Iterable

from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.permissions import by_rule, rule_name
from tapui.projection.requests.request_kind import detail_of, session_name
from tapui.projection.state import State, is_waiting
from tapui.projection.summary import one_line
from tapui.wire.events import CommandAsked
from tapui.wire.subjects import UNCHECKED, YOU, Approval

_OTHERS = {
    "cli": "you, in Copilot",
    "cli-hook": "a hook of Copilot's",
    "cli-judge": "Copilot's judge",
    "cli-policy": "Copilot's policy",
    "cli-rule": "a rule of Copilot's own",
    "cli-unattended": "Copilot, as it could not ask you",
    "cli-unnamed": "Copilot, which does not say who",
    "allow-all": "Copilot's allow-all",
    "setting": "a setting",
    "nobody": "tapui, as no person could be asked",
}
HOST_CODES = frozenset(name for name in _OTHERS if name.startswith("cli")) | {"allow-all"}
"""What decided in a host's program, by the names that the contract has."""
_FORMER_NAME = "tapui"
"""How the person's towers and commands stand in records that were written before `you` did."""


def subject(state: State, approval: Approval) -> str:
    """Return what is asked, where the verb is not shown."""
    return kind_of(approval).about(state, approval, detail_of(approval))


def asked_calls(approvals: Iterable[Approval]) -> frozenset[str]:
    """Return the ids of calls that wait for the person's permission."""
    asked = (detail_of(one).get("toolCallId") for one in approvals if is_waiting(one))
    return frozenset(one for one in asked if isinstance(one, str))


def verb(approval: Approval) -> str:
    """Return in a word what is asked to be done: `run`, `write`, `mode`, `pair` …"""
    return kind_of(approval).verb(approval)


def request(approval: Approval) -> str:
    """Return what `verb` is done to, in full: the command, the path and how many lines change, the
    URL, the tool and its arguments, from mode to mode, the question."""
    return kind_of(approval).line(approval, detail_of(approval)).strip().replace("\n", " ⏎ ")


def reason(approval: Approval) -> str:
    """Return why the asker wants it, in its own words; "" where it gave none."""
    given = kind_of(approval).reason(detail_of(approval))
    return " ".join(given.split()) if isinstance(given, str) else ""


def by_whom(name: str) -> str:
    """Return who decided or called, by the name on record: the person is `you`, wherever."""
    if name.partition(" ")[0] == _FORMER_NAME:
        return YOU
    return _OTHERS.get(name, name)


def by(name: str) -> str:
    """Return that behind what was decided: `by you`, `in copilot: Ann`."""
    who = by_whom(name)
    return who if who.startswith("in ") else f"by {who}"


def of_program(name: str) -> str:
    """Return how it stands on record that a session's program decided by itself: a name that is
    none of those is the host's word."""
    return name if name in _OTHERS else f"in its host: {name}"


def is_tower(name: str) -> bool:
    """Return whether a caller on record is a tower or a command, and not a session's host."""
    return by_whom(name) in (YOU, UNCHECKED) or name.startswith("process ")


def outcome(approval: Approval) -> str:
    """Return how a settled approval ended, and by whom: `approved by you`, `timed out`."""
    how = by(approval.decided_by) if approval.decided_by else ""
    if by_rule(approval):
        how = f"by {rule_name(approval.rule)}"
    if approval.state == "expired":
        return "timed out"
    if approval.state == "deciding":
        return "a decision is being recorded"
    if approval.state == "withdrawn" and approval.answered is None:
        why = one_line(approval.reason or "")
        return f"answered {how}" if how else f"withdrawn: {why}" if why else "withdrawn"
    if approval.state == "failed":
        return f"failed: {approval.reason}" if approval.reason else "failed"
    state: str = approval.answered or approval.state
    if state == "denied":
        state = kind_of(approval).denied(approval)
    elif state == "approved":
        state = kind_of(approval).approved(approval)
    return f"{state} {how}" if how else state


def who(state: State, approval: Approval) -> str:
    """Return who asks: a session, a provider, or a terminal."""
    return kind_of(approval).who(state, approval)


def asker(state: State, approval: Approval) -> str:
    """Return who asks, and in which session where that is not the same."""
    name, session = who(state, approval), session_name(state, approval.session_id)
    return f"{name} in {session}" if session not in ("", name) else name


def command_line(asked: CommandAsked) -> str:
    """Return who wanted what: `tapui approve refused: process 4711 has no terminal (sh 4711)`."""
    who = "an unknown process"
    if asked.asker is not None:
        line = [f"{asked.asker.name} {asked.asker.pid}"]
        who = " < ".join(line + [f"{one.name} {one.pid}" for one in asked.asker.ancestors])
    text = f"{asked.command} refused: {asked.refused}" if asked.refused else asked.command
    return f"{text} ({who})"
