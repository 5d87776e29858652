"""Tools: the table of a session, and what its host is offered."""

from collections.abc import Iterable

from msgspec.structs import replace

from tapui.core.context import CoreContext
from tapui.core.deadlines import Due
from tapui.core.model import ConnectedProvider, OpenSession, RegisteredTool
from tapui.core.providers import instances
from tapui.wire import limits
from tapui.wire.events import SessionUpdated
from tapui.wire.host import AgentTools, ToolsChanged
from tapui.wire.message import OfferedTool, Tool


class ToolTable:
    """Changes the tables of sessions and tells their hosts, once per quiet period."""

    def __init__(self, context: CoreContext) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines

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

    def agents_changed(self, session: OpenSession) -> None:
        """Other tools are on the agents' allowlists: tell the host soon."""
        self._changed(session)

    def offer(self, session: OpenSession) -> list[OfferedTool]:
        """Return the session's complete list, in order of registration."""
        return [instances.offered(session, entry) for entry in session.tools.values()]

    def agents(self, session: OpenSession) -> list[AgentTools] | None:
        """Return the definitions of the tools on each custom agent's allowlist."""
        listed = [
            AgentTools(
                agent,
                [
                    instances.offered(session, session.tools[name])
                    for name in names
                    if name in session.tools
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
