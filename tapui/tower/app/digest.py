"""What happened while the person was away, and the screen that shows it by session."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from functools import partial
from typing import Literal, NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tapui import times
from tapui.projection.approvals import by_whom
from tapui.projection.now import counted_since
from tapui.projection.paragraphs import Paragraph
from tapui.projection.proof import proof_line, record_of, says_words
from tapui.projection.requests.permissions import by_rule
from tapui.projection.state import State, is_unsettled, is_waiting
from tapui.projection.summary import summary_of, within
from tapui.projection.turns.turn import LiveTurn, files_of, together
from tapui.projection.turns.usage import added, less
from tapui.tower.app.view import View
from tapui.tower.requests.urgency import requests
from tapui.tower.sessions import session_status
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.table import Table
from tapui.tower.textual.sheet import LiveScreen
from tapui.tower.textual.widgets import plain, tone_style
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity
from tapui.wire.subjects import Approval
from tapui.wire.turns import FileChange, StepState, Usage

AWAY = 300.0
"""Seconds without a key, or without the terminal's focus, after which the person is shown what
happened meanwhile."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What happened from `since` until `until`, in seconds since the epoch.

    `ended` are the turns that ended, oldest first; `running` counts those that go on, `asking`
    those of them that wait for the person. `usage` is
    what all these turns used meanwhile, `files` what they changed from their beginning, and
    `more_files` how many more. `waited` is for how many seconds something waited for the person,
    `waiting` counts what still does.
    `answers` counts what was settled, by who did it.
    """

    since: float
    until: float
    ended: list[LiveTurn] = field(default_factory=list)
    running: int = 0
    asking: int = 0
    steps: Counter[StepState] = field(default_factory=Counter)
    files: list[FileChange] = field(default_factory=list)
    more_files: int = 0
    usage: Usage = field(default_factory=Usage)
    waited: float = 0.0
    waiting: int = 0
    timed_out: int = 0
    answers: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.ended or self.steps or self.waited or self.answers)

    def has_touched(self, turn: LiveTurn) -> bool:
        """Return whether a turn went on at this time or after it."""
        return turn.ended_at is None or turn.ended_at >= _stamp(self.since)


UsedBefore = Mapping[tuple[str, int], Usage]
"""What turns had used at a time, by session and number."""


def used_now(state: State) -> UsedBefore:
    return {
        (turn.session_id, turn.number): turn.usage
        for turns in state.turns.values()
        if (turn := turns.running) is not None
    }


def digest(
    state: State,
    decided_at: Mapping[str, str],
    since: float,
    until: float,
    used: UsedBefore | None = None,
) -> Digest:
    """Return what happened between two times; `decided_at` is when approvals were settled, `used`
    what turns had used before."""
    used = used or {}
    start = _stamp(since)
    turns = [turn for turns in state.turns.values() for turn in turns.turns if not turn.is_outside]
    ended = [turn for turn in turns if turn.ended_at is not None and turn.ended_at >= start]
    running = [turn for turn in turns if turn.told_state()[1] is None and turn.state == "running"]
    usage, files, more = Usage(), dict[tuple[str, str], FileChange](), 0
    for turn in (*ended, *running):
        before = used.get((turn.session_id, turn.number))
        usage = added(usage, turn.usage if before is None else less(turn.usage, before))
        more += turn.more_files.files
        for change in turn.files.values():
            key = (turn.session_id, change.path)
            files[key] = together(change.path, files.get(key), change)
    settled = [
        one
        for one in state.approvals.values()
        if not is_unsettled(one) and decided_at.get(one.id, "") >= start
    ]
    answers = Counter(
        "rules" if by_rule(one) else by_whom(one.decided_by) for one in settled if one.decided_by
    )
    spans = [
        (times.epoch(one.created_at), times.epoch(decided_at.get(one.id, ""))) for one in settled
    ]
    waiting = [one for one in state.approvals.values() if is_waiting(one)]
    spans += [(times.epoch(one.created_at), until) for one in waiting]
    return Digest(
        since=since,
        until=until,
        ended=sorted(ended, key=lambda turn: turn.ended_at or ""),
        running=len(running),
        asking=sum(turn.told_state()[0] == "waiting" for turn in running),
        steps=counted_since(state, start),
        files=list(files.values()),
        more_files=more,
        usage=usage,
        waited=_covered(spans, since, until),
        waiting=len(waiting),
        timed_out=sum(one.state == "expired" for one in settled),
        answers=dict(answers),
    )


def _stamp(seconds: float) -> str:
    """Return a time as events have it; they are compared as texts."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _covered(
    spans: Iterable[tuple[float | None, float | None]], since: float, until: float
) -> float:
    """Return the seconds within the two times that at least one of the spans covers."""
    known = sorted(
        (max(begin, since), min(end, until))
        for begin, end in spans
        if begin is not None and end is not None
    )
    total, reached = 0.0, since
    for begin, end in known:
        total += max(end - max(begin, reached), 0.0)
        reached = max(reached, end)
    return total


