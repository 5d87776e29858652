"""Turns of before this run: bounded, also those that others wrote, before those of this run.

An agent can write to the files that they are read from. So nothing but turns comes back.
"""

import re
from calendar import timegm
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from tapui.projection.summary import last_line, one_line
from tapui.projection.turns.session import LOST, LiveTurns
from tapui.projection.turns.turn import LiveStep, LiveTurn
from tapui.projection.turns.usage import added, tokens
from tapui.projection.turns.usage import bounded as bounded_usage
from tapui.wire import limits
from tapui.wire.turns import FileChange, MoreFiles, Step, StepState, Turn, TurnHead, TurnSource

TAPUI_ENDED = "unknown: tapui ended"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\Z")
_MOST = 2**53
_SAME_PROMPT = 5
"""Two turns of the same prompt are one when they begin at most so many seconds apart."""


def interrupted(session: LiveTurns, at: str | None = None) -> None:
    """Nothing more is known of what was under way at `at`, or None: since its newest step."""
    turn = session.latest
    if turn is None:
        return
    at = at or max((step.at for step in turn.all_steps()), default=turn.started_at)
    for step in list(turn.all_steps()):
        if step.is_open:
            step.condense()
            session.end(step, "unknown", at, TAPUI_ENDED)
    turn.end("unknown", at)
    turn.count_wait(at, is_waiting=False)  # calls between turns have no end of their own


def bounded(turns: Iterable[Turn]) -> list[Turn]:
    """Return the newest turns with every field within its bounds, marked as history.

    A turn without a time is left out. Steps of the oldest go where all is too much.
    """
    kept = [_turn(turn) for turn in turns if _TIME.match(turn.head.started_at)]
    kept = kept[-limits.TURNS :]
    room = limits.MAX_RESTORED_BYTES
    for index in reversed(range(len(kept))):
        room -= len(msgspec.json.encode(kept[index]))
        if room < 0:
            kept[index] = Turn(kept[index].head, [], kept[index].head.steps)
            room += len(msgspec.json.encode(kept[index]))
    return kept


def unknown_of(session: LiveTurns, turns: Sequence[Turn]) -> list[Turn]:
    """Return those of the turns that the session does not have: neither one of their calls, nor
    one with their prompt at that time. One that ended for a tapui that ended is returned whole,
    with what is known of it and what the host has."""
    new = []
    for told in turns:
        turn = LiveTurn.of(told)
        begun = _begun(session, turn)
        if begun is not None:
            new += bounded([_completed(begun, turn)])
        elif not _is_known(session, turn):
            new.append(told)
    return new


def restore(session: LiveTurns, turns: Sequence[Turn]) -> None:
    """Put turns before those that the session has, and number all of them anew.

    Those that it has are left out; one that ended for a tapui that ended is replaced. What was
    proven of them is not read from where an agent can write: the ledger's reader tells it again.
    """
    latest, known, new = session.latest, list(session.turns), []
    for turn in map(LiveTurn.of, turns):
        turn.proof = None
        begun = _begun(session, turn)
        if begun is not None and begun in known:
            known.remove(begun)
            latest = turn if begun is latest else latest
            new.append(turn)
        elif not _is_known(session, turn):
            new.append(turn)
    if not new:
        return
    merged = sorted([*new, *known], key=lambda turn: turn.started_at)
    if latest is not None:
        merged.remove(latest)  # what goes on now stays the newest
        merged.append(latest)
        _absorb(merged)
    for number, turn in enumerate(merged, 1):
        _renumber(turn, number)
    session.adopt(merged)


def _is_known(session: LiveTurns, told: LiveTurn) -> bool:
    return any(_is_same(told, one) for one in session.turns if not _is_rest(one))


def _is_rest(turn: LiveTurn) -> bool:
    """Return whether this is the rest of a turn that was under way when its host came."""
    if turn.is_history or turn.ended_at is not None or turn.is_outside:
        return False
    return turn.source.kind == "unknown" and not turn.prompt


