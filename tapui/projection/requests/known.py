"""What is known around a request: where it is asked and why, and what led to it.

Nothing here is made safe for a screen yet.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tapui.projection.paragraphs import Paragraph
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.request_kind import AskedRequest, detail_of
from tapui.projection.state import State
from tapui.projection.summary import one_line
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.projection.words import source_words
from tapui.wire.subjects import Approval

_MOST_FAILURES = 3
"""What failed before, of which each has a line's part; others are counted."""
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_TIMES = {1: "once", 2: "twice"}


class Tries(NamedTuple):
    """How often the same was tried before in a turn, and how often of that it failed."""

    before: int
    failed: int

    @property
    def words(self) -> str:
        """Return `3rd try, failed twice`; "" where it did not fail before."""
        if not self.failed:
            return ""
        number = self.before + 1
        teen = number % 100 in (11, 12, 13)
        ending = "th" if teen else _ORDINALS.get(number % 10, "th")
        return f"{number}{ending} try, failed {_TIMES.get(self.failed, f'{self.failed} times')}"


def tries_of(state: State, approval: Approval) -> Tries:
    """Return how often what a permission is about was tried before in its turn."""
    turn = _turn(state, approval)
    same = _subject(approval)
    if turn is None or not same:
        return Tries(0, 0)
    ended = [one for one in _calls(turn) if one.summary == same and not one.is_open]
    return Tries(len(ended), sum(one.state == "failed" for one in ended))


def known(state: State, asked: Sequence[AskedRequest]) -> list[Paragraph]:
    """Return what is no part of what is asked, but is known of it."""
    approval = asked[0].approval
    kind = kind_of(approval)
    if not kind.is_explained_alone:
        return []
    paragraphs: list[Paragraph] = []
    session = state.sessions.get(approval.session_id or "")
    if session is not None:
        paragraphs.append(Paragraph(f"in {' '.join(session.cwd.split())}", "muted"))
    reason = kind.reason(detail_of(approval))
    if isinstance(reason, str) and reason.split():
        paragraphs.append(Paragraph(f"the agent says: “{' '.join(reason.split())}”"))
    if approval.reason:
        paragraphs.append(Paragraph(f"reason: {' '.join(approval.reason.split())}"))
    return paragraphs + _led_here(state, approval)


def _subject(approval: Approval) -> str:
    """Return what a permission is about as the step of its call has it."""
    if approval.kind != "permission":
        return ""
    return one_line(kind_of(approval).subject(approval, detail_of(approval)))


def _led_here(state: State, approval: Approval) -> list[Paragraph]:
    """Return the prompt that led to a request, and what failed in its turn before."""
    turn = _turn(state, approval)
    if turn is None:
        return []
    parts = []
    if turn.prompt.strip():
        asked = f"after {source_words(turn.source)}: “{one_line(turn.prompt)}”"
        parts.append(Paragraph(asked, "muted"))
    if words := tries_of(state, approval).words:
        parts.append(Paragraph(words, "warning"))
    same = _subject(approval)
    failed = Counter(
        f"{one.summary or one.tool}{f' (exit {one.exit_code})' if one.exit_code else ''}"
        for one in reversed(_calls(turn))
        if one.state == "failed" and one.summary != same
    )
    if failed:
        told = [f"{text}{f' {times}×' if times > 1 else ''}" for text, times in failed.items()]
        more = len(told) - _MOST_FAILURES
        rest = f", {more} more" if more > 0 else ""
        words = f"failed before in this turn: {', '.join(told[:_MOST_FAILURES])}{rest}"
        parts.append(Paragraph(words, "muted"))
    return parts


def _turn(state: State, approval: Approval) -> LiveTurn | None:
    """Return the turn in which something is asked, where it is under way."""
    turns = state.turns.get(approval.session_id or "")
    turn = turns.latest if turns is not None else None
    return turn if turn is not None and turn.told_state()[0] in ("running", "waiting") else None


def _calls(turn: LiveTurn) -> list[LiveStep]:
    calls = [one for one in turn.all_steps() if one.kind == "call"]
    for one in calls:
        if not one.is_open:
            one.condense()
    return calls
