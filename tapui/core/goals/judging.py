"""How the criteria of a goal stand, by what was recorded and by what a look found just now."""

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import NamedTuple

import msgspec

from tapui.core.effects import FileSeen, SurfaceRead, SurfaceWanted
from tapui.core.proof import checks
from tapui.core.proof.deciding import read
from tapui.core.proof.facts import SurfaceSeen
from tapui.core.proof.goal_history import GoalMarks
from tapui.core.proof.verdicts import Judge, named_files
from tapui.core.proof.watching import SessionProof
from tapui.secret import without_begun
from tapui.wire.codec import encode
from tapui.wire.criteria import (
    AnyDemand,
    Called,
    FileIs,
    PersonSays,
    Pointer,
    Ran,
    StreamHas,
    Verdict,
)
from tapui.wire.goals import Goal, GoalCriterion, SurfaceChange
from tapui.wire.message import Line

NOT_WATCHED = "the commands of this session are not watched"
NOT_ANSWERED = "the person has not said so"
NEVER_CALLED = "never called"
NO_MATCH = "the pattern is none, or takes too long"
NO_TIME = "it counts since a time that is none"
CHECK_CHANGED = "what its check does was changed"
_OF_DEMAND = "goal"
_NAMED_FILES, _SHOWN_FILES, _SHOWN_TEXT, _SHOWN_DIFF = 20, 3, 16 * 1024, 2_000


@dataclass(slots=True)
class StreamSeen:
    """The lines of a stream that count, as far as they are in memory, and the number from which on
    they are. `why`: none counts."""

    lines: Sequence[Line] = ()
    first: int = 1
    why: str = ""


@dataclass(slots=True)
class Looks:
    """What was looked at just now for one goal. Files and surfaces by the number of their
    criterion."""

    files: dict[int, FileSeen] = field(default_factory=dict)
    surfaces: dict[int, SurfaceRead] = field(default_factory=dict)
    matched: dict[int, tuple[bool | None, ...]] = field(default_factory=dict)
    """Whether each line of a stream that was in memory matches; None: that took too long."""
    lines: dict[int, StreamSeen] = field(default_factory=dict)
    why: str = ""
    """Why there are none."""


Until = Callable[[str], float | None]
"""Returns the seconds from now to an RFC 3339 time, which may be over; None for another text."""


class JudgedBy(NamedTuple):
    """What verdicts rest on. Without a goal nothing counts since its opening."""

    proof: SessionProof | None
    ignored: Sequence[str]
    goal: Goal | None
    marks: GoalMarks | None
    turn_at: str
    """When the turn under way, or the last one, began; "" before the first."""
    until: Until
    counts: Mapping[str, Mapping[str, int]] = {}
    """How many lines each stream had at the goal's opening and at the turn's beginning ("goal",
    "turn"), of those of this run: the clock may have been set back since."""

    def is_since(self, at: str, then: float) -> bool:
        """Return whether a recorded time is not before another one, as `until` has that."""
        found = self.until(at)
        return found is not None and found >= then


def demand_of(criterion: GoalCriterion) -> AnyDemand:
    """Return what a criterion demands; one without a check asks the person for its text."""
    return criterion.check or PersonSays(text=criterion.text)


def surface_of(check: AnyDemand, folder: str) -> SurfaceWanted | None:
    """Return the files that say what a command checks; None where none are known."""
    if not isinstance(check, Ran):
        return None
    parts = read(check.command).parts
    if len(parts) != 1:
        return None
    globs = checks.surface(parts[0].words, parts[0].files)
    inner = posixpath.join(folder, check.root or "", parts[0].folder)
    return SurfaceWanted(inner, globs) if globs else None


def since_of(after: str | None, by: JudgedBy) -> str | None:
    """Return the time that `goal`, `turn` or a time stands for; None where there is none."""
    opened = by.goal.opened_at if by.goal is not None else None
    if after == _OF_DEMAND:
        return opened
    return (by.turn_at or opened) if after == "turn" else after


def time_fault(demand: AnyDemand, until: Until) -> str:
    """Say which field of a demand is to be a time and is none; "" where there is no such."""
    words: tuple[str, ...] = (_OF_DEMAND, "turn")
    match demand:
        case Ran(after=given) | Called(after=given):
            field, words = "after", ("change", *words)
        case FileIs(modified_since=str(given)):
            field = "modifiedSince"
        case StreamHas(since=str(given)) if _line_number(given) is None:
            field = "since"
        case _:
            return ""
    if given in words or until(given) is not None:
        return ""
    named = ", ".join(words)
    return f"{field}: {named}, or a time of RFC 3339 with its zone, such as 2026-11-20T18:00:00Z"


def _line_number(since: str) -> int | None:
    return int(since[:20]) if since.isascii() and since.isdigit() else None


