"""The gateway's state for `tapui status`: once, as tables or JSON, or a line for each change."""

import contextlib
import time
from collections.abc import Container, Iterator, Sequence
from functools import partial

from tapui import times
from tapui.cli import output
from tapui.cli.approvals import request, ways_to_answer, whole
from tapui.client.gateways import FoundGateway
from tapui.client.glance import glance
from tapui.invocation import command
from tapui.projection import approvals
from tapui.projection.counts import told_counts
from tapui.projection.fold import fold
from tapui.projection.folder_tools import told_all_tools
from tapui.projection.goal_words import (
    OPENER_WORDS,
    STATUS_WORDS,
    closer_words,
    criteria_words,
    open_sessions_goals,
    status_words,
    told_goals,
)
from tapui.projection.now import now_of
from tapui.projection.proof import (
    activity_word,
    proof_line,
    record_of,
    told_records,
    waits_for_shell,
)
from tapui.projection.provider_status import told_statuses
from tapui.projection.requests.permissions import command_of
from tapui.projection.requests.request_kind import session_name
from tapui.projection.reviews import MonitorStanding, gap_words, monitors_of, told_reviews
from tapui.projection.span_counts import told_export, told_spans
from tapui.projection.state import (
    WAITS_FOR_SHELL,
    State,
    activity,
    is_connected,
    is_in_flight,
    is_open,
    is_waiting,
    listed,
    model_words,
)
from tapui.projection.stream_words import lag_words
from tapui.projection.summary import one_line, summary_of
from tapui.projection.turns.programs import outcome
from tapui.projection.words import (
    ENDED,
    UNCHECKED_ANSWERS,
    alarm_session,
    alarm_words,
    asks_there_words,
    became,
    context_share,
    model_wait_words,
    order_words,
    shell_wait_words,
    tools_of,
    unsupervised,
)
from tapui.settings.settings import Settings
from tapui.text import cut, revealed
from tapui.tower.wording import marks
from tapui.wire import events as ev
from tapui.wire.criteria import SessionStanding, TurnProof
from tapui.wire.goals import DEADLINE, Goal
from tapui.wire.message import label_of
from tapui.wire.subjects import Approval, Call, Session, Stream
from tapui.wire.tower import GatewayStopping, Snapshot, TowerSnapshot

GOAL_TITLES = ("ID", "GOAL", "SESSION", "STATUS", "PROVEN", "OPENED BY")
PROVIDER_TITLES = ("ID", "NAME", "TRUST", "STATE", "SESSION", "TOOLS")
_NAME = "tapui status"
RECENT = 5
"""Finished calls that the text shows."""
SHOWN = 100
"""Characters of a text from outside that decides nothing; `--json` has all of it."""
_LABEL = 30
"""Likewise of a session's label on a terminal: behind it stands who watches over the session."""


def show(chosen: FoundGateway, settings: Settings | None) -> None:
    """Print the state as tables, or as JSON, which has more: what the person's `settings` name."""
    snapshot = glance(chosen, name=_NAME)
    if settings is not None:
        from tapui.cli.context import home
        from tapui.index.search import standing
        from tapui.shipped.docs.standing import docs_standing
        from tapui.shipped.memory import memory_standing

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
                "counts": told_counts(State.of(snapshot.state)),
                "answers": "unchecked" if _is_unchecked(snapshot) else "checked",
                "modes": (chosen.settings or {}).get("modes"),
                "recorded": told_records(State.of(snapshot.state)),
                "goals": told_goals(State.of(snapshot.state)),
                "spans": told_spans(State.of(snapshot.state)),
                "spanExport": told_export(snapshot.state.span_export or None),
                "reviews": told_reviews(State.of(snapshot.state)),
                "providers": told_statuses(State.of(snapshot.state)),
                "index": standing(home().state),
                "tools": told_all_tools(State.of(snapshot.state)),
                "memory": memory_standing(settings.memory),
                "docs": docs_standing(home().state, settings.library_docs),
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


def _is_unchecked(snapshot: TowerSnapshot) -> bool:
    return snapshot.started is not None and snapshot.started.unchecked