MOST_SESSIONS = 200
MOST_ROWS = 20
"""Rows of one kind that a session has; where there are more, one row opens the rest."""
_FILES = 3
"""Changed files that a row names."""
_COLUMNS = (Column("", 20, grows=True), Column("", 5, 8, right=True))


class AwayTarget(NamedTuple):
    """What a row opens: a request by its id, else a turn or step, a call, or a session."""

    kind: Literal["request", "turn", "call", "session"]
    session_id: str
    key: str = ""


class _Rank(IntEnum):
    """What of a session comes first."""

    ASKS = 0
    FAILED = 1
    UNCHECKED = 2
    CHANGED = 3
    REST = 4


class AwayRows:
    """The rows of a digest, the sessions that need the person first, and what each row opens."""

    def __init__(self, view: View, summary: Digest) -> None:
        self._view = view
        self._summary = summary
        self.rows: list[Row] = []
        self.targets: dict[str, AwayTarget] = {}
        self._failed: dict[str, list[steps.FailedItem]] = {}
        since = _stamp(summary.since)
        for one in steps.failures(view):
            unseen = view.failures[one.at[0] - 1].at if one.is_unseen else 0.0
            if one.at[1] >= since or unseen >= summary.since:
                self._failed.setdefault(one.session_id, []).append(one)
        self._asked: dict[str, list[Approval]] = {}
        for request in requests(view):
            asked = request.approval
            self._asked.setdefault(asked.session_id or "", []).append(asked)
        groups = [self._group(id_) for id_ in {"": None, **view.state.sessions}]
        found = sorted((one for one in groups if one is not None), key=lambda one: one[0])
        for _rank, session_id, items in found[:MOST_SESSIONS]:
            self._add(session_id, items)
        if len(found) > MOST_SESSIONS:
            more = f"… {len(found) - MOST_SESSIONS} more sessions: they are in Sessions"
            self.rows.append(Row("", (Cell(more, "muted"),), is_heading=True))

    def _group(self, session_id: str) -> "tuple[_Rank, str, list[_Item]] | None":
        """Return what there is to say of a session; None for nothing. "" stands for what is asked
        in none."""
        view, state = self._view, self._view.state
        keyed = steps.keyed_turns(view, session_id) if session_id else []
        touched = [one for one in keyed if self._summary.has_touched(one[1])]
        asked, failed = self._asked.get(session_id, []), self._failed.get(session_id, [])
        items = [_asked(view, one) for one in asked[:MOST_ROWS]]
        items += self._more(len(asked), session_id)
        items += [_failed_item(view, one) for one in failed[:MOST_ROWS]]
        items += self._more(len(failed), session_id)
        rank = _Rank.ASKS if asked else _Rank.FAILED if failed else _Rank.REST
        session = state.sessions.get(session_id)
        record = record_of(state, session) if session is not None and touched else None
        if record is not None and record.mark in ("failed", "unchecked"):
            rank = min(rank, _Rank.UNCHECKED)
            mark = marks.PROOF[record.mark]
            words = partial(times.when, now=view.now)
            line = mark.text if record.proof is None else proof_line(record.proof, words)
            items.append(_Item(line, mark.tone, AwayTarget("session", session_id)))
        files = _changed([turn for _key, turn in touched], view.folder_of(session_id))
        if files:
            rank = min(rank, _Rank.CHANGED)
            items.append(_Item(files, "", AwayTarget("turn", session_id, touched[0][0])))
        said = next(((key, turn) for key, turn in touched if turn.says), None)
        if said is not None:
            text = says_words(said[1]) or ""
            items.append(_Item(text, "muted", AwayTarget("turn", session_id, said[0])))
        if not items and not any(turn.ended_at for _key, turn in touched):
            return None
        return rank, session_id, items

    def _more(self, count: int, session_id: str) -> "list[_Item]":
        if count <= MOST_ROWS:
            return []
        kind: Literal["session", "request"] = "session" if session_id else "request"
        key = "" if session_id else self._asked[""][MOST_ROWS].id
        target = AwayTarget(kind, session_id, key)
        return [_Item(f"… {count - MOST_ROWS} more", "muted", target)]

    def _add(self, session_id: str, items: "list[_Item]") -> None:
        view = self._view
        ended = [one for one in self._summary.ended if one.session_id == session_id]
        counts = Counter(one.state for one in ended)
        known = {marks.TURN[state].word: count for state, count in counts.items()}
        words = f"  {_turns_words(known)}" if known else ""
        name = view.session_name(session_id) if session_id else "tapui"
        at = times.moment(max(one.ended_at or "" for one in ended))[:5] if ended else ""
        target = AwayTarget("session", session_id) if session_id else items[0].target
        head = f"session {session_id}"
        self.targets[head] = target
        self.rows.append(
            Row(head, (Cell(name, "strong", rest=((words, "muted"),)), Cell(at, "muted")))
        )
        for number, one in enumerate(items):
            key = f"{head}\n{number}"
            self.targets[key] = one.target
            cells = (Cell(" ".join(one.text.split()), one.tone), Cell(one.at, "muted"))
            self.rows.append(Row(key, cells, indent=2, under=head))