def verdict_of(
    demand: AnyDemand, at: int, looks: Looks, by: JudgedBy, criterion: str = ""
) -> Verdict:
    """Judge a demand: the one with the number `at` among those that were looked at together.
    `criterion` is the id of the goal's criterion that it is the check of."""
    match demand:
        case Ran():
            return _ran(demand, criterion, looks.surfaces.get(at), by)
        case Called():
            return _called(demand, by)
        case FileIs():
            return _file(demand, looks.files.get(at), looks.why, by)
        case StreamHas():
            return _of_stream(demand, looks.lines.get(at), looks.matched.get(at), by)
        case PersonSays(text=text):
            answer = by.marks.answers.get(text) if by.marks is not None else None
            if answer is None or by.goal is None:
                return Verdict("unknown", NOT_ANSWERED)
            pointer = Pointer("person", f"goal:{by.goal.id}", "recorded")
            said = "" if answer else "the person said that it is not so"
            return Verdict("passed" if answer else "failed", said, [pointer])


# Commands


def _ran(demand: Ran, criterion: str, now: SurfaceRead | None, by: JudgedBy) -> Verdict:
    if by.proof is None:
        return Verdict("unknown", NOT_WATCHED)
    history = by.proof.history
    if by.proof.closed:
        return Verdict("unknown", f"the ledger cannot be written: {by.proof.closed}")
    since, why = _since(demand.after, by)
    if why:
        return Verdict("unknown", why)
    found = Judge(history, by.proof.folder, by.ignored).verdict(demand, since)
    if found.state != "passed" or not criterion or surface_of(demand, "") is None:
        return found
    noted = by.marks.surfaces.get(criterion) if by.marks is not None else None
    if noted is None and history.doubt:
        return Verdict("unknown", history.doubt, found.pointers, "surface")
    doubt = _surface_doubt(noted, now)
    return Verdict("unknown", doubt, found.pointers, "surface") if doubt else found


def _surface_doubt(noted: SurfaceSeen | None, now: SurfaceRead | None) -> str:
    """Say why a check may not do what it was to do; "" where it does. `noted` is that, as it was
    read at the goal's opening, or as the person allowed it since."""
    if noted is None:
        return "what its check does was not noted when the goal was opened"
    if noted.fault:
        return f"what its check does could not be read when the goal was opened: {noted.fault}"
    if now is None:
        return "what its check does was not looked at"
    if now.digest == noted.digest:
        return ""
    if now.fault:
        return f"{CHECK_CHANGED}, perhaps: {now.fault}"
    return f"{CHECK_CHANGED}: {named_files(changed_files(noted.files, now.files))}"


