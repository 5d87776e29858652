"""The sessions that are open, their order, their aliases and their children.

Provider Interface v2 "Multi-session model"; `tapui/wire/README.md`.
"""

from collections.abc import Callable

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.model import Connection, OpenSession
from tapui.core.trust.grants import Grant
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import SessionUpdated
from tapui.wire.message import ActiveSession


class UnknownSessionError(Exception):
    """No session answers to an id; the text is the document's."""


class OpenSessions:
    """The registry."""

    def __init__(self, context: CoreContext) -> None:
        self._out = context.out
        self.open: dict[str, OpenSession] = {}
        self.aliases: dict[str, str] = {}
        self._child_parent: dict[str, str] = {}
        self.changed: Callable[[], None] = lambda: None
        """Is told that a session came, went, or is gone for good."""

    def get(self, session_id: str) -> OpenSession | None:
        """Return the open session that answers to an id, a former id included."""
        session = self.open.get(session_id)
        if session is None and session_id in self.aliases:
            session = self.open.get(self.aliases[session_id])
        return session

    def required(self, session_id: str) -> OpenSession:
        """Return what `get` finds. Raises `WireError` (`INVALID_SESSION`)."""
        session = self.get(session_id)
        if session is None:
            raise no_session(session_id)
        return session

    def resolve(self, session_id: str) -> tuple[OpenSession, str | None]:
        """Return the session and, when the id is a child's, the child's agent name.

        Raises `UnknownSessionError` with the words of the subagent document.
        """
        session = self.get(session_id)
        if session is not None:
            return session, None
        parent_id = self._child_parent.get(session_id)
        if parent_id is None:
            raise UnknownSessionError(f"unknown session {session_id}")
        parent = self.get(parent_id)
        if parent is None:
            raise UnknownSessionError(
                f"parent session {parent_id} for child {session_id} not found"
            )
        return parent, parent.children.get(session_id, "")

    def in_order(self) -> list[OpenSession]:
        """Return the open sessions as clients see them: foreground first, `local` last.

        Those that are apart come after all others: clients take the first.
        """
        return sorted(
            self.open.values(),
            key=lambda session: (
                session.is_apart,
                session.is_local,
                not session.view.foreground,
                -session.last_activity,
            ),
        )

    def foreground(self) -> OpenSession | None:
        """Return the first session in order, or None; one that is apart never is."""
        return next((one for one in self.in_order() if not one.is_apart), None)

    def visible(self, grant: Grant | None) -> list[ActiveSession]:
        """Return what a client may bind, in order."""
        if grant is None:
            return []
        return [
            ActiveSession(
                id=session.id,
                label=session.view.label,
                cwd=session.view.cwd,
                foreground=session.view.foreground,
                mode=session.view.mode,
                model=session.view.model,
                state="busy" if session.is_busy else "idle",
            )
            for session in self.in_order()
            if grant.covers(session.id)
        ]

    def add(self, session: OpenSession) -> None:
        """Register a session; a foreground one takes the foreground from its host's others."""
        self.open[session.id] = session
        if session.view.foreground:
            self._take_foreground(session)
        self.changed()

    def update(self, session: OpenSession, **changes: object) -> None:
        """Change the session's view and say so, unless nothing changed."""
        view = replace(session.view, **changes)
        if view == session.view:
            return
        session.view = view
        self._out.emit(SessionUpdated(session.id, view))
        if changes.get("foreground"):
            self._take_foreground(session)

    def refresh_providers(self, session: OpenSession) -> None:
        """Bring the view's list of providers up to date; the built-in one is not listed."""
        if session.is_open:
            listed = [
                id_
                for id_, provider in session.providers.items()
                if not provider.connection.is_builtin
            ]
            self.update(session, providers=listed)

    def _take_foreground(self, session: OpenSession) -> None:
        for other in self.open.values():
            if other is not session and other.host == session.host and other.view.foreground:
                other.view = replace(other.view, foreground=False)
                self._out.emit(SessionUpdated(other.id, other.view))

    def remove(self, session: OpenSession) -> None:
        """Take a session out of the registry; its children stay known until `forget`."""
        self.open.pop(session.id, None)
        self.changed()

    def forget(self, session: OpenSession) -> None:
        """Drop the children and aliases of a session that is gone for good."""
        for child in session.children:
            if self._child_parent.get(child) == session.id:
                del self._child_parent[child]
        for alias in [alias for alias, target in self.aliases.items() if target == session.id]:
            del self.aliases[alias]
        self.changed()

    def replace(self, former: OpenSession, current: OpenSession) -> None:
        """Let `current` answer to the ids of `former` as well."""
        for alias, target in self.aliases.items():
            if target == former.id:
                self.aliases[alias] = current.id
        self.aliases[former.id] = current.id
        of_current = [alias for alias, target in self.aliases.items() if target == current.id]
        for alias in of_current[: -limits.MAX_FORMER_IDS]:
            del self.aliases[alias]
        current.children.update(former.children)
        for child in former.children:
            self._child_parent[child] = current.id
        self.update(current, subagents=[*former.view.subagents, *current.view.subagents])

    def add_child(self, session: OpenSession, child_id: str, agent: str) -> None:
        """Remember a subagent's session; it outlives the subagent, and goes with its parent."""
        if child_id not in session.children and len(session.children) >= limits.MAX_CHILDREN:
            oldest = next(iter(session.children))
            del session.children[oldest]
            if self._child_parent.get(oldest) == session.id:
                del self._child_parent[oldest]
        session.children[child_id] = agent
        self._child_parent[child_id] = session.id


def no_session(session_id: str) -> WireError:
    """Return the refusal of a message about a session that is not there for its sender."""
    return WireError(
        ErrorCode.INVALID_SESSION, f"Session {session_id} does not exist", session_id=session_id
    )


def resolved(sessions: OpenSessions, session_id: str) -> OpenSession:
    """Return the session of an id, a child's included. Raises `WireError` (`INVALID_SESSION`)."""
    try:
        return sessions.resolve(session_id)[0]
    except UnknownSessionError as error:
        raise WireError(ErrorCode.INVALID_SESSION, str(error), session_id=session_id) from None


def own_session(sessions: OpenSessions, host: Connection, session_id: str) -> OpenSession:
    """Return a session of this host. Raises `WireError` (`INVALID_SESSION`)."""
    session = sessions.get(session_id)
    if session is None or session.host != host.id:
        raise no_session(session_id)
    return session
