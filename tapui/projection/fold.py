"""The fold: one event changes the state. Live, remote and replayed state are this function."""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from tapui.projection.approvals import request
from tapui.projection.change_marks import LiveMarks
from tapui.projection.cuts import (
    approval_head,
    call_head,
    emitter_head,
    finding_head,
    gate_head,
    goal_head,
    line_head,
    order_head,
    provider_head,
    restored,
    review_head,
    session_head,
)
from tapui.projection.requests.permissions import by_written_rule
from tapui.projection.reviews import decided
from tapui.projection.state import (
    State,
    StreamKey,
    is_connected,
    is_open,
    is_pending,
    is_under_way,
    is_unsettled,
)
from tapui.projection.summary import one_line
from tapui.projection.turns.decisions import (
    approval_changed,
    gate_checked,
    mode_changed,
    model_changed,
    not_delivered,
    sent_back,
    session_closed,
)
from tapui.projection.turns.earlier_turns import interrupted, restore
from tapui.projection.turns.session import LiveTurns, call_finished, call_started
from tapui.projection.turns.session_events import happened
from tapui.projection.turns.turn import proof_head, standing_head
from tapui.projection.words import changed
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.subjects import ModeRefusal, ModeStanding, SpanCounts

Kept = TypeVar("Kept")


def fold(state: State, event: ev.Event, ts: str) -> None:
    """Apply `event`, which happened at `ts` (RFC 3339), to `state` in place.

    Total: an event about something that the state no longer keeps changes nothing else.
    """
    _FOLDS[type(event)](state, event, ts)


def _trim(table: dict[str, Kept], is_live: Callable[[Kept], bool], keep: int) -> None:
    """Drop the oldest entries that are over, beyond the newest `keep` of them."""
    if len(table) <= keep:
        return
    over = [key for key, value in table.items() if not is_live(value)]
    for key in over[: max(len(over) - keep, 0)]:
        del table[key]


def _put_session(state: State, event: Any, ts: str) -> None:
    session = session_head(event.session)
    if type(event) is ev.SessionOpened:
        _forget_alarms(state, session.id)
        _forget_emitters(state, session.id)
        _forget_goals(state, session.id)
        _forget_reviews(state, session.id)
        state.tools_off.pop(session.id, None)
        state.marks.pop(session.id, None)
        state.spans.pop(session.id, None)
    known = state.sessions.get(session.id)
    turns = state.turns.get(session.id)
    if turns is None:
        state.turns[session.id] = LiveTurns(session.id)
    elif type(event) is ev.SessionOpened:
        interrupted(turns)
        _end_what_was_open(state, session.id, was_open=known is not None and is_open(known))
        # Of another run: a new one follows the first look at the folder.
        turns.standing, turns.has_changed = None, False
    elif known is not None and known.model != session.model:
        model_changed(turns, known.model, session.model, ts)
    state.sessions[session.id] = session


def _end_what_was_open(state: State, session_id: str, *, was_open: bool) -> None:
    """A session opens anew. Where it was open, the tapui that had it ended without a word, and with
    it what waited there. What goes on all the same, its host tells anew."""
    for approval in [one for one in state.approvals.values() if is_unsettled(one)]:
        if approval.session_id == session_id:
            del state.approvals[approval.id]
            ended = replace(approval, state="withdrawn", reason="tapui ended")
            state.approvals[approval.id] = ended
    _trim(state.approvals, is_unsettled, limits.RECENT_APPROVALS)
    for gate in [one for one in state.gates.values() if is_pending(one)]:
        if gate.session_id == session_id:
            del state.gates[gate.id]
    for call in [one for one in state.calls.values() if one.session_id == session_id]:
        # The end of a call that is cancelled may be told after its session's, by the same tapui.
        if was_open or call.state != "cancelling":
            del state.calls[call.id]
    for order in [one for one in state.orders.values() if is_under_way(one)]:
        if order.session_id == session_id:
            state.orders[order.id] = replace(order, state="failed", error="tapui ended")
    _trim(state.orders, is_under_way, limits.RECENT_ORDERS)


