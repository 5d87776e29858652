"""What a pipe and a screen reader are told: a line a change (`tapui status --watch`)."""

import time
from collections.abc import Iterator

from tapui import times
from tapui.cli import output
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.projection import alarms, asking
from tapui.projection.fold import fold
from tapui.projection.orders import became, wanted
from tapui.projection.state import State, activity, is_open, is_waiting, listed
from tapui.text import revealed
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.tower import GatewayStopping, TowerSnapshot


async def watch(chosen: FoundGateway) -> None:
    """Print what is, then a line for each change, until the gateway ends."""
    async with await GatewayConnection.open(chosen, name="tapui status") as connection:
        watched = Watched(State.of(connection.snapshot.state))
        _print(watched.now(), times.clock(time.time()))
        async for came in connection:
            match came:
                case ev.Entry(event=event, ts=ts):
                    _print(watched.take(event, ts), times.moment(ts))
                case TowerSnapshot():
                    # Events were left out because we read too slowly.
                    watched = Watched(State.of(came.state))
                    output.note("some changes were left out")
                    _print(watched.now(), times.clock(time.time()))
                case GatewayStopping():
                    output.note("the gateway is stopping")
                    return


def _print(lines: Iterator[str], at: str) -> None:
    for said in lines:
        output.say(f"{at}  {said}")
    output.flush()


class Watched:
    """A state that is followed, and what is told of its changes: a line each, not made safe."""

    def __init__(self, state: State) -> None:
        self._state = state

    def now(self) -> Iterator[str]:
        """Yield the open sessions and what waits."""
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
                yield f"{asking.outcome(one)}: {self._request(one)}"
            case ev.AlarmRaised(alarm=alarm):
                where = alarms.whose(self._state, alarm)
                yield f"alarm: {where}: {alarms.about(alarm)}" if where else alarms.about(alarm)
            case ev.OrderChanged(order_id=id_, state="queued" | "done" | "failed"):
                order = self._state.orders.get(id_)
                if order is not None:
                    where = asking.session_name(self._state, order.session_id)
                    yield f"session {where}: {wanted(order)}: {became(order)}"
            case ev.CallFinished(call=call) if call.state == "failed":
                where = asking.session_name(self._state, call.session_id)
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

    def _request(self, approval: subjects.Approval) -> str:
        asked = f"{asking.verb(approval)} {revealed(asking.request(approval))}".rstrip()
        return f"{asked} (asked by {asking.asker(self._state, approval)}, {approval.id})"


def _name(session: subjects.Session) -> str:
    return session.label or session.id
