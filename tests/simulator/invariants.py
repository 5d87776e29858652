"""What must hold after each step, and what must be left when all have gone."""

from typing import TYPE_CHECKING

from tapui.core.deadlines import Deadline, Due
from tapui.core.model import OpenSession, Standing
from tapui.core.parts import Parts
from tapui.projection.state import is_connected, is_open, is_pending, is_under_way, is_unsettled
from tapui.wire import limits
from tapui.wire.message import ToolInvoke

if TYPE_CHECKING:
    from tests.simulator.world import World

SLACK = 1e-6
_SHOWN = ("name", "instance", "state", "session_id", "tools", "trust", "origin")


def check(world: "World") -> None:
    """Check everything that holds at any time."""
    r = world.gateway.parts
    assert world.ledger.folded == world.gateway.state, "the events fold to the state"
    _projection(world, r)
    for session in r.sessions.open.values():
        _session(r, session)
    _providers(r)
    _calls(world, r)
    _inquiries(world, r)
    _emitters(world, r)
    _bounds(r)


def _projection(world: "World", r: Parts) -> None:
    state = world.gateway.state
    live = {id_: one for id_, one in state.sessions.items() if is_open(one)}
    assert live == {id_: one.view for id_, one in r.sessions.open.items()}
    shown = {id_: one for id_, one in state.providers.items() if is_connected(one)}
    connected = {
        id_: one for id_, one in r.providers.connected.items() if not one.connection.is_builtin
    }
    assert shown.keys() == connected.keys()
    for id_, provider in connected.items():
        for field in _SHOWN:
            assert getattr(shown[id_], field) == getattr(provider.view, field), field
    sessions = r.sessions.open.values()
    native = {one.call_id for each in sessions for one in each.native_calls.values()}
    assert state.calls.keys() == r.calls.pending.keys() | native
    unsettled = {id_: one for id_, one in state.approvals.items() if is_unsettled(one)}
    known_approvals = r.approvals.waiting | r.approvals.deciding
    assert unsettled == {id_: one.view for id_, one in known_approvals.items()}
    under_way = {id_ for id_, one in state.orders.items() if is_under_way(one)}
    orders = {id_ for one in r.sessions.open.values() for id_ in one.orders}
    assert under_way == orders == r.orders._pending.keys(), "orders of sessions that are there"
    gates = {id_ for id_, one in state.gates.items() if is_pending(one)}
    asked = {one.view.id for one in r.gates._asked.values() if one.view is not None}
    assert gates == asked, "gates on show are those that wait"
    counts = {key: stream.count for key, stream in state.streams.items()}
    kept = {
        (id_, name): log.count for id_ in r.sessions.open for name, log in r.streams.of(id_).items()
    }
    released = r.streams._released.items()
    known = kept | {key: count for key, count in released if key[0] in r.sessions.open}
    assert counts == known, f"streams on show {counts}, known {known}"


def _session(r: Parts, session: OpenSession) -> None:
    assert len(session.native_calls) <= limits.MAX_NATIVE_CALLS
    assert len(session.view.subagents) <= limits.MAX_SUBAGENTS
    assert len(session.children) <= limits.MAX_CHILDREN
    for name, entry in session.tools.items():
        assert entry.offers or entry.lists, f"nobody offers {name}"
        for id_, (provider, _) in entry.offers.items():
            assert r.providers.connected.get(id_) is provider, f"{name} is a gone provider's"
            assert provider.connection.standing in (Standing.BOUND, Standing.BUILTIN)
            assert session.providers.get(id_) is provider
    for provider in session.providers.values():
        assert provider.is_in(session)
        assert provider.grant.covers(session.id), "its token does not cover the session"
        assert [tool.name for tool in provider.tools[session.id]] == session.tool_names[provider.id]
    for subscribers in session.subscribers.values():
        assert all(session.providers.get(one.id) is one for one in subscribers)
    if session.rules is not None:
        judged = [*session.rules.of_any]
        for rules in session.rules.of_tool.values():
            judged += rules
        assert all(session.providers.get(one.id) is one for _, one, _ in judged)
    names = {(one.name, one.view.instance) for one in session.providers.values()}
    assert len(names) == len(session.providers), "an identity is held twice"


