"""`tapui proof --past 30d`: which turns of Copilot's stored sessions ended without a check."""

import msgspec

from tapui import times
from tapui.cli import output
from tapui.cli.context import home
from tapui.hosts.copilot.finding.past_files import PastCounts, PastSessions
from tapui.hosts.copilot.finding.past_turns import PROVENANCE, PastTurn
from tapui.text import cut

_FILES = 3
_CHECKS = 3
_REASON = 100
_NOTHING = "read from Copilot's files, which an agent can write to: this proves nothing"
_SIGNS = {"failed": "✗", "unchecked": "○", "unknown": "?"}


def run(since: float, *, as_json: bool) -> int:
    """Print the turns without a check that passed, each when it was read, then the counts."""
    past = PastSessions(home().copilot, since)
    for turn in past.turns():
        if as_json:
            output.say_json(turn)
        elif turn.state != "checked":
            _print(turn)
        # Long before all is read there is something to read.
        output.flush()
    counts = past.counts
    if as_json:
        output.say_json_bytes(msgspec.json.encode({"counts": counts, "provenance": PROVENANCE}))
        return 0
    output.say(_headline(counts))
    output.flush()
    for text in _notes(counts):
        output.note(text)
    return 0


def _print(turn: PastTurn) -> None:
    more = len(turn.files) - _FILES
    files = ", ".join(turn.files[:_FILES]) + (f" and {more} more" if more > 0 else "")
    known = ", ".join(turn.known[:_CHECKS])
    about = f" (known: {known})" if known else " (no check ran in this session)"
    reason = turn.reason + (about if turn.state == "unchecked" else "")
    output.say(
        f"{_SIGNS[turn.state]} {times.date_and_time(turn.started_at)}  {turn.session}  "
        f"{output.path_text(turn.folder)}"
    )
    output.say(f"    {cut(files, _REASON)}: {cut(reason, _REASON)}")


def _headline(counts: PastCounts) -> str:
    sessions = some(counts.sessions, "session")
    turns = some(counts.turns, "turn")
    none = f"{counts.unchecked:,} with no check after the last change"
    text = f"Copilot's files say: {sessions}; {turns} changed files and ended, {none}"
    others = [
        f"{counts.checked} checked",
        f"{counts.failed} with a check that failed",
        f"{counts.unknown} unknown",
    ]
    return f"{text}; {', '.join(others)}" if counts.turns else text


def _notes(counts: PastCounts) -> list[str]:
    return [_NOTHING, *what_was_left_out(counts)]


def what_was_left_out(counts: PastCounts) -> list[str]:
    """Return what was not read of the stored sessions, a line for each reason."""
    notes = []
    if counts.damaged:
        notes.append(f"{some(counts.damaged, 'line')} could not be read")
    if counts.too_long:
        notes.append(f"{some(counts.too_long, 'line')} over 4 MiB passed over")
    if counts.unreadable:
        notes.append(f"{some(counts.unreadable, 'file')} could not be opened, or were no files")
    if counts.left_out:
        notes.append(f"{some(counts.left_out, 'older session')} left out: there is too much")
    return notes


def some(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
