"""Which handler takes a message in which state, and a deadline that has come, by its kind.

A handler of messages raises `WireError` to refuse.
"""

from collections.abc import Callable
from typing import Any

from tapui.core.conversations.legal import GUARDED, LEGAL, NAMED, NOT_AGENTS
from tapui.core.deadlines import Due
from tapui.core.model import Connection, Standing
from tapui.core.parts import Parts
from tapui.core.trust.guard import Need
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

Handler = Callable[[Connection, Any], None]


def handlers(parts: Parts) -> dict[Standing, dict[type[m.Message], Handler]]:
    """Return the handler of each kind of message, by the states in which it is legal."""
    takes: dict[type[m.Message], Handler] = {
        p.Auth: parts.admission.auth,
        p.AuthConfirm: parts.pairings.confirm,
        p.Hello: parts.hellos.hello,
        p.ToolResult: parts.provider.tool_result,
        m.ToolProgress: parts.provider.tool_progress,
        p.Push: parts.provider.push,
        p.ToolsUpdate: parts.provider.tools_update,
        p.HooksUpdate: parts.provider.hooks_update,
        p.ContextUpdate: parts.provider.context_update,
        p.FilterSet: parts.provider.filter_set,
        p.StreamQuery: parts.provider.stream_query,
        p.GateResult: parts.provider.gate_result,
        p.TransformResult: parts.provider.transform_result,
        p.SessionReady: parts.provider.session_ready,
        p.ShutdownReady: parts.provider.shutdown_ready,
        p.Goodbye: parts.provider.goodbye,
        h.HostHello: parts.tool_hosts.hello,
        h.SessionOpen: parts.host.session_open,
        h.SessionUpdate: parts.host.session_update,
        h.SessionHistory: parts.history.told,
        h.SessionClose: parts.host.session_close,
        m.SessionEvent: parts.session_events.happened,
        m.NowText: parts.host.now_text,
        h.HookPreToolUse: parts.caller.hook_pre_tool_use,
        h.PromptSubmitted: parts.caller.prompt_submitted,
        h.TurnEnding: parts.turn_ends.ending,
        h.ModeResult: parts.host.mode_result,
        h.ApprovalRequest: parts.host.approval_request,
        h.ApprovalAskResult: parts.modes.asked_in_window,
        h.ApprovalWithdraw: parts.host.approval_withdraw,
        h.SessionsUnattached: parts.host.unattached,
        h.HostLooked: parts.host.looked,
        h.SessionSent: parts.session_events.sent,
        h.HostNotice: parts.host.notice,
        s.SessionStarted: parts.starts.started,
        s.OrderResult: parts.orders.result,
        s.ModelsList: parts.orders.models_listed,
        h.SessionLooked: parts.session_states.looked,
        m.ToolInvoke: parts.caller.tool_invoke,
        m.ToolAbort: parts.caller.tool_abort,
        t.TowerHello: parts.tower.hello,
        t.ApprovalReveal: parts.tower.reveal,
        t.ApprovalDecide: parts.tower.decide,
        t.CallCancel: parts.tower.call_cancel,
        t.ProviderDisconnect: parts.tower.provider_disconnect,
        t.ProviderMove: parts.tower.provider_move,
        t.InjectsResume: parts.tower.injects_resume,
        t.SessionMode: parts.tower.session_mode,
        t.SessionBudget: parts.spending.set,
        t.ToolsSwitch: parts.tool_switches.switch,
        s.SessionTell: parts.orders.tell,
        s.SessionStop: parts.orders.stop,
        s.SessionCompact: parts.orders.compact,
        s.SessionSet: parts.orders.set,
        s.SessionEnd: parts.orders.close,
        s.SessionStart: parts.starts.start,
        s.ModelsRead: parts.orders.models_read,
        e.EmitterStart: parts.emitter_orders.start,
        e.EmitterStop: parts.emitter_orders.stop,
        e.EmitterPause: parts.emitter_orders.pause,
        e.EmitterResume: parts.emitter_orders.resume,
        e.EmitterRun: parts.emitter_orders.run,
        e.EmitterFilter: parts.emitter_orders.filter,
        e.EmitterTry: parts.emitter_orders.try_filter,
        e.EmitterKeep: parts.emitter_orders.keep,
        v.ProofRun: parts.person_checks.run,
        v.ProofStop: parts.person_checks.stop,
        v.ProofSendBack: parts.person_checks.send_back,
        g.GoalOpen: parts.goal_requests.open,
        g.GoalChange: parts.goal_requests.change,
        g.GoalVerify: parts.goal_requests.verify,
        g.GoalNote: parts.goal_requests.note,
        g.GoalDrop: parts.goal_requests.drop,
        g.SurfaceAllow: parts.goal_requests.allow,
        g.GoalsRead: parts.goal_requests.read,
        g.GoalAsked: parts.goal_requests.create,
        g.GoalUpdateAsked: parts.goal_requests.update,
        g.SessionGoalsRead: parts.goal_requests.listed,
        g.VerifyAsked: parts.goal_requests.verify_asked,
        g.AuditAsked: parts.goal_requests.audit,
        r.ReviewAsked: parts.reviews.asked,
        r.FindingDispose: parts.reviews.dispose,
        t.ToolsRead: parts.reading.tools_read,
        s.AgentsRead: parts.starts.agents_read,
        t.TurnsRead: parts.reading.turns_read,
        t.SpansRead: parts.reading.spans_read,
        c.ChangesRead: parts.comparisons.read,
        c.DiffRead: parts.comparisons.diff,
        c.FileSee: parts.person_marks.see,
        c.FilePutBack: parts.comparisons.put_back,
        c.NoteKeep: parts.person_marks.keep,
        c.NoteDrop: parts.person_marks.drop,
        c.NotesTell: parts.person_marks.tell,
        t.StreamRead: parts.reading.stream_read,
        t.DetailRead: parts.reading.detail_read,
        t.InspectStart: parts.inspecting.start,
        t.InspectRead: parts.inspecting.read,
        t.InspectStop: parts.inspecting.stop,
        t.TokenMint: parts.tower.token_mint,
        t.GatewayStop: parts.tower.gateway_stop,
        b.StreamPost: parts.builtin.stream_post,
        b.StateRead: parts.session_states.read,
        b.ModeRequest: parts.builtin.mode_request,
        b.ModeRequestCancel: parts.builtin.mode_request_cancel,
        b.EmitterAsked: parts.agent_emitters.start,
        b.EmitterAskedCancel: parts.agent_emitters.cancel,
        b.EmitterAskedStop: parts.agent_emitters.stop,
        b.EmitterRulesAsked: parts.agent_emitters.set_rules,
        b.InjectorAsked: parts.agent_emitters.set_injector,
        b.EmittersRead: parts.agent_emitters.read,
        b.RecordsAsked: parts.builtin.records_asked,
    }
    of_state = {
        standing: {kind: takes[kind] for kind in legal.values()}
        for standing, legal in LEGAL.items()
    }
    of_state[Standing.TOOL_HOST] |= {
        h.SessionOpen: parts.tool_hosts.session_open,
        h.SessionUpdate: parts.tool_hosts.session_update,
        h.SessionClose: parts.tool_hosts.session_close,
    }
    of_tower = of_state[Standing.TOWER]
    needs: tuple[tuple[Need, frozenset[type[m.Message]]], ...]
    needs = (("person", GUARDED), ("no agent", NOT_AGENTS), ("name", NAMED))
    for need, kinds in needs:
        of_tower |= {kind: parts.guard.guarded(of_tower[kind], need) for kind in kinds}
    return of_state