def _replace_session(state: State, event: ev.SessionReplaced, _ts: str) -> None:
    current = event.session.id
    state.tools_off.pop(event.replaces, None)  # an event of its own says what is off in the new one
    standing, known = state.modes.pop(event.replaces, None), state.sessions.get(event.replaces)
    if standing is not None and known is not None and known.mode == event.session.mode:
        state.modes[current] = replace(standing, session_id=current)
    for id_ in (event.replaces, current):
        former = state.sessions.pop(id_, None)
        if id_ == event.replaces or former is None or not is_open(former):
            state.turns.pop(id_, None)
    state.sessions[current] = session_head(event.session)
    if current not in state.turns:
        state.turns[current] = LiveTurns(current)
    counts = state.spans.pop(event.replaces, None)
    if counts is not None:
        state.spans.setdefault(current, replace(counts, session_id=current))
    former_marks = state.marks.pop(event.replaces, None)
    if former_marks is not None:
        state.marks.setdefault(current, former_marks)
    for held in (state.approvals, state.orders, state.recent_calls):
        for id_, one in held.items():
            if one.session_id == event.replaces:
                held[id_] = replace(one, session_id=current)  # type: ignore[assignment]
    for goal in state.goals_of(event.replaces):
        state.goals[goal.id] = replace(goal, session_id=current)
    for review in state.reviews_of(event.replaces):
        state.reviews[review.id] = replace(review, session_id=current)
    moved = [key for key in state.streams if key[0] == event.replaces]
    for key in moved:
        stream = state.streams.pop(key)
        state.streams.setdefault((current, key[1]), replace(stream, session_id=current))


def _tools_switched(state: State, event: ev.ToolsSwitched, _ts: str) -> None:
    state.tools_off.pop(event.session_id, None)
    if event.off:
        state.tools_off[event.session_id] = event.off


def _happened(state: State, event: ev.SessionHappened, ts: str) -> None:
    turns = state.turns.get(event.session_id)
    if turns is not None:
        happened(turns, event, ts)


def _restored(state: State, event: ev.TurnsRestored, _ts: str) -> None:
    turns = state.turns.get(event.session_id)
    if turns is not None:
        restore(turns, event.turns)


def _proved(state: State, event: ev.TurnProved, _ts: str) -> None:
    turns = state.turns.get(event.session_id)
    turn = turns.begun_at(event.started_at) if turns is not None else None
    if turn is not None:
        turn.proof = None if event.proof is None else proof_head(event.proof)


def _stood(state: State, event: ev.SessionStood, _ts: str) -> None:
    turns = state.turns.get(event.session_id)
    if turns is not None:
        turns.standing, turns.has_changed = standing_head(event.standing), event.has_changed


def _close_session(state: State, event: ev.SessionClosed, ts: str) -> None:
    id_ = event.session.id
    _forget_alarms(state, id_)
    _forget_emitters(state, id_)
    state.modes.pop(id_, None)
    state.tools_off.pop(id_, None)
    state.sessions.pop(id_, None)
    state.sessions[id_] = session_head(event.session)
    turns = state.turns.get(id_)
    if turns is None:
        state.turns[id_] = LiveTurns(id_)
    else:
        session_closed(turns, ts)
    for key in [key for key in state.streams if key[0] == event.session.id]:
        del state.streams[key]
    _trim(state.sessions, is_open, limits.ENDED_SESSIONS)
    for gone in state.turns.keys() - state.sessions.keys():
        del state.turns[gone]
        _forget_goals(state, gone)
        _forget_reviews(state, gone)
        state.marks.pop(gone, None)
        state.spans.pop(gone, None)


def _unattached(state: State, event: ev.UnattachedFound, _ts: str) -> None:
    if event.unattached:
        state.unattached[event.host] = [replace(one, host=event.host) for one in event.unattached]
    else:
        state.unattached.pop(event.host, None)


