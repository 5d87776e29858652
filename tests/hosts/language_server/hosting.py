"""A host with a server that is played, at a gateway that is played."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from tapui.hosts.language_server.server import ServerTiming
from tapui.hosts.language_server.server_host import HostEndedError, LanguageServerHost
from tapui.wire.codec import raw
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    HookDecision,
    HookPreToolUse,
    SessionEvent,
    SessionUpdate,
)
from tapui.wire.message import Message, ToolInvoke, ToolOutcome
from tapui.wire.steering import SessionTell
from tests.hosts.gateway import GatewayPlayed
from tests.rig.language_server import installed
from tests.rig.waiting import until_async

M = TypeVar("M", bound=Message)
Turn = list[dict[str, Any]]


class AnsweringGateway(GatewayPlayed):
    """Answers each permission by `decides`, and each call of a tool by `gives`.

    `decides` takes the request's detail and returns "approve", "deny", "expired", or None to leave
    it open; `judges` takes a tool's name and returns the decision of rules and gates.
    """

    decides: Callable[[dict[str, Any]], str | None] = staticmethod(lambda _: "approve")
    judges: Callable[[str], str] = staticmethod(lambda _: "allow")
    gives: Callable[[ToolInvoke], ToolOutcome | None] = staticmethod(
        lambda call: ToolOutcome(call.id, data=raw("given"))
    )

    def send(self, message: Message) -> None:
        if isinstance(message, HookPreToolUse) and self.refuses is None:
            self.messages.append(message)
            decision: Any = self.judges(message.tool)
            reason = "a rule says no" if decision == "deny" else None
            context = "mind the rules" if decision == "context" else None
            self.tell(HookDecision(message.id, decision, reason, context))
            return
        super().send(message)
        if isinstance(message, ApprovalRequest):
            decided: Any = self.decides(json.loads(bytes(message.detail)))
            if decided is not None:
                self.tell(ApprovalAnswer(message.id, decided))
        elif isinstance(message, ToolInvoke) and (outcome := self.gives(message)) is not None:
            self.tell(outcome)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the data of the session's events of this name."""
        return [json.loads(bytes(one.data)) for one in self.of(SessionEvent, event=name)]

    def asked(self) -> list[dict[str, Any]]:
        """Return the details of the permissions that were asked for."""
        return [json.loads(bytes(one.detail)) for one in self.of(ApprovalRequest)]

    async def got(self, kind: type[M], **fields: Any) -> M:
        """Wait for a message of the kind that has these fields; return the first."""
        found = await until_async(
            lambda: self.of(kind, **fields),
            what=lambda: f"{kind.__name__} {fields}; there were:\n" + "\n".join(self._told()),
        )
        return found[0]

    def _told(self) -> list[str]:
        return [
            f"{one.event} {bytes(one.data)!r}" if isinstance(one, SessionEvent) else str(one)
            for one in self.messages
        ]


class Hosting:
    """A running host: its gateway, its folder, its server's program, and what it reports."""

    def __init__(self, gateway: AnsweringGateway, folder: Path, program: Path) -> None:
        self.gateway = gateway
        self.folder = folder
        self.program = program
        self.reports: list[str] = []
        self.host: LanguageServerHost
        self.running: asyncio.Task[None]
        self._orders = 0

    def report(self, text: str, _level: str) -> None:
        self.reports.append(text)

    @property
    def session(self) -> str:
        return self.host.conversation.id

    def prompt(self, text: str = "go", **fields: Any) -> str:
        """Give a prompt of the person's; return the order's id."""
        self._orders += 1
        id_ = f"o{self._orders}"
        self.gateway.tell(SessionTell(id_, self.session, text, **fields))
        return id_

    async def turn(self, text: str = "go") -> str:
        """Give a prompt, and wait until the session rests; return the order's id."""
        before = len(self.gateway.events("session.idle"))
        id_ = self.prompt(text)
        await until_async(
            lambda: len(self.gateway.events("session.idle")) > before,
            what=lambda: f"an idle; there were: {self.gateway.messages}",
        )
        return id_

    async def ended(self) -> str:
        """Wait for the host's end; return why it ended, "" where that was wanted."""
        try:
            await self.running
        except HostEndedError as error:
            return str(error)
        return ""


@asynccontextmanager
async def hosting(
    tmp_path: Path,
    *turns: Turn,
    gateway: AnsweringGateway | None = None,
    timing: ServerTiming | None = None,
    environ: dict[str, str] | None = None,
    **script: Any,
) -> AsyncIterator[Hosting]:
    """Run a host whose server plays these turns, until the context ends."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    program = installed(tmp_path / "bin", *turns, **script)
    seen = Hosting(gateway or AnsweringGateway(), folder, program)
    seen.host = LanguageServerHost(
        program=str(program),
        folder=folder,
        environ=environ or dict(os.environ),
        report=seen.report,
        timing=timing,
        quiet=0.0,
    )
    assert await seen.host.start()
    seen.running = asyncio.create_task(seen.host.run(seen.gateway.open_port))
    try:
        await seen.gateway.got(SessionUpdate, tools_revision=1)
        yield seen
    finally:
        seen.host.stop()
        await asyncio.gather(seen.running, return_exceptions=True)
