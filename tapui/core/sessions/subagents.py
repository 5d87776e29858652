"""Subagents: those that a session has and had, and which tools each may call.

A subagent has a child session of its own; what it asks for is asked of the parent.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.model import OpenSession
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire import limits
from tapui.wire.subjects import ContextUse, Subagent

_ERROR = 300
"""Characters that are kept of why a subagent failed."""


class Subagents:
    """Follows the subagents of all sessions."""

    def __init__(self, context: CoreContext, *, sessions: OpenSessions) -> None:
        self._clock = context.clock
        self._sessions = sessions

    def started(
        self,
        session: OpenSession,
        child_id: str,
        agent: str,
        tool_call_id: str | None,
        display_name: str | None = None,
    ) -> None:
        """Remember a subagent's child session, and show the subagent as running."""
        self._sessions.add_child(session, child_id, agent)
        shown = [one for one in session.view.subagents if one.id != child_id]
        if len(shown) >= limits.MAX_SUBAGENTS:
            oldest = next((one for one in shown if one.state != "running"), shown[0])
            shown.remove(oldest)
        new = Subagent(
            id=child_id,
            agent=agent,
            state="running",
            started_at=self._clock.timestamp(),
            tool_call_id=tool_call_id,
            display_name=None if display_name is None else display_name[: limits.MAX_NAME],
        )
        self._sessions.update(session, subagents=[*shown, new])

    def ended(
        self,
        session: OpenSession,
        tool_call_id: str,
        state: Literal["completed", "failed"],
        error: str | None = None,
    ) -> None:
        """Show the subagent that a call launched as ended; its child session stays known.

        One that was stopped before stays so.
        """
        shown = [
            replace(one, state=state, error=None if error is None else error[:_ERROR])
            if one.tool_call_id == tool_call_id and one.state == "running"
            else one
            for one in session.view.subagents
        ]
        self._sessions.update(session, subagents=shown)

    def stopped(self, session: OpenSession, child_id: str) -> None:
        """Show a subagent as failed: its turn was stopped."""
        shown = [
            replace(one, state="failed") if one.id == child_id and one.state == "running" else one
            for one in session.view.subagents
        ]
        self._sessions.update(session, subagents=shown)

    def context(self, session: OpenSession, child_id: str, use: ContextUse) -> None:
        """Show how full a subagent's context is."""
        shown = [
            replace(one, context=use) if one.id == child_id else one
            for one in session.view.subagents
        ]
        self._sessions.update(session, subagents=shown)

    def turn_ended(self, session: OpenSession, state: Literal["completed", "failed"]) -> None:
        """Show as ended what runs: the turn is over, and nothing runs on its own."""
        self._sessions.update(session, subagents=all_ended(session.view.subagents, state))


def all_ended(
    subagents: Sequence[Subagent], state: Literal["completed", "failed"]
) -> list[Subagent]:
    """Return the same subagents, with `state` for those that were running."""
    return [replace(one, state=state) if one.state == "running" else one for one in subagents]


def may_call(session: OpenSession, agent: str | None, tool: str) -> bool:
    """Return whether an agent may call a tool; None is the session itself.

    `agent` is a name. An agent without an allowlist may call everything. One that the session
    does not know may do so only while no agent of the session has an allowlist.
    """
    if agent is None:
        return True
    if agent in session.agents:
        allowed = session.agents[agent]
        return allowed is None or tool in allowed
    if agent in session.children.values():
        return True
    return all(allowed is None for allowed in session.agents.values())