def _begun(session: LiveTurns, told: LiveTurn) -> LiveTurn | None:
    """Return the turn that ended for the records with a tapui, and otherwise by its source."""
    same = [one for one in session.turns if not _is_rest(one) and _is_same(told, one)]
    exact = [one for one in same if one.started_at == told.started_at]
    begun = next(reversed(exact or same), None)
    if begun is None or begun.state not in ("unknown", "stopped"):
        return None
    return begun if told.state in ("running", "done", "failed") else None


def _completed(known: LiveTurn, told: LiveTurn) -> Turn:
    """Return a turn with what came after the end of the tapui that recorded it."""
    begun = LiveTurn.of(known.told())
    ended = {id_: step for step in told.all_steps() if (id_ := _call(step)) is not None}
    for step in begun.all_steps():
        end = ended.pop(_call(step) or "", None)
        if end is not None and step.state in LOST and end.state not in LOST:
            for name in ("state", "error", "duration", "exit_code", "added", "removed"):
                setattr(step, name, getattr(end, name))
            begun.count(step.state)
    # A question that was open then is asked again by its host, or was answered meanwhile.
    asked = [step for step in begun.steps if step.kind == "gate" and step.error == TAPUI_ENDED]
    begun.steps = [step for step in begun.steps if step not in asked]
    begun.made -= sum(step.size for step in asked)
    cut = begun.ended_at or begun.started_at
    later = [step for step in told.steps if step.at > cut and _call(step) in {None, *ended}]
    begun.steps = [*begun.steps, *later][-limits.TURN_STEPS :]
    begun.made += sum(step.size for step in later)
    for step in later:
        begun.count(step.state)
    begun.changed([one for path, one in told.files.items() if path not in begun.files])
    if tokens(told.usage) > tokens(begun.usage):
        begun.usage = told.usage
    begun.state, begun.ended_at = told.state, told.ended_at
    return begun.told()


def _absorb(turns: list[LiveTurn]) -> None:
    """Make one of a turn that was under way when its host came, and of its rest."""
    if len(turns) < 2:
        return
    begun, rest = turns[-2], turns[-1]
    if begun.ended_at is not None or begun.is_outside:
        return
    if not (_is_rest(rest) and begun.is_history):
        return
    if not (rest.steps or rest.files or rest.says or tokens(rest.usage)):
        turns.remove(rest)  # nothing of it has come yet: calls of the other may go on
        return
    rest.source, rest.prompt, rest.started_at = begun.source, begun.prompt, begun.started_at
    again = {id_: step for step in rest.steps if (id_ := _call(step)) is not None}
    for at, step in enumerate(begun.steps):
        retold = again.get(_call(step) or "")
        if retold is not None and step.state in LOST:
            rest.steps.remove(retold)
            rest.made -= retold.size
            retold.at, begun.steps[at] = step.at, retold
    rest.steps = [*begun.steps, *rest.steps]
    rest.made += begun.made
    for state, count in begun.counted().items():
        rest.count(state, count)
    rest.usage = added(begun.usage, rest.usage)
    rest.says = rest.says or begun.says
    rest.sent_back += begun.sent_back
    rest.tries = max(rest.tries, begun.tries)
    rest.again = added(begun.again, rest.again)
    newer = list(rest.files.values())
    rest.files = begun.files
    rest.changed_before(begun.more_files)
    rest.changed(newer)
    del turns[-2]


def _renumber(turn: LiveTurn, number: int) -> None:
    turn.number = number
    steps = list(turn.all_steps())
    turn.made = max(turn.made, len(steps))
    for at, step in enumerate(steps, turn.made - len(steps) + 1):
        step.turn, step.number = number, at


def _calls(turn: LiveTurn) -> Iterable[str]:
    for step in turn.all_steps():
        if (id_ := _call(step)) is not None:
            yield id_


def _call(step: LiveStep) -> str | None:
    return step.call.id if step.call is not None else step.call_id