def changed_files(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the files that differ, those of which only the digest is known last."""
    differing = [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]
    return differing or sorted({*before, *after})


def surface_changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[SurfaceChange]:
    """Return how what a check does was changed, for the person to read. A diff that is cut ends in
    `…`; of files that are only named it is empty."""
    found = []
    for at, path in enumerate(changed_files(before, after)[:_NAMED_FILES]):
        old, new = before.get(path, ""), after.get(path, "")
        diff = ""
        if at < _SHOWN_FILES and len(old) + len(new) <= _SHOWN_TEXT:
            lines = unified_diff(old.splitlines(), new.splitlines(), path, path, "", "", 1, "")
            diff = "\n".join(lines)
            if len(diff) > _SHOWN_DIFF:
                diff = f"{without_begun(diff[: _SHOWN_DIFF - 1])}…"
        found.append(SurfaceChange(path, diff))
    return found


def _since(after: str, by: JudgedBy) -> tuple[int, str]:
    """Return the number of the first fact that counts, or why there is none."""
    assert by.proof is not None, "asked only of sessions that are watched"
    history = by.proof.history
    if after in ("", "change"):
        return 0, ""
    if after == _OF_DEMAND:
        return (by.marks.began, "") if by.marks is not None else (0, "the goal is not recorded")
    if after == "turn":
        return history.turn_began, ""
    then = by.until(after)
    if then is None:
        return 0, NO_TIME
    since = history.count + 1
    for command in history.newest():
        if not by.is_since(command.at, then):
            break  # with a clock that was set back, fewer count
        since = command.began
    return since, ""


# Calls


def _called(demand: Called, by: JudgedBy) -> Verdict:
    if by.proof is None:
        return Verdict("unknown", NOT_WATCHED)
    history = by.proof.history
    wanted = _arguments(demand)
    then = by.until(demand.after)
    since, why = (0, "") if then is not None else _since(demand.after, by)
    if why:
        return Verdict("unknown", why)
    for number, told in reversed(history.goals.tools):
        if number < since:
            break
        if told.tool != demand.tool or not wanted.items() <= told.args.items():
            continue
        if then is not None and not by.is_since(told.at, then):
            continue
        pointer = Pointer("call", f"call:{told.call_id}", "recorded", told.at)
        if told.by:
            pointer = msgspec.structs.replace(pointer, provenance="stated")
        said = f"as {told.by} says" if told.by else ""
        if told.is_ok == demand.ok:
            return Verdict("passed", said, [pointer])
        return Verdict("failed", "it failed" if demand.ok else "it did not fail", [pointer])
    if history.doubt:
        return Verdict("unknown", history.doubt)
    return Verdict("unknown", NEVER_CALLED, cause="never")


def _arguments(demand: Called) -> dict[str, str]:
    """Return the arguments that a call is to have, each as JSON."""
    if demand.where is None:
        return {}
    given = msgspec.json.decode(demand.where)
    fields = given if isinstance(given, dict) else {}
    return {str(name): encode(value).decode() for name, value in fields.items()}


# Files


def _file(demand: FileIs, seen: FileSeen | None, why: str, by: JudgedBy) -> Verdict:
    if seen is None:
        return Verdict("unknown", why or "it was not looked at")
    pointer = Pointer("file", demand.path, "observed", sha256=seen.sha256, size=seen.size)
    states = {"pass": "passed", "fail": "failed"}
    state = states.get(seen.status, "unknown")
    reason = seen.reason or _writer(demand.path, by)
    return Verdict(state, reason, [pointer])  # type: ignore[arg-type]


def _writer(path: str, by: JudgedBy) -> str:
    """Say who wrote a file in this turn, as far as that was recorded."""
    if by.proof is None:
        return ""
    absolute = f"{by.proof.folder.rstrip('/')}/{path}"
    written = {path, absolute} & set(by.proof.history.turn_written)
    return "written in this turn" if written else ""


# Streams


def _of_stream(
    demand: StreamHas,
    seen: StreamSeen | None,
    matched: tuple[bool | None, ...] | None,
    by: JudgedBy,
) -> Verdict:
    """Judge lines of a stream: of those that are in memory."""
    if seen is None or seen.why:
        return Verdict("unknown", seen.why if seen is not None else "there is no such stream")
    if demand.since is not None and time_fault(demand, by.until):
        return Verdict("unknown", NO_TIME)
    chosen, is_whole = _lines_since(demand, seen, by)
    if demand.last is not None:
        is_whole = is_whole or len(chosen) >= demand.last
        chosen = chosen[-demand.last :]
    found: list[Line] = []
    for at, line in chosen:
        if demand.level is not None and line.level != demand.level:
            continue
        if demand.not_contains is not None and demand.not_contains in line.event:
            return Verdict("failed", f"line {line.seq} has it", [_pointer(demand.stream, line)])
        if demand.contains is not None and demand.contains not in line.event:
            continue
        if demand.matches is not None:
            fits = matched[at] if matched is not None and at < len(matched) else None
            if fits is None:
                return Verdict("unknown", NO_MATCH)
            if not fits:
                continue
        found.append(line)
    pointers = [_pointer(demand.stream, line) for line in found[-1:]]
    count = len(found)
    if demand.max_count is not None and count > demand.max_count:
        return Verdict("failed", f"{count} lines, at most {demand.max_count} are wanted", pointers)
    if not is_whole and (
        count < demand.min_count or demand.max_count is not None or demand.not_contains is not None
    ):
        return Verdict("unknown", "older lines are no longer in memory", pointers)
    if count < demand.min_count:
        return Verdict("failed", f"{count} lines, {demand.min_count} are wanted", pointers)
    return Verdict("passed", "", pointers)


def _lines_since(
    demand: StreamHas, seen: StreamSeen, by: JudgedBy
) -> tuple[list[tuple[int, Line]], bool]:
    """Return the lines that count, with their numbers among those in memory, and whether that
    are all."""
    numbered = list(enumerate(seen.lines))
    first = seen.first
    number = _line_number(demand.since) if demand.since is not None else None
    if number is not None:
        return [one for one in numbered if one[1].seq >= number], first <= max(number, 1)
    since = since_of(demand.since, by)
    then = by.until(since) if since is not None else None
    if then is None:
        return numbered, first <= 1
    is_whole = first <= 1 or (bool(numbered) and not by.is_since(numbered[0][1].ts, then))
    counts = by.counts.get(demand.since or "")
    before = counts.get(demand.stream, 0) if counts is not None else 0
    if counts is not None:
        return [one for one in numbered if one[1].seq > before], is_whole or first <= before + 1
    return [one for one in numbered if by.is_since(one[1].ts, then)], is_whole


def _pointer(stream: str, line: Line) -> Pointer:
    return Pointer("stream", f"{stream}#{line.seq}", "stated", line.ts, seq=line.seq)
