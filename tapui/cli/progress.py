"""What comes of a session while a command follows it: how it stands, and what is printed of it."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from tapui.cli import output
from tapui.cli.failure import DENIED, FAILED, UNPROVEN
from tapui.projection import approvals
from tapui.projection.requests.permissions import by_rule, rule_name
from tapui.projection.summary import one_line, summary_of
from tapui.projection.turns.programs import has_failed
from tapui.wire import events as ev
from tapui.wire.goals import FOLD, Goal, GoalReport
from tapui.wire.message import Error, Message
from tapui.wire.subjects import Approval, Gate


@dataclass(frozen=True, slots=True)
class Listed:
    """Something that the end names: what was denied, and by what; what is not proven, and why."""

    what: str
    why: str

    def told(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why}


@dataclass(slots=True)
class SessionProgress:
    """What has come of the session. `fault` is why it has failed."""

    session_id: str
    goal_id: str | None = None
    """The goal of `--until`."""
    goal: Goal | None = None
    """How it stood last."""
    report: GoalReport | None = None
    """What the look at it after the turn's end has found."""
    begun: bool = False
    """Whether the prompt is there: an idle from now on is its end."""
    is_over: bool = False
    fault: str = ""
    denied: list[Listed] = field(default_factory=list)

    @property
    def is_proven(self) -> bool:
        """Whether what `--until` names was so at the end, or the person has said that it is."""
        if self.report is not None and self.report.verdict == "verified":
            return True
        goal = self.goal
        return goal is not None and goal.status == "achieved" and goal.closed_by != FOLD

    def missing(self) -> list[Listed]:
        """Return what is not proven. Without the last look it is what was known before."""
        if self.is_proven:
            return []
        found = []
        results = {one.id: one for one in self.report.checks} if self.report is not None else {}
        for one in self.goal.criteria if self.goal is not None else ():
            result, verdict = results.get(one.id), one.verdict
            if result is not None:
                is_so, why = result.status == "pass", result.reason or result.status
            elif verdict is not None:
                is_so, why = verdict.state == "passed", verdict.reason or verdict.state
            else:
                is_so, why = False, "not looked at"
            if not is_so:
                found.append(Listed(one_line(one.text), one_line(why)))
        return found


class Printing:
    """What is printed of a session while it goes on, and at its end."""

    def event(self, entry: ev.Entry) -> None:
        """Something happened in the session."""

    def message(self, text: str) -> None:
        """The agent said something."""

    def finish(self, followed: SessionProgress, more: str) -> int:
        """Print how it ended, and `more` of the session; return the exit code."""
        for one in followed.denied:
            output.note(f"denied: {one.what} ({one.why})")
        output.note(more)
        if followed.fault:
            output.fail(followed.fault)
        code = FAILED if followed.fault else DENIED if followed.denied else 0
        if followed.goal is None:
            return code
        if followed.is_proven:
            commands = "; ".join(one_line(one.text) for one in followed.goal.criteria)
            output.note(f"✓ proven: {commands}")
            return 0
        missing = "; ".join(f"{one.what}: {one.why}" for one in followed.missing())
        output.note(f"○ not proven: {missing}")
        return FAILED if followed.fault else UNPROVEN


class PlainPrinting(Printing):
    """Messages on standard output; calls, and what failed, on standard error."""

    def message(self, text: str) -> None:
        output.say(text, newlines=True)
        output.flush()

    def event(self, entry: ev.Entry) -> None:
        match entry.event:
            case ev.CallStarted(call=call):
                output.note(f"· {call.tool} {summary_of(call)}".rstrip())
            case ev.CallFinished(call=call) if call.state == "failed":
                sign = "✗" if has_failed(call) else "⊘"
                why = one_line(call.error or call.error_code or "failed")
                output.note(f"{sign} {call.tool}: {why}")
            case ev.TurnSentBack(number=number, most=most):
                output.note(f"· sent back {number} of {most}")


class JsonPrinting(Printing):
    """Each event as a line of JSON, and one more for the end."""

    def event(self, entry: ev.Entry) -> None:
        told = msgspec.json.encode(entry.event)
        time = msgspec.json.encode(entry.ts)
        output.say_json_bytes(b'{"ts":' + time + b"," + told[1:])
        output.flush()

    def finish(self, followed: SessionProgress, more: str) -> int:
        code = super().finish(followed, more)
        told = {
            "kind": "run.finished",
            "sessionId": followed.session_id,
            "exitCode": code,
            "denied": [one.told() for one in followed.denied],
            "error": followed.fault or None,
        }
        if followed.goal is not None:
            told |= {
                "goalId": followed.goal.id,
                "proven": followed.is_proven,
                "missing": [one.told() for one in followed.missing()],
            }
        output.say_json(told)
        return code


def take(
    followed: SessionProgress, came: Message | ev.Entry, printing: Printing, request_id: str
) -> None:
    """Take what came from the gateway. `request_id` is the request's that gave the prompt."""
    match came:
        case ev.Entry(event=event) if getattr(event, "session_id", None) == followed.session_id:
            printing.event(came)
            _happened(followed, event, printing)
        case Error(id=id_, message=message) if id_ == request_id:
            followed.fault, followed.is_over = message, True


def _happened(followed: SessionProgress, event: ev.AnyEvent, printing: Printing) -> None:
    match event:
        case ev.GoalEvent(goal=goal) if goal.id == followed.goal_id:
            followed.goal = goal
        case ev.SessionHappened(event=name, data=data):
            _said(followed, name, _fields(data), printing)
        case ev.OrderChanged(state="failed", error=error) if not followed.begun:
            followed.fault, followed.is_over = error or "the prompt was not delivered", True
        case ev.ApprovalDecided(approval=approval) if approval.state in ("denied", "failed"):
            followed.denied.append(_denied(approval))
        case ev.GateChecked(gate=gate) if gate.state == "deny":
            followed.denied.append(_forbidden(gate))
        case ev.SessionClosed(session=session):
            followed.fault = f"the session ended: {session.reason}"
            followed.is_over = True


def _said(
    followed: SessionProgress,
    name: str,
    data: dict[str, Any],
    printing: Printing,
) -> None:
    match name:
        case "user.message":
            followed.begun = True
        case "assistant.message" if data.get("agentId") is None and data.get("content"):
            printing.message(str(data["content"]))
        case "session.error":
            followed.fault = str(data.get("message") or "the session failed")
        case "session.idle" if followed.begun or followed.fault:
            followed.is_over = True
            if data.get("aborted"):
                followed.fault = followed.fault or "the turn was stopped"


def _fields(data: Raw | None) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(data) if data is not None else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _denied(approval: Approval) -> Listed:
    what = f"{approvals.verb(approval)} {approvals.request(approval)}".rstrip()
    rule = rule_name(approval.rule) if by_rule(approval) else ""
    return Listed(one_line(what), rule or approval.reason or approvals.outcome(approval))


def _forbidden(gate: Gate) -> Listed:
    return Listed(gate.tool, rule_name(gate.rule) or gate.reason or "denied")