def _show_tables(chosen: FoundGateway, snapshot: TowerSnapshot) -> None:
    state = snapshot.state
    towers = "1 tower" if snapshot.towers == 1 else f"{snapshot.towers} towers"
    output.say(f"{chosen.url}  pid {chosen.pid}  tapui {chosen.version}  {towers}")
    if _is_unchecked(snapshot):
        output.say(f"{UNCHECKED_ANSWERS}: approvals.command-line is always")
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
        _section("Wrong in folders' files", ["FILE, LINE, KEY AND WHAT"], rows, is_cut=False)
    _section(
        "Sessions",
        ["ID", "LABEL", "MODE", "MODEL", "STATE", "CONTEXT", "PROVIDERS", "TOOLS", "AGE"],
        [
            [
                one.id,
                cut(one.label, _LABEL) if output.terminal_width() else one.label,
                one.mode or "",
                model_words(one),
                _session_state(folded, one),
                "" if (share := context_share(one.context)) is None else f"{share:.0%}",
                str(len(one.providers)),
                tools_of(folded, one) or "-",
                times.age(times.since(one.opened_at, time.time())),
            ]
            for one in listed(state.sessions)
            if is_open(one)
        ],
    )
    _recorded(folded)
    if goals := [
        one for one in open_sessions_goals(folded) if one.is_open or one.status == "failed"
    ]:
        _section("Goals", GOAL_TITLES, [goal_row(folded, one) for one in goals])
    if monitors := [one for id_ in folded.sessions for one in monitors_of(folded, id_)]:
        titles = ["MONITOR", "SESSION", "LAST REVIEW", "DECISION", "UNREVIEWED", "OPEN FINDINGS"]
        _section("Reviews", titles, [_monitor_row(folded, one) for one in monitors])
    if state.unattached:
        rows = [
            [one.id, one.cwd, str(one.pid), ": ".join(filter(None, (one.why, one.hint)))]
            for one in state.unattached
        ]
        titles = ["ID", "FOLDER", "PID", "TO REACH IT"]
        _section("Sessions out of reach", titles, rows, is_cut=False)  # a line to copy
    _section("Providers", PROVIDER_TITLES, provider_rows(state))
    running = [call for call in state.calls if is_in_flight(call)]
    recent = [call for call in state.calls if not is_in_flight(call)][-RECENT:]
    asked = approvals.asked_calls(state.approvals)
    _calls("Running calls", labels, running, asked)
    if recent:
        _calls("Last calls", labels, recent[::-1])
    _section(
        "Streams",
        ["STREAM", "SESSION", "LINES", "DROPPED", "LAGS", "LAST"],
        [
            [
                one.name,
                labels.get(one.session_id, one.session_id),
                str(one.count),
                f"{one.dropped:,}" if one.dropped else "",
                _lag(one),
                cut(one.last.event, SHOWN) if one.last else "",
            ]
            for one in state.streams
        ],
    )
    _damage()


def _damage() -> None:
    """Say that the records have damaged lines, as far as they are indexed."""
    import sqlite3

    from tapui.cli.context import home
    from tapui.index.store import IndexUnusable, damage_words, damaged_lines, reading

    try:
        with contextlib.closing(reading(home().state)) as connection:
            words = damage_words(damaged_lines(connection))
    except (IndexUnusable, sqlite3.Error):
        return  # `doctor` names the fault
    if words:
        output.say(f"{words}: {command('doctor')} names the files")


def _lag(stream: Stream) -> str:
    last = stream.last
    return lag_words(stream, times.since(last.ts if last else None, time.time()), times.age)


def _gaps(monitor: MonitorStanding) -> str:
    if not monitor.unreviewed:
        return ""
    return f"{monitor.unreviewed:,}: {gap_words(monitor.unreviewed, monitor.gaps)}"


def _monitor_row(state: State, monitor: MonitorStanding) -> list[str]:
    return [
        cut(monitor.last.monitor, SHOWN),
        session_name(state, monitor.session_id),
        times.when(monitor.last.at, time.time()),
        monitor.last.decision,
        _gaps(monitor),
        str(monitor.open_findings or ""),
    ]


def goal_row(state: State, goal: Goal) -> list[str]:
    """Return a goal's row of a table with `GOAL_TITLES`."""
    return [
        goal.id,
        cut(goal.title, SHOWN),
        session_name(state, goal.session_id),
        goal_trouble(goal) or status_words(goal, partial(times.when, now=time.time())),
        criteria_words(goal),
        OPENER_WORDS[goal.opened_by],
    ]


def goal_trouble(goal: Goal) -> str | None:
    """Return what is wrong with a goal: it has failed, or it is open and comes no closer."""
    if goal.closed_by == DEADLINE:
        return f"{goal.status}: {closer_words(goal)}"
    if goal.status in ("failed", "blocked"):
        return f"{goal.status}: {one_line(goal.note)}" if goal.note else goal.status
    if not goal.is_open:
        return None
    now, due = time.time(), times.epoch(goal.deadline)
    if goal.deadline is not None and due is not None and due < now:
        return f"past its deadline, {times.when(goal.deadline, now)}"
    if goal.sent_back.times >= goal.sent_back.most:
        return f"sent back {goal.sent_back.times} times in a turn, {criteria_words(goal)} proven"
    return None


def _recorded(state: State) -> None:
    """Say how the open sessions that changed files stand by their checks."""
    clock, rows = partial(times.when, now=time.time()), []
    for session in listed(state.sessions.values()):
        record = record_of(state, session)
        if record is not None and record.proof is not None:
            line = proof_line(record.proof, clock)
            rows.append([session.label or session.id, str(record.turn.number), line])
    if rows:
        _section("Recorded", ["SESSION", "TURN", "WHAT"], rows)


