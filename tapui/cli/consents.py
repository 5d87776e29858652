"""`allow` of `tapui emitters` and `tapui mcp`: all that waits is shown in full, one by one."""

import argparse
import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tapui.cli import output
from tapui.cli.approvals import decide
from tapui.cli.failure import FAILED
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.text import safe_text
from tapui.wire.subjects import Approval

Detail = Mapping[str, Any]
"""An approval's detail: of what would be allowed, all that the person is shown."""


class ConsentRun:
    """One run of such a command: asks, and counts and prints what was allowed."""

    def __init__(
        self,
        args: argparse.Namespace,
        *,
        shown: Callable[[Detail], list[str]],
        said: Callable[[Detail], tuple[dict[str, Any], str]],
        nothing: str,
    ) -> None:
        """`shown` returns what is to be allowed in full, a line each; `said` what is printed once
        it is allowed, as JSON and as text; `nothing` is noted where nothing waits."""
        self.args = args
        self.asked = self.allowed = 0
        self._shown = shown
        self._said = said
        self._nothing = nothing

    def agrees(self, detail: Detail) -> bool:
        """Show one, and return whether it is to be allowed."""
        self.asked += 1
        for line in self._shown(detail):
            output.note(line)
        question = f"allow {safe_text(str(detail.get('name')))}?"
        return bool(self.args.yes) or output.is_agreed(question)

    def count(self, detail: Detail) -> None:
        self.allowed += 1
        as_json, text = self._said(detail)
        if self.args.json:
            output.say_json(as_json)
        else:
            output.say(text)

    def decide(
        self, found: FoundGateway, waiting: Sequence[tuple[Approval, Detail]], by: str
    ) -> None:
        """Ask about approvals, and give the gateway those that the person agrees to."""
        # The gateway is left meanwhile: an answer may take its time.
        agreed = [(approval, detail) for approval, detail in waiting if self.agrees(detail)]
        if agreed:
            asyncio.run(self._send(found, agreed, by))

    async def _send(
        self, found: FoundGateway, agreed: list[tuple[Approval, Detail]], by: str
    ) -> None:
        answer = {"laterVersions": True} if self.args.later_versions else None
        async with await GatewayConnection.open(found, name=by, on_waits=output.note) as connection:
            for approval, detail in agreed:
                await decide(connection, approval, "approve", answer, is_said=False)
                self.count(detail)

    def end(self) -> int:
        """Return the exit code: 0 where all that waited, and all that was named, is allowed."""
        name = self.args.name
        if not self.asked:
            output.note(f"{name} does not wait to be allowed" if name else self._nothing)
        return 0 if self.allowed == self.asked and (self.asked or not name) else FAILED


def covered(detail: Detail) -> Iterator[str]:
    """Yield what files are allowed with it, and what is not covered. Nothing is made safe."""
    if listed := detail.get("files"):
        yield f"with the files: {', '.join(str(one) for one in listed)}"
    yield from (f"not covered: {one}" for one in detail.get("uncovered") or ())
    if listed := detail.get("doubts"):
        yield f"it may run more than it names: {', '.join(str(one) for one in listed)}"