def _looks(state: State, event: ev.HostLooks, _ts: str) -> None:
    look = event.look
    state.looks.pop(look.host, None)
    if look.state != "gone":
        state.looks[look.host] = look
        _trim(state.looks, lambda one: one.state == "looking", limits.HOST_LOOKS)


def _put_provider(state: State, event: ev.ProviderEvent, ts: str) -> None:
    provider = provider_head(event.provider)
    known = state.providers.get(provider.id)
    seen = known.last_activity if known else None
    state.providers[provider.id] = replace(restored(provider, known), last_activity=seen or ts)


def _drop_provider(state: State, event: ev.ProviderDisconnected, _ts: str) -> None:
    known = state.providers.pop(event.provider.id, None)
    state.providers[event.provider.id] = replace(
        restored(provider_head(event.provider), known),
        last_activity=known.last_activity if known else None,
    )
    _trim(state.providers, is_connected, limits.RECENT_PROVIDERS)


def _touch(state: State, provider_id: str | None, ts: str) -> None:
    provider = state.providers.get(provider_id) if provider_id else None
    if provider is None or not is_connected(provider):
        return
    # To the second: a busy provider is not written down anew with each event.
    if provider.last_activity is None or provider.last_activity[:19] != ts[:19]:
        state.providers[provider.id] = replace(provider, last_activity=ts)


def _start_call(state: State, event: ev.CallStarted, ts: str) -> None:
    call = call_head(event.call)
    state.recent_calls.pop(call.id, None)  # a host may use an id once more
    state.calls[call.id] = call
    turns = state.turns.get(call.session_id)
    if turns is not None:
        call_started(turns, call, ts)
    _touch(state, call.provider_id, ts)


def _change_call(state: State, event: ev.CallEvent, _ts: str) -> None:
    known = state.calls.get(event.call.id)
    if known is not None:
        call = restored(call_head(event.call), None)
        state.calls[known.id] = replace(
            call, args=known.args, args_cut=known.args_cut, is_cut=call.is_cut or known.is_cut
        )


def _finish_call(state: State, event: ev.CallFinished, ts: str) -> None:
    call = restored(call_head(event.call), None)
    known = state.calls.pop(call.id, None)
    if known is None:
        return
    state.recent_calls[call.id] = replace(
        call, args=known.args, args_cut=known.args_cut, is_cut=call.is_cut or known.is_cut
    )
    if len(state.recent_calls) > limits.RECENT_CALLS:
        del state.recent_calls[next(iter(state.recent_calls))]
    turns = state.turns.get(call.session_id)
    if turns is not None:
        call_finished(turns, call, ts)
    _touch(state, call.provider_id, ts)


def _exited(state: State, event: ev.CallExited, _ts: str) -> None:
    known = state.recent_calls.get(event.call.id)
    if known is not None:
        call = call_head(event.call)
        state.recent_calls[known.id] = replace(
            known,
            exit_code=call.exit_code,
            shell=call.shell,
            is_cut=known.is_cut or call.is_cut,
        )


def _posted(state: State, event: ev.StreamPosted, ts: str) -> None:
    _touch(state, event.provider_id, ts)
    session = state.sessions.get(event.session_id)
    if session is not None and not is_open(session):
        return  # the streams of an ended session are in the records only
    key = (event.session_id, event.stream)
    line = line_head(event.line)
    known = state.streams.get(key)
    if known is None and len(state.streams) >= limits.RECENT_STREAMS:
        del state.streams[min(state.streams, key=lambda one: _last_line(state, one))]
    state.streams[key] = subjects.Stream(
        name=event.stream,
        provider=known.provider if known else event.stream.rpartition("@")[2],
        session_id=event.session_id,
        count=line.seq,
        last=line,
        dropped=(known.dropped if known else 0) + event.dropped,
        waited=event.waited,
    )


