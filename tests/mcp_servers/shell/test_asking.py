"""How often a folder's file can have the person asked."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tapui.consents.mcp_servers import ServerConsents
from tapui.core.approvals.part_questions import PartQuestion
from tapui.core.effects import AnswerPart, McpSession
from tapui.mcp_servers.shell.context import ServerContext
from tapui.mcp_servers.shell.servers import Servers
from tapui.runtime.person import Person
from tapui.wire.limits import ASKED_AGAIN
from tapui.wire.mcp_servers import McpServer
from tests.rig.waiting import until_async


class Core:
    """Takes questions and states in the gateway's place; denies each question."""

    def __init__(self) -> None:
        self.asked: list[PartQuestion] = []
        self.shown: list[McpServer] = []
        self.person = Person(self, self.tell)  # type: ignore[arg-type]
        self.gateway = SimpleNamespace(mcp_servers=self)

    def tell(self, step: Any, *args: Any) -> Any:
        return step(*args)

    def ask(self, question: PartQuestion) -> str:
        self.asked.append(question)
        answer = AnswerPart(question.id, "denied")
        asyncio.get_running_loop().call_soon(self.person.answered, answer)
        return question.id

    def withdraw(self, question_id: str, reason: str) -> None:
        """Every question was answered."""

    def changed(self, server: McpServer) -> None:
        self.shown.append(server)

    def gone(self, server_id: str, reason: str) -> None:
        """A server was changed."""


class Case:
    """A folder with a session."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "repo"
        self.folder.mkdir()
        self.core = Core()
        self.tasks: list[asyncio.Task[None]] = []
        around = ServerContext(
            turn=self.core,  # type: ignore[arg-type]
            gateway_url="",
            state=root / "state",
            environ={},
            consents=ServerConsents(root / "state"),
            report=lambda *_: None,
            most_tools=100,
        )
        home = SimpleNamespace(config=root / "config")
        self.servers = Servers(home, around, self._spawn)  # type: ignore[arg-type]

    def _spawn(self, work: Any) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.get_running_loop().create_task(self.servers.run())
        yield
        await self.servers.stop()
        await asyncio.wait([task, *self.tasks])

    async def write(self, *args: str, name: str = "tiny") -> McpServer:
        """Write the file anew; return how its server is once it is at rest."""
        entry = {"command": "x", "args": args}
        (self.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {name: entry}}))
        before = len(self.core.shown)
        self.servers.set_sessions([McpSession("s1", str(self.folder))])

        def rests() -> McpServer | None:
            new = (one for one in self.core.shown[before:] if one.state == "notAllowed")
            return next(new, None)

        return await until_async(rests, what=lambda: f"{self.core.shown[before:]}")


async def test_a_file_that_is_written_over_and_over_is_asked_about_seldom(tmp_path: Path) -> None:
    case = Case(tmp_path)
    async with case.running():
        for number in range(ASKED_AGAIN + 5):
            last = await case.write(str(number), name=f"server{number % 3}")
    assert len(case.core.asked) == ASKED_AGAIN + 1
    assert "too often" in (last.why or "")


async def test_what_was_denied_is_not_asked_again_when_it_comes_back(tmp_path: Path) -> None:
    case = Case(tmp_path)
    async with case.running():
        for args in ("a", "b", "a", "b"):
            last = await case.write(args)
    assert len(case.core.asked) == 2
    assert last.why == "you did not allow it"
