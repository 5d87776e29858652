"""What the tower knows: the fold of what its feed yields, and what only a tower keeps besides.

Nothing here renders. Panes read a `View` when it is their turn to paint; until then, what changed
is a set of topics.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from msgspec import Raw

from tapui.projection.feed import FeedItem, Link
from tapui.projection.fold import fold
from tapui.projection.requests.request_kind import session_name
from tapui.projection.state import (
    State,
    StreamKey,
    is_connected,
    is_local,
    is_open,
    is_unsettled,
    is_waiting,
)
from tapui.projection.turns.programs import has_failed
from tapui.times import after, epoch
from tapui.tower.app.buffers import (
    KEPT_SPANS,
    EmitterLog,
    InspectedLog,
    Payloads,
    Replies,
    Ring,
    length,
)
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.changes import ChangesList
from tapui.wire.emitters import Emitter, EmitterTried
from tapui.wire.goals import Goal, GoalsList
from tapui.wire.message import Error, Message, NowText
from tapui.wire.tower import (
    Detail,
    GatewayStart,
    InspectEnded,
    InspectLines,
    RevealedCode,
    SpansList,
    StreamLines,
    TowerJudged,
    TowersChanged,
    TowerSnapshot,
    TurnsList,
)

Topic = Literal[
    "sessions",
    "providers",
    "calls",
    "streams",
    "approvals",
    "life",
    "link",
    "errors",
    "clock",
    "emitters",
    "checks",
    "changes",
    "spans",
]
"""What can change. `life` is sessions' own events, `checks` are those that the person runs,
`changes` the files that sessions changed, `clock` a second that went by."""

ALL_TOPICS: frozenset[str] = frozenset(get_args(Topic))

KEPT_DETAILS = 8
"""Calls, approvals, providers, emitters and goals whose whole text the tower keeps after it was
read."""
_FAILED = frozenset({"session.error", "prompt.failed"})
"""Events of a session's own that are failures without a call."""
_WRITTEN = frozenset({"assistant.message", "session.idle", "abort"})
"""Events after which an agent no longer writes what it wrote."""
KEPT_MUTED = 1_000
"""Streams that stay muted, also while their session is away."""
CONTEXTS = 60
"""Changes of one session's context that the tower keeps."""
LIFE_EVENTS = 200
"""Events of one session's own that the tower keeps."""


@dataclass(frozen=True, slots=True)
class FailedEvent:
    """Something failed: when (seconds since the epoch), its session, and the key of its step: the
    call's id, or the time of the session's own event."""

    at: float
    session_id: str
    key: str


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of a session's own: when, its name, its data (whole while it is small)."""

    ts: str
    event: str
    data: Raw | None
    data_cut: subjects.Cut | None


Whole = subjects.Call | subjects.Approval | subjects.Provider | Emitter | Goal
DetailKey = tuple[Literal["call", "approval", "provider", "emitter", "goal"], str, str]
"""What was read whole: its kind, its id, and what changes when it has to be read again."""
_DETAIL_TOPICS: dict[str, Topic] = {
    "call": "calls",
    "approval": "approvals",
    "provider": "providers",
    "emitter": "emitters",
    "goal": "sessions",
}


