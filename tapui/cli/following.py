"""Seeing a session through: its messages are printed, what was denied is told at the end."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from tapui import invocation
from tapui.cli import output
from tapui.cli.failure import DENIED, FAILED, NO_GATEWAY, UNTRUSTED, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.errors import GatewayError, GatewayLost
from tapui.client.gateways import FoundGateway
from tapui.projection import asking
from tapui.projection.summary import one_line, summary_of
from tapui.wire import events as ev
from tapui.wire.message import Error, Message
from tapui.wire.starting import SessionStart, SessionStarted, StartProblem
from tapui.wire.steering import SessionEnd, SessionOrdered, SessionStop
from tapui.wire.subjects import Approval, Gate

END_SECONDS = 5.0
"""How long the session may take to end."""
_CODES: dict[StartProblem, int] = {"untrusted": UNTRUSTED, "missing": NO_GATEWAY}
_END_ID, _STOP_ID = "run-end", "run-stop"


@dataclass(frozen=True, slots=True)
class Denied:
    """Something that no rule allowed, or that one forbade."""

    what: str
    why: str


@dataclass(slots=True)
class Followed:
    """What has come of the session. `fault` is why it has failed."""

    session_id: str
    begun: bool = False
    """Whether the prompt is there: an idle from now on is its end."""
    is_over: bool = False
    fault: str = ""
    denied: list[Denied] = field(default_factory=list)


async def follow(chosen: FoundGateway, start: SessionStart, *, as_json: bool) -> int:
    """Start a session at a gateway and follow it to its end; return the exit code.

    When this is cancelled, the session's turn is stopped.
    """
    async with await GatewayConnection.open(
        chosen, name="tapui run", on_waits=output.note
    ) as connection:
        followed = Followed(await _started(connection, start))
        printing = _Json() if as_json else _Plain()
        try:
            async for came in connection:
                _take(followed, came, printing, start)
                if followed.is_over:
                    break
        except GatewayLost:
            followed.fault = "the gateway has ended, and the session with it"
        except asyncio.CancelledError:
            with contextlib.suppress(GatewayError, TimeoutError):  # the connection's end ends it
                await _end(connection, followed, stop=True)
            raise
        else:
            with contextlib.suppress(GatewayError, TimeoutError):  # see above
                await _end(connection, followed)
    return printing.finish(followed)


async def _started(connection: GatewayConnection, start: SessionStart) -> str:
    """Return the session's id; raises `Failure` where there is none."""

    def is_answer(came: Message | ev.Entry) -> bool:
        return isinstance(came, SessionStarted) and came.id == start.id

    answer = await connection.ask(start, is_answer)
    assert isinstance(answer, SessionStarted)
    if answer.session_id is not None:
        return answer.session_id
    text = answer.error or "the session was not started"
    if answer.problem == "untrusted":
        text = f"{text} (--trust-folder)"
    raise Failure(text, _CODES.get(answer.problem or "failed", FAILED))


async def _end(connection: GatewayConnection, followed: Followed, *, stop: bool = False) -> None:
    """End the session, so that it can be gone on with."""
    if followed.fault and not stop and followed.is_over is False:
        return
    async with asyncio.timeout(END_SECONDS):
        if stop:
            await connection.send(SessionStop(_STOP_ID, followed.session_id))

        def is_ended(came: Message | ev.Entry) -> bool:
            closed = isinstance(came, ev.Entry) and isinstance(came.event, ev.SessionClosed)
            return closed and came.event.session_id == followed.session_id  # type: ignore[union-attr]

        await connection.ask(SessionEnd(_END_ID, followed.session_id), is_ended)


class _Printing:
    """What is printed of a session while it goes on, and at its end."""

    def event(self, entry: ev.Entry) -> None:
        """Something happened in the session."""

    def message(self, text: str) -> None:
        """The agent said something."""

    def finish(self, followed: Followed) -> int:
        """Tell how it went; return the exit code."""
        for one in followed.denied:
            output.note(f"denied: {one.what} ({one.why})")
        resume = invocation.command(f"run --resume {followed.session_id}")
        output.note(f"session {followed.session_id}; `{resume} PROMPT` goes on with it")
        if followed.fault:
            output.fail(followed.fault)
        return FAILED if followed.fault else DENIED if followed.denied else 0


class _Plain(_Printing):
    def message(self, text: str) -> None:
        output.say(text, newlines=True)
        output.flush()

    def event(self, entry: ev.Entry) -> None:
        match entry.event:
            case ev.CallStarted(call=call):
                output.note(f"· {call.tool} {summary_of(call)}".rstrip())
            case ev.CallFinished(call=call) if call.state == "failed":
                output.note(f"✗ {call.tool}: {one_line(call.error or call.error_code or 'failed')}")


class _Json(_Printing):
    def event(self, entry: ev.Entry) -> None:
        told = msgspec.json.encode(entry.event)
        time = msgspec.json.encode(entry.ts)
        output.say_json_bytes(b'{"ts":' + time + b"," + told[1:])
        output.flush()

    def finish(self, followed: Followed) -> int:
        code = super().finish(followed)
        output.say_json(
            {
                "kind": "run.finished",
                "sessionId": followed.session_id,
                "exitCode": code,
                "denied": [{"what": one.what, "why": one.why} for one in followed.denied],
                "error": followed.fault or None,
            }
        )
        return code


def _take(
    followed: Followed, came: Message | ev.Entry, printing: _Printing, start: SessionStart
) -> None:
    match came:
        case ev.Entry(event=event) if getattr(event, "session_id", None) == followed.session_id:
            printing.event(came)
            _happened(followed, event, printing)
        case Error(id=start.id, message=message):
            followed.fault, followed.is_over = message, True
        case SessionOrdered():
            pass  # the order's own events tell what becomes of it


def _happened(followed: Followed, event: ev.AnyEvent, printing: _Printing) -> None:
    match event:
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
    followed: Followed,
    name: str,
    data: dict[str, Any],
    printing: _Printing,
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


def _denied(approval: Approval) -> Denied:
    what = f"{asking.verb(approval)} {asking.request(approval)}".rstrip()
    rule = asking.rule_name(approval.rule) if asking.by_rule(approval) else ""
    return Denied(one_line(what), rule or approval.reason or asking.outcome(approval))


def _forbidden(gate: Gate) -> Denied:
    return Denied(gate.tool, asking.rule_name(gate.rule) or gate.reason or "denied")
