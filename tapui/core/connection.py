"""A connection's state, and which messages each state allows.

Everything about which message may come when is in the table `LEGAL` (Provider Interface v2,
"Connection states"; design section 6 for hosts and towers).
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from tapui.core.deadlines import Deadline
from tapui.core.output import ConnectionId
from tapui.core.trust import Grant
from tapui.wire import builtin as b
from tapui.wire import host as h
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import tower as t

if TYPE_CHECKING:
    from tapui.core.calls import PendingCall
    from tapui.core.gates import Inquiry
    from tapui.core.providers import ConnectedProvider


class Standing(StrEnum):
    """The states of a connection."""

    AWAIT_AUTH = "AwaitAuth"
    AWAIT_PAIRING = "AwaitPairing"
    AWAIT_HELLO = "AwaitHello"
    BOUND = "Bound"
    UNBOUND = "Unbound"
    BUILTIN = "Builtin"
    HOST = "Host"
    TOWER = "Tower"
    CLOSED = "Closed"


def _table(*kinds: type[m.Message]) -> dict[str, type[m.Message]]:
    return {str(kind.__struct_config__.tag): kind for kind in kinds}


LEGAL: dict[Standing, dict[str, type[m.Message]]] = {
    Standing.AWAIT_AUTH: _table(p.Auth),
    Standing.AWAIT_PAIRING: _table(p.AuthConfirm),
    Standing.AWAIT_HELLO: _table(p.Hello, h.HostHello, t.TowerHello),
    Standing.BOUND: _table(
        p.ToolResult,
        m.ToolProgress,
        p.Push,
        p.ToolsUpdate,
        p.HooksUpdate,
        p.ContextUpdate,
        p.FilterSet,
        p.StreamQuery,
        p.GateResult,
        p.TransformResult,
        p.SessionReady,
        p.ShutdownReady,
        p.Hello,
        p.Goodbye,
    ),
    Standing.UNBOUND: _table(p.Hello, p.Goodbye),
    Standing.BUILTIN: _table(
        p.ToolResult,
        m.ToolProgress,
        p.ToolsUpdate,
        b.StreamPost,
        b.StateRead,
        b.ModeRequest,
        b.ModeRequestCancel,
        t.StreamRead,
    ),
    Standing.HOST: _table(
        h.SessionOpen,
        h.SessionUpdate,
        h.SessionClose,
        m.SessionEvent,
        h.HookPreToolUse,
        h.PromptSubmitted,
        h.ModeResult,
        h.ApprovalRequest,
        h.ApprovalWithdraw,
        h.SessionsUnattached,
        m.ToolInvoke,
        m.ToolAbort,
    ),
    Standing.TOWER: _table(
        t.ApprovalReveal,
        t.ApprovalDecide,
        t.CallCancel,
        t.ProviderDisconnect,
        t.ProviderMove,
        t.InjectsResume,
        t.SessionMode,
        t.StreamRead,
        t.TokenMint,
        t.GatewayStop,
        m.ToolInvoke,
        m.ToolAbort,
    ),
    Standing.CLOSED: {},
}


@dataclass(slots=True, eq=False)
class Connection:
    """One end of a conversation. `grant` is None until it has shown a token."""

    id: ConnectionId
    origin: str | None
    is_builtin: bool = False
    standing: Standing = Standing.AWAIT_AUTH
    grant: Grant | None = None
    name: str = ""
    deadline: Deadline | None = None
    is_counted: bool = True
    """Whether it counts among the connections (in-process ones do not)."""
    hellos: list[float] = field(default_factory=list)
    may_bind_all: str | None = None
    """The provider name that the person allowed to bind to all sessions."""
    provider: "ConnectedProvider | None" = None
    host_kind: str = ""
    host_asks_hooks: bool = False
    is_interactive: bool = False
    """Whether a person sits at this tower."""
    invokes: "dict[str, PendingCall]" = field(default_factory=dict)
    """Calls that this connection made, by the id that it chose."""
    inquiries: "dict[str, Inquiry]" = field(default_factory=dict)
    """Gates that it waits for, by the id of its `hook.preToolUse` or `tool.invoke`."""
    requests: dict[str, str] = field(default_factory=dict)
    """Approvals that this host asked for: its request id → the approval's id."""
    modes: dict[str, str] = field(default_factory=dict)
    """Mode requests of a built-in tool: its request id → the approval's id."""

    @property
    def bound_provider(self) -> "ConnectedProvider":
        """The provider behind a connection that is bound."""
        assert self.provider is not None, "bound connections have a provider"
        return self.provider

    @property
    def is_open(self) -> bool:
        """Whether messages are still taken from it."""
        return self.standing is not Standing.CLOSED
