"""Tools: their definitions, their names in a session, its table, and what its host is offered."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.deadlines import Due
from tapui.core.model import ConnectedProvider, OpenSession, RegisteredTool
from tapui.core.providers import instances
from tapui.schemas.references import remote_reference
from tapui.wire import limits
from tapui.wire.codec import compact, decode_object, depth_exceeds, require_object
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import SessionUpdated
from tapui.wire.host import AgentTools, ToolsChanged
from tapui.wire.message import OfferedTool, Tool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def kept_definitions(tools: list[Tool], most: int) -> list[Tool]:
    """Check a list of definitions by itself; return them as they are kept, apart from the message.

    Raises `WireError`: `PAYLOAD_TOO_LARGE` for too many, `INVALID_JSON` naming the field.
    """
    check_size(tools, most)
    for index, tool in enumerate(tools):
        path = f"tools[{index}]"
        if not _NAME.match(tool.name):
            raise _invalid(f"{path}.name: must match ^[A-Za-z0-9_-]{{1,64}}$")
        if not tool.description.strip():
            raise _invalid(f"{path}.description: must not be empty")
        if tool.timeout is not None and not (isfinite(tool.timeout) and tool.timeout > 0):
            raise _invalid(f"{path}.timeout: must be a finite number of milliseconds above 0")
        _check_parameters(tool, path)
    return [replace(tool, parameters=compact(tool.parameters)) for tool in tools]


def check_size(tools: list[Tool], most: int) -> None:
    """Check that there are at most `most`, and their bytes.

    Raises `WireError` (`PAYLOAD_TOO_LARGE`).
    """
    if len(tools) > most:
        raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, f"{len(tools)} tools; {too_many(most)}")
    if sum(map(_size, tools)) > limits.MAX_DECLARED_BYTES:
        raise WireError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"a provider's tools have at most {limits.MAX_DECLARED_BYTES:,} bytes together",
        )


def too_many(most: int) -> str:
    """Return why further tools of a provider are not taken."""
    return f"a provider may have at most {most:,} (setting provider-tools)"


def _size(tool: Tool) -> int:
    return len(tool.name) + len(tool.description) + len(memoryview(tool.parameters))


def _invalid(text: str) -> WireError:
    return WireError(ErrorCode.INVALID_JSON, text)


def _check_parameters(tool: Tool, path: str) -> None:
    require_object(tool.parameters, f"{path}.parameters")
    if depth_exceeds(tool.parameters, limits.MAX_SCHEMA_DEPTH):
        raise _invalid(f"{path}.parameters: nested deeper than {limits.MAX_SCHEMA_DEPTH} levels")
    schema = decode_object(tool.parameters, f"{path}.parameters")
    may_refer = b"$" in bytes(tool.parameters) or b"\\u" in bytes(tool.parameters)
    if may_refer and remote_reference(schema) is not None:
        raise _invalid(f"{path}.parameters: remote $ref is not allowed")


@dataclass(slots=True, frozen=True)
class Claimant:
    """The identity that registers tools; `provider` is None before its first accepted hello."""

    name: str
    instance: str | None
    provider: ConnectedProvider | None = None

    @classmethod
    def of(cls, provider: ConnectedProvider) -> "Claimant":
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

    Raises `WireError` (`TOOL_CONFLICT`) naming the owner of the first, and all that are taken.
    """
    check_twice(tools, session.id)
    others = {one.name for one in session.providers.values() if one.name != claimant.name}
    taken = {tool.name: _taken_by(session, claimant, tool.name, others) for tool in tools}
    texts = {name: text for name, text in taken.items() if text is not None}
    if texts:
        raise _conflict(session, next(iter(texts.values())), list(texts))
    if claimant.instance is not None:
        _check_lister(session, claimant, {tool.name for tool in tools})


def _taken_by(session: OpenSession, claimant: Claimant, name: str, others: set[str]) -> str | None:
    """Say whose a name is that the claimant may not have."""
    entry = session.tools.get(name)
    if entry is not None and not claimant.shares_with(entry):
        return f"Tool '{name}' already registered by provider '{entry.owner}'"
    if session.reserves(name):
        return f"Tool '{name}' is the session's own"
    if name.startswith("list_"):
        for other in others:
            if name.startswith(instances.reserved_prefix(other)):
                return f"Tool '{name}' is reserved for provider '{other}'"
    return None


