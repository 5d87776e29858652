"""What happened while the person was away, and the sheet that shows it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from tapui import times
from tapui.projection.approvals import by_whom
from tapui.projection.now import failed_since
from tapui.projection.paragraphs import Paragraph, title
from tapui.projection.requests.permissions import by_rule
from tapui.projection.state import State, is_unsettled, is_waiting
from tapui.projection.turns.turn import LiveTurn, together
from tapui.projection.turns.usage import added, less
from tapui.tower.app.view import View
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.sheet import SHEET_CSS, LiveScreen
from tapui.tower.textual.widgets import plain
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity
from tapui.wire.turns import FileChange, Usage

AWAY = 600.0
"""Seconds without a key after which the next key shows what happened meanwhile."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What happened from `since` until `until`, in seconds since the epoch.

    `ended` are the turns that ended, oldest first; `running` counts those that go on. `usage` is
    what all these turns used meanwhile, `files` what they changed from their beginning, and
    `more_files` how many more. `waited` is for how many seconds something waited for the person,
    `waiting` counts what still does.
    `answers` counts what was settled, by who did it.
    """

    since: float
    until: float
    ended: list[LiveTurn] = field(default_factory=list)
    running: int = 0
    failed_steps: int = 0
    files: list[FileChange] = field(default_factory=list)
    more_files: int = 0
    usage: Usage = field(default_factory=Usage)
    waited: float = 0.0
    waiting: int = 0
    timed_out: int = 0
    answers: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.ended or self.failed_steps or self.waited or self.answers)


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
        failed_steps=failed_since(state, start),
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


SHOWN_TURNS = 30
SHOWN_FILES = 30
_INSET = "  "


class DigestScreen(LiveScreen[None]):
    """Shows a digest; the sessions' names are those of now."""

    CSS_PATH = SHEET_CSS

    def __init__(self, summary: Digest) -> None:
        super().__init__()
        self._digest = summary

    def compose(self) -> ComposeResult:
        with Vertical(classes="sheet") as frame:
            away = times.lasting(self._digest.until - self._digest.since)
            since = times.hour_and_minute(self._digest.since)
            frame.border_title = plain(f"While you were away: {away}, since {since}", "bold")
            frame.border_subtitle = Content("any key closes")
            yield Reader()

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint it once: it tells of a time that is over."""
        del dirty
        reader = self.query_one(Reader)
        if not reader.text:
            reader.set_parts(digest_parts(view, self._digest))


def digest_parts(view: View, summary: Digest) -> list[Paragraph]:
    """Return a digest in words, what needs the person first."""
    parts: list[Paragraph] = []
    if summary.waiting:
        parts.append(Paragraph(f"! {summary.waiting} still waiting for you", "warning"))
    if summary.waited:
        lasted = times.lasting(summary.waited)
        late = f"; {summary.timed_out} timed out" if summary.timed_out else ""
        parts.append(Paragraph(f"Something waited for you for {lasted}{late}"))
    done = sum(turn.state == "done" for turn in summary.ended)
    failed = sum(turn.state == "failed" for turn in summary.ended)
    stopped = len(summary.ended) - done - failed
    outcomes = [f"{quantity(done, 'turn')} finished"]
    outcomes += [f"{failed} failed"] if failed else []
    outcomes += [f"{stopped} stopped"] if stopped else []
    outcomes += [f"{summary.running} still running"] if summary.running else []
    parts.append(Paragraph(", ".join(outcomes)))
    if summary.failed_steps:
        parts.append(Paragraph(f"✗ {quantity(summary.failed_steps, 'step')} failed", "error"))
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
    if summary.ended:
        parts += [Paragraph(""), title("turns that ended")]
        parts += [_turn(view, turn) for turn in summary.ended[-SHOWN_TURNS:][::-1]]
        parts += _more(len(summary.ended) - SHOWN_TURNS)
    if summary.files:
        count = len(summary.files) + summary.more_files
        parts += [Paragraph(""), title(quantity(count, "file") + " changed")]
        parts += [Paragraph(_INSET + _file(one)) for one in summary.files[-SHOWN_FILES:][::-1]]
        parts += _more(count - min(len(summary.files), SHOWN_FILES))
    return parts


def _turn(view: View, turn: LiveTurn) -> Paragraph:
    mark = marks.TURN[turn.state]
    when = times.moment(turn.ended_at)[:5]
    words = [
        f"{when} {mark.glyph} {view.session_name(turn.session_id)}",
        steps.prompt_words(view, turn),
    ]
    if turn.state != "done":
        words.append(mark.word)
    if turn.failed:
        words.append(f"{quantity(turn.failed, 'step')} failed")
    tone = "error" if turn.state == "failed" else ""
    return Paragraph(_INSET + "   ".join(" ".join(one.split()) for one in words), tone)


def _file(change: FileChange) -> str:
    lines = steps.lines_changed(change.added, change.removed)
    return "  ".join(one for one in (" ".join(change.path.split()), lines) if one)


def _more(count: int) -> list[Paragraph]:
    return [Paragraph(f"{_INSET}… {count} more", "muted")] if count > 0 else []