def _stream_moved(state: State, event: ev.StreamMoved, _ts: str) -> None:
    stream = state.streams.pop((event.former, event.stream), None)
    if stream is not None:
        moved = replace(stream, session_id=event.session_id)
        state.streams[event.session_id, event.stream] = moved


def _last_line(state: State, key: StreamKey) -> str:
    last = state.streams[key].last
    return last.ts if last is not None else ""


def _put_approval(state: State, event: ev.ApprovalEvent | ev.ApprovalDeciding, ts: str) -> None:
    known = state.approvals.get(event.approval.id)
    approval = restored(approval_head(event.approval), known)
    if not is_unsettled(approval):
        state.approvals.pop(approval.id, None)
    state.approvals[approval.id] = approval
    if not is_unsettled(approval):
        _trim(state.approvals, is_unsettled, limits.RECENT_APPROVALS)
    is_allowed = type(event) is ev.ApprovalDecided and approval.state == "approved"
    if is_allowed and by_written_rule(approval):
        state.rules_allowed += 1
    turns = state.turns.get(approval.session_id or "")
    if turns is not None:
        approval_changed(turns, approval, request(approval), ts)


def _alarm(state: State, event: ev.AlarmRaised, _ts: str) -> None:
    state.alarms[event.alarm.id] = event.alarm
    if len(state.alarms) > limits.MAX_ALARMS:
        del state.alarms[next(iter(state.alarms))]


def _alarm_over(state: State, event: ev.AlarmCleared, _ts: str) -> None:
    state.alarms.pop(event.alarm.id, None)


def _forget_alarms(state: State, session_id: str) -> None:
    """Drop the alarms of a session that begins or ends: those of an earlier run, too."""
    for alarm in [one for one in state.alarms.values() if one.session_id == session_id]:
        del state.alarms[alarm.id]


def _put_emitter(state: State, event: ev.EmitterChanged, _ts: str) -> None:
    emitter = event.emitter
    known = state.emitters.get(emitter.id)
    state.emitters[emitter.id] = restored(emitter_head(emitter), known)
    while len(state.emitters) > limits.MAX_EMITTERS:  # of records that are not whole
        del state.emitters[next(iter(state.emitters))]


def _count_emitter(state: State, event: ev.EmitterCounted, _ts: str) -> None:
    known = state.emitters.get(event.emitter_id)
    if known is not None:
        state.emitters[known.id] = replace(known, counts=event.counts)


def _drop_emitter(state: State, event: ev.EmitterGone, _ts: str) -> None:
    state.emitters.pop(event.emitter_id, None)


def _forget_emitters(state: State, session_id: str) -> None:
    """No emitter is of a session that begins or ends: those of an earlier run neither."""
    for emitter in [one for one in state.emitters.values() if one.session_id == session_id]:
        del state.emitters[emitter.id]


def _put_problems(state: State, event: ev.FolderProblemsChanged, _ts: str) -> None:
    state.folder_problems.pop(event.folder, None)
    if event.problems:
        state.folder_problems[event.folder] = event.problems
    while len(state.folder_problems) > limits.MAX_EMITTERS:  # of records that are not whole
        del state.folder_problems[next(iter(state.folder_problems))]


def _put_mcp_server(state: State, event: ev.McpServerChanged, _ts: str) -> None:
    state.mcp_servers[event.server.id] = event.server
    while len(state.mcp_servers) > limits.MAX_MCP_SERVERS:  # of records that are not whole
        del state.mcp_servers[next(iter(state.mcp_servers))]


def _drop_mcp_server(state: State, event: ev.McpServerGone, _ts: str) -> None:
    state.mcp_servers.pop(event.server_id, None)


def _put_goal(state: State, event: ev.GoalEvent, _ts: str) -> None:
    goal = goal_head(event.goal)
    state.goals[goal.id] = goal
    own = state.goals_of(goal.session_id)
    if len(own) > limits.MAX_GOALS:
        del state.goals[next((one for one in own if not one.is_open), own[0]).id]


