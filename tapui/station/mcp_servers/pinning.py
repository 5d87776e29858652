"""The pins of a running server: its first tools are pinned, changed ones wait for the person."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import count

from tapui.core.approvals.part_questions import PartQuestion
from tapui.files.folder_file import reason
from tapui.mcp_servers.consent.pins import (
    PinnedTool,
    ToolChange,
    ToolPins,
    pinned,
    tool_changes,
    tools_detail,
)
from tapui.mcp_servers.messages import MappedTool, ToolsAllowed
from tapui.runtime.person import Person
from tapui.runtime.tasks import BackgroundTasks
from tapui.station.mcp_servers.permission import Limited

MAX_ASKED = 20
"""Tools of one question: about further ones the person is asked once they have allowed these."""
_log = logging.getLogger(__name__)
_questions = count(1)


class Pinning:
    """The pins of one server.

    `allow` sends pins to its bridge, `asked` is told the id of the approval that changed tools wait
    for, None once that is settled; `session` gives the session in which the person is asked; `tell`
    tells the person of a fault, and what to do.
    """

    def __init__(
        self,
        name: str,
        person: Person,
        allow: Callable[[ToolsAllowed], None],
        asked: Callable[[str | None], None],
        session: Callable[[], str | None],
        *,
        tell: Callable[[str, str], None],
        background: BackgroundTasks | None = None,
    ) -> None:
        self._name = name
        self._person = person
        self._allow = allow
        self._asked = asked
        self._session = session
        self._tell = tell
        self._background = background or BackgroundTasks()
        self._kept: ToolPins | None = None
        self._pins: dict[str, PinnedTool] | None = None
        self._limited = Limited()
        self._asking: asyncio.Task[None] | None = None
        self._about: frozenset[tuple[str, str]] = frozenset()
        """What the person is asked about, or has denied: names and digests."""
        self._keeping: asyncio.Task[None] | None = None
        """What the person has allowed is being kept: nothing withdraws that."""
        self._work = asyncio.Lock()

    async def begin(self, kept: ToolPins) -> dict[str, str] | None:
        """A bridge is about to start: return what is pinned; None where nothing is."""
        self._kept = kept
        self._pins = await asyncio.to_thread(kept.read)
        if kept.damage:
            self._tell(kept.damage, "you are asked about each again")
        return self._digests()

    async def take(self, tools: Sequence[MappedTool]) -> None:
        """The server has these tools now."""
        async with self._work:
            if self._pins is None:
                await self._keep(await asyncio.to_thread(pinned, tools))
                return
            changes = await asyncio.to_thread(tool_changes, self._pins, tools)
            about = frozenset((one.name, one.digest) for one in changes)
            if about == self._about:
                return
            self.close()
            self._about = about
            if changes:
                self._asking = self._background.start(
                    self._ask(changes[:MAX_ASKED], {one.name: one for one in tools}),
                    name=f"ask about the tools of {self._name}",
                )

    async def _ask(self, changes: Sequence[ToolChange], tools: dict[str, MappedTool]) -> None:
        try:
            await self._ask_person(changes, tools)
        except Exception:
            self._about = frozenset()  # the next list asks again
            raise

    async def _ask_person(
        self, changes: Sequence[ToolChange], tools: dict[str, MappedTool]
    ) -> None:
        session_id = self._session()
        if session_id is None:
            self._about = frozenset()  # it is asked once there is somebody
            return
        if not self._limited.may_ask():
            return
        question = PartQuestion(
            id=f"mcp tools {next(_questions)}",
            kind="mcpServer",
            # Long texts take their time to be compared.
            detail=await asyncio.to_thread(tools_detail, self._name, changes),
            session_id=session_id,
        )
        try:
            ended = await self._person.ask(
                question,
                self._asked,
                withdrawn="its tools have changed again, or it ended",
            )
        finally:
            self._asked(None)
        if ended.outcome == "withdrawn":
            self._about = frozenset()
            return
        if ended.outcome == "approved":
            self._keeping, self._asking = self._asking, None
            async with self._work:
                allowed = pinned([tools[one.name] for one in changes])
                await self._keep({**(self._pins or {}), **allowed})

    async def _keep(self, pins: dict[str, PinnedTool]) -> None:
        """Pin tools, on disk and in the bridge."""
        self._pins = pins
        if self._kept is not None:
            try:
                await asyncio.to_thread(self._kept.keep, pins)
            except OSError as error:
                _log.warning("the tools of %s could not be pinned: %s", self._name, reason(error))
                self._tell(
                    f"its tools as they are now could not be kept: {reason(error)}",
                    "mend that: when it starts next, changes of its tools may go unseen",
                )
        self._allow(ToolsAllowed(self._digests() or {}))

    def _digests(self) -> dict[str, str] | None:
        if self._pins is None:
            return None
        return {name: one.digest for name, one in self._pins.items()}

    def close(self) -> None:
        """What was asked is withdrawn."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        self._about = frozenset()
