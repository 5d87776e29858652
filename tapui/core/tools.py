"""Tools: what a definition must be, who owns a name in a session, what a host is offered."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from tapui.core.deadlines import Deadlines, Due
from tapui.core.output import Output
from tapui.core.sessions import OpenSession
from tapui.wire import limits
from tapui.wire.codec import compact, depth_exceeds, require_object
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import ToolsChanged
from tapui.wire.message import OfferedTool, Tool

if TYPE_CHECKING:
    from tapui.core.providers import ConnectedProvider

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
BUILTIN_PROVIDER = "tap"


@dataclass(slots=True, eq=False)
class RegisteredTool:
    """A tool in a session's table."""

    tool: Tool
    provider: "ConnectedProvider"
    is_read_only: bool = False

    def offered(self) -> OfferedTool:
        """Return it as a host sees it."""
        return OfferedTool(
            name=self.tool.name,
            description=self.tool.description,
            parameters=self.tool.parameters,
            provider=self.provider.name,
            read_only=True if self.is_read_only else None,
        )


def check_definitions(tools: list[Tool]) -> None:
    """Check a list of definitions by itself (design section 5, "tool definition").

    Raises `WireError`: `PAYLOAD_TOO_LARGE` for too many, `INVALID_JSON` naming the field.
    """
    check_count(tools)
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        if not _NAME.match(tool.name):
            raise _invalid(f"{path}.name: must match ^[A-Za-z0-9_-]{{1,64}}$")
        if not tool.description.strip():
            raise _invalid(f"{path}.description: must not be empty")
        if tool.timeout is not None and not (isfinite(tool.timeout) and tool.timeout > 0):
            raise _invalid(f"{path}.timeout: must be a finite number of milliseconds above 0")
        _check_parameters(tool, path)


def check_count(tools: list[Tool]) -> None:
    """Check how many there are. Raises `WireError` (`PAYLOAD_TOO_LARGE`)."""
    if len(tools) > limits.MAX_TOOLS:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"{len(tools)} tools; a provider may have at most {limits.MAX_TOOLS}",
        )


def _invalid(text: str) -> WireError:
    return WireError(ErrorCode.INVALID_JSON, text)


def _check_parameters(tool: Tool, path: str) -> None:
    require_object(tool.parameters, f"{path}.parameters")
    if depth_exceeds(tool.parameters, limits.MAX_SCHEMA_DEPTH):
        raise _invalid(f"{path}.parameters: nested deeper than {limits.MAX_SCHEMA_DEPTH} levels")
    if b"$" in bytes(tool.parameters) or b"\\u" in bytes(tool.parameters):
        for target in _refs(msgspec.json.decode(tool.parameters)):
            if not target.startswith("#"):
                raise _invalid(f"{path}.parameters: remote $ref is not allowed")


def _refs(schema: Any) -> Iterable[str]:
    stack = [schema]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(inner, str):
                    yield inner
                else:
                    stack.append(inner)
        elif isinstance(value, list):
            stack.extend(value)


def check_twice(tools: Iterable[Tool], session_id: str | None = None) -> None:
    """Check names against each other. Raises `WireError` (`TOOL_CONFLICT`)."""
    seen: set[str] = set()
    for tool in tools:
        if tool.name in seen:
            text = f"Tool '{tool.name}' stands twice in the list"
            raise WireError(ErrorCode.TOOL_CONFLICT, text, session_id=session_id)
        seen.add(tool.name)


def check_conflicts(
    session: OpenSession, provider: "ConnectedProvider | None", tools: Iterable[Tool]
) -> None:
    """Check names against each other and those in the session.

    Raises `WireError` (`TOOL_CONFLICT`) naming the owner.
    """
    tools = list(tools)
    check_twice(tools, session.id)
    others = {other.name for other in session.providers.values() if other is not provider}
    for tool in tools:
        owner = session.tools.get(tool.name)
        if owner is not None and owner.provider is not provider:
            raise _conflict(
                session,
                f"Tool '{tool.name}' already registered by provider '{owner.provider.name}'",
            )
        if tool.name in session.reserved_tools:
            raise _conflict(session, f"Tool '{tool.name}' is the session's own")
        if tool.name.startswith("list_"):
            for other in others:
                if tool.name.startswith(f"list_{other}_"):
                    raise _conflict(
                        session, f"Tool '{tool.name}' is reserved for provider '{other}'"
                    )


def _conflict(session: OpenSession, text: str) -> WireError:
    return WireError(ErrorCode.TOOL_CONFLICT, text, session_id=session.id)


class ToolTable:
    """Changes the tables of sessions and tells their hosts, once per quiet period."""

    def __init__(self, out: Output, deadlines: Deadlines) -> None:
        self._out = out
        self._deadlines = deadlines

    def put(
        self,
        session: OpenSession,
        provider: "ConnectedProvider",
        tools: Iterable[Tool],
        read_only: frozenset[str] = frozenset(),
    ) -> None:
        """Replace a provider's tools in a session by `tools`, already checked."""
        removed = self._drop(session, provider)
        added = False
        for tool in tools:
            kept = Tool(tool.name, tool.description, compact(tool.parameters), tool.timeout)
            session.tools[tool.name] = RegisteredTool(kept, provider, tool.name in read_only)
            added = True
        if removed or added:
            self._changed(session)

    def remove(self, session: OpenSession, provider: "ConnectedProvider") -> None:
        """Take a provider's tools out of a session."""
        if self._drop(session, provider):
            self._changed(session)

    def _drop(self, session: OpenSession, provider: "ConnectedProvider") -> bool:
        names = [name for name, entry in session.tools.items() if entry.provider is provider]
        for name in names:
            del session.tools[name]
        return bool(names)

    def _changed(self, session: OpenSession) -> None:
        if not session.is_open:
            return
        now = self._out.now
        if session.tools_changed is None:
            session.tools_changed_since = now
        else:
            self._deadlines.cancel(session.tools_changed)
        when = min(now + limits.TOOLS_QUIET, session.tools_changed_since + limits.TOOLS_QUIET_MAX)
        session.tools_changed = self._deadlines.add(when, Due.TOOLS_CHANGED, session)

    def offer(self, session: OpenSession) -> list[OfferedTool]:
        """Return the session's complete list, in order of registration."""
        return [entry.offered() for entry in session.tools.values()]

    def tell(self, session: OpenSession) -> None:
        """Send `tools.changed`: the quiet period is over."""
        session.tools_changed = None
        if session.is_open:
            session.revision += 1
            self._out.send(
                session.host, ToolsChanged(session.id, self.offer(session), session.revision)
            )

    def settle(self, session: OpenSession) -> None:
        """Drop a pending `tools.changed`; the list was sent otherwise."""
        self._deadlines.cancel(session.tools_changed)
        session.tools_changed = None
