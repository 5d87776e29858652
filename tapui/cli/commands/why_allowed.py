"""`tapui why-allowed`: who allowed a call, or refused it."""

import argparse
from dataclasses import dataclass
from typing import Any

import msgspec

from tapui import times
from tapui.cli import output
from tapui.cli.commands.records import folders_of
from tapui.cli.failure import FAILED
from tapui.projection import asking
from tapui.projection.summary import summary_of
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.wire import events as ev
from tapui.wire.message import BUILTIN_PROVIDER
from tapui.wire.subjects import AppliedRule, Approval, Call

_COLLECTIONS = ("calls", "approvals", "sessions")
_MOST = 200_000
"""Records of a collection that are looked through, from the newest."""
_UNKNOWN = (
    "unknown: Copilot did not ask tapui. It asks for no permission here, a rule of its own allows "
    "it, it was told to allow everything before tapui came, or another program has it approve "
    "everything without a word (set_approve_all), which Copilot tells nobody"
)
_OWN_TOOL = "nobody: it is a tool of tapui's own that only reads, and is not asked about"


@dataclass(slots=True)
class Answer:
    """Who decided about a call. `by` is the name on record, "unknown" where there is none."""

    by: str = "unknown"
    state: str = ""
    at: str = ""
    rule: AppliedRule | None = None
    reason: str | None = None

    @property
    def words(self) -> str:
        """Return who it was, in words."""
        if self.by == "unknown":
            return _UNKNOWN
        if self.by == BUILTIN_PROVIDER:
            return _OWN_TOOL
        name = asking.rule_name(self.rule) if self.rule is not None else asking.by_whom(self.by)
        return f"{name}{f': {self.reason}' if self.reason else ''}"


def run(args: argparse.Namespace) -> int:
    """Print who allowed the call; 1 when no record has it."""
    call, answer = _found(args.call, args.session)
    if call is None and not answer.at:
        output.note(f"no record has a call {args.call}")
        return FAILED
    if args.json:
        output.say_json_bytes(msgspec.json.encode(_told(args.call, call, answer)))
        return 0
    if call is not None:
        output.say(f"{times.date_and_time(call.started_at)}  {call.tool}  {summary_of(call)}")
    if answer.state:
        output.say(f"{answer.state} by {answer.words}")
    else:
        output.say(f"allowed by {answer.words}")
    return 0


def _told(call_id: str, call: Call | None, answer: Answer) -> dict[str, Any]:
    return {
        "call": call_id,
        "session": call.session_id if call is not None else None,
        "tool": call.tool if call is not None else None,
        "state": answer.state or None,
        "by": answer.by,
        "words": answer.words,
        "rule": answer.rule,
        "at": answer.at or None,
    }


def _found(call_id: str, session: str | None) -> tuple[Call | None, Answer]:
    """Return a call as it began, and who decided about it."""
    call: Call | None = None
    answer = Answer()
    records = _records(session)
    ids = {call_id}  # what the session calls it, too
    for record in records:
        match record.event:
            case ev.CallStarted(call=found) if call_id in (found.id, found.tool_call_id):
                call = found
                ids |= {found.id, found.tool_call_id or call_id}
    for record in records:
        match record.event:
            case (
                ev.ApprovalDecided(approval=approval) | ev.ApprovalWithdrawn(approval=approval)
            ) if ids & {approval.id, _call_of(approval)} and approval.decided_by:
                answer = _of_approval(approval, record)
            case ev.SessionHappened(event="permission.completed") as happened:
                data = _data(happened)
                if data.get("toolCallId") in ids and answer.by == "unknown":
                    answer = Answer(str(data.get("by") or "unknown"), "", record.ts)
    if call is not None and answer.by == "unknown":
        answer = _unasked(call)
    return call, answer


def _unasked(call: Call) -> Answer:
    """Return who allowed a call that Copilot asked nobody about."""
    from tapui.core.sessions.membership import READ_ONLY_BUILTINS

    if call.provider == BUILTIN_PROVIDER and call.tool in READ_ONLY_BUILTINS:
        return Answer(BUILTIN_PROVIDER, at=call.started_at)
    if asking.is_tower(call.caller or ""):
        return Answer(call.caller or "", at=call.started_at)
    return Answer()


def _records(session: str | None) -> list[Record]:
    found: list[Record] = []
    for session_id, folders in folders_of(session):
        for folder in folders:
            for collection in _COLLECTIONS:
                found += reader.tail(
                    folder, collection, _MOST, session_id=session_id, damage=Damage()
                )
    return reader.in_order(found)


def _of_approval(approval: Approval, record: Record) -> Answer:
    state = "denied" if approval.state in ("denied", "failed") else "allowed"
    if approval.state == "withdrawn":
        state = "answered"
    return Answer(
        approval.decided_by or "unknown",
        state,
        record.ts,
        approval.rule if asking.by_rule(approval) else None,
        approval.reason,
    )


def _call_of(approval: Approval) -> str:
    return str(asking.detail_of(approval).get("toolCallId") or "")


def _data(happened: ev.SessionHappened) -> dict[str, Any]:
    if happened.data is None:
        return {}
    data = msgspec.json.decode(happened.data)
    return data if isinstance(data, dict) else {}
