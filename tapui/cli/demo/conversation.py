"""The host's side of the conversation: requests and their answers, for several sessions."""

import asyncio
import itertools
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol

from tapui.cli.demo.line import GatewayLine, Json

_CANNOT = dict.fromkeys(
    ("now", "compact", "model", "effort", "label"), "the demonstration follows its script"
)
_ANSWER_WITHIN = 120_000
"""Milliseconds that the person has to answer."""


class Playing(Protocol):
    """A session as the gateway speaks to it."""

    def prompted(self, prompt: str, provider: str) -> None:
        """A provider's prompt is to be a turn."""

    async def told(self, order: str, text: str, by: str, way: str) -> None:
        """Play a prompt of the person, and report its outcome to the gateway."""

    async def ordered_to_stop(self, order: str) -> None:
        """The person stops the turn; the gateway learns when the session rests."""

    def stop(self) -> None:
        """A call of the turn was cancelled: the turn stops."""

    def set_mode(self, mode: str) -> None:
        """The session has another mode."""


class Conversation:
    """One line to the gateway, which the sessions share."""

    def __init__(self, line: GatewayLine) -> None:
        self._line = line
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._sessions: dict[str, Playing] = {}
        self._tools: dict[str, set[str]] = {}
        self._tools_changed = asyncio.Event()

    async def hello(self) -> None:
        await self._line.until("sessions")
        await self._line.send(
            "host.hello", name="demo", kind="demo", protocolVersion=2, hooks=False
        )

    async def open(self, session: Json, playing: Playing) -> None:
        able: Json = {"can": ["tell", "stop"], "cannot": _CANNOT}
        await self._line.send("session.open", session={**session, **able})
        opened = await self._line.until("session.opened")
        self._sessions[session["id"]] = playing
        self._offer(session["id"], opened["tools"])

    async def read(self) -> None:
        async for message in self._line:
            await self._take(message)

    async def _take(self, message: Json) -> None:
        playing = self._sessions.get(message.get("sessionId", ""))
        match message["type"]:
            case "tools.changed":
                self._offer(message["sessionId"], message["tools"])
            case "tool.outcome" | "approval.answer":
                self._settle(message["id"], message)
            case "session.send" if playing is not None:
                playing.prompted(message["prompt"], message["from"]["provider"])
            case "mode.set" if playing is not None:
                await self._line.send("mode.result", id=message["id"], ok=True)
                await self.send("session.update", message["sessionId"], mode=message["mode"])
                playing.set_mode(message["mode"])
            case "session.tell" if playing is not None:
                way = message.get("way", "after")
                await playing.told(message["id"], message["text"], message["from"], way)
            case "session.stop" if playing is not None:
                await playing.ordered_to_stop(message["id"])
            case "session.abort" if playing is not None:
                playing.stop()
            case "error" if message["code"] != "INVALID_SESSION":  # the gateway is stopping
                sys.stderr.write(f"the gateway refused: {message}\n")
                self._settle(message.get("id", ""), message)

    def _settle(self, id_: str, message: Json) -> None:
        waiting = self._waiting.pop(id_, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    def _offer(self, session: str, tools: list[Json]) -> None:
        self._tools[session] = {tool["name"] for tool in tools}
        self._tools_changed.set()

    def new_id(self, kind: str) -> str:
        return f"{kind}-{next(self._ids)}"

    async def send(self, type_: str, session: str, **fields: object) -> None:
        await self._line.send(type_, sessionId=session, **fields)

    async def notice(self, text: str) -> None:
        """Show the person a line."""
        await self._line.send("host.notice", message=text, level="info")

    async def became(self, order: str, state: str) -> None:
        await self._line.send("order.result", id=order, state=state)

    async def event(self, session: str, name: str, **data: object) -> None:
        await self.send("session.event", session, event=name, data=data)

    async def approval(self, session: str, kind: str, detail: Json) -> Json:
        """Ask the person and return the answer; without one in time it is `expired`."""
        id_, answer = self._request("ask")
        fields = {"kind": kind, "detail": detail, "timeout": _ANSWER_WITHIN}
        await self.send("approval.request", session, id=id_, **fields)
        return await self._answered(
            id_, answer, lambda: self._line.send("approval.withdraw", id=id_)
        )

    async def outcome(
        self, session: str, tool: str, args: object, gives_up: float | None = None
    ) -> Json:
        """Call a tool as soon as a provider offers it, and return its outcome."""
        while tool not in self._tools[session]:
            self._tools_changed.clear()
            await self._tools_changed.wait()
        id_, outcome = self._request("call")
        await self.send("tool.invoke", session, id=id_, tool=tool, args=args)

        async def abort(reason: str) -> None:
            await self._line.send("tool.abort", id=id_, reason=reason)

        async def limited() -> Json:
            if gives_up is not None and not (await asyncio.wait([outcome], timeout=gives_up))[0]:
                await abort("it is not worth the wait")
            return await outcome

        return await self._answered(id_, limited(), lambda: abort("the turn was stopped"))

    def _request(self, kind: str) -> tuple[str, "asyncio.Future[Json]"]:
        id_ = self.new_id(kind)
        self._waiting[id_] = asyncio.get_running_loop().create_future()
        return id_, self._waiting[id_]

    async def _answered(
        self, id_: str, answer: Awaitable[Json], leave: Callable[[], Awaitable[None]]
    ) -> Json:
        """Return the answer; a turn that is stopped meanwhile does `leave`."""
        try:
            return await answer
        except asyncio.CancelledError:
            self._waiting.pop(id_, None)
            await leave()
            raise
