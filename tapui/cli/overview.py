"""The gateway's state for `tapui status`: once, as tables or JSON, or a line for each change."""

import time
from collections.abc import Iterator

from tapui import invocation, times
from tapui.cli import output
from tapui.cli.approvals import request, whole
from tapui.client.gateways import FoundGateway
from tapui.client.glance import glance
from tapui.projection import approvals
from tapui.projection.fold import fold
from tapui.projection.requests.kind import session_name
from tapui.projection.state import (
    State,
    activity,
    is_connected,
    is_in_flight,
    is_open,
    is_waiting,
    listed,
    model_words,
)
from tapui.projection.summary import summary_of
from tapui.projection.words import alarm_session, alarm_words, became, order_words, tools_of
from tapui.text import cut, revealed
from tapui.tower.wording import marks
from tapui.wire import events as ev
from tapui.wire.message import label_of
from tapui.wire.subjects import Approval, Call, Session
from tapui.wire.tower import GatewayStopping, TowerSnapshot

_NAME = "tapui status"
RECENT = 5
"""Finished calls that the text shows."""
SHOWN = 100
"""Characters of a text from outside that decides nothing; `--json` has all of it."""


def show(chosen: FoundGateway, *, as_json: bool) -> None:
    snapshot = glance(chosen, name=_NAME)
    if as_json:
        output.say_json(
            {
                "gateway": {
                    "url": chosen.url,
                    "port": chosen.port,
                    "pid": chosen.pid,
                    "version": chosen.version,
                },
                "run": snapshot.run,
                "seq": snapshot.seq,
                "towers": snapshot.towers,
                "state": snapshot.state,
            },
            indent=2,
        )
    else:
        _show_tables(chosen, snapshot)


def _waiting(chosen: FoundGateway, snapshot: TowerSnapshot) -> list[Approval]:
    waiting = [one for one in snapshot.state.approvals if is_waiting(one)]
    if not any(one.is_cut for one in waiting):
        return waiting
    # Only here: an event loop and its client take a third of the command's time to import.
    import asyncio

    from tapui.client.connection import GatewayConnection

    async def whole_ones() -> list[Approval]:
        async with await GatewayConnection.open(chosen, name=_NAME) as connection:
            return [await whole(connection, one) for one in waiting]

    return asyncio.run(whole_ones())


def _show_tables(chosen: FoundGateway, snapshot: TowerSnapshot) -> None:
    state = snapshot.state
    towers = "1 tower" if snapshot.towers == 1 else f"{snapshot.towers} towers"
    output.say(f"{chosen.url}  pid {chosen.pid}  tapui {chosen.version}  {towers}")
    folded = State.of(snapshot.state)
    labels = {session.id: session.label for session in state.sessions}
    show_waiting(folded, _waiting(chosen, snapshot))
    if folded.alarms:
        now = time.time()
        rows = [
            [
                alarm_session(folded, one) or "-",
                alarm_words(one),
                times.age(times.since(one.since, now)),
            ]
            for one in folded.alarms.values()
        ]
        _section("Alarms", ["SESSION", "WHAT", "FOR"], rows)
    if folded.folder_problems:
        rows = [[str(one)] for found in folded.folder_problems.values() for one in found]
        _section("Wrong in folders' files", ["FILE, LINE, KEY AND WHAT"], rows)
    _section(
        "Sessions",
        ["ID", "LABEL", "MODE", "MODEL", "STATE", "PROVIDERS", "TOOLS", "AGE"],
        [
            [
                one.id,
                one.label,
                one.mode or "",
                model_words(one),
                _session_state(one),
                str(len(one.providers)),
                tools_of(folded, one) or "-",
                times.age(times.since(one.opened_at, time.time())),
            ]
            for one in listed(state.sessions)
            if is_open(one)
        ],
    )
    if state.unattached:
        rows = [[one.id, one.cwd, str(one.pid), one.hint] for one in state.unattached]
        _section("Sessions out of reach", ["ID", "FOLDER", "PID", "TO REACH IT"], rows)
    _section(
        "Providers",
        ["ID", "NAME", "TRUST", "STATE", "SESSION", "TOOLS"],
        [
            [
                one.id,
                label_of(one.name, one.instance),
                one.trust,
                marks.PROVIDER[one.state].word,
                labels.get(one.session_id or "", one.session_id or ""),
                str(len(one.tools)),
            ]
            for one in state.providers
            if is_connected(one)
        ],
    )
    running = [call for call in state.calls if is_in_flight(call)]
    recent = [call for call in state.calls if not is_in_flight(call)][-RECENT:]
    _calls("Running calls", labels, running)
    if recent:
        _calls("Last calls", labels, recent[::-1])
    _section(
        "Streams",
        ["STREAM", "SESSION", "LINES", "LAST"],
        [
            [
                one.name,
                labels.get(one.session_id, one.session_id),
                str(one.count),
                cut(one.last.event, SHOWN) if one.last else "",
            ]
            for one in state.streams
        ],
    )


