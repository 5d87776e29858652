"""The sessions that a provider means and is in, with what runs beside them; they outlive a link."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tapui.provider.session import Outlet, Session
from tapui.provider.threads import LEAVE_SECONDS, contained
from tapui.wire.message import ActiveSession, Message
from tapui.wire.provider import ContextUpdate, Push

ALL = "all"
_OF_CALLERS = "mcp-"
"""How ids of sessions of tool hosts begin: only who names one is in it."""
_LOCAL = "local"
"""The gateway's own session; its folder is where the gateway was started."""


class NoSuchSession(Exception):  # noqa: N818 - a state of the world
    """The session that is meant is not there; the text is for the person."""


def folder_here() -> str | None:
    """Return the folder that this process works in; None where it was removed."""
    try:
        return os.path.realpath(".")
    except OSError:
        return None


def choose(active: Sequence[ActiveSession], wanted: str | None, folder: str | None = None) -> str:
    """Return the id of the session for a hello, or `"all"`.

    `wanted` is an id, the beginning of one, a label, or `"all"`; None is the one session of
    `folder`, else the one in front. Raises `NoSuchSession`.
    """
    if wanted == ALL:
        return ALL
    if wanted is None:
        own = [one for one in active if not one.id.startswith(_OF_CALLERS)]
        if not own:
            raise NoSuchSession("no session is open")
        if folder is not None and (session := _of_folder(own, folder)) is not None:
            return session.id
        return next((one.id for one in own if one.foreground), own[0].id)
    found = (
        [one.id for one in active if one.id == wanted]
        or [one.id for one in active if one.label == wanted]
        or [one.id for one in active if one.id.startswith(wanted)]
    )
    if not found:
        raise NoSuchSession(f"no session '{wanted}' is open")
    if len(found) > 1:
        raise NoSuchSession(
            f"several sessions are '{wanted}'; name one by its id: {', '.join(found)}"
        )
    return found[0]


def _of_folder(sessions: list[ActiveSession], folder: str) -> ActiveSession | None:
    """Return the one session whose folder this is, else the one whose folder is around or in it."""
    places = [
        (session, os.path.realpath(session.cwd))
        for session in sessions
        # A relative one would be taken for a folder below that of this process.
        if session.cwd
        and session.cwd.startswith("/")
        and "\0" not in session.cwd
        and session.id != _LOCAL
    ]
    found = [session for session, place in places if place == folder]
    if not found:
        found = [
            session
            for session, place in places
            if os.path.commonpath((place, folder)) in (place, folder)
        ]
    return found[0] if len(found) == 1 else None


log = logging.getLogger("tapui.provider")


class Members:
    """Sessions by id. Each has its background functions, until it ends."""

    def __init__(self, backgrounds: list[Callable[..., Any]], outlet: Outlet) -> None:
        self._backgrounds = backgrounds
        self._outlet = outlet
        self._sessions: dict[str, Session] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ending: set[str] = set()
        self._contexts: dict[str, ContextUpdate] = {}
        self._active: Mapping[str, ActiveSession] = {}
        self.is_everywhere = False
        """Whether the provider is in all sessions, and is never moved."""

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def __getitem__(self, session_id: str) -> Session:
        return self._sessions[session_id]

    def of(self, session_id: str) -> Session:
        """Return the session that a message of the gateway's is about.

        One that is not known is where the provider was moved to, from its only one.
        """
        session = self._sessions.get(session_id)
        if session is not None:
            return session
        active = self._active.get(session_id) or ActiveSession(
            session_id, session_id, foreground=False, state="busy"
        )
        if len(self._sessions) == 1 and not self.is_everywhere:
            former, session = self._sessions.popitem()
            self._contexts.pop(former, None)
            session.changed(active)
            if (task := self._running.pop(former, None)) is not None:
                self._running[session_id] = task
            self._sessions[session_id] = session
            return session
        return Session(active, self._outlet, None)

    def ending(self, session_id: str) -> Session | None:
        """Return the session that the gateway ends, or None where the provider is not in it.

        A provider that was moved may hear of its session's end before anything else from there.
        """
        if session_id in self._sessions or (len(self._sessions) == 1 and not self.is_everywhere):
            return self.of(session_id)
        return None

    def listed(self, active: Mapping[str, ActiveSession]) -> None:
        self._active = active
        for session_id, session in self._sessions.items():
            if session_id in active:
                session.changed(active[session_id])

    def join(self, active: ActiveSession, persist_dir: str | None) -> None:
        self._ending.discard(active.id)
        session = self._sessions.get(active.id)
        if session is None:
            self._sessions[active.id] = session = Session(active, self._outlet, persist_dir)
        session.persist_dir = persist_dir
        if active.id not in self._running and self._backgrounds:
            self._running[active.id] = asyncio.create_task(self._run(session))

    def only(self, session_ids: set[str]) -> None:
        for session_id in self._sessions.keys() - session_ids:
            self._drop(session_id)

    def _drop(self, session_id: str) -> "asyncio.Task[None] | None":
        del self._sessions[session_id]
        self._contexts.pop(session_id, None)
        task = self._running.pop(session_id, None)
        if task is not None:
            task.cancel()
        return task

    def keep_context(self, update: ContextUpdate) -> bool:
        """Keep the context of a session's prompts for the next link; return whether the provider
        is in that session."""
        if update.session_id is None or update.session_id not in self._sessions:
            return False
        self._contexts[update.session_id] = update
        return True

    def forget_contexts(self) -> None:
        """All sessions get the hello's context again."""
        self._contexts.clear()

    @property
    def contexts(self) -> list[ContextUpdate]:
        return list(self._contexts.values())

    def may_have(self, message: Message) -> bool:
        """Return whether a message of a session may still go; one that ended takes none."""
        session_id = getattr(message, "session_id", None)
        if session_id is None or session_id in self._sessions:
            return True
        if isinstance(message, Push) and session_id in self._ending:
            return message.level != "inject" and message.prompt is None
        log.info("the session %s has ended: what was said to it is dropped", session_id)
        return False

    def ended(self, session_id: str) -> None:
        self._ending.discard(session_id)

    async def end(self, session_id: str) -> None:
        """A session ends: what runs beside it is cancelled, and has come to its end."""
        task = self._drop(session_id)
        self._ending.add(session_id)
        if task is not None:
            await asyncio.wait([task])

    async def close(self) -> None:
        tasks = [task for task in map(self._drop, list(self._sessions)) if task is not None]
        if tasks:
            _, stubborn = await asyncio.wait(tasks, timeout=LEAVE_SECONDS)
            if stubborn:
                log.error("a background function does not end when it is cancelled")

    async def _run(self, session: Session) -> None:
        async def guarded(function: Callable[..., Awaitable[None]]) -> None:
            try:
                await contained(function(session))
            except Exception:
                name = getattr(function, "__name__", "background")
                log.exception("the background function %s failed", name)

        await asyncio.gather(*(guarded(function) for function in self._backgrounds))
