"""What was recorded of a session's turns, for others to see: a page of Markdown, or JSON."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tapui.projection.approvals import by_whom
from tapui.projection.proof import SessionRecord, has_changed_files, is_proven, proof_line
from tapui.projection.summary import within
from tapui.projection.turns.turn import LiveTurn
from tapui.wire.criteria import SessionStanding, TurnProof
from tapui.wire.message import WireStruct
from tapui.wire.turns import FileChange, Step, Turn

LIVE = "recorded by tapui on this machine"
FROM_LEDGER = (
    "checks recorded by tapui on this machine; prompts, files and approvals as the session's "
    "records say, which its agent could have changed"
)
FROM_RECORDS = "as the session's records say, which its agent could have changed: it proves nothing"
"""Where a report is from."""
MOST_LINES = 30
"""Lines of a page: what a pull request's reader reads."""
_MOST_TURNS = 12
_MOST_CHECKS = 7
_MOST_ALLOWED = 5
_PROMPT = 80
_MARKS = re.compile(r"([\\`*_\[\]<>|#~&])")
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")


class ReportedCheck(WireStruct):
    """A run of a check that a line rests on. `turn`: the first whose line does."""

    turn: int
    command: str
    at: str
    exit_code: int | None = None
    call: str | None = None
    tests: str = ""
    by: str = "agent"
    is_last: bool = False
    """Whether nothing was changed after it, as far as that line goes."""


class ReportedTurn(WireStruct):
    """A turn that changed files, with the line that its end showed."""

    number: int
    prompt: str
    files: list[FileChange]
    more_files: int
    is_proven: bool
    recorded: str


class ProofReport(WireStruct):
    """The report of a session. `source` says where it is from, and how far that is believed."""

    session: str
    source: str
    is_proven: bool
    standing: str
    """How the session stands by its newest checks."""
    turns: list[ReportedTurn]
    checks: list[ReportedCheck]
    allowed: dict[str, int]
    """How many calls were allowed, by who allowed them."""
    earlier_turns: int = 0
    """How many more turns changed files, of which no more is kept."""


class ReportSource(NamedTuple):
    """What a report is made for: a session by its name in words, its folder, where it is from."""

    name: str
    folder: str
    words: str


def report(
    source: ReportSource,
    turns: Sequence[Turn],
    record: SessionRecord | None,
    standing: SessionStanding | None,
    clock: Callable[[str], str],
) -> ProofReport:
    """Report the turns that changed files. All is proven where the session is checked, and no turn
    is left that was not. `record`: how it stands; None while it does not rest."""
    unproven = standing.unproven if standing is not None else 0
    is_checked = record is not None and record.mark == "checked" and not unproven
    live = map(LiveTurn.of, turns)
    changed = [turn for turn in live if has_changed_files(turn) or turn.proof is not None]
    told = [_turn(turn, source.folder, clock, is_checked=is_checked) for turn in changed]
    proofs = [(turn.head.number, turn.head.proof) for turn in turns]
    if record is not None:
        proofs.append((record.turn.number, record.proof))
    allowed = Counter(
        step.rule or by_whom(step.decided_by)
        for turn in turns
        for step in _steps(turn.steps)
        if step.decided_by and step.kind == "call" and step.state in ("done", "failed")
    )
    counted = sum(turn.proof is not None or turn.is_history for turn in changed)
    left = standing.turns - counted if standing is not None else 0
    return ProofReport(
        source.name,
        source.words,
        is_checked,
        _stands(record, standing, clock),
        told,
        list(_checks(proofs)),
        dict(allowed.most_common()),
        max(left, 0),
    )


def _stands(
    record: SessionRecord | None, standing: SessionStanding | None, clock: Callable[[str], str]
) -> str:
    if record is None:
        return "not known: the session does not rest, or nothing was recorded of it"
    if record.proof is None or standing is None:
        return "not known: no check is known, or the folder was not looked at since the last turn"
    line = proof_line(record.proof, clock)
    if not standing.unproven or (standing.turns == 1 and record.proof.state != "checked"):
        return line
    were = "was" if standing.unproven == 1 else "were"
    return f"{line}; {standing.unproven} of {standing.turns} turns {were} never checked"


