"""One turn: the prompt in full, what it used, and the files that it changed."""

from tapui import times
from tapui.projection.turns.turn import LiveTurn
from tapui.tower import spent, steps
from tapui.tower.reader import Paragraph, title, value
from tapui.tower.screens.sheet import Keys, Sheet, alone, fact
from tapui.tower.screens.usage import charged_words, tokens_words
from tapui.tower.view import View
from tapui.wire.turns import FileChange


class TurnScreen(Sheet):
    """`key` is a turn's, as `tower.steps` has it."""

    TOPICS = frozenset({"calls", "approvals", "life", "clock"})

    def __init__(self, key: str, keys: Keys = alone) -> None:
        super().__init__(key, keys)
        self._turn: LiveTurn | None = None

    def go_to(self, key: str) -> None:
        """Show another turn."""
        self._turn = None
        super().go_to(key)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        """Paint it as it is now; once the tower forgot it, as it was."""
        del dirty
        turn = self._turn = steps.turn_of(view, self.key) or self._turn
        if turn is None:
            return
        mark = steps.mark_of_turn(view, turn)
        seconds = steps.lasted(steps.seconds_of_turn(turn, view.now))
        note = ", ".join(one for one in (mark.word, seconds) if one)
        tone = "warning" if mark.tone == "warning" else "muted"
        self.set_frame(
            mark, f"Turn {turn.number} of {view.session_name(turn.session_id)}", note, tone
        )
        usage, changed = turn.usage, list(turn.files.values())
        history = "before this run of tapui" if turn.is_history else None
        parts = [
            *fact("began", times.date_and_time(turn.started_at)),
            *fact("ended", times.date_and_time(turn.ended_at) if turn.ended_at else None),
            *fact("history", history),
            *fact("asked by", steps.asker_words(view, turn)),
            *fact("steps", f"{turn.made}, {turn.failed} failed" if turn.failed else str(turn.made)),
            *fact("time", spent.in_turn(view, turn).words("in tools") or None),
            *fact("tokens", tokens_words(usage)),
            *fact("charged", charged_words(usage)),
            Paragraph(""),
            title("prompt"),
            value(steps.prompt_whole(view, turn)),
        ]
        if changed:
            parts += [Paragraph(""), title(f"files, {steps.turn_lines(turn)}")]
            parts += [value(_file(one)) for one in reversed(changed)]
            if turn.more_files.files:
                parts.append(Paragraph(f"… {turn.more_files.files} before these", "muted"))
        self.reader.set_parts(parts)


def _file(change: FileChange) -> str:
    lines = steps.lines_changed(change.added, change.removed)
    probably = "(probably: a command wrote it)" if change.is_probable else ""
    return "  ".join(one for one in (" ".join(change.path.split()), lines, probably) if one)
