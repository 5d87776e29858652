"""What came of a call that was made here, in words."""

from collections.abc import Iterable

from msgspec import UNSET

from tapui import times
from tapui.tower import marks
from tapui.tower.bodies import json_body
from tapui.tower.columns import Cell, Column, Row
from tapui.tower.reader import Paragraph, title, value
from tapui.tower.workbench.calls_made import Made

COLUMNS = (
    Column("made here", 9, 9),
    Column("", 9, 14),
    Column("", 5, 8, right=True),
    Column("", 8, grows=True),
)
"""Of the list of calls."""
_MARKS: dict[str, marks.Mark] = {
    **{state: marks.CALL[state] for state in ("running", "done", "failed", "cancelled")},
    "lost": marks.Mark("✗", "lost", "error"),
}
_NONE = marks.Mark("○", "not called yet", "muted")


def mark_of(made: Made | None) -> marks.Mark:
    """Return how a call looks; None is that there is none."""
    return _NONE if made is None else _MARKS[made.state]


def lasted(made: Made, now: float) -> str:
    """Return how long a call took, or runs."""
    if made.state == "running":
        return times.lasting(max(now - made.began, 0.0))
    return times.span(made.took)


def row_of(made: Made, now: float) -> Row:
    """Return a call's line in the list."""
    mark = mark_of(made)
    return Row(
        made.id,
        (
            Cell(times.clock(made.began), "muted"),
            Cell(mark.word, mark.tone, mark.glyph, mark.tone),
            Cell(lasted(made, now)),
            Cell(made.about, "muted"),
        ),
    )


def paragraphs(made: Made | None) -> Iterable[Paragraph]:
    """Yield what came of a call until now."""
    if made is None:
        yield Paragraph("What comes of a call is shown here.", "muted")
        return
    if made.state == "running":
        yield from [title("progress"), value(made.progress)] if made.progress else ()
        yield Paragraph("No answer yet.", "muted")
        return
    outcome = made.outcome
    if made.state == "lost":
        yield Paragraph("The link to the gateway broke before the answer came.", "error")
    elif outcome is None:
        yield Paragraph("Its result is no longer kept here; the records have it.", "muted")
    elif outcome.error is not None or outcome.error_code is not None:
        yield title(f"error {outcome.error_code or ''}".rstrip())
        yield value(outcome.error or "", "error")
    elif outcome.file is not None:
        file = outcome.file
        yield title("result, in a file")
        yield value(
            f"{file.path}\n{file.mime_type}, {file.size:,} bytes\n{file.note or ''}".rstrip()
        )
    else:
        yield title("result")
        yield value("null" if outcome.data is UNSET else json_body(outcome.data).text)
    for text in (outcome.context if outcome is not None else None) or ():
        yield Paragraph("")
        yield title("added by rules and gates")
        yield value(text)