class View:
    """The tower's model. `apply` it what the feed yields; read everything else.

    Times are texts as in events, or seconds since the epoch where they are numbers.
    """

    def __init__(self) -> None:
        # Of the gateway and the link to it
        self.state = State()
        self.link = Link("down", "connecting")
        self.run = ""
        self.seq = 0
        self.events = 0
        self.towers = 0
        self.is_first = False
        self.started: GatewayStart | None = None
        self.judged: TowerJudged | None = None
        """Whether this tower may decide; None in the gateway's own process."""
        """Whether this tower has watched longest, and so is the one that calls the person."""

        # What the fold does not keep
        self.rings: dict[StreamKey, Ring] = {}
        self.life: dict[str, deque[Happening]] = {}
        """By session: what happened to it."""
        self.contexts: dict[str, deque[int]] = {}
        """By session: how many tokens its context had, each time that this changed."""
        self.writing: dict[str, str] = {}
        """By session: what its agent writes this moment, until that is a message."""
        self.codes: dict[str, RevealedCode] = {}
        self.errors: deque[tuple[str, ev.ErrorSent]] = deque(maxlen=200)
        self.gone: dict[str, str] = {}
        """By provider: when it went."""
        self.decided_at: dict[str, str] = {}
        """By approval: when it was settled."""
        self.failures: deque[FailedEvent] = deque(maxlen=1000)
        self.new_ends: dict[str, str] = {}
        """When sessions have ended by themselves while this tower was here, until the person has
        seen that."""
        """What failed since this tower attached and was not seen yet, the oldest first."""
        self.emitter_log = EmitterLog()
        self.spans: deque[tuple[str, subjects.Span]] = deque(maxlen=KEPT_SPANS)
        """Spans that ended meanwhile, each with its session, the oldest first."""
        self.worked: dict[str, int] = {}
        """By session: the number of the newest event after which files of its folder may be others,
        or their checks."""
        self._payloads = Payloads()

        # What was asked of the gateway
        self.details: dict[DetailKey, Whole | None] = {}
        """What was read whole; None where there is no more than the head."""
        self._detail_reads: dict[str, DetailKey] = {}
        self._turn_reads: dict[str, tuple[str, frozenset[int]]] = {}
        self._line_reads: dict[str, StreamKey] = {}
        self.changed: dict[str, ChangesList] = {}
        """By session: the files that it changed, as they were read last."""
        self.pages = Replies[StreamLines | Error](100)
        """Lines that a tail reads: they go into no ring."""
        self.span_reads = Replies[SpansList | Error](20)
        self.trials = Replies[EmitterTried](20)
        self.inspected: dict[str, InspectedLog] = {}
        """The inspections that are on screen, by their ids."""

        # Of this screen
        self.now = 0.0
        """The time of the last frame: panes show ages by it."""
        self.rate = 0.0
        """Events a second."""
        self.looked_at = 0.0
        """When the person last pressed a key here."""
        self.muted: dict[StreamKey, None] = {}
        """Streams whose lines are neither painted nor counted; of very many the newest."""
        self.chosen_session = ""
        """The session that is selected: others than the list of sessions show it, too."""
        self._marked_sessions: dict[str, None] = {}
        self._news: deque[ev.Event] = deque(maxlen=100)
        self._dirty: set[str] = set(ALL_TOPICS)

    def apply(self, item: FeedItem) -> None:
        """Take in what the feed yielded. Cheap: nothing is formatted or painted."""
        if isinstance(item, list):
            for entry in item:
                self._take_event(entry)
        elif isinstance(item, Link):
            self.link = item
            if item.state != "up":
                for log in self.inspected.values():
                    log.lose()
                    self._dirty.add("inspected")
            self._dirty.add("link")
        elif isinstance(item, TowerSnapshot):
            self._begin(item)
        else:
            self._take_message(item)

    # What changed

    def touch(self, *topics: Topic) -> None:
        self._dirty.update(topics)

    @property
    def is_dirty(self) -> bool:
        """Whether something changed since the last `take_dirty()`."""
        return bool(self._dirty)

    def take_dirty(self) -> frozenset[str]:
        """Return the topics that changed since the last time, and forget them."""
        dirty = frozenset(self._dirty)
        self._dirty.clear()
        return dirty

    def take_news(self) -> list[ev.Event]:
        """Return the events that call for a notice, oldest first, and forget them."""
        news = list(self._news)
        self._news.clear()
        return news

    # What was asked

    def expect_lines(self, read_id: str, key: StreamKey) -> None:
        """A `stream.read` with this id was sent: its lines belong to this stream."""
        self._line_reads[read_id] = key
        _keep_newest(self._line_reads, 100)

    def expect_detail(self, read_id: str, key: DetailKey) -> None:
        """A `detail.read` or `goals.read` with this id was sent."""
        self._detail_reads[read_id] = key

    def is_awaited(self, key: DetailKey) -> bool:
        """Return whether this was asked for and has not come yet."""
        return key in self._detail_reads.values()

    def expect_turns(self, read_id: str, session_id: str, numbers: Iterable[int]) -> None:
        """A `turns.read` with this id was sent: these turns of a session were asked for."""
        self._turn_reads[read_id] = (session_id, frozenset(numbers))

    def is_turn_awaited(self, session_id: str, number: int) -> bool:
        """Return whether this turn was asked for and has not come yet."""
        reads = self._turn_reads.values()
        return any(session_id == of and number in numbers for of, numbers in reads)

    # What the person does here

    def mute(self, key: StreamKey, *, is_muted: bool) -> None:
        """Paint and count the lines of a stream no longer, or again; this tower remembers it."""
        self.muted.pop(key, None)
        if is_muted:
            self.muted[key] = None
            _keep_newest(self.muted, KEPT_MUTED)
        ring = self.ring(key)
        ring.is_muted = is_muted
        ring.mark_read()
        self._dirty.add("streams")

    @property
    def marked_sessions(self) -> list[subjects.Session]:
        """The open sessions that are to be told something together, in the order of the marks."""
        known = (self.state.sessions.get(id_) for id_ in self._marked_sessions)
        return [one for one in known if one is not None and is_open(one)]

    def mark_session(self, session_id: str) -> None:
        """Mark a session, or unmark it."""
        if session_id in self._marked_sessions:
            del self._marked_sessions[session_id]
        else:
            self._marked_sessions[session_id] = None
        self._dirty.add("sessions")

    def unmark_sessions(self) -> None:
        self._marked_sessions.clear()
        self._dirty.add("sessions")

    def choose_session(self, session_id: str) -> None:
        """Another session is selected; "" for none."""
        if session_id != self.chosen_session:
            self.chosen_session = session_id
            self._dirty.add("life")

    def has_unseen_end(self, session: subjects.Session) -> bool:
        """Return whether a session ended by itself, and the person has not seen that."""
        return self.new_ends.get(session.id) == (session.ended_at or "")

    def see_end(self, session_id: str) -> None:
        if self.new_ends.pop(session_id, None) is not None:
            self.touch("sessions")

    def see_failure(self, session_id: str, key: str) -> None:
        """The step of this key stood on the screen: if it has failed, that was seen."""
        left = [one for one in self.failures if (one.session_id, one.key) != (session_id, key)]
        if len(left) < len(self.failures):
            self.failures.clear()
            self.failures.extend(left)
            self.touch("sessions", "link")

    def mark_read(self, key: StreamKey) -> None:
        ring = self.rings.get(key)
        if ring is not None and ring.unread:
            ring.mark_read()
            self._dirty.add("streams")

    # What panes read

    def ring(self, key: StreamKey) -> Ring:
        ring = self.rings.get(key)
        if ring is None:
            ring = self.rings[key] = Ring(is_muted=key in self.muted)
        return ring

    def arguments(self, call: subjects.Call) -> Raw | subjects.Cut | None:
        """Return a call's arguments: whole if an event brought them whole and they still fit."""
        payload = self._payloads.of(call.id)
        if payload is not None and payload.args is not None:
            return payload.args
        return call.args if call.args is not None else call.args_cut

    def result(self, call: subjects.Call) -> Raw | subjects.Cut | None:
        """Return a call's result data, as `arguments` does."""
        payload = self._payloads.of(call.id)
        if payload is not None and payload.data is not None:
            return payload.data
        return call.data if call.data is not None else call.data_cut

    def call(self, call_id: str) -> subjects.Call | None:
        return self.state.calls.get(call_id) or self.state.recent_calls.get(call_id)

    @property
    def waiting(self) -> list[subjects.Approval]:
        return [one for one in self.state.approvals.values() if is_waiting(one)]

    @property
    def decided(self) -> list[subjects.Approval]:
        """What was settled, newest first; first what was so while this tower watched."""
        settled = [one for one in reversed(self.state.approvals.values()) if not is_unsettled(one)]
        return sorted(settled, key=lambda one: self.decided_at.get(one.id, ""), reverse=True)

    @property
    def has_failures(self) -> bool:
        """Whether anything that is kept here has failed, seen or not."""
        state = self.state
        return (
            bool(self.failures)
            or any(
                turn.failed or turn.state == "failed"
                for turns in state.turns.values()
                for turn in turns.turns
            )
            or any(has_failed(one) for one in state.recent_calls.values())
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but the session that tapui itself has."""
        has_sessions = any(not is_local(one) for one in self.state.sessions.values())
        return not (self.providers or self.state.unattached or has_sessions)

    @property
    def unseen_failures(self) -> Counter[str]:
        """How much has failed and was not seen yet, by session."""
        known = self.state.sessions
        return Counter(one.session_id for one in self.failures if one.session_id in known)

    @property
    def open_sessions(self) -> list[subjects.Session]:
        """Sessions that have not ended, foreground first."""
        sessions = [one for one in self.state.sessions.values() if is_open(one)]
        return sorted(sessions, key=lambda one: not one.foreground)

    @property
    def shown_session(self) -> str:
        """The session that other lists are about: the selected one, else the first that is open;
        "" for none."""
        if self.chosen_session in self.state.sessions:
            return self.chosen_session
        return next((one.id for one in self.open_sessions), "")

    @property
    def providers(self) -> list[subjects.Provider]:
        return [one for one in self.state.providers.values() if is_connected(one)]

    def folder_of(self, session_id: str) -> str:
        """Return a session's folder, "" where none is known."""
        session = self.state.sessions.get(session_id)
        return session.cwd if session is not None else ""

    def session_name(self, session_id: str | None) -> str:
        """Return a session's label (not made safe), or its id where it has none."""
        return session_name(self.state, session_id)

    # What comes

    def _begin(self, snapshot: TowerSnapshot) -> None:
        """The link is there, perhaps again: `state` is all anew, and what was asked is lost."""
        if snapshot.run != self.run:
            for kept in (self.rings, self.life, self.codes, self.errors, self.decided_at):
                kept.clear()
            self.worked.clear()
            self.changed.clear()
            self._payloads.clear()
            self.emitter_log.clear()
            self.spans.clear()
        self.writing.clear()
        for awaited in (self._detail_reads, self._turn_reads):
            awaited.clear()
        for asked in (self.pages, self.span_reads, self.trials):
            asked.clear()
        if self.inspected:
            self._dirty.add("inspected")
        self.run = snapshot.run
        self.seq = snapshot.seq
        self.towers = snapshot.towers
        self.is_first, self.started = snapshot.is_first, snapshot.started
        self.state = State.of(snapshot.state)
        for one in self.decided:
            if one.duration is not None:
                at = after(one.created_at, one.duration / 1000)
                self.decided_at.setdefault(one.id, at)
        for key, stream in self.state.streams.items():
            ring = self.ring(key)
            if stream.last and (not ring.lines or ring.lines[-1].seq < stream.last.seq):
                ring.merge([stream.last])
                ring.head = stream.last.seq
        for key in [key for key in self.rings if key not in self.state.streams]:
            del self.rings[key]
        self._dirty |= ALL_TOPICS

    def _take_message(self, message: Message) -> None:
        match message:
            case TowersChanged():
                self.towers, self.is_first = message.towers, message.is_first
                self._dirty.add("link")
            case TowerJudged():
                self.judged = message
                self._dirty.add("link")
            case NowText() if message.session_id in self.state.sessions:
                self.writing[message.session_id] = message.text
                self._dirty.add("life")
            case RevealedCode():
                self.codes[message.approval_id] = message
                self._dirty.add("approvals")
            case SpansList() | Error() if self.span_reads.put(message.id, message):
                self._dirty.add("spans")
            case StreamLines() | Error() if self.pages.put(message.id, message):
                self._dirty.add("streams")
            case StreamLines():
                key = self._line_reads.pop(message.id, None)
                if key is not None and key in self.rings:
                    self.rings[key].merge(message.lines)
                    self._dirty.add("streams")
            case EmitterTried() if self.trials.put(message.id, message):
                self._dirty.add("emitters")
            case TurnsList():
                session_id, _numbers = self._turn_reads.pop(message.id, ("", frozenset()))
                known = self.state.turns.get(session_id)
                if known is not None:
                    for turn in message.turns:
                        known.fill(turn)
                self._dirty.add("life")
            case InspectLines() | InspectEnded() if message.id in self.inspected:
                self.inspected[message.id].take(message)
                self._dirty.add("inspected")
            case Detail():
                whole = message.call or message.approval or message.provider or message.emitter
                self._keep_detail(message.id, whole)
            case GoalsList() if message.id in self._detail_reads:
                goal_id = self._detail_reads[message.id][1]
                self._keep_detail(
                    message.id, next((one for one in message.goals if one.id == goal_id), None)
                )
            case Error(reply_to="detail.read", id=None):  # it does not name the read
                for read_id in list(self._detail_reads):
                    self._keep_detail(read_id, None)
            case Error(reply_to="detail.read" | "goals.read", id=str(read_id)):
                self._keep_detail(read_id, None)

    def _keep_detail(self, read_id: str, whole: Whole | None) -> None:
        key = self._detail_reads.pop(read_id, None)
        if key is not None:
            self.details[key] = whole
            _keep_newest(self.details, KEPT_DETAILS)
            self._dirty.add(_DETAIL_TOPICS[key[0]])

    def _take_event(self, entry: ev.Entry) -> None:
        if entry.seq <= self.seq:
            return
        self.seq = entry.seq
        self.events += 1
        event = entry.event
        fold(self.state, event, entry.ts)
        self._dirty.update(EVENT_TOPICS[type(event)])
        if isinstance(event, ev.StreamPosted):  # by far the most
            self.ring((event.session_id, event.stream)).append(event.line)
        else:
            self._keep_of(event, entry.ts)
            if (session_id := _worked(event)) is not None:
                self.worked[session_id] = entry.seq
            if _is_news(event):
                self._news.append(event)

    def _keep_of(self, event: ev.Event, ts: str) -> None:
        """Keep what the fold does not."""
        match event:
            case ev.CallStarted(call=call):
                if length(call.args) > limits.DETAIL_BYTES:
                    self._payloads.keep(call.id, args=call.args)
            case ev.CallFinished(call=call):
                if length(call.data) > limits.DETAIL_BYTES:
                    self._payloads.keep(call.id, data=call.data)
                # The event has no arguments, which say whether an exit code is a failure.
                if has_failed(self.state.recent_calls.get(call.id, call)):
                    self._failed(ts, call.session_id, call.id)
            case ev.SessionHappened():
                ring = self.life.setdefault(event.session_id, deque(maxlen=LIFE_EVENTS))
                ring.append(Happening(ts, event.event, *_small(event)))
                if event.event in _FAILED:
                    self._failed(ts, event.session_id, ts)
                if event.event in _WRITTEN:
                    self.writing.pop(event.session_id, None)
                if event.event == "session.context":
                    self._dirty.add("sessions")
            case ev.SessionOpened() | ev.SessionUpdated():
                self._context_used(event.session_id)
            case ev.EmitterChanged(emitter=emitter):
                self.emitter_log.counted(emitter.id, emitter.counts.lines, ts)
            case ev.EmitterCounted():
                self.emitter_log.counted(event.emitter_id, event.counts.lines, ts)
            case ev.EmitterGone():
                self.emitter_log.gone(event.emitter_id)
            case ev.SpanEnded(span=span):
                if event.session_id is not None:
                    self.spans.append((event.session_id, span))
                    self._dirty.add("spans")
                if span.name == "emitter":
                    self._emitter_ran(event)
            case ev.StreamMoved():
                moved = self.rings.pop((event.former, event.stream), None)
                if moved is not None:
                    self.rings[event.session_id, event.stream] = moved
            case ev.SessionReplaced():
                self._rename(event.replaces, event.session_id)
            case ev.SessionClosed():
                known_ids = self.state.sessions
                self.new_ends = {id_: at for id_, at in self.new_ends.items() if id_ in known_ids}
                if event.session.by_itself:
                    self.new_ends[event.session_id] = event.session.ended_at or ""
                for kept in (self.life, self.contexts, self.writing, self.worked, self.changed):
                    kept.pop(event.session_id, None)
                for streams in (self.rings, self.muted):
                    for key in [key for key in streams if key[0] == event.session_id]:
                        del streams[key]
            case ev.ProviderDisconnected():
                there = self.state.providers
                self.gone = {id_: at for id_, at in self.gone.items() if id_ in there}
                self.gone[event.provider.id] = ts
            case ev.ErrorSent():
                self.errors.append((ts, event))
            case ev.ApprovalDecided() | ev.ApprovalExpired() | ev.ApprovalWithdrawn():
                self.codes.pop(event.approval.id, None)
                known = self.state.approvals
                self.decided_at = {id_: at for id_, at in self.decided_at.items() if id_ in known}
                self.decided_at[event.approval.id] = ts

    def _failed(self, ts: str, session_id: str, key: str) -> None:
        self.failures.append(FailedEvent(epoch(ts) or 0.0, session_id, key))

    def _context_used(self, session_id: str) -> None:
        session = self.state.sessions.get(session_id)
        if session is not None and session.context is not None:
            known = self.contexts.setdefault(session_id, deque(maxlen=CONTEXTS))
            if not known or known[-1] != session.context.tokens:
                known.append(session.context.tokens)

    def _emitter_ran(self, event: ev.SpanEnded) -> None:
        """Keep the run of an emitter, longer than other spans."""
        for emitter in self.state.emitters.values():
            if (emitter.session_id, emitter.name) == (event.session_id, event.span.emitter):
                self.emitter_log.ran(emitter, event.span)
                self._dirty.add("emitters")
                return

    def _rename(self, old: str, new: str) -> None:
        for key in [key for key in self.rings if key[0] == old]:
            self.rings.setdefault((new, key[1]), self.rings.pop(key))
        self.muted = {(new if key[0] == old else key[0], key[1]): None for key in self.muted}
        for kept in (self.writing, self.worked, self.changed):
            kept.pop(old, None)
        for _ in range(len(self.spans)):
            session_id, span = self.spans.popleft()
            self.spans.append((new if session_id == old else session_id, span))
        if old in self.contexts:
            self.contexts.setdefault(new, self.contexts.pop(old))
        if old in self.life:
            self.life.setdefault(new, self.life.pop(old))
        for _ in range(len(self.failures)):
            one = self.failures.popleft()
            is_moved = one.session_id == old
            self.failures.append(replace(one, session_id=new) if is_moved else one)


def _worked(event: ev.Event) -> str | None:
    """Return the session in whose folder files, or their checks, may be others now."""
    match event:
        case ev.CallFinished(call=call) | ev.CallExited(call=call):
            return call.session_id
        case ev.SessionStood(session_id=session_id) | ev.TurnProved(session_id=session_id):
            return session_id
        case ev.FileRestored(session_id=session_id):
            return session_id
        case ev.SessionHappened(session_id=session_id, event="session.idle" | "user.message"):
            return session_id  # the person may have edited something before they asked
        case _:
            return None


def _keep_newest(kept: dict[Any, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]


def _is_news(event: ev.Event) -> bool:
    """Return whether an event calls for a notice."""
    if isinstance(event, ev.SessionClosed):
        return event.session.headless
    if isinstance(event, ev.SessionStood):
        return event.standing is not None and event.standing.proof.state == "failed"
    return isinstance(event, _NEWS) or (
        isinstance(event, ev.ModeChanged) and event.state == "failed"
    )


def _small(event: ev.SessionHappened) -> tuple[Raw | None, subjects.Cut | None]:
    data, data_cut = event.data, event.data_cut
    if data is not None and length(data) > limits.DETAIL_BYTES:
        head = bytes(memoryview(data)[: limits.CUT_HEAD]).decode("utf-8", "ignore")
        return None, subjects.Cut(head=head, size=length(data), sha256="")
    return data, data_cut


_NEWS = (
    ev.AlarmRaised,
    ev.ApprovalRequested,
    ev.CommandAsked,
    ev.InjectPaused,
    ev.OrderChanged,
    ev.ProviderMoved,
)
EVENT_TOPICS: dict[type[ev.Event], tuple[Topic, ...]] = {
    ev.SessionOpened: ("sessions",),
    ev.SessionUpdated: ("sessions",),
    ev.SessionReplaced: ("sessions", "streams", "providers", "life"),
    ev.SessionClosed: ("sessions", "streams", "providers", "life"),
    ev.SessionHappened: ("life",),
    ev.TurnsRestored: ("life",),
    ev.TurnProved: ("life",),
    ev.SessionStood: ("sessions",),
    ev.TurnSentBack: ("life",),
    ev.ClaimsAudited: ("life",),
    ev.ToolsSwitched: ("sessions",),
    ev.GoalOpened: ("sessions",),
    ev.GoalUpdated: ("sessions",),
    ev.GoalVerified: ("sessions",),
    ev.GoalClosed: ("sessions",),
    ev.ReviewRecorded: ("emitters",),
    ev.FindingDisposed: ("emitters", "changes"),
    ev.FileMarked: ("changes",),
    ev.NoteKept: ("changes",),
    ev.NoteDropped: ("changes",),
    ev.FileRestored: ("changes",),
    ev.UnattachedFound: ("sessions",),
    ev.HostLooks: ("sessions",),
    ev.ProviderConnected: ("providers",),
    ev.ProviderBound: ("providers", "sessions"),
    ev.ProviderUpdated: ("providers",),
    ev.ProviderMoved: ("providers", "sessions"),
    ev.ProviderUnbound: ("providers", "sessions"),
    ev.ProviderDisconnected: ("providers", "sessions"),
    ev.CallStarted: ("calls",),
    ev.CallProgress: ("calls",),
    ev.CallCancelling: ("calls",),
    ev.CallFinished: ("calls",),
    ev.CallExited: ("calls",),
    ev.StreamPosted: ("streams",),
    ev.StreamMoved: ("streams",),
    ev.ApprovalRequested: ("approvals",),
    ev.ApprovalJudged: ("approvals",),
    ev.ApprovalDeciding: ("approvals",),
    ev.ApprovalRevealed: ("approvals",),
    ev.ApprovalDecided: ("approvals",),
    ev.ApprovalWithdrawn: ("approvals",),
    ev.ApprovalExpired: ("approvals",),
    ev.ModeChanged: ("sessions",),
    ev.AlarmRaised: ("sessions", "calls"),
    ev.AlarmCleared: ("sessions", "calls"),
    ev.OrderGiven: ("sessions",),
    ev.OrderChanged: ("sessions", "life"),
    ev.GateChecked: ("calls",),
    ev.EmitterChanged: ("emitters",),
    ev.EmitterCounted: ("emitters",),
    ev.EmitterGone: ("emitters",),
    ev.FolderProblemsChanged: ("emitters",),
    ev.McpServerChanged: ("providers",),
    ev.McpServerGone: ("providers",),
    ev.InjectPaused: ("providers",),
    ev.InjectResumed: ("providers",),
    ev.ErrorSent: ("errors",),
    ev.CommandAsked: ("errors",),
    ev.SpanEnded: (),
    ev.SpansExported: (),
    ev.EventLost: ("errors",),
}