def show_waiting(state: State, waiting: list[Approval]) -> None:
    now = time.time()
    rows = []
    for one in waiting:
        left = times.left(one.expires_at, now)
        waits = times.age(times.since(one.created_at, now))
        asks = request(one)
        if why := approvals.reason(one):
            asks += f"  “{cut(why, SHOWN)}”"
        rows.append(
            [
                one.id,
                approvals.asker(state, one),
                f"{waits}, {left} left" if left else waits,
                asks,
            ]
        )
    _section("Waiting for you", ["ID", "FROM", "WAITS", "ASKS"], rows)
    if rows:
        approve, deny = invocation.command("approve ID"), invocation.command("deny ID")
        output.say(f"  answer in the tower, or with `{approve}` or `{deny}`")


def _calls(title: str, labels: dict[str, str], calls: list[Call]) -> None:
    rows = [
        [
            one.id,
            one.tool,
            one.provider,
            labels.get(one.session_id, one.session_id),
            marks.of_call(one).word,
            _call_detail(one),
        ]
        for one in calls
    ]
    _section(title, ["ID", "TOOL", "PROVIDER", "SESSION", "STATE", "DETAIL"], rows)


def _section(title: str, columns: list[str], rows: list[list[str]]) -> None:
    output.say("")
    output.heading(f"{title} ({len(rows)})" if rows else f"{title}: none")
    if rows:
        output.table(columns, rows)


def _session_state(session: Session) -> str:
    word = activity(session)
    return f"{word}, foreground" if session.foreground else word


def _call_detail(call: Call) -> str:
    if call.error is not None:
        return cut(f"{call.error_code or 'INTERNAL'}: {call.error}", SHOWN)
    return cut(call.progress or summary_of(call), SHOWN)


# As it changes


def watch(chosen: FoundGateway) -> None:
    import asyncio

    asyncio.run(_watch(chosen))


async def _watch(chosen: FoundGateway) -> None:
    from tapui.client.connection import GatewayConnection

    async with await GatewayConnection.open(chosen, name=_NAME) as connection:
        watched = Watched(State.of(connection.snapshot.state))
        _say_all(watched.now(), times.clock(time.time()))
        async for came in connection:
            match came:
                case ev.Entry(event=event, ts=ts):
                    _say_all(watched.take(event, ts), times.moment(ts))
                case TowerSnapshot():
                    # Events were left out because we read too slowly.
                    watched = Watched(State.of(came.state))
                    output.note("some changes were left out")
                    _say_all(watched.now(), times.clock(time.time()))
                case GatewayStopping():
                    output.note("the gateway is stopping")
                    return


def _say_all(lines: Iterator[str], at: str) -> None:
    for line in lines:
        output.say(f"{at}  {line}")
    output.flush()


class Watched:
    """Follows a state, and describes its changes: a line each, not made safe."""

    def __init__(self, state: State) -> None:
        self._state = state

    def now(self) -> Iterator[str]:
        for session in listed(self._state.sessions.values()):
            if is_open(session):
                yield f"session {_name(session)}: {activity(session)}"
        for approval in self._state.approvals.values():
            if is_waiting(approval):
                yield f"waits for you: {self._request(approval)}"

    def take(self, event: ev.Event, ts: str) -> Iterator[str]:
        """Fold an event in, and yield what it changed for the person."""
        before = dict(self._state.sessions) if isinstance(event, ev.SessionUpdated) else {}
        fold(self._state, event, ts)
        match event:
            case ev.ApprovalRequested(approval=one):
                yield f"waits for you: {self._request(one)}"
            case (
                ev.ApprovalDecided(approval=one)
                | ev.ApprovalExpired(approval=one)
                | ev.ApprovalWithdrawn(approval=one)
            ):
                yield f"{approvals.outcome(one)}: {self._request(one)}"
            case ev.AlarmRaised(alarm=alarm):
                where = alarm_session(self._state, alarm)
                yield f"alarm: {where}: {alarm_words(alarm)}" if where else alarm_words(alarm)
            case ev.OrderChanged(order_id=id_, state="queued" | "done" | "failed"):
                order = self._state.orders.get(id_)
                if order is not None:
                    where = session_name(self._state, order.session_id)
                    yield f"session {where}: {order_words(order)}: {became(order)}"
            case ev.CallFinished(call=call) if call.state == "failed":
                where = session_name(self._state, call.session_id)
                yield f"failed: {call.tool} in {where}: {call.error or call.error_code or ''}"
            case (
                ev.SessionOpened(session=session)
                | ev.SessionClosed(session=session)
                | ev.SessionUpdated(session=session)
            ) if not listed([session]):
                pass
            case ev.SessionOpened(session=session):
                yield f"session {_name(session)}: {activity(session)}"
            case ev.SessionReplaced(session=session):
                yield f"session {_name(session)}: goes on with a new id"
            case ev.SessionClosed(session=session):
                yield f"session {_name(session)}: ended"
            case ev.SessionUpdated(session=session):
                known = before.get(session.id)
                if known is None or activity(known) != activity(session):
                    yield f"session {_name(session)}: {activity(session)}"

    def _request(self, approval: Approval) -> str:
        asked = f"{approvals.verb(approval)} {revealed(approvals.request(approval))}".rstrip()
        return f"{asked} (asked by {approvals.asker(self._state, approval)}, {approval.id})"


def _name(session: Session) -> str:
    return session.label or session.id