class _Item(NamedTuple):
    """A row below its session's."""

    text: str
    tone: str
    target: AwayTarget
    at: str = ""


def _asked(view: View, approval: Approval) -> _Item:
    folder = view.folder_of(approval.session_id or "")
    text = f"! {session_status.about(approval, folder)}"
    target = AwayTarget("request", approval.session_id or "", approval.id)
    return _Item(text, "warning", target, times.moment(approval.created_at)[:5])


def _failed_item(view: View, failed: steps.FailedItem) -> _Item:
    at, folder = times.moment(failed.at[1])[:5], view.folder_of(failed.session_id)
    if not failed.is_step:
        call = view.call(failed.key)
        words = "" if call is None else f"{call.tool}  {within(summary_of(call), folder)}"
        return _Item(f"✗ {words}", "error", AwayTarget("call", failed.session_id, failed.key), at)
    place = steps.place_of(view, failed.key)
    words = "a turn of which only the head is here"
    if place is not None:
        place.step.condense()
        about = within(place.step.summary, folder)
        words = f"{place.step.tool}  {about}".strip() or place.step.error
    return _Item(f"✗ {words}", "error", AwayTarget("turn", failed.session_id, failed.key), at)


def _turns_words(counts: Mapping[str, int]) -> str:
    """Return how turns ended, by words: `1 turn done`, `3 turns done, 1 failed`; "" for none."""
    known = [(count, word) for word, count in counts.items() if count]
    words = [f"{quantity(count, 'turn')} {word}" for count, word in known[:1]]
    return ", ".join([*words, *(f"{count} {word}" for count, word in known[1:])])


