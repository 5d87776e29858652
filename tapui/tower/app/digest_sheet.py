"""What happened while the person was away; `tower.returning` closes it with any key."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from tapui import times
from tapui.projection.paragraphs import Paragraph, title
from tapui.projection.turns.turn import LiveTurn
from tapui.tower.app.digest import Digest
from tapui.tower.app.view import View
from tapui.tower.textual.live_screen import SHEET_CSS, LiveScreen
from tapui.tower.textual.reader import Reader
from tapui.tower.textual.widgets import plain
from tapui.tower.turns import steps
from tapui.tower.wording import marks
from tapui.tower.wording.words import quantity
from tapui.wire.turns import FileChange

SHOWN_TURNS = 30
SHOWN_FILES = 30
_INSET = "  "


class DigestScreen(LiveScreen[None]):
    """Shows a digest; the sessions' names are those of now."""

    CSS_PATH = SHEET_CSS

    def __init__(self, found: Digest) -> None:
        super().__init__()
        self._digest = found

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


def digest_parts(view: View, found: Digest) -> list[Paragraph]:
    """Return a digest in words, what needs the person first."""
    parts: list[Paragraph] = []
    if found.waiting:
        parts.append(Paragraph(f"! {found.waiting} still waiting for you", "warning"))
    if found.waited:
        lasted = times.lasting(found.waited)
        late = f"; {found.timed_out} timed out" if found.timed_out else ""
        parts.append(Paragraph(f"Something waited for you for {lasted}{late}"))
    done = sum(turn.state == "done" for turn in found.ended)
    failed = sum(turn.state == "failed" for turn in found.ended)
    stopped = len(found.ended) - done - failed
    said = [f"{quantity(done, 'turn')} finished"]
    said += [f"{failed} failed"] if failed else []
    said += [f"{stopped} stopped"] if stopped else []
    said += [f"{found.running} still running"] if found.running else []
    parts.append(Paragraph(", ".join(said)))
    if found.failed_steps:
        parts.append(Paragraph(f"✗ {quantity(found.failed_steps, 'step')} failed", "error"))
    spent = [steps.tokens(found.usage)]
    if found.usage.cost:
        spent.append(f"cost {found.usage.cost:g}")
    if found.usage.requests:
        spent.append(f"{found.usage.requests:g} premium requests")
    if any(spent):
        parts.append(Paragraph(f"Used by these turns: {', '.join(one for one in spent if one)}"))
    if found.answers:
        by = ", ".join(f"{count} by {who}" for who, count in found.answers.items())
        parts.append(Paragraph(f"Answered: {by}"))
    if found.ended:
        parts += [Paragraph(""), title("turns that ended")]
        parts += [_turn(view, turn) for turn in found.ended[-SHOWN_TURNS:][::-1]]
        parts += _more(len(found.ended) - SHOWN_TURNS)
    if found.files:
        count = len(found.files) + found.more_files
        parts += [Paragraph(""), title(quantity(count, "file") + " changed")]
        parts += [Paragraph(_INSET + _file(one)) for one in found.files[-SHOWN_FILES:][::-1]]
        parts += _more(count - min(len(found.files), SHOWN_FILES))
    return parts


def _turn(view: View, turn: LiveTurn) -> Paragraph:
    mark = marks.TURN[turn.state]
    when = times.moment(turn.ended_at)[:5]
    said = [
        f"{when} {mark.glyph} {view.session_name(turn.session_id)}",
        steps.prompt_words(view, turn),
    ]
    if turn.state != "done":
        said.append(mark.word)
    if turn.failed:
        said.append(f"{quantity(turn.failed, 'step')} failed")
    tone = "error" if turn.state == "failed" else ""
    return Paragraph(_INSET + "   ".join(" ".join(one.split()) for one in said), tone)


def _file(change: FileChange) -> str:
    lines = steps.lines_changed(change.added, change.removed)
    return "  ".join(one for one in (" ".join(change.path.split()), lines) if one)


def _more(count: int) -> list[Paragraph]:
    return [Paragraph(f"{_INSET}… {count} more", "muted")] if count > 0 else []
