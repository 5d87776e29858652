"""The sessions that the tools are offered in: one connection to the gateway for each."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tapui.mcp_servers.messages import ServerSession
from tapui.provider import GatewayRefusal, Provider, Session
from tapui.provider.conversation import Listener
from tapui.provider.serving import Serving
from tapui.provider.socket_link import SocketLink, dial_socket
from tapui.secret import Secret
from tapui.wire.message import ActiveSession


class _Words(Listener):
    """Hands on what the kit has to say of one session."""

    def __init__(self, session_id: str, notice: Callable[[str, str], None]) -> None:
        self._session_id = session_id
        self._notice = notice
        self._last = ""

    def waiting(self, why: str) -> None:
        self._told(why)

    def bound(self, sessions: list[ActiveSession]) -> None:  # noqa: ARG002 - it is its own
        self._last = ""

    def noticed(self, text: str) -> None:
        self._told(text)

    def _told(self, text: str) -> None:
        if text != self._last:
            self._last = text
            self._notice(self._session_id, text)


@dataclass
class _Open:
    token: Secret
    folder: str | None
    serving: asyncio.Task[None]


class OfferedSessions:
    """Sessions by id. `notice` is told what a session's gateway refuses, by its id, once."""

    def __init__(self, provider: Provider, url: str, notice: Callable[[str, str], None]) -> None:
        self._provider = provider
        self._url = url
        self._notice = notice
        self._open: dict[str, _Open] = {}
        self._bound: dict[str, Session] = {}
        provider.background(self._beside)

    @property
    def folders(self) -> list[str]:
        """The folders of the sessions, each once, in the order in which they opened."""
        return list(dict.fromkeys(one.folder for one in self._open.values() if one.folder))

    def open(self, opened: ServerSession) -> None:
        """Offer the tools in a session; the same again brings a new token."""
        known = self._open.get(opened.session_id)
        if known is not None and not known.serving.done():
            known.token, known.folder = opened.token, opened.folder
            return
        serving = asyncio.create_task(self._serve(opened.session_id))
        self._open[opened.session_id] = _Open(opened.token, opened.folder, serving)

    async def close(self, session_id: str) -> None:
        """Leave a session, in order."""
        left = self._open.pop(session_id, None)
        if left is not None:
            left.serving.cancel()
            await asyncio.wait([left.serving])

    async def close_all(self) -> None:
        """Leave all of them."""
        await asyncio.gather(*map(self.close, list(self._open)))

    def push(self, stream: str, text: str) -> None:
        """Put a line into the provider's stream of this name, in every session."""
        for session in self._bound.values():
            session.push(text, stream=stream)

    async def _serve(self, session_id: str) -> None:
        async def dial() -> SocketLink:
            return await dial_socket(self._url)

        def token() -> Secret | None:
            one = self._open.get(session_id)
            return None if one is None else one.token

        words = _Words(session_id, self._notice)
        try:
            await Serving(
                self._provider, dial, token=token, session=session_id, listener=words
            ).run()
        except GatewayRefusal as error:
            self._notice(session_id, error.text)

    async def _beside(self, session: Session) -> None:
        self._bound[session.id] = session
        try:
            await asyncio.Event().wait()
        finally:
            self._bound.pop(session.id, None)