def _check_lister(session: OpenSession, claimant: Claimant, own: set[str]) -> None:
    """The tool that lists instances must find its name free."""
    name = instances.lister_name(claimant.name)
    entry = session.tools.get(name)
    is_taken = entry is not None and not (entry.lists and entry.owner == claimant.name)
    if is_taken or name in own or session.reserves(name):
        owner = entry.owner if entry is not None else claimant.name
        raise _conflict(session, f"Tool '{name}' already registered by provider '{owner}'")


def _conflict(session: OpenSession, text: str, tools: list[str] | None = None) -> WireError:
    return WireError(ErrorCode.TOOL_CONFLICT, text, session_id=session.id, tools=tools)


class ToolTable(CorePart):
    """Changes the tables of sessions and tells their hosts, once per quiet period."""

    def put(
        self,
        session: OpenSession,
        provider: ConnectedProvider,
        tools: Iterable[Tool],
        read_only: frozenset[str] = frozenset(),
    ) -> None:
        """Replace a provider's tools in a session by `tools`, checked and kept already."""
        changed = self._drop(session, provider)
        names = session.tool_names[provider.id] = []
        for tool in tools:
            entry = session.tools.get(tool.name)
            if entry is None:
                entry = session.tools[tool.name] = RegisteredTool(
                    tool, provider.name, is_read_only=tool.name in read_only
                )
            entry.offers[provider.id] = (provider, tool)
            names.append(tool.name)
            changed = True
        if self._settle_instances(session, provider.name) or changed:
            self._changed(session)

    def remove(self, session: OpenSession, provider: ConnectedProvider) -> None:
        """Take a provider's tools out of a session."""
        changed = self._drop(session, provider)
        if self._settle_instances(session, provider.name) or changed:
            self._changed(session)

    def _drop(self, session: OpenSession, provider: ConnectedProvider) -> bool:
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
        """Bring the lister and the targets of a provider's tools up to date.

        Returns whether the host sees a difference: the lister tells who is there.
        """
        is_multiple = changed = instances.is_multiple(session, name)
        lister = instances.lister_name(name)
        if is_multiple and lister not in session.tools:
            definition = instances.lister(name)
            session.tools[lister] = RegisteredTool(
                Tool(definition.name, definition.description, definition.parameters),
                name,
                is_read_only=True,
                lists=True,
            )
        elif not is_multiple and lister in session.tools and session.tools[lister].lists:
            del session.tools[lister]
            changed = True
        for provider in instances.instances_of(session, name):
            for tool_name in session.tool_names.get(provider.id, ()):
                entry = session.tools[tool_name]
                offered = [tool for _, tool in entry.offers.values()]
                entry.target = instances.target_name(offered) if is_multiple else None
        return changed

    def taken(self, session: OpenSession, revision: float) -> None:
        """The session has taken a list of its tools; only the newest one counts as taken."""
        session.has_tools = revision > 0
        self._take(session, is_taken=revision == session.revision and session.tools_changed is None)

    def _take(self, session: OpenSession, *, is_taken: bool) -> None:
        if session.view.tools_taken is not is_taken:
            session.view = replace(session.view, tools_taken=is_taken)
            self._out.emit(SessionUpdated(session.id, session.view))

    def _changed(self, session: OpenSession) -> None:
        if not session.is_open:
            return
        if session.view.tools_taken is not None:
            self._take(session, is_taken=False)
        now = self._clock.now
        if session.tools_changed is None:
            session.tools_changed_since = now
        else:
            self._deadlines.cancel(session.tools_changed)
        when = min(now + limits.TOOLS_QUIET, session.tools_changed_since + limits.TOOLS_QUIET_MAX)
        session.tools_changed = self._deadlines.add(when, Due.TOOLS_CHANGED, session)

    def filter_changed(self, session: OpenSession) -> None:
        """The person has switched tools off or on: tell the host soon."""
        self._changed(session)

    def agents_changed(self, session: OpenSession) -> None:
        """Other tools are on the agents' allowlists: tell the host soon."""
        self._changed(session)

    def offer(self, session: OpenSession) -> list[OfferedTool]:
        """Return the session's complete list, in order of registration."""
        return [instances.offered(session, one) for one in session.tools_on()]

    def registered(self, session: OpenSession) -> list[OfferedTool]:
        """Return the same with what the person has switched off."""
        return [instances.offered(session, one) for one in session.tools.values()]

    def agents(self, session: OpenSession) -> list[AgentTools] | None:
        """Return the definitions of the tools on each custom agent's allowlist."""
        listed = [
            AgentTools(
                agent,
                [
                    instances.offered(session, session.tools[name])
                    for name in names
                    if name in session.tools and not session.has_off(session.tools[name])
                ],
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