def _is_same(one: LiveTurn, other: LiveTurn) -> bool:
    if not set(_calls(one)).isdisjoint(_calls(other)):
        return True
    if one.prompt != other.prompt:
        return False
    try:
        return abs(_seconds(one.started_at) - _seconds(other.started_at)) <= _SAME_PROMPT
    except (ValueError, OverflowError):
        return False


def _seconds(time: str) -> int:
    """Return a time as whole seconds. Raises `ValueError` for what is none."""
    return timegm(tuple(map(int, re.split("[-T:.]", time)[:6])))


# Bounds


def _turn(turn: Turn) -> Turn:
    listed = turn.steps[-limits.TURN_STEPS :]
    steps = [_step(step, inner=True) for step in listed if _TIME.match(step.at)]
    made = sum(1 + len(step.steps) for step in steps)
    head = _head(turn.head, made)
    return Turn(head, steps, head.steps - made)


def _head(head: TurnHead, made: int) -> TurnHead:
    most = max(_count(head.steps), made)
    return TurnHead(
        number=1,
        session_id=head.session_id[: limits.MAX_ID],
        started_at=head.started_at,
        state=head.state,
        source=TurnSource(head.source.kind, head.source.name[: limits.MAX_NAME]),
        prompt=one_line(head.prompt),
        ended_at=_time(head.ended_at),
        steps=most,
        failed=min(_count(head.failed), most),
        usage=bounded_usage(head.usage),
        files=[_file(one) for one in head.files[-limits.TURN_FILES :]],
        more_files=MoreFiles(
            _count(head.more_files.files),
            _signed(head.more_files.added) or 0,
            _signed(head.more_files.removed) or 0,
        ),
        is_outside=head.is_outside,
        is_history=True,
        says=last_line(head.says),
        sent_back=min(_count(head.sent_back), limits.SUBAGENT_STEPS),
        tries=min(_count(head.tries), limits.SUBAGENT_STEPS),
        again=bounded_usage(head.again),
        undone=head.undone,
        denied=min(_count(head.denied), most),
        cancelled=min(_count(head.cancelled), most),
        stopped=min(_count(head.stopped), most),
        timed_out=min(_count(head.timed_out), most),
    )


def _step(step: Step, *, inner: bool = False) -> Step:
    is_open = step.state in ("running", "waiting")
    state: StepState = "unknown" if is_open else step.state
    steps = step.steps[-limits.SUBAGENT_STEPS :] if inner else []
    return replace(
        step,
        id="0.0",
        state=state,
        duration=_amount(step.duration),
        tool=step.tool[: limits.MAX_NAME],
        provider=step.provider[: limits.MAX_NAME],
        summary=one_line(step.summary),
        exit_code=_signed(step.exit_code),
        added=_signed(step.added),
        removed=_signed(step.removed),
        error=TAPUI_ENDED if is_open else one_line(step.error),
        call_id=_id(step.call_id),
        approval_id=_id(step.approval_id),
        decided_by=_id(step.decided_by),
        rule=one_line(step.rule),
        agent=_id(step.agent),
        usage=None if step.usage is None else bounded_usage(step.usage),
        calls=_count(step.calls),
        steps=[_step(one) for one in steps if _TIME.match(one.at)],
    )


def _file(change: FileChange) -> FileChange:
    path = change.path[: limits.MAX_SUMMARY]
    return FileChange(path, _signed(change.added), _signed(change.removed), change.is_probable)


def _count(value: int) -> int:
    return min(max(value, 0), _MOST)


def _signed(value: int | None) -> int | None:
    return None if value is None else min(max(value, -_MOST), _MOST)


def _amount(value: float | None) -> float | None:
    return None if value is None else min(max(value, 0.0), float(_MOST))


def _id(value: str | None) -> str | None:
    return None if value is None else value[: limits.MAX_ID]


def _time(value: str | None) -> str | None:
    return value if value is not None and _TIME.match(value) else None