def _providers(r: Parts) -> None:
    for provider in r.providers.connected.values():
        assert r.connections.by_number.get(provider.connection.id) is provider.connection
        assert provider.connection.provider is provider
        assert provider.tools.keys() == provider.sessions.keys()
        assert provider.hooks.keys() == provider.sessions.keys()
        assert provider.running == sum(not one.is_settled for one in provider.calls.values())
        for session in provider.sessions.values():
            assert session.is_open or provider in session.leaving
        is_bound = provider.connection.standing in (Standing.BOUND, Standing.BUILTIN)
        assert is_bound == (provider.view.state == "bound") or provider.connection.is_builtin
        if is_bound and not provider.is_everywhere:
            assert len(provider.sessions) == 1, "bound to one session"
        for call_id in provider.gates:
            assert call_id in r.gates._asked
        for call_id in provider.transforming:
            assert call_id in r.prompts._asked


def _calls(world: "World", r: Parts) -> None:
    unsettled = queued = 0
    for id_, call in r.calls.pending.items():
        assert call.provider.calls[id_] is call
        assert r.providers.connected.get(call.provider.id) is call.provider
        assert (call.caller.invokes.get(call.invoke_id) is call) != call.is_settled
        unsettled += not call.is_settled
        if call.is_queued:
            queued += 1
            assert call.lane is not None
            assert call.lane.running >= call.lane.most, "a call waits although there is a place"
            continue
        assert call.deadline is not None
        assert call.deadline.is_live, "a call without an end"
        longest = limits.CANCEL_GRACE if call.is_settled else (call.view.timeout or 0) / 1000
        assert call.deadline.when <= world.now + longest + SLACK
    assert sum(len(one.invokes) for one in r.connections.by_number.values()) == unsettled
    held = sum(lane.running + len(lane.queue) for lane in r.calls._lanes.in_use)
    assert held == sum(one.lane is not None for one in r.calls.pending.values())
    assert queued == sum(len(lane.queue) for lane in r.calls._lanes.in_use)
    asking = sum(
        one.invoke is not None
        for each in r.connections.by_number.values()
        for one in each.inquiries.values()
    )
    waiting = sum(
        number in r.connections.by_number and r.connections.by_number[number].is_open
        for number, _ in world.ledger.invokes
    )
    unnamed = sum(
        isinstance(one.message, ToolInvoke) for held in r.guard._held.values() for one in held
    )
    assert waiting == unsettled + asking + unnamed, (
        "each call that was asked is under way, or has ended"
    )


def _inquiries(world: "World", r: Parts) -> None:
    for connection in r.connections.by_number.values():
        for inquiry in connection.inquiries.values():
            assert inquiry.open, "a question that nobody is asked"
            assert inquiry.deadline is not None
            assert inquiry.deadline.is_live
            assert inquiry.deadline.when <= world.now + limits.GATE_TIMEOUT + SLACK
            assert all(r.gates._asked[id_] is inquiry for id_ in inquiry.open)
            for _, provider, _ in inquiry.open.values():
                assert r.providers.connected.get(provider.id) is provider, "a gone one is asked"
    asked = {id_ for one in r.providers.connected.values() for id_ in one.gates}
    assert r.gates._asked.keys() == asked
    for question in r.prompts._asked.values():
        assert question.deadline is not None
        assert question.deadline.is_live
        assert question.deadline.when <= world.now + limits.TRANSFORM_TIMEOUT + SLACK
    for (number, _), since in world.ledger.hooks.items():
        if number in r.connections.by_number:
            assert world.now - since <= limits.GATE_TIMEOUT + SLACK, "a gate hangs"


