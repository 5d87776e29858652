"""`tapui run`: one prompt in a session of its own, without a tower.

Through the running gateway, or with one for as long as the session lasts. Its messages are printed,
and at the end what was denied.
"""

import argparse
import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from tapui import invocation
from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, home, options
from tapui.cli.failure import DENIED, FAILED, NO_GATEWAY, UNTRUSTED, WRONG_USE, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, GatewayLost, NoGateway
from tapui.home.run_folder import gateways
from tapui.policies.rules import PolicyRule
from tapui.projection import approvals
from tapui.projection.requests.permissions import by_rule, rule_name
from tapui.projection.summary import one_line, summary_of
from tapui.wire import events as ev
from tapui.wire.limits import MAX_TELL
from tapui.wire.message import Error, Message
from tapui.wire.steering import (
    GivenRule,
    SessionEnd,
    SessionOrdered,
    SessionStart,
    SessionStarted,
    SessionStop,
    StartProblem,
)
from tapui.wire.subjects import Approval, Gate

COMMANDS = """
110 run: give a prompt to a Copilot session of its own, and print its messages
"""

END_SECONDS = 5.0
"""How long the session may take to end."""
_START_ID, _END_ID, _STOP_ID = "run", "run-end", "run-stop"
_CODES: dict[StartProblem, int] = {"untrusted": UNTRUSTED, "missing": NO_GATEWAY}
_EXIT_CODES = """\
exit codes:
  0 done, 1 failed, 2 wrong use or a fault in the policy file (nothing was run),
  3 no gateway on --port or no Copilot CLI, 4 the folder is not trusted,
  5 something was denied, 130 interrupted (the turn was stopped)"""


def arguments(run: CommandParser) -> None:
    run.runs(
        carry_out,
        "Through the running gateway, or with one of its own. You are not asked: what no\n"
        "rule allows is denied at once and listed at the end. The session stays stored.",
    )
    run.epilog = _EXIT_CODES
    run.add_argument("prompt", metavar="PROMPT", nargs="+", help="what to do")
    run.add_argument("--cwd", metavar="DIR", help="the session's folder (this one)")
    run.add_argument(
        "--policy", metavar="FILE", help="rules for this session alone, as in config.toml"
    )
    run.add_argument("--model", metavar="M", help="the model")
    run.add_argument(
        "--mode", choices=("interactive", "plan", "autopilot"), help="the session's mode"
    )
    run.add_argument("--json", action="store_true", help="print a JSON object for each event")
    run.add_argument("--resume", metavar="ID", help="go on with a stored session")
    run.add_argument(
        "--trust-folder",
        action="store_true",
        help="trust the folder for this session: its hooks, servers and instructions",
    )
    add_port(run, "the gateway's port")


def carry_out(args: argparse.Namespace) -> int:
    """Start the session, print the agent's messages, and return how it went as the exit code."""
    prompt = " ".join(args.prompt)
    if not prompt.strip():
        raise Failure("there is no prompt", WRONG_USE)
    if len(prompt) > MAX_TELL:
        raise Failure(f"a prompt has at most {MAX_TELL:,} characters", WRONG_USE)
    folder = None
    if args.cwd is not None or args.resume is None:
        folder = str(Path(args.cwd or ".").absolute())
    start = SessionStart(
        _START_ID,
        folder=folder,
        prompt=prompt,
        model=args.model,
        mode=args.mode,
        trust_folder=args.trust_folder,
        resume=args.resume,
        unattended=True,
        rules=_policy(args.policy) if args.policy is not None else None,
    )
    chosen = _running(args)
    if chosen is not None:
        return asyncio.run(_follow(chosen, start, as_json=args.json))
    return asyncio.run(_with_own_gateway(args, start))


def _running(args: argparse.Namespace) -> FoundGateway | None:
    """Return the gateway that the arguments mean; None where none runs and none was named."""
    try:
        return gateway(args)
    except NoGateway:
        if hasattr(args, "port") or gateways(home()):
            raise
        return None


async def _with_own_gateway(args: argparse.Namespace, start: SessionStart) -> int:
    from tapui.station.headless import private_gateway

    async with private_gateway(options(args)) as own:
        return await _follow(own, start, as_json=args.json)


def _policy(path: str) -> list[GivenRule]:
    """Read the rules for this session. Raises `Failure` where the file has a fault."""
    from tapui.settings.rule_files import read_rules

    read = read_rules(Path(path))
    if read.faults:
        raise Failure("\n".join(str(fault) for fault in read.faults), WRONG_USE)
    return _given(read.rules)


def _given(rules: Sequence[PolicyRule]) -> list[GivenRule]:
    return [
        GivenRule(
            one.effect,
            one.kind,
            one.pattern,
            one.place,
            one.folder,
            one.is_exact,
            one.reason,
            list(one.targets) or None,
        )
        for one in rules
    ]


# Seeing it through


@dataclass(frozen=True, slots=True)
class _Denied:
    """Something that no rule allowed, or that one forbade."""

    what: str
    why: str


@dataclass(slots=True)
class _Progress:
    """What has come of the session. `fault` is why it has failed."""

    session_id: str
    begun: bool = False
    """Whether the prompt is there: an idle from now on is its end."""
    is_over: bool = False
    fault: str = ""
    denied: list[_Denied] = field(default_factory=list)


async def _follow(chosen: FoundGateway, start: SessionStart, *, as_json: bool) -> int:
    """Start a session at a gateway and follow it to its end; return the exit code.

    When this is cancelled, the session's turn is stopped.
    """
    async with await GatewayConnection.open(
        chosen, name="tapui run", on_waits=output.note
    ) as connection:
        followed = _Progress(await _started(connection, start))
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
    answer = await connection.answer(start, SessionStarted)
    if answer.session_id is not None:
        return answer.session_id
    text = answer.error or "the session was not started"
    if answer.problem == "untrusted":
        text = f"{text} (--trust-folder)"
    raise Failure(text, _CODES.get(answer.problem or "failed", FAILED))


async def _end(connection: GatewayConnection, followed: _Progress, *, stop: bool = False) -> None:
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

    def finish(self, followed: _Progress) -> int:
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

    def finish(self, followed: _Progress) -> int:
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
    followed: _Progress, came: Message | ev.Entry, printing: _Printing, start: SessionStart
) -> None:
    match came:
        case ev.Entry(event=event) if getattr(event, "session_id", None) == followed.session_id:
            printing.event(came)
            _happened(followed, event, printing)
        case Error(id=start.id, message=message):
            followed.fault, followed.is_over = message, True
        case SessionOrdered():
            pass  # the order's own events tell its outcome


def _happened(followed: _Progress, event: ev.AnyEvent, printing: _Printing) -> None:
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
    followed: _Progress,
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


def _denied(approval: Approval) -> _Denied:
    what = f"{approvals.verb(approval)} {approvals.request(approval)}".rstrip()
    rule = rule_name(approval.rule) if by_rule(approval) else ""
    return _Denied(one_line(what), rule or approval.reason or approvals.outcome(approval))


def _forbidden(gate: Gate) -> _Denied:
    return _Denied(gate.tool, rule_name(gate.rule) or gate.reason or "denied")