def provider_rows(state: Snapshot) -> list[list[str]]:
    """Return the rows of a table with `PROVIDER_TITLES`."""
    labels = {session.id: session.label for session in state.sessions}
    return [
        [
            provider.id,
            label_of(provider.name, provider.instance),
            provider.trust,
            marks.PROVIDER[provider.state].word,
            labels.get(provider.session_id or "", provider.session_id or ""),
            str(len(provider.tools)),
        ]
        for provider in state.providers
        if is_connected(provider)
    ]


def show_waiting(state: State, waiting: list[Approval]) -> None:
    now = time.time()
    rows = []
    for one in waiting:
        left = times.left(one.expires_at, now)
        waits = times.age(times.since(one.created_at, now))
        asks = request(one)
        if text := command_of(state, one):
            asks += f"  command: {revealed(' ⏎ '.join(text.splitlines()))}"
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
    # Whole: it is what the person allows.
    _section("Waiting for you", ["ID", "FROM", "WAITS", "ASKS"], rows, is_cut=False)
    by_ways: dict[str, list[str]] = {}
    for one in waiting:
        by_ways.setdefault(ways_to_answer(one), []).append(one.id)
    for ways, ids in by_ways.items():
        which = f"{', '.join(ids)}: " if len(by_ways) > 1 else ""
        output.say(f"  {which}answer in the tower, or with {ways}")


def _calls(
    title: str, labels: dict[str, str], calls: list[Call], asked: Container[str] = ()
) -> None:
    rows = [
        [
            one.id,
            one.tool,
            one.provider,
            labels.get(one.session_id, one.session_id),
            marks.of_call(one, asked).word,
            _call_detail(one),
        ]
        for one in calls
    ]
    _section(title, ["ID", "TOOL", "PROVIDER", "SESSION", "STATE", "DETAIL"], rows)


def _section(
    title: str, columns: Sequence[str], rows: list[list[str]], *, is_cut: bool = True
) -> None:
    output.say("")
    output.heading(f"{title} ({len(rows)})" if rows else f"{title}: none")
    if rows:
        output.table(columns, rows, is_cut=is_cut)


def _session_state(state: State, session: Session) -> str:
    word = asks_there_words(session) or activity_word(state, session)
    foreground = "foreground" if session.foreground else ""
    allows = unsupervised(session) if session.permissions in ("allow-all", "assisted") else ""
    waits = shell_wait_words(session) if waits_for_shell(state, session) else None
    does = now_of(state, session.id)
    if waits is not None and does is not None and does.kind == "shell":
        waits = f"{cut(waits, SHOWN)}, {times.lasting(times.since(does.since, time.time()))}"
    word = "" if waits is not None and word == WAITS_FOR_SHELL else word
    return ", ".join(filter(None, (word, allows, foreground, waits, model_wait_words(session))))


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
                yield f"session {_name(session)}: {activity_word(self._state, session)}"
        for approval in self._state.approvals.values():
            if is_waiting(approval):
                yield f"waits for you: {self._request(approval)}"

    def _recorded(self, session_id: str, proof: TurnProof, ts: str) -> str:
        line = proof_line(proof, partial(times.when, now=times.epoch(ts) or 0.0))
        return f"session {session_name(self._state, session_id)}: {line}"

    def _shown(self, session_id: str) -> list[tuple[str, str]]:
        """Return what was described of a session already: its newest line, and how it stands."""
        turns = self._state.turns.get(session_id)
        if turns is None:
            return []
        standing, latest = turns.standing, turns.latest
        told = [latest.proof if latest is not None else None]
        told += [standing.proof if standing is not None else None]
        return [(one.state, one.text) for one in told if one is not None]

    def take(self, event: ev.Event, ts: str) -> Iterator[str]:
        """Fold an event in, and yield what it changed for the person."""
        before = dict(self._state.sessions) if isinstance(event, ev.SessionUpdated) else {}
        shown = self._shown(event.session_id) if isinstance(event, ev.SessionStood) else []
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
            case ev.TurnProved(session_id=id_, proof=TurnProof() as proof):
                yield self._recorded(id_, proof, ts)
            case ev.SessionStood(session_id=id_, standing=SessionStanding(proof=proof)):
                if (proof.state, proof.text) not in shown:
                    yield self._recorded(id_, proof, ts)
            case (
                ev.GoalOpened(session_id=id_, goal=goal) | ev.GoalClosed(session_id=id_, goal=goal)
            ):
                what = "opened" if goal.is_open else STATUS_WORDS[goal.status]
                yield f"session {session_name(self._state, id_)}: goal {what}: {goal.title}"
            case ev.OrderChanged(order_id=id_, state="queued" | "done" | "failed"):
                order = self._state.orders.get(id_)
                if order is not None:
                    where = session_name(self._state, order.session_id)
                    yield f"session {where}: {order_words(order)}: {became(order)}"
            case ev.CallFinished(call=call) if call.state == "failed":
                where = session_name(self._state, call.session_id)
                what = ENDED.get(outcome(call), "not known to have ended")
                yield f"{what}: {call.tool} in {where}: {call.error or call.error_code or ''}"
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