def _changed(turns: list[LiveTurn], folder: str) -> str:
    """Return how many files some turns changed, and the names of the newest, from the session's
    folder; "" for none."""
    files, count = files_of(turns[::-1])
    if not count:
        return ""
    newest = list(files)[: -_FILES - 1 : -1]
    names = [" ".join(within(path, folder).split()) for path in newest]
    more = f" and {count - len(names)} more" if count > len(names) else ""
    added = sum(one.added or 0 for one in files.values())
    removed = sum(one.removed or 0 for one in files.values())
    lines = steps.lines_changed(added, removed)
    return f"{quantity(count, 'file')} changed  {lines}  {', '.join(names)}{more}"


class DigestScreen(LiveScreen[AwayTarget]):
    """Shows a digest: the whole in words, then the sessions. The result is what the person opens.

    It tells of a time that is over, and is painted once.
    """

    DEFAULT_CSS = """
    DigestScreen .facts { height: auto; max-height: 6; width: 1fr; padding: 0 1; }
    """

    def __init__(self, summary: Digest) -> None:
        super().__init__()
        self._digest = summary
        self._shown: AwayRows | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet") as frame:
            away = times.lasting(self._digest.until - self._digest.since)
            since = times.hour_and_minute(self._digest.since)
            frame.border_title = plain(f"While you were away: {away}, since {since}", "bold")
            answers = f"{self.tower.key_of('answer')} answers   " if self._digest.waiting else ""
            frame.border_subtitle = plain(f"{answers}⏎ opens   any other key closes")
            yield Static("", classes="facts", markup=False)
            yield Table(_COLUMNS, has_titles=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Table).focus()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        del dirty
        if self._shown is None:
            self._shown = AwayRows(view, self._digest)
            lines = [plain(one.text, tone_style(one.tone)) for one in digest_parts(self._digest)]
            self.query_one(".facts", Static).update(Content("\n").join(lines))
            self.query_one(Table).set_rows(self._shown.rows)

    def on_table_opened(self, event: Table.Opened) -> None:
        event.stop()
        target = self._shown.targets.get(event.key) if self._shown is not None else None
        if target is not None:
            self.dismiss(target)


def digest_parts(summary: Digest) -> list[Paragraph]:
    """Return a digest as a whole in words, what needs the person first."""
    parts: list[Paragraph] = []
    if summary.waiting:
        parts.append(Paragraph(f"! {summary.waiting} still waiting for you", "warning"))
    if summary.waited >= 1:
        lasted = times.lasting(summary.waited)
        late = f"; {summary.timed_out} timed out" if summary.timed_out else ""
        parts.append(Paragraph(f"Something waited for you for {lasted}{late}"))
    states = Counter(turn.state for turn in summary.ended)
    done, failed, stopped = (states.pop(one, 0) for one in ("done", "failed", "stopped"))
    outcomes = {
        "finished": done,
        "failed": failed,
        "stopped": stopped,
        "of unknown end": states.total(),
        "still running": summary.running - summary.asking,
        "asks you" if summary.asking == 1 else "ask you": summary.asking,
    }
    if words := _turns_words(outcomes):
        parts.append(Paragraph(words))
    if failed := summary.steps["failed"]:
        parts.append(Paragraph(f"✗ {quantity(failed, 'step')} failed", "error"))
    others = steps.counts_of({one: n for one, n in summary.steps.items() if one != "failed"})
    if others:
        parts.append(Paragraph(f"⊘ steps: {', '.join(one.word for one in others)}"))
    spent = [steps.tokens(summary.usage)]
    if summary.usage.cost:
        spent.append(f"cost {summary.usage.cost:g}")
    if summary.usage.requests:
        spent.append(f"{summary.usage.requests:g} premium requests")
    if any(spent):
        parts.append(Paragraph(f"Used by these turns: {', '.join(one for one in spent if one)}"))
    if summary.answers:
        by = ", ".join(f"{count} by {who}" for who, count in summary.answers.items())
        parts.append(Paragraph(f"Answered: {by}"))
    return parts
