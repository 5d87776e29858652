"""Requests of MCP servers: all that would be started or called, or how tools have changed."""

from collections.abc import Mapping, Sequence
from typing import Any

from tapui.projection.paragraphs import (
    Paragraph,
    covered,
    fact,
    list_of,
    origin,
    other_fields,
    text_of,
    title,
    value,
)
from tapui.projection.requests.emitter_start import (
    LATER_VERSIONS,
    NO_NAME,
    RIGHTS,
    emitter_text,
    files_named,
)
from tapui.projection.requests.request_kind import (
    DENY,
    AskedRequest,
    Option,
    RequestContext,
    RequestKind,
)
from tapui.projection.state import State
from tapui.wire.subjects import Approval
from tapui.wire.turns import StepKind

OFFERED = "An MCP server: its tools are offered to the agent in the sessions of this folder."
CALLED = "What its tools are given is sent there."
CHANGED = (
    "Until you allow it, what is new or changed is not offered to the agent. An agent reads the"
    " descriptions of its tools, and may follow what is in them."
)


class McpServerRequest(RequestKind):
    """An MCP server is to start or to be called, or its tools have changed."""

    word = "MCP server"
    verb_word = "MCP"
    kept_as = LATER_VERSIONS
    is_copied = is_explained_alone = False

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        name = detail.get("name") or NO_NAME
        if _is_about_tools(detail):
            count = len(list_of(detail, "tools"))
            return f"{name}: {count} tool{'s' * (count != 1)} changed"
        return f"{name}: {server_text(detail)}"

    def step(self, detail: Mapping[str, Any]) -> StepKind | None:
        return None  # a file asks, and not the agent

    def headline(self, state: State, asked: Sequence[AskedRequest]) -> str:
        detail = asked[0].detail
        name = _name(detail)
        if _is_about_tools(detail):
            count = len(list_of(detail, "tools"))
            has = "a new or changed tool" if count == 1 else f"{count} new or changed tools"
            return f"MCP server {name} has {has}"
        return f"MCP server {name} is to start for {self.asker(state, asked[0].approval)}"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        detail = asked[0].detail
        if _is_about_tools(detail):
            is_one = len(list_of(detail, "tools")) == 1
            them, are = ("it", "it is") if is_one else ("them", "they are")
            return [
                Option("allow", f"allow {them} as {are} now", f"allows {them} as {are} now"),
                Option("deny", f"deny: {are} not offered", f"denies: {are} not offered"),
            ]
        options = [Option("allow", "allow exactly this", "allows exactly this: it starts")]
        if files := len(list_of(detail, "files")):
            also = f"exactly this, and later versions of {files_named(files)}"
            options.append(Option("keep", f"allow {also}", f"allows {also}"))
        return [*options, DENY]

    def explained(self, context: RequestContext, asked: Sequence[AskedRequest]) -> list[Paragraph]:
        detail = asked[0].detail
        return _tools(detail) if _is_about_tools(detail) else _server(detail)


def server_text(detail: Mapping[str, Any]) -> str:
    """Return the command that would be started, with its arguments, or the address that would be
    called."""
    if isinstance(detail.get("command"), str):
        return emitter_text(detail)
    return str(detail.get("url") or detail.get("host") or "")


def given_values(detail: Mapping[str, Any], key: str) -> list[str]:
    """Return the `variables` or `headers` of a server as its file has them, one a line, each with
    where the rest of its value comes from."""
    texts = detail.get(f"{key.removesuffix('s')}Texts")
    lines = []
    entries = detail.get(key)
    for one in entries if isinstance(entries, list) else ():
        name, sources = one if isinstance(one, list | tuple) and len(one) == 2 else (one, "")
        text = texts.get(name) if isinstance(texts, Mapping) and isinstance(name, str) else None
        said = f"{name}" if text is None else f"{name}={text}"
        lines.append(f"{said}, filled in from {sources}" if sources else said)
    return lines


def _is_about_tools(detail: Mapping[str, Any]) -> bool:
    return detail.get("purpose") == "tools"


def _name(detail: Mapping[str, Any]) -> str:
    return " ".join(text_of(detail, "name").split()) or NO_NAME


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
    parts = [Paragraph(RIGHTS if is_command else CALLED, "strong"), Paragraph("")]
    parts += [value(server_text(rest), "strong"), Paragraph("")]
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
        if given := given_values(rest, what):
            parts.append(Paragraph(f"{what}, as the file has them", "muted"))
            parts += [value(one) for one in given]
    parts += fact("reads", ", ".join(str(one) for one in list_of(rest, "reads")), "warning")
    for key in ("host", "cwd", "variables", "headers", "reads", "variableTexts", "headerTexts"):
        rest.pop(key, None)
    parts += origin(rest)
    parts += covered(rest)
    return parts + other_fields(rest)
