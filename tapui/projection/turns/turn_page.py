"""A turn as a page of Markdown: prompt, says and recorded, files, steps."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tapui.projection.proof import proof_line
from tapui.projection.proof_report import plain
from tapui.projection.summary import within
from tapui.projection.words import ENDED, source_words
from tapui.wire.turns import FileChange, Step, Turn

_TEXT = 4_000
_STEP = 200
_MOST_STEPS = 500
_WORDS: dict[str, str] = {
    "running": "runs",
    "waiting": "waits for you",
    "unknown": "not known",
    **{str(state): words for state, words in ENDED.items()},
}


class PageTimes(NamedTuple):
    """How a page shows a moment (RFC 3339), and seconds."""

    clock: Callable[[str], str]
    lasting: Callable[[float], str]


def as_markdown(turn: Turn, name: str, folder: str, shown: PageTimes) -> list[str]:
    """Return the page of a turn of the session `name`. No text of an agent's formats it."""
    head, clock = turn.head, shown.clock
    end = "goes on" if head.ended_at is None else f"ended {clock(head.ended_at)}"
    lines = [
        f"### Turn {head.number} of {plain(name)}",
        "",
        f"{_state(head.state)}; began {clock(head.started_at)}, {end}",
        "",
        f"> {plain(source_words(head.source))}: {plain(head.prompt, _TEXT) or '(no prompt)'}",
        "",
    ]
    if head.says:
        lines.append(f"- says: “{plain(head.says, _TEXT)}”")
    if head.proof is not None:
        lines.append(f"- recorded: {plain(proof_line(head.proof, clock), _TEXT)}")
    lines += [f"- changed: {_file(one, folder)}" for one in head.files]
    if head.more_files.files:
        lines.append(f"- changed: {head.more_files.files} files before these")
    if usage := head.usage:
        lines.append(f"- used: {usage.input:,} tokens in, {usage.output:,} out")
    return [*lines, *_table(turn, shown)]


def _table(turn: Turn, shown: PageTimes) -> list[str]:
    rows = list(_rows(turn.steps, "", shown))
    if not rows:
        return []
    left_out = turn.dropped + max(len(rows) - _MOST_STEPS, 0)
    earlier = [f"| … | {left_out:,} earlier steps | | |"] if left_out else []
    return ["", "| step | | state | time |", "|---|---|---|---|", *earlier, *rows[-_MOST_STEPS:]]


def _rows(steps: Sequence[Step], indent: str, shown: PageTimes) -> Iterator[str]:
    for one in steps:
        code = f", exit {one.exit_code}" if one.exit_code is not None else ""
        by = f", by {one.rule or one.decided_by}" if one.decided_by else ""
        time = shown.lasting(one.duration / 1000) if one.duration is not None else ""
        cells = (f"{indent}{one.tool or one.kind}", one.summary, f"{_state(one.state)}{code}{by}")
        yield f"| {' | '.join(plain(cell, _STEP) for cell in cells)} | {time} |"
        yield from _rows(one.steps, "└ ", shown)


def _state(state: str) -> str:
    return _WORDS.get(state, state)


def _file(change: FileChange, folder: str) -> str:
    counts = [f"+{change.added}"] if change.added else []
    counts += [f"−{change.removed}"] if change.removed else []
    probably = ["(probably)"] if change.is_probable else []
    return plain(" ".join((within(change.path, folder), *counts, *probably)))