def _forget_goals(state: State, session_id: str) -> None:
    """A session begins, and events tell its goals again; or it is kept no longer."""
    for goal in state.goals_of(session_id):
        del state.goals[goal.id]


def _put_review(state: State, event: ev.ReviewRecorded, _ts: str) -> None:
    review = event.review
    if review.session_id not in state.sessions:
        return
    state.reviews[review.id] = review_head(review)
    own = state.reviews_of(review.session_id)
    found = sum(len(one.findings) for one in own)
    while len(own) > limits.RECENT_REVIEWS or (found > limits.RECENT_FINDINGS and len(own) > 1):
        gone = own.pop(0)
        found -= len(gone.findings)
        del state.reviews[gone.id]


def _dispose_finding(state: State, event: ev.FindingDisposed, _ts: str) -> None:
    finding = event.finding
    review = state.reviews.get(finding.review_id or "")
    if review is None:
        return
    found = [
        decided(one, finding_head(finding)) if one.id == finding.id else one
        for one in review.findings
    ]
    state.reviews[review.id] = replace(review, findings=found)


def _forget_reviews(state: State, session_id: str) -> None:
    for review in state.reviews_of(session_id):
        del state.reviews[review.id]


def _marks(state: State, session_id: str) -> LiveMarks:
    return state.marks.setdefault(session_id, LiveMarks())


def _marked(state: State, event: ev.FileMarked, _ts: str) -> None:
    if event.session_id in state.sessions:
        _marks(state, event.session_id).see(event.root, event.path, event.state_id)


def _noted(state: State, event: ev.NoteKept, _ts: str) -> None:
    if event.session_id in state.sessions:
        _marks(state, event.session_id).keep(event.note)


def _note_dropped(state: State, event: ev.NoteDropped, _ts: str) -> None:
    marks = state.marks.get(event.session_id)
    if marks is not None:
        marks.drop(event.note_id)


def _sent_back(state: State, event: ev.TurnSentBack, ts: str) -> None:
    turns = state.turns.get(event.session_id)
    if turns is not None:
        sent_back(turns, event, ts)


def _mode(state: State, event: ev.ModeChanged, ts: str) -> None:
    turns = state.turns.get(event.session_id)
    if turns is not None:
        mode_changed(turns, event, ts)
    session = state.sessions.get(event.session_id)
    if session is None or not is_open(session):
        return
    known = state.modes.get(session.id)
    if event.state == "done":
        state.sessions[session.id] = replace(session, mode=event.mode)
        is_persons = event.asker in (None, "commandLine")
        ownership: Literal["userOwned", "modelOwned"] = "userOwned" if is_persons else "modelOwned"
        state.modes[session.id] = ModeStanding(session.id, ownership, event.by, ts)
    elif event.state == "refused" and event.asker is not None and event.policy is not None:
        refusal = ModeRefusal(
            event.mode, event.asker, event.policy, event.by, one_line(event.error or ""), ts
        )
        state.modes[session.id] = replace(known or ModeStanding(session.id), refused=refusal)


def _order(state: State, event: ev.OrderGiven, _ts: str) -> None:
    order = order_head(event.order)
    state.orders.pop(order.id, None)
    state.orders[order.id] = order


def _order_changed(state: State, event: ev.OrderChanged, ts: str) -> None:
    known = state.orders.get(event.order_id)
    if known is None:
        return
    order = state.orders[known.id] = order_head(changed(known, event))
    if is_under_way(order):
        return
    _trim(state.orders, is_under_way, limits.RECENT_ORDERS)
    turns = state.turns.get(event.session_id)
    if turns is not None and order.kind == "tell" and order.state == "failed":
        not_delivered(turns, order, ts)


def _gate(state: State, event: ev.GateChecked, ts: str) -> None:
    gate = gate_head(event.gate)
    turns = state.turns.get(event.session_id)
    if turns is not None:
        gate_checked(turns, gate, ts)
    if gate.state != "waiting":
        state.gates.pop(gate.id, None)
    state.gates[gate.id] = gate
    if gate.state != "waiting":
        _trim(state.gates, is_pending, limits.RECENT_GATES)


