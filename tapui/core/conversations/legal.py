"""Which message is legal in which state: the table `LEGAL`, and nothing else decides it.

Provider Interface v2 "Connection states"; `tapui/wire/README.md` for hosts and towers.
"""

from tapui.core.model import Standing
from tapui.wire import builtin as b
from tapui.wire import changes as c
from tapui.wire import emitters as e
from tapui.wire import goals as g
from tapui.wire import host as h
from tapui.wire import limits
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import proving as v
from tapui.wire import reviews as r
from tapui.wire import steering as s
from tapui.wire import tower as t
from tapui.wire.errors import ErrorCode, WireError


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
    # Answers to what it was asked while it was bound are absorbed.
    Standing.UNBOUND: _table(
        p.ToolResult, m.ToolProgress, p.GateResult, p.TransformResult, p.Hello, p.Goodbye
    ),
    Standing.BUILTIN: _table(
        p.ToolResult,
        m.ToolProgress,
        p.ToolsUpdate,
        b.StreamPost,
        b.StateRead,
        b.ModeRequest,
        b.ModeRequestCancel,
        b.EmitterAsked,
        b.EmitterAskedCancel,
        b.EmitterAskedStop,
        b.EmitterRulesAsked,
        b.InjectorAsked,
        b.EmittersRead,
        b.RecordsAsked,
        g.GoalAsked,
        g.GoalUpdateAsked,
        g.SessionGoalsRead,
        g.VerifyAsked,
        g.AuditAsked,
        r.ReviewAsked,
        t.StreamRead,
    ),
    Standing.HOST: _table(
        h.SessionOpen,
        h.SessionUpdate,
        h.SessionHistory,
        h.SessionClose,
        m.SessionEvent,
        m.NowText,
        h.HookPreToolUse,
        h.PromptSubmitted,
        h.TurnEnding,
        h.ModeResult,
        h.ApprovalRequest,
        h.ApprovalAskResult,
        h.ApprovalWithdraw,
        h.SessionsUnattached,
        h.HostLooked,
        h.SessionSent,
        h.HostNotice,
        s.SessionStarted,
        s.OrderResult,
        s.ModelsList,
        h.SessionLooked,
        m.ToolInvoke,
        m.ToolAbort,
    ),
    # A token for tools alone: it lists the tools of its own session, and calls them.
    Standing.TOOL_HOST: _table(
        h.SessionOpen, h.SessionUpdate, h.SessionClose, m.ToolInvoke, m.ToolAbort
    ),
    Standing.TOWER: _table(
        t.ApprovalReveal,
        t.ApprovalDecide,
        t.CallCancel,
        t.ProviderDisconnect,
        t.ProviderMove,
        t.InjectsResume,
        t.SessionMode,
        t.SessionBudget,
        t.ToolsSwitch,
        s.SessionTell,
        s.SessionStop,
        s.SessionCompact,
        s.SessionSet,
        s.SessionEnd,
        s.SessionStart,
        s.ModelsRead,
        e.EmitterStart,
        e.EmitterStop,
        e.EmitterPause,
        e.EmitterResume,
        e.EmitterRun,
        e.EmitterFilter,
        e.EmitterTry,
        e.EmitterKeep,
        v.ProofRun,
        v.ProofStop,
        v.ProofSendBack,
        g.GoalOpen,
        g.GoalChange,
        g.GoalVerify,
        g.GoalNote,
        g.GoalDrop,
        g.SurfaceAllow,
        g.GoalsRead,
        r.FindingDispose,
        t.StreamRead,
        t.TurnsRead,
        t.SpansRead,
        c.ChangesRead,
        c.DiffRead,
        c.FileSee,
        c.FilePutBack,
        c.NoteKeep,
        c.NoteDrop,
        c.NotesTell,
        t.ToolsRead,
        s.AgentsRead,
        t.DetailRead,
        t.InspectStart,
        t.InspectRead,
        t.InspectStop,
        t.TokenMint,
        t.GatewayStop,
        m.ToolInvoke,
        m.ToolAbort,
    ),
    Standing.CLOSED: {},
}

NOT_AGENTS: frozenset[type[m.Message]] = frozenset({t.GatewayStop})
"""What is refused to agents alone: scripts that start a gateway end it, too, and every process of
the person can end it with a signal."""
NAMED: frozenset[type[m.Message]] = frozenset({m.ToolInvoke, m.ToolAbort})
"""What every process may send, and is recorded with its name: a session's agent calls these tools,
too, and an abort reaches only the sender's own calls. Calls of tapui's own tools that change
something (`wire.builtin.changes_session`) are taken as `GUARDED` messages are."""
READING: frozenset[type[m.Message]] = frozenset(
    {
        e.EmitterTry,
        g.GoalsRead,
        s.ModelsRead,
        t.StreamRead,
        t.TurnsRead,
        t.SpansRead,
        c.ChangesRead,
        c.DiffRead,
        t.ToolsRead,
        s.AgentsRead,
        t.DetailRead,
        t.InspectStart,
        t.InspectRead,
        t.InspectStop,
    }
)
"""What every process may send: it shows what is there, and changes nothing."""
GUARDED = frozenset(LEGAL[Standing.TOWER].values()) - NOT_AGENTS - NAMED - READING
"""All else of a tower's is taken from the person alone: it decides, sends, starts, grants, stops or
removes."""


def check_version(version: float) -> None:
    """Check the version of a hello. Raises `WireError` (`UNSUPPORTED_VERSION`)."""
    if version != limits.PROTOCOL_VERSION:
        raise WireError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"protocolVersion {version:g} is not supported; "
            f"this gateway speaks {limits.PROTOCOL_VERSION}",
        )