def _emitters(world: "World", r: Parts) -> None:
    emitters = r.emitters.by_id
    shown = world.gateway.state.emitters
    assert shown.keys() == emitters.keys()
    for emitter in emitters.values():
        assert shown[emitter.id].state == emitter.state
        assert r.sessions.open.get(emitter.session.id) is emitter.session, "it is nobody's"
        if emitter.source == "file" and not emitter.is_provider:
            assert emitter.folder.sessions[0] is emitter.session, "it is another session's"
        counts = emitter.counted()
        fates = counts.kept + counts.surfaced + counts.injected + counts.held
        assert counts.lines == counts.dropped + fates, "a line is not counted once"
        assert (emitter.approval is not None) == (emitter.state == "asking")
        if emitter.held is not None:
            assert emitter.held in emitter.session.injects
            assert len(emitter.held.lines or ()) <= limits.MAX_HELD_LINES
        if emitter.plan.max_runs is not None and emitter.plan.runs != "oneTime":
            assert emitter.runs <= emitter.plan.max_runs
    live = {one.run.id for one in emitters.values() if one.run is not None and not one.is_prompt}
    runs = world.emitters
    assert runs.running.keys() - runs.stopping <= live, "a run goes on, and nobody wants it"
    assert r.emitters.by_run.keys() == live


def _bounds(r: Parts) -> None:
    live = {(one.id, id_) for one in r.providers.connected.values() for id_ in one.sessions}
    braked = live | {(one.id, one.session.id) for one in r.emitters.by_id.values()}
    assert r.injects._brakes.keys() <= braked
    assert r.budgets._pushes.keys() <= live
    assert len(r.providers._departed) <= limits.MAX_DEPARTED
    for provider in r.providers.connected.values():
        assert len(provider.former_ids) <= limits.MAX_FORMER_IDS
        assert not provider.former_ids or len(provider.sessions) == 1
    for session in r.sessions.open.values():
        held: dict[str, int] = {}
        for inject in session.injects:
            if inject.source is not None:
                held[inject.source.id] = held.get(inject.source.id, 0) + 1
        assert all(count <= limits.MAX_HELD_INJECTS for count in held.values())
        emitters = {one.id for one in r.emitters.by_id.values() if one.session is session}
        there = session.providers.keys() | emitters
        assert held.keys() <= there, "the prompt of one who is gone is held"
    for lane in r.calls._lanes.in_use:
        assert len(lane.queue) <= limits.MAX_QUEUED
        assert lane.running or lane.queue, "a lane that nobody uses"
    ending = {id_ for one in r.providers.connected.values() for id_ in one.sessions}
    assert r.streams._logs.keys() <= r.sessions.open.keys() | ending
    assert len(r.approvals.of_kind("pairing")) <= limits.MAX_PAIRINGS
    counted = [one for one in r.connections.by_number.values() if one.is_counted]
    strangers = [one for one in counted if one.standing is Standing.AWAIT_AUTH]
    assert len(counted) - len(strangers) <= 2 * limits.MAX_CONNECTIONS
    assert len([one for one in strangers if one.origin is None]) <= limits.MAX_UNAUTHENTICATED
    _deadlines(r)


def _is_set(deadline: Deadline | None) -> bool:
    return deadline is not None and deadline.is_live


