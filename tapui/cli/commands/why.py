"""`tapui why` and `tapui why-allowed`: what changed a file, and who allowed a call."""

import argparse
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tapui import invocation, times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, count, moment
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.journals import folders_of, open_index
from tapui.index.why import Blame, Change, blamed, changes_of, lines_of
from tapui.projection import approvals
from tapui.projection.changes import Hunk, changed_lines
from tapui.projection.requests.permissions import by_rule, rule_name
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.summary import summary_of
from tapui.projection.turns.programs import outcome
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.text import cut
from tapui.wire import events as ev
from tapui.wire.message import BUILTIN_PROVIDER
from tapui.wire.subjects import AppliedRule, Approval, Call, Gate

COMMANDS = """
200 why: show which turn, prompt and diff changed a file, or a line of it
210 why-allowed: tell who allowed or denied a call: you, a rule, Copilot's own rule, allow-all
"""

LAST = 5
"""Changes that are printed when `--last` does not say how many."""
_PROMPT = 200
_DIFF_LINES = 60
_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d{0,8})\Z")
_COLLECTIONS = ("calls", "approvals", "sessions")
_MOST = 200_000
"""Records of a collection that are looked through, from the newest."""
_UNKNOWN = (
    "unknown: Copilot did not ask tapui. It asks for no permission here, a rule of its own allows "
    "it, it was told to allow everything before tapui came, or another program has it approve "
    "everything without a word (set_approve_all), which Copilot does not report"
)
BY_HOST = "Copilot"
"""Who denied a call where no other is known: a rule of the CLI's own, or the person there."""
_OWN_TOOL = "tapui: a tool of tapui's own that only reads, and needs no question"


def arguments(why: CommandParser, allowed: CommandParser) -> None:
    why.runs(
        run_why,
        "With a line: the last change that touches it. Changes by commands are marked\n*probably*.",
    )
    why.add_argument("file", metavar="FILE[:LINE]", help="the file, as it stands")
    why.add_argument("--last", type=count, metavar="N", help="only the newest N changes (5)")
    why.add_argument(
        "--since", type=moment, metavar="TIME", help="only since then: 2h, 3d, 2026-11-20"
    )
    why.add_argument("--json", action="store_true", help="print a JSON object a line")
    allowed.runs(
        run_allowed,
        "Read from the records; `tapui records --collection calls` lists calls with ids.",
    )
    allowed.add_argument("call", metavar="CALL", help="the id of a call, or of a request")
    allowed.add_argument("--session", metavar="ID", help="only this session (all sessions)")
    allowed.add_argument("--json", action="store_true", help="print a JSON object")


def run_why(args: argparse.Namespace) -> int:
    """Print the changes, the newest first; 1 when none is known."""
    path, line = _file_and_line(args.file)
    with open_index() as search:
        changes = changes_of(search, path, since=args.since)
    if not changes:
        output.note(f"no recorded call changed {path}")
        return FAILED
    if line is None:
        for change in changes[: args.last or LAST]:
            _say(change, None, as_json=args.json)
        return 0
    blame = blamed(changes, _content(path, line), line)
    if blame is None:
        every = invocation.command(f"why {shlex.quote(args.file.rpartition(':')[0])}")
        output.note(f"no recorded change touches line {line}; all of the file: {every}")
        return FAILED
    _say(blame.change, blame, as_json=args.json)
    return 0


def _file_and_line(text: str) -> tuple[Path, int | None]:
    found = _LINE.match(text)
    if found is None or Path(text).exists():
        return Path(text).absolute(), None
    return Path(found["file"]).absolute(), int(found["line"])


def _content(path: Path, line: int) -> list[str]:
    """Return the lines of the file today. Raises `Failure` where there is no such line."""
    try:
        lines = lines_of(path)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    if line > len(lines):
        raise Failure(f"{path} has {len(lines)} lines", WRONG_USE)
    return lines


