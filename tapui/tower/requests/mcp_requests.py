"""Requests of MCP servers: all that would be started or called, or how tools have changed."""

from collections.abc import Mapping
from typing import Any

from tapui.projection import asking
from tapui.tower.app.view import View
from tapui.tower.requests.requests import Option, covered, fact, list_of, origin, text_of
from tapui.tower.requests.urgency import Request, asker
from tapui.tower.textual.reader import Paragraph, title, value
from tapui.wire import subjects

OFFERED = "An MCP server: its tools are offered to the agent in the sessions of this folder."
CALLED = "What its tools are given is sent there."
CHANGED = (
    "Until you allow it, what is new or changed is not offered to the agent. An agent reads the"
    " descriptions of its tools, and may follow what is in them."
)


def _is_about_tools(detail: Mapping[str, Any]) -> bool:
    return detail.get("purpose") == "tools"


def _name(detail: Mapping[str, Any]) -> str:
    return " ".join(text_of(detail, "name").split()) or "it has no name"


def headline(view: View, approval: subjects.Approval, detail: Mapping[str, Any]) -> str:
    """Return who asks for what."""
    name = _name(detail)
    if _is_about_tools(detail):
        count = len(list_of(detail, "tools"))
        has = "a new or changed tool" if count == 1 else f"{count} new or changed tools"
        return f"MCP server {name} has {has}"
    who = asker(view.state, Request(approval))
    return f"MCP server {name} is to start for {who}"


def answers(detail: Mapping[str, Any]) -> list[Option]:
    """Return the answers that have an effect."""
    if _is_about_tools(detail):
        is_one = len(list_of(detail, "tools")) == 1
        them, are = ("it", "it is") if is_one else ("them", "they are")
        return [
            Option("allow", f"allow {them} as {are} now", f"allows {them} as {are} now"),
            Option("deny", f"deny: {are} not offered", f"denies: {are} not offered"),
        ]
    found = [Option("allow", "allow exactly this", "allows exactly this: it starts")]
    if files := len(list_of(detail, "files")):
        named = "the file it names" if files == 1 else f"the {files} files named"
        also = f"exactly this, and later versions of {named}"
        found.append(Option("keep", f"allow {also}", f"allows {also}"))
    return [*found, Option("deny", "deny", "denies")]


def explained(detail: Mapping[str, Any]) -> list[Paragraph]:
    """Return everything that the person should know before they decide, nothing cut."""
    return _tools(detail) if _is_about_tools(detail) else _server(detail)


def _tools(detail: Mapping[str, Any]) -> list[Paragraph]:
    tools = [one for one in list_of(detail, "tools") if isinstance(one, Mapping)]
    parts = [Paragraph(CHANGED, "strong"), Paragraph("")]
    for number, tool in enumerate(tools, 1):
        kind = "new" if tool.get("isNew") is True else "changed since you allowed it"
        parts += [title(f"{number} of {len(tools)}: {_name(tool)} ({kind})"), Paragraph("")]
        parts += [value(str(line), _tone(str(line))) for line in list_of(tool, "diff")]
        if number < len(tools):
            parts.append(Paragraph(""))
    return parts


def _tone(line: str) -> str:
    return {"+": "success", "-": "error"}.get(line[:1], "")


def _server(detail: Mapping[str, Any]) -> list[Paragraph]:
    rest = dict(detail)
    is_command = text_of(rest, "command") != ""
    parts = [Paragraph(asking.RIGHTS if is_command else CALLED, "strong"), Paragraph("")]
    parts += [value(asking.server_text(rest), "strong"), Paragraph("")]
    parts += [Paragraph(OFFERED), Paragraph("")]
    for key in ("purpose", "name", "command", "args", "url", "folder"):
        rest.pop(key, None)
    if changed := str(rest.pop("changed", "") or ""):
        parts += [Paragraph("Changed since you allowed it:", "warning"), value(changed, "warning")]
        parts.append(Paragraph(""))
    if package := str(rest.pop("unpinned", "") or ""):
        parts.append(
            Paragraph("Fetched without a fixed version, so the program may change:", "warning")
        )
        parts += [value(package, "warning"), Paragraph("")]
    parts += fact("calls", text_of(rest, "host"), "strong")
    outside = ", outside of the session's folder" if rest.pop("isOutside", False) is True else ""
    if where := text_of(rest, "cwd"):
        parts += fact("in", f"{where}{outside}", "warning" if outside else "")
    for what in ("variables", "headers"):
        if given := asking.given_values(rest, what):
            parts.append(Paragraph(f"{what}, as the file has them", "muted"))
            parts += [value(one) for one in given]
    parts += fact("reads", ", ".join(str(one) for one in list_of(rest, "reads")), "warning")
    for key in ("host", "cwd", "variables", "headers", "reads", "variableTexts", "headerTexts"):
        rest.pop(key, None)
    parts += origin(rest)
    parts += covered(rest)
    for key in sorted(rest):
        if rest[key] not in (None, "", [], {}):
            parts += [title(key), value(str(rest[key]))]
    return parts