def _deadlines(r: Parts) -> None:
    """Each deadline that is set belongs to something that waits for it."""
    leaving = {
        session
        for provider in r.providers.connected.values()
        for session in provider.sessions.values()
        if session.leaving
    }
    expected = {
        Due.AUTH: sum(
            one.standing == Standing.AWAIT_AUTH for one in r.connections.by_number.values()
        ),
        Due.CALL: sum(not (one.is_queued or one.is_settled) for one in r.calls.pending.values()),
        Due.CANCEL_GRACE: sum(one.is_settled for one in r.calls.pending.values()),
        Due.SHUTDOWN: len(leaving),
        Due.TOOLS_CHANGED: sum(one.tools_changed is not None for one in r.sessions.open.values()),
        Due.SESSIONS_CHANGED: int(r.announcements.pending is not None),
        Due.PAIRING_LINE: int(r.pairings.next_line is not None),
        Due.APPROVAL: len(r.approvals.waiting),
        Due.MODE_SET: len(r.modes._setting),
        Due.ORDER: sum(one.deadline is not None for one in r.orders._pending.values()),
        Due.MODELS: len(r.orders._asked),
        Due.LOOK: len(r.session_states._asked),
        Due.IDENTITY: len(r.providers._departed),
        Due.GATE: len(set(map(id, r.gates._asked.values()))),
        Due.TRANSFORM: len(r.prompts._asked),
        Due.TURN: sum(one.turn_due is not None for one in r.sessions.open.values()),
        Due.STREAMS: len(r.streams._departed),
        Due.START: sum(one.deadline is not None for one in r.starts._pending.values()),
        Due.WAITING: sum(_is_set(one.deadline) for one in r.alarms._waiting.values()),
        Due.DROPPED: len(r.budgets._dropped),
        Due.QUIET: sum(_is_set(one.deadline) for one in r.alarms._busy.values()),
        Due.EMITTER: sum(one.deadline is not None for one in r.emitters.by_id.values()),
        Due.COUNTS: sum(one.counts_due is not None for one in r.emitters.by_id.values()),
        Due.TOOL_SESSIONS: int(r.tool_hosts.pending is not None),
        Due.GOAL: len(r.goal_deadlines._set),
        Due.PROOF: sum(_is_set(one.deadline) for one in r.person_checks.running.values()),
    }
    set_: dict[Due, int] = dict.fromkeys(Due, 0)
    for deadline in r.context.deadlines:
        set_[deadline.due] += 1
    assert set_ == expected, {due: (set_[due], expected.get(due)) for due in Due}


def check_nothing_waits(world: "World") -> None:
    """After a long time in which nobody says anything, nothing is under way."""
    r = world.gateway.parts
    assert not r.calls.pending
    assert not r.gates._asked
    assert not r.prompts._asked
    assert not r.approvals.waiting
    assert not r.approvals.deciding
    assert not r.modes._setting
    assert not r.orders._asked
    assert all(state == "queued" for state in _states(world)), "an order has no end"
    assert not r.providers._departed
    assert not world.gateway.parts.context.tickets
    assert len(r.context.deadlines) == 0
    open_ = r.connections.by_number
    assert not [key for key in world.ledger.invokes if key[0] in open_], "a call has no outcome"
    assert not [key for key in world.ledger.hooks if key[0] in open_], "a hook has no decision"
    assert not [key for key in world.ledger.prompts if key[0] in open_], "a prompt waits"
    check(world)


def _states(world: "World") -> list[str]:
    """Return the states of the orders that are under way."""
    return [one.state for one in world.gateway.state.orders.values() if is_under_way(one)]


def check_nothing_is_left(world: "World") -> None:
    """When all have gone, only the built-in tools are there, and the tokens of the beginning."""
    r = world.gateway.parts
    check_nothing_waits(world)
    assert not r.sessions.open
    assert not r.sessions.aliases
    assert not r.sessions._child_parent
    assert [one.connection.is_builtin for one in r.providers.connected.values()] == [True]
    assert [one.is_builtin for one in r.connections.by_number.values()] == [True]
    assert not r.calls._lanes.in_use
    assert not r.streams._logs
    assert not r.injects._brakes
    assert not r.budgets._pushes
    assert len(r.trustees.grants) == 2 + world.has_tools_token
    assert not r.tool_hosts._hosts
    assert not r.emitters.by_id
    assert not r.emitters.ending, "a run has no end"
    assert not r.emitter_folders._folders
    assert not world.emitters.running
    assert not world.gateway.watchers
    assert not world.tools._pending
