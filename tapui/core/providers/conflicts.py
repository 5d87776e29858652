"""Names of tools in a session: who owns one, and who may register it beside the owner."""

from collections.abc import Iterable
from dataclasses import dataclass

from tapui.core.model import ConnectedProvider, OpenSession, RegisteredTool
from tapui.core.providers import instances
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.message import Tool


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