def _turn(
    turn: LiveTurn, folder: str, clock: Callable[[str], str], *, is_checked: bool
) -> ReportedTurn:
    proof = turn.proof
    files = [
        FileChange(within(one.path, folder), one.added, one.removed, one.is_probable)
        for one in turn.files.values()
    ]
    nothing = "no file that counts for a check" if is_checked else "nothing"
    return ReportedTurn(
        turn.number,
        turn.prompt,
        files,
        turn.more_files.files,
        is_proven(proof) or (proof is None and is_checked),
        proof_line(proof, clock) if proof is not None else nothing,
    )


def _checks(proofs: Iterable[tuple[int, TurnProof | None]]) -> Iterator[ReportedCheck]:
    """Return the runs that lines rest on, each once."""
    seen: dict[tuple[str, str], ReportedCheck] = {}
    for turn, proof in proofs:
        for one in proof.runs if proof is not None else ():
            is_last = proof is not None and proof.state == "checked"
            seen.setdefault(
                (one.at, one.command),
                ReportedCheck(
                    turn, one.command, one.at, one.exit_code, one.call, one.tests, one.by, is_last
                ),
            )
    yield from sorted(seen.values(), key=lambda one: one.at)


def _steps(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        yield from _steps(step.steps)


# Markdown


def as_markdown(told: ProofReport, clock: Callable[[str], str]) -> list[str]:
    """Return the report as Markdown, at most `MOST_LINES`. No text of an agent's formats it."""
    lines = [f"### What was recorded: {plain(told.session)}", ""]
    if not (told.turns or told.earlier_turns):
        return [*lines, "No turn changed a file.", "", f"*{plain(told.source)}*"]
    lines += [f"**{plain(told.standing)}**", ""]
    lines += ["| turn | asked | files | recorded |", "|---|---|---|---|"]
    left_out = max(len(told.turns) - _MOST_TURNS, 0) + told.earlier_turns
    for turn in told.turns[-_MOST_TURNS:]:
        asked = plain(turn.prompt, _PROMPT)
        lines.append(
            f"| {turn.number} | {asked} | {plain(_files(turn))} | {plain(turn.recorded)} |"
        )
    if left_out > 0:
        lines.append(f"| … | {left_out} earlier turns that changed files | | |")
    lines.append("")
    lines += [_check(one, clock) for one in told.checks[-_MOST_CHECKS:]]
    if told.allowed:
        first = list(told.allowed.items())[:_MOST_ALLOWED]
        lines.append("- allowed: " + ", ".join(f"{plain(who)} {count}×" for who, count in first))
    lines += ["", f"*{plain(told.source)}*"]
    return lines[:MOST_LINES]


def _check(one: ReportedCheck, clock: Callable[[str], str]) -> str:
    code = "its exit code is not known" if one.exit_code is None else f"exit {one.exit_code}"
    last = "after the last change" if one.is_last else ""
    by = "run by you" if one.by == "person" else f"in turn {one.turn}"
    told = filter(None, [code, plain(one.tests), clock(one.at), last, by])
    return f"- {plain(one.command)}: {', '.join(told)}"


def _files(turn: ReportedTurn) -> str:
    count = len(turn.files) + turn.more_files
    if not count:
        return "changed by commands"
    what = turn.files[0].path if count == 1 and turn.files else f"{count} files"
    added = sum(one.added or 0 for one in turn.files)
    removed = sum(one.removed or 0 for one in turn.files)
    return f"{what} +{added} −{removed}" if added or removed else what


def plain(text: str, most: int = 300) -> str:
    """Return a text that Markdown shows as it stands, on one line."""
    text = _BLANKS.sub(" ", text).strip()
    if len(text) > most:
        text = text[: most - 1] + "…"
    return _MARKS.sub(r"\\\1", text)