def _say(change: Change, blame: Blame | None, *, as_json: bool) -> None:
    if as_json:
        output.say_json(
            {"change": change, "isSure": blame.is_sure if blame else not change.is_probable}
        )
        return
    sizes = f"  +{change.added or 0} -{change.removed or 0}"
    known = sizes if change.added is not None or change.removed is not None else ""
    probably = "probably " if change.is_probable or (blame and not blame.is_sure) else ""
    turn = f", turn {change.turn}" if change.turn is not None else ""
    output.say(f"{times.date_and_time(change.ts)}  {change.session}{turn}")
    if change.prompt:
        output.say(f"  asked: {cut(' '.join(change.prompt.split()), _PROMPT)}")
    output.say(f"  {probably}by {change.title}{known}")
    left = _DIFF_LINES
    for hunk in change.hunks:
        left = _say_hunk(hunk, left)
        if left <= 0:
            output.say("    …")
            break
    output.say("")


def _say_hunk(hunk: Hunk, left: int) -> int:
    """Print the lines that went and those that came; return how many more may be printed."""
    went = [
        line for start, end in changed_lines(hunk.new, hunk.old) for line in hunk.old[start:end]
    ]
    came = [
        line for start, end in changed_lines(hunk.old, hunk.new) for line in hunk.new[start:end]
    ]
    for sign, lines in (("-", went), ("+", came)):
        for line in lines[: max(left, 0)]:
            output.say(f"    {sign} {line}")
        left -= len(lines)
    return left


# Who allowed a call


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
        if self.by == "unknown" and self.state != "denied":
            return _UNKNOWN
        if self.by == BUILTIN_PROVIDER:
            return _OWN_TOOL
        name = rule_name(self.rule) if self.rule is not None else approvals.by_whom(self.by)
        return f"{name}{f': {self.reason}' if self.reason else ''}"


def run_allowed(args: argparse.Namespace) -> int:
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
    call: Call | None = None
    ended: Call | None = None
    answer = Answer()
    denied: tuple[Gate, str] | None = None
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
                    state = "denied" if data.get("decision") == "deny" else ""
                    by, reason = data.get("by"), data.get("reason")
                    said = reason if isinstance(reason, str) else None
                    by = approvals.of_program(str(by)) if by else "unknown"
                    answer = Answer(by, state, record.ts, reason=said)
            case ev.GateChecked(gate=gate) if gate.state == "deny" and gate.id in ids:
                denied = (gate, record.ts)
            case ev.GateChecked(gate=gate) if call is not None and ended is None:
                # A host does not say which call a gate is about: the newest one of its tool.
                is_of_call = (gate.session_id, gate.tool) == (call.session_id, call.tool)
                if gate.state == "deny" and is_of_call and record.ts >= call.started_at:
                    denied = (gate, record.ts)
            case ev.CallFinished(call=found) if call is not None and found.id == call.id:
                ended = found
    is_denied = ended is not None and outcome(ended, "") == "denied"
    if denied is not None and (is_denied or ended is None):
        return call, _of_gate(*denied)
    if is_denied and ended is not None and (answer.by == "unknown" or answer.state == "answered"):
        by = answer.by if answer.at else BY_HOST
        return call, replace(answer, by=by, state="denied", reason=answer.reason or ended.error)
    if call is not None and answer.by == "unknown":
        answer = _unasked(call)
    return call, answer


def _of_gate(gate: Gate, at: str) -> Answer:
    """Return what rules or providers decided before a call, who deny it."""
    return Answer(gate.decided_by or "unknown", "denied", at, gate.rule, gate.reason)


def _unasked(call: Call) -> Answer:
    """Return who allowed a call that Copilot did not ask about."""
    from tapui.core.sessions.membership import READ_ONLY_BUILTINS

    if call.provider == BUILTIN_PROVIDER and call.tool in READ_ONLY_BUILTINS:
        return Answer(BUILTIN_PROVIDER, at=call.started_at)
    if approvals.is_tower(call.caller or ""):
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
        answered = {"approved": "allowed", "denied": "denied"}
        state = answered.get(approval.answered or "", "answered")
    return Answer(
        approval.decided_by or "unknown",
        state,
        record.ts,
        approval.rule if by_rule(approval) else None,
        approval.reason,
    )


def _call_of(approval: Approval) -> str:
    return str(detail_of(approval).get("toolCallId") or "")


def _data(happened: ev.SessionHappened) -> dict[str, Any]:
    if happened.data is None:
        return {}
    data = msgspec.json.decode(happened.data)
    return data if isinstance(data, dict) else {}
