"""Tools: what a definition must be, who owns a name in a session, what a host is offered."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from tapui.core import instances
from tapui.core.deadlines import Deadlines, Due
from tapui.core.output import Output
from tapui.core.sessions import OpenSession
from tapui.wire import limits
from tapui.wire.codec import compact, decode_object, depth_exceeds, require_object
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import AgentTools, ToolsChanged
from tapui.wire.message import OfferedTool, Tool

if TYPE_CHECKING:
    from tapui.core.providers import ConnectedProvider

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
BUILTIN_PROVIDER = "tap"


@dataclass(slots=True, eq=False)
class RegisteredTool:
    """A tool in a session's table, and who offers it: one provider, or instances of one.

    `lists` is set for the tool that lists a provider's instances; nobody offers that one.
    """

    tool: Tool
    owner: str
    """The name of the provider, or of all the instances, that offer it."""
    offers: "dict[str, tuple[ConnectedProvider, Tool]]" = field(default_factory=dict)
    is_read_only: bool = False
    has_target: bool = False
    """Whether calls name an instance by an injected `target`."""
    lists: bool = False

    def offered(self) -> OfferedTool:
        """Return it as a host sees it."""
        if self.lists:
            return instances.lister(self.owner)
        parameters = self.tool.parameters
        if self.has_target:
            offering = [provider for provider, _ in self.offers.values()]
            parameters = instances.with_target(self.tool, offering)
        return OfferedTool(
            name=self.tool.name,
            description=self.tool.description,
            parameters=parameters,
            provider=self.owner,
            read_only=True if self.is_read_only else None,
        )


@dataclass(slots=True, frozen=True)
class Claimant:
    """Who wants to register tools; `provider` is None before its first accepted hello."""

    name: str
    instance: str | None
    provider: "ConnectedProvider | None" = None

    @classmethod
    def of(cls, provider: "ConnectedProvider") -> "Claimant":
        """Return a provider that is registered already."""
        return cls(provider.name, provider.view.instance, provider)

    def shares_with(self, entry: RegisteredTool) -> bool:
        """Return whether a registered tool is its own, or its other instances'."""
        others = [one for one, _ in entry.offers.values() if one is not self.provider]
        if not others:
            return not entry.lists
        return entry.owner == self.name and (
            self.instance is not None or any(one.view.instance is not None for one in others)
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
    schema = decode_object(tool.parameters, f"{path}.parameters")
    if b"$" in bytes(tool.parameters) or b"\\u" in bytes(tool.parameters):
        for target in _refs(schema):
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


def check_conflicts(session: OpenSession, claimant: Claimant, tools: list[Tool]) -> None:
    """Check names against each other and those in the session.

    Raises `WireError` (`TOOL_CONFLICT`) naming the owner.
    """
    check_twice(tools, session.id)
    others = {one.name for one in session.providers.values() if one.name != claimant.name}
    for tool in tools:
        entry = session.tools.get(tool.name)
        if entry is not None and not claimant.shares_with(entry):
            raise _conflict(
                session, f"Tool '{tool.name}' already registered by provider '{entry.owner}'"
            )
        if tool.name in session.reserved_tools:
            raise _conflict(session, f"Tool '{tool.name}' is the session's own")
        if tool.name.startswith("list_"):
            for other in others:
                if tool.name.startswith(f"list_{other}_"):
                    raise _conflict(
                        session, f"Tool '{tool.name}' is reserved for provider '{other}'"
                    )
    if claimant.instance is not None:
        _check_lister(session, claimant, {tool.name for tool in tools})


def _check_lister(session: OpenSession, claimant: Claimant, own: set[str]) -> None:
    """The tool that lists instances must find its name free."""
    name = instances.lister_name(claimant.name)
    entry = session.tools.get(name)
    is_taken = entry is not None and not (entry.lists and entry.owner == claimant.name)
    if is_taken or name in own or name in session.reserved_tools:
        owner = entry.owner if entry is not None else claimant.name
        raise _conflict(session, f"Tool '{name}' already registered by provider '{owner}'")


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
        changed = self._drop(session, provider)
        names = session.tool_names[provider.id] = []
        for tool in tools:
            kept = Tool(tool.name, tool.description, compact(tool.parameters), tool.timeout)
            entry = session.tools.get(tool.name)
            if entry is None:
                entry = session.tools[tool.name] = RegisteredTool(
                    kept, provider.name, is_read_only=tool.name in read_only
                )
            entry.offers[provider.id] = (provider, kept)
            names.append(tool.name)
            changed = True
        if self._settle_instances(session, provider.name) or changed:
            self._changed(session)

    def remove(self, session: OpenSession, provider: "ConnectedProvider") -> None:
        """Take a provider's tools out of a session."""
        changed = self._drop(session, provider)
        if self._settle_instances(session, provider.name) or changed:
            self._changed(session)

    def _drop(self, session: OpenSession, provider: "ConnectedProvider") -> bool:
        names = session.tool_names.pop(provider.id, [])
        for name in names:
            entry = session.tools[name]
            del entry.offers[provider.id]
            if entry.offers:
                entry.tool = next(iter(entry.offers.values()))[1]
            else:
                del session.tools[name]
        return bool(names)

    def _settle_instances(self, session: OpenSession, name: str) -> bool:
        """Bring the lister and the targets of a provider's tools up to date."""
        is_multiple = instances.is_multiple(session, name)
        lister, changed = instances.lister_name(name), False
        if is_multiple and lister not in session.tools:
            definition = instances.lister(name)
            session.tools[lister] = RegisteredTool(
                Tool(definition.name, definition.description, definition.parameters),
                name,
                is_read_only=True,
                lists=True,
            )
            changed = True
        elif not is_multiple and lister in session.tools and session.tools[lister].lists:
            del session.tools[lister]
            changed = True
        for provider in instances.instances_of(session, name):
            for tool_name in session.tool_names.get(provider.id, ()):
                entry = session.tools[tool_name]
                entry.has_target = is_multiple and not instances.has_own_target(entry.tool)
        return changed

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

    def agents(self, session: OpenSession) -> list[AgentTools] | None:
        """Return the definitions of the tools on each custom agent's allowlist."""
        listed = [
            AgentTools(
                agent, [session.tools[name].offered() for name in names if name in session.tools]
            )
            for agent, names in session.agents.items()
            if names is not None
        ]
        return listed or None

    def tell(self, session: OpenSession) -> None:
        """Send `tools.changed`: the quiet period is over."""
        session.tools_changed = None
        if session.is_open:
            session.revision += 1
            self._out.send(
                session.host,
                ToolsChanged(
                    session.id, self.offer(session), session.revision, self.agents(session)
                ),
            )

    def settle(self, session: OpenSession) -> None:
        """Drop a pending `tools.changed`; the list was sent otherwise."""
        self._deadlines.cancel(session.tools_changed)
        session.tools_changed = None
