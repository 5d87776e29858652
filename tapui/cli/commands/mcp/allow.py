"""`tapui mcp allow`: what waits, in full, and the person's word for each."""

import argparse
import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from tapui.cli import output
from tapui.cli.agreeing import is_agreed
from tapui.cli.approvals import decide, whole
from tapui.cli.commands.emitters.allow import covered
from tapui.cli.commands.mcp.files import configured, folder_of
from tapui.cli.context import gateway, home
from tapui.cli.failure import FAILED, Failure
from tapui.cli.person import need_person
from tapui.client.connection import GatewayConnection
from tapui.client.errors import NoGateway
from tapui.client.gateways import FoundGateway
from tapui.files.folder_file import reason
from tapui.mcp_servers.consent.consents import MayRun, ServerConsents
from tapui.projection.asking import RIGHTS, detail_of, given_values, server_text
from tapui.projection.state import is_waiting
from tapui.text import revealed, safe_text
from tapui.wire.subjects import Approval


def run(args: argparse.Namespace) -> int:
    """Ask about each, and allow what the person says yes to."""
    allowed = _Allowed(args)
    try:
        found = gateway(args)
    except NoGateway:
        _allow_configured(allowed)
    else:
        _allow_waiting(found, allowed)
        if not allowed.asked:  # what was denied before waits no more
            _allow_configured(allowed)
    return allowed.end()


class _Allowed:
    """Counts, and prints, what was allowed."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.asked = self.allowed = 0

    def agrees(self, detail: Mapping[str, Any]) -> bool:
        """Show one, and return whether it is to be allowed."""
        self.asked += 1
        for line in shown(detail):
            output.note(line)
        return bool(self.args.yes) or is_agreed(f"allow {safe_text(str(detail.get('name')))}?")

    def say(self, detail: Mapping[str, Any]) -> None:
        self.allowed += 1
        name = str(detail.get("name"))
        if self.args.json:
            output.say_json({"name": name, "purpose": detail.get("purpose"), "allowed": True})
        else:
            what = " with its tools as they are now" if detail.get("purpose") == "tools" else ""
            output.say(f"allowed {name}{what}")

    def end(self) -> int:
        if not self.asked:
            name = self.args.name
            output.note(f"{name} does not wait to be allowed" if name else "nothing waits for you")
        return 0 if self.allowed == self.asked and (self.asked or not self.args.name) else FAILED


def shown(detail: Mapping[str, Any]) -> list[str]:
    """Return what is to be allowed, in full, a line each; everything is safe to print."""
    name = safe_text(str(detail.get("name")))
    if detail.get("purpose") == "tools":
        lines = [f"{name} has new or changed tools:"]
        for tool in _mappings(detail.get("tools")):
            kind = "new" if tool.get("isNew") else "changed"
            lines.append(f"  {safe_text(str(tool.get('name')))} ({kind})")
            diff = tool.get("diff")
            if isinstance(diff, list):
                lines += [f"    {safe_text(str(one))}" for one in diff]
        return lines
    lines = [f"{name}:"]
    lines += [f"  │ {line}" for line in revealed(server_text(detail), newlines=True).split("\n")]
    lines += [f"  {revealed(line)}" for line in _facts(detail)]
    return [*lines, f"  {RIGHTS}"] if detail.get("command") else lines


def _mappings(found: object) -> list[Mapping[str, Any]]:
    given = found if isinstance(found, list) else []
    return [one for one in given if isinstance(one, dict)]


def _facts(detail: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is said of it. Nothing is made safe."""
    if detail.get("host"):
        yield f"calls {detail['host']}"
    if detail.get("cwd"):
        outside = ", outside of the folder" if detail.get("isOutside") else ""
        yield f"runs in {detail['cwd']}{outside}"
    for key, label in (("variables", "with the variable"), ("headers", "with the header")):
        yield from (f"{label} {one}" for one in given_values(detail, key))
    if detail.get("unpinned"):
        yield f"fetches {detail['unpinned']} without a fixed version"
    if listed := detail.get("reads"):
        yield f"reads: {', '.join(str(one) for one in listed)}"
    yield from covered(detail)
    if detail.get("file"):
        yield f"from {detail['file']}:{detail.get('line')}"
    if detail.get("changed"):
        yield f"since it was allowed: {detail['changed']}"


# Through the gateway


def _allow_waiting(found: FoundGateway, allowed: _Allowed) -> None:
    waiting = asyncio.run(_waiting(found, allowed.args))
    # The gateway is left meanwhile: an answer may take its time.
    agreed = [one for one in waiting if allowed.agrees(detail_of(one))]
    if agreed:
        asyncio.run(_decide(found, agreed, allowed))


async def _waiting(found: FoundGateway, args: argparse.Namespace) -> list[Approval]:
    async with await GatewayConnection.open(
        found, name="tapui mcp allow", on_waits=output.note
    ) as connection:
        waiting = []
        for approval in connection.snapshot.state.approvals:
            if approval.kind != "mcpServer" or not is_waiting(approval):
                continue
            detail = detail_of(approval)
            folder = detail.get("folder")
            is_here = args.folder is None or folder in (None, folder_of(args))
            if is_here and args.name in (None, detail.get("name")):
                waiting.append(await whole(connection, approval))
        return waiting


async def _decide(found: FoundGateway, agreed: list[Approval], allowed: _Allowed) -> None:
    answer = {"laterVersions": True} if allowed.args.later_versions else None
    async with await GatewayConnection.open(
        found, name="tapui mcp allow", on_waits=output.note
    ) as connection:
        for one in agreed:
            await decide(connection, one, "approve", answer, is_said=False)
            allowed.say(detail_of(one))


# Without one


def _allow_configured(allowed: _Allowed) -> None:
    """Keep consents to what a folder's files say. A gateway that runs notices it by itself."""
    args = allowed.args
    need_person(args)
    consents = ServerConsents(home().state)
    for entry in configured(args):
        try:
            standing = consents.standing(entry)
            if isinstance(standing, MayRun):
                continue
            detail = standing.detail
            if allowed.agrees(detail):
                consents.allow(standing, later_versions=args.later_versions)
                allowed.say(detail)
        except OSError as error:
            raise Failure(f"{entry.name} cannot be allowed: {reason(error)}") from None
    if consents.damage:
        output.note(consents.damage)
