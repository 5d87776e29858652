"""Notes that agents write: where the person's setting has it so, they are asked before each.

The gateway asks, so it holds in each program that an agent runs in: for an MCP client, and for a
CLI that asks about nothing. What the person has answered there about exactly this call is not asked
twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from tapui.core.approvals.approvals import Approvals, Decided
from tapui.core.approvals.policies import BY_NOBODY, BY_RULE, UNATTENDED
from tapui.core.context import CorePart
from tapui.core.model import Connection, Inquiry, OpenSession, RegisteredTool, Standing
from tapui.settings.settings import Memory
from tapui.wire import limits
from tapui.wire.message import ToolInvoke
from tapui.wire.subjects import YOU, Approval, Judged

MEMORY = "memory"
"""The name of the provider that keeps notes."""
_WRITING = frozenset({"save", "delete"})
_WHY = "the setting memory.ask-writes asks you about each"
_IN_CLI = "cli"
"""Who decided what the person answered in the CLI's own window."""
Then = Callable[[str | None], None]
"""Takes why a call may not go ahead; None where it may."""


@dataclass(eq=False, repr=False)
class NoteWrites(CorePart):
    """Opens an approval of kind `permission` for a call that writes a note."""

    approvals: Approvals
    setting: Memory

    def must_ask(
        self, session: OpenSession, entry: RegisteredTool, caller: Connection, call: ToolInvoke
    ) -> bool:
        """Return whether the person is asked before a call; not about what they call themselves."""
        if not self.setting.ask_writes or entry.owner != MEMORY:
            return False
        args = _object(call.args)
        is_writing = args is None or args.get("command") in _WRITING
        return is_writing and not (
            caller.by == YOU or self._is_answered(session, caller, call, args)
        )

    def _is_answered(
        self, session: OpenSession, caller: Connection, call: ToolInvoke, args: Any
    ) -> bool:
        """Return whether the session's program has asked about this call, and the person said
        yes: not a rule, and not the program by itself."""
        if caller.standing is not Standing.HOST or caller.id != session.host:
            return False
        return call.tool_call_id is not None and any(
            one.session_id == session.id
            and one.kind == "permission"
            and _is_persons_yes(one)
            and isinstance(one.detail, dict)
            and one.detail.get("toolCallId") == call.tool_call_id
            and one.detail.get("args") == args
            for one in self._out.state.approvals.values()
        )

    def ask(self, inquiry: Inquiry, then: Then) -> None:
        """Ask the person about the call that waits. Raises `WireError` where too much waits."""
        session, call = inquiry.session, inquiry.invoke
        assert call is not None, "it is a call that waits"
        if session.view.unattended:
            then(f"the person is asked about each note that is written: {UNATTENDED}")
            return
        size = len(memoryview(call.args))
        self.approvals.check_room(inquiry.asker, size)
        detail = {"kind": "custom-tool", "toolName": call.tool, "args": _object(call.args)}
        if call.tool_call_id is not None:
            detail["toolCallId"] = call.tool_call_id
        if call.agent_id is not None:
            detail["agentId"] = call.agent_id
        self.approvals.request(
            "permission",
            inquiry.asker,
            inquiry,
            detail,
            limits.HOST_APPROVAL_TIMEOUT,
            on_decided=partial(_decided, then),
            on_expired=lambda _: then("the person did not answer in time"),
            on_withdrawn=lambda _, why: then(why),
            session_id=session.id,
            provider=MEMORY,
            size=size,
            judged=Judged(why=_WHY, unkeepable=_WHY),
        )

    def drop(self, inquiry: Inquiry, reason: str) -> None:
        """The answer is not wanted any more, if one was: the caller gave up."""
        waiting = [one for one in self.approvals.waiting.values() if one.subject is inquiry]
        for one in waiting:
            self.approvals.withdraw(one, reason=reason)


def _decided(then: Then, decided: Decided) -> None:
    if decided.verdict == "approve":
        then(None)
    else:
        then(decided.reason or "the person did not allow it")


def _is_persons_yes(approval: Approval) -> bool:
    if approval.state == "withdrawn":
        return approval.answered == "approved" and approval.decided_by == _IN_CLI
    return approval.state == "approved" and approval.decided_by not in (BY_RULE, BY_NOBODY)


def _object(args: Raw) -> dict[str, Any] | None:
    """Return arguments, None for what cannot be read."""
    try:
        return msgspec.json.decode(args, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