def _span(state: State, event: ev.SpanEnded, _ts: str) -> None:
    id_, span = event.session_id, event.span
    known = state.spans.get(id_) if id_ is not None else None
    if known is None:
        if id_ is None or id_ not in state.sessions:
            return
        known = SpanCounts(id_)
    errors = known.errors + 1 if span.status == "error" else known.errors
    dropped = known.dropped + span.dropped if span.dropped > 0 else known.dropped
    state.spans[known.session_id] = SpanCounts(known.session_id, known.spans + 1, errors, dropped)


def _exported(state: State, event: ev.SpansExported, _ts: str) -> None:
    export = event.export
    error = None if export.error is None else one_line(export.error)
    state.span_export = replace(export, endpoint=one_line(export.endpoint), error=error)


def _nothing(_state: State, _event: ev.Event, _ts: str) -> None:
    """Some events tell only of a moment: they are shown and recorded, and change no state."""


_FOLDS: dict[type[ev.Event], Callable[[State, Any, str], None]] = {
    ev.SessionOpened: _put_session,
    ev.SessionUpdated: _put_session,
    ev.SessionReplaced: _replace_session,
    ev.SessionClosed: _close_session,
    ev.SessionHappened: _happened,
    ev.TurnsRestored: _restored,
    ev.TurnProved: _proved,
    ev.SessionStood: _stood,
    ev.UnattachedFound: _unattached,
    ev.HostLooks: _looks,
    ev.ProviderConnected: _put_provider,
    ev.ProviderBound: _put_provider,
    ev.ProviderUpdated: _put_provider,
    ev.ProviderMoved: _put_provider,
    ev.ProviderUnbound: _put_provider,
    ev.ProviderDisconnected: _drop_provider,
    ev.CallStarted: _start_call,
    ev.CallProgress: _change_call,
    ev.CallCancelling: _change_call,
    ev.CallFinished: _finish_call,
    ev.CallExited: _exited,
    ev.StreamPosted: _posted,
    ev.StreamMoved: _stream_moved,
    ev.ApprovalRequested: _put_approval,
    ev.ApprovalJudged: _put_approval,
    ev.ApprovalDeciding: _put_approval,
    ev.ApprovalRevealed: _put_approval,
    ev.ApprovalDecided: _put_approval,
    ev.ApprovalWithdrawn: _put_approval,
    ev.ApprovalExpired: _put_approval,
    ev.AlarmRaised: _alarm,
    ev.AlarmCleared: _alarm_over,
    ev.ModeChanged: _mode,
    ev.OrderGiven: _order,
    ev.OrderChanged: _order_changed,
    ev.GateChecked: _gate,
    ev.EmitterChanged: _put_emitter,
    ev.EmitterCounted: _count_emitter,
    ev.EmitterGone: _drop_emitter,
    ev.FolderProblemsChanged: _put_problems,
    ev.McpServerChanged: _put_mcp_server,
    ev.McpServerGone: _drop_mcp_server,
    ev.GoalOpened: _put_goal,
    ev.GoalUpdated: _put_goal,
    ev.GoalVerified: _put_goal,
    ev.GoalClosed: _put_goal,
    ev.TurnSentBack: _sent_back,
    ev.FileMarked: _marked,
    ev.NoteKept: _noted,
    ev.NoteDropped: _note_dropped,
    ev.FileRestored: _nothing,
    ev.ClaimsAudited: _nothing,
    ev.ReviewRecorded: _put_review,
    ev.FindingDisposed: _dispose_finding,
    ev.ToolsSwitched: _tools_switched,
    ev.InjectPaused: _nothing,
    ev.InjectResumed: _nothing,
    ev.ErrorSent: _nothing,
    ev.CommandAsked: _nothing,
    ev.SpanEnded: _span,
    ev.SpansExported: _exported,
    ev.EventLost: _nothing,
}