def due_handlers(parts: Parts) -> dict[Due, Callable[[Any], None]]:
    """Return what takes the subject of each kind of deadline."""

    def unauthenticated(connection: Connection) -> None:
        error = WireError(ErrorCode.AUTH_FAILED, f"no auth within {limits.AUTH_TIMEOUT:g} s")
        parts.connections.refuse(connection, error)

    return {
        Due.AUTH: unauthenticated,
        Due.CALL: parts.calls.due,
        Due.CANCEL_GRACE: parts.calls.grace_over,
        Due.SHUTDOWN: parts.endings.shutdown_over,
        Due.TOOLS_CHANGED: parts.tools.tell,
        Due.SESSIONS_CHANGED: lambda _: parts.announcements.send(),
        Due.PAIRING_LINE: lambda _: parts.pairings.line_due(),
        Due.APPROVAL: parts.approvals.expire,
        Due.MODE_SET: parts.modes.due,
        Due.ORDER: parts.orders.due,
        Due.MODELS: parts.orders.models_due,
        Due.LOOK: parts.session_states.due,
        Due.START: parts.starts.due,
        Due.IDENTITY: parts.providers.forget,
        Due.GATE: parts.gates.due,
        Due.TRANSFORM: parts.prompts.due,
        Due.TURN: parts.runs.no_turn,
        Due.WAITING: parts.alarms.waiting_due,
        Due.QUIET: parts.alarms.quiet_due,
        Due.TOOL_SESSIONS: lambda _: parts.tool_hosts.look(),
        Due.EMITTER: parts.runs.due,
        Due.COUNTS: parts.emitters.counts_due,
        Due.PROOF: parts.person_checks.due,
        Due.GOAL: parts.goal_deadlines.due,
        Due.STREAMS: lambda key: parts.streams.release(*key),
        Due.DROPPED: parts.budgets.due,
    }
