"""Tools that the person has switched off for a session: neither offered nor called there.

They are kept in the session's ledger, where a change by something else is noticed, and are off
again when the session comes back after a restart of the gateway.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tapui.core.calls.calls import Calls
from tapui.core.context import CorePart
from tapui.core.model import Connection, OpenSession
from tapui.core.proof import facts as fact
from tapui.core.proof.watching import Proof, SessionProof
from tapui.core.providers.tools import ToolTable
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import ToolsSwitched
from tapui.wire.tower import ToolsSwitch

_BY_TAPUI = "tapui"


@dataclass(eq=False, repr=False)
class ToolSwitches(CorePart):
    """Switches tools off and on again, as `OpenSession.tools_off` has them."""

    sessions: OpenSessions
    tools: ToolTable
    proof: Proof
    calls: Calls

    def __post_init__(self) -> None:
        super().__post_init__()
        self.proof.opened.append(self._restored)
        self.proof.begun_anew.append(self._keep_again)

    def switch(self, tower: Connection, message: ToolsSwitch) -> None:
        """The person switches a tool, or all of a provider's. Raises `WireError` for what is not
        there, and for more than is kept."""
        session = self.sessions.required(message.session_id)
        own = [one.tool.name for one in session.tools.values() if one.owner == message.provider]
        is_missing = message.tool is not None and message.tool not in own
        if not message.on and (not own or is_missing):
            what = f"tool '{message.tool}'" if message.tool is not None else "tool"
            text = f"provider '{message.provider}' offers no {what} in session {session.id}"
            raise WireError(ErrorCode.NOT_FOUND, text, session_id=session.id)
        off = {provider: list(names) for provider, names in session.tools_off.items()}
        _switch(off, message, own)
        if not _is_bounded(off):
            text = (
                f"at most {limits.MAX_TOOLS_OFF:,} tools of {limits.MAX_PROVIDERS_OFF} providers "
                "can be switched off one by one; switch off the provider"
            )
            raise WireError(ErrorCode.PAYLOAD_TOO_LARGE, text, session_id=session.id)
        if off != session.tools_off:
            self._set(session, off, tower.by)
            watched = self.proof.watched(session)
            if watched is not None and watched.is_open:
                self._keep(watched)  # else once the ledger was read

    def replace_session(self, former: OpenSession, current: OpenSession) -> None:
        """Another session takes the place of one: the same is off in it."""
        off = _joined(former.tools_off, current.tools_off)
        if off != current.tools_off:
            self._set(current, off, _BY_TAPUI)
            watched = self.proof.watched(current)
            if watched is not None and watched.is_open:
                self._keep(watched)

    def _restored(self, watched: SessionProof) -> None:
        """The ledger of a session was read: what was off is off again, with what was switched off
        since the session opened."""
        session = self.sessions.open.get(watched.session_id)
        if session is None:
            return
        kept = watched.history.tools_off
        off = _joined(kept, session.tools_off)
        if off != session.tools_off:
            self._set(session, off, _BY_TAPUI)
        if off != kept:
            self._keep(watched)

    def _set(self, session: OpenSession, off: dict[str, list[str]], by: str) -> None:
        session.tools_off = off
        self._out.emit(ToolsSwitched(session.id, off, by))
        self.calls.switched_off(session)
        self.tools.filter_changed(session)

    def _keep_again(self, watched: SessionProof) -> None:
        """The ledger of a session is empty again."""
        if watched.history.tools_off:
            self._keep(watched)

    def _keep(self, watched: SessionProof) -> None:
        session = self.sessions.open.get(watched.session_id)
        if session is not None:
            now = self._clock.timestamp()
            self.proof.add(watched, fact.ToolsStood(at=now, off=session.tools_off))


def _switch(off: dict[str, list[str]], message: ToolsSwitch, own: list[str]) -> None:
    """Change what is off, by provider; `own` are the names of the tools that it offers now."""
    names = off.get(message.provider)
    if message.tool is None:
        off.pop(message.provider, None)
        if not message.on:
            off[message.provider] = []
    elif not message.on:
        if names is None:
            off[message.provider] = [message.tool]
        elif names and message.tool not in names:
            names.append(message.tool)
    elif names is not None:
        # Of a provider that is off as a whole its other tools stay off, one by one.
        left = [name for name in names or own if name != message.tool]
        off.pop(message.provider)
        if left:
            off[message.provider] = left


def _joined(kept: Mapping[str, list[str]], since: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return what is off in either; `since` alone where both together are beyond the limits."""
    off = {provider: list(names) for provider, names in kept.items()}
    for provider, names in since.items():
        known = off.get(provider)
        both = known and names and [*known, *(one for one in names if one not in known)]
        off[provider] = list(names) if known is None else both or []
    return off if _is_bounded(off) else dict(since)


def _is_bounded(off: Mapping[str, list[str]]) -> bool:
    return (
        len(off) <= limits.MAX_PROVIDERS_OFF
        and sum(map(len, off.values())) <= limits.MAX_TOOLS_OFF
        and all(len(name) <= limits.MAX_ID for names in off.values() for name in names)
    )
