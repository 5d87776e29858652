"""`tapui mcp allow`: the person's consent to servers of a folder's files, and to changed tools."""

import argparse
import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from tapui.cli import output
from tapui.cli.approvals import whole
from tapui.cli.commands.mcp.table import configured
from tapui.cli.consents import ConsentRun, Detail, covered
from tapui.cli.context import folder_of, gateway, home
from tapui.cli.failure import Failure
from tapui.cli.person import need_person
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, NoGateway
from tapui.consents.consents import Consented
from tapui.consents.mcp_servers import ServerConsents, server_detail
from tapui.files.foreign_file import reason
from tapui.projection.requests.emitter_start import RIGHTS
from tapui.projection.requests.mcp_server_start import given_values, server_text
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.state import is_waiting
from tapui.text import revealed, safe_text
from tapui.wire.subjects import Approval

_BY = "tapui mcp allow"


def run(args: argparse.Namespace) -> int:
    """Ask about each, and allow what the person agrees to."""
    consents = ConsentRun(args, shown=shown, said=_said, nothing="nothing waits for you")
    try:
        found = gateway(args)
    except NoGateway:
        _allow_configured(consents)
    else:
        consents.decide(found, asyncio.run(_waiting(found, args)), _BY)
        if not consents.asked:  # what was denied before waits no more
            _allow_configured(consents)
    return consents.end()


def _said(detail: Detail) -> tuple[dict[str, Any], str]:
    name, purpose = str(detail.get("name")), detail.get("purpose")
    what = " with its tools as they are now" if purpose == "tools" else ""
    return {"name": name, "purpose": purpose, "allowed": True}, f"allowed {name}{what}"


def shown(detail: Detail) -> list[str]:
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


def _facts(detail: Detail) -> Iterator[str]:
    """Yield the facts about it. Nothing is made safe."""
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


async def _waiting(found: FoundGateway, args: argparse.Namespace) -> list[tuple[Approval, Detail]]:
    async with await GatewayConnection.open(found, name=_BY, on_waits=output.note) as connection:
        waiting = []
        for approval in connection.snapshot.state.approvals:
            if approval.kind != "mcpServer" or not is_waiting(approval):
                continue
            detail = detail_of(approval)
            folder = detail.get("folder")
            is_here = args.folder is None or folder in (None, folder_of(args))
            if is_here and args.name in (None, detail.get("name")):
                entire = await whole(connection, approval)
                waiting.append((entire, detail_of(entire)))
        return waiting


def _allow_configured(run: ConsentRun) -> None:
    """Keep consents to what a folder's files have. A gateway that runs notices it by itself."""
    args = run.args
    need_person(args)
    consents = ServerConsents(home().state)
    for entry in configured(args):
        try:
            standing = consents.standing(entry)
            if isinstance(standing, Consented):
                continue
            detail = server_detail(standing, entry)
            if run.agrees(detail):
                consents.allow(standing, later_versions=args.later_versions)
                run.count(detail)
        except OSError as error:
            raise Failure(f"{entry.name} cannot be allowed: {reason(error)}") from None
    if consents.damage:
        output.note(consents.damage)
