"""What the record shows of turns and sessions: their marks and their words.

Here as everywhere in the projection nothing is made safe yet.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from tapui.projection.state import WAITS_FOR_SHELL, State, activity, is_local, is_open, is_waiting
from tapui.projection.summary import one_line
from tapui.projection.turns.session import LiveTurns
from tapui.projection.turns.turn import LiveTurn
from tapui.wire.criteria import TurnProof
from tapui.wire.subjects import Session

ProofMark = Literal["checked", "failed", "unchecked", "unknown"]
"""`unknown`: files were changed, and there is nothing to say whether that was checked."""

SIGNS: dict[ProofMark, str] = {"checked": "✓", "failed": "✗", "unchecked": "○", "unknown": ""}
WORDS: dict[ProofMark, str] = {
    "checked": "checked",
    "failed": "check failed",
    "unchecked": "unchecked",
    "unknown": "done",
}
FROM_BEFORE = "unknown: from before tapui watched"
NOT_COUNTED = "nothing: no file that counts for a check, or the folder was not looked at yet"
NOT_LOOKED_AT = "not known: the folder was not looked at since the last turn"


class SessionRecord(NamedTuple):
    """How a session stands: by all of its changes, and by the newest runs of its checks.

    `turn` is the newest turn that is in it. `proof`: what shows it; None for `unknown`.
    """

    mark: ProofMark
    turn: LiveTurn
    proof: TurnProof | None = None

    @property
    def word(self) -> str:
        """Return `done ✓`, `done ✗`, `done ○` or `done`."""
        return f"done {SIGNS[self.mark]}".rstrip()


def has_changed_files(turn: LiveTurn) -> bool:
    return bool(turn.files or turn.more_files.files)


def record_of(state: State, session: Session) -> SessionRecord | None:
    """Return how the record of a session stands; None while it does not rest, and where none of its
    turns changed a file."""
    turns = state.turns.get(session.id)
    if turns is None or session.state != "idle" or is_local(session):
        return None
    return None if is_at_work(state, session) else newest_record(turns)


def is_at_work(state: State, session: Session) -> bool:
    """Return whether a turn of a session is under way, or a subagent, also where its host has not
    said so: a prompt comes before that."""
    turns = state.turns.get(session.id)
    is_in_turn = turns is not None and turns.running is not None
    return (
        session.state == "busy"
        or is_in_turn
        or any(one.state == "running" for one in session.subagents)
    )


def is_asking(state: State, session: Session) -> bool:
    """Return whether a request of a session waits for the person."""
    requests = state.approvals.values()
    return any(one.session_id == session.id and is_waiting(one) for one in requests)


def newest_record(turns: LiveTurns) -> SessionRecord | None:
    """Return how a session stands; None where no turn changed a file.

    What was checked is so only up to the turn at whose end the folder was looked at: how a session
    stands comes a moment after a turn's end, and the ✓ before may be of other files.
    """
    standing = turns.standing
    if standing is None:
        changed = next((one for one in reversed(turns.turns) if has_changed_files(one)), None)
        if changed is None and turns.has_changed:
            changed = turns.latest  # by commands, or in a turn that is kept no longer
        return None if changed is None else SessionRecord("unknown", changed)
    turn: LiveTurn | None = None
    newer: LiveTurn | None = None
    for one in reversed(turns.turns):
        if one.started_at == standing.after:
            turn = one
            break
        newer = newer or (one if _may_change(one) else None)
    turn = turn or newer or turns.latest
    if turn is None:
        return None
    if newer is not None and standing.proof.state == "checked":
        return SessionRecord("unknown", newer)
    return SessionRecord(standing.proof.state, turn, standing.proof)


def _may_change(turn: LiveTurn) -> bool:
    """Return whether a turn has changed files, or may have at its end."""
    is_over = turn.ended_at is not None and not turn.is_outside
    return is_over or has_changed_files(turn)


def turn_mark(turn: LiveTurn) -> ProofMark | None:
    """Return the mark of a turn that ended well; None for another one, and where it changed no
    file."""
    if turn.told_state()[0] != "done":
        return None
    if turn.proof is not None:
        return proof_mark(turn.proof)
    return "unknown" if has_changed_files(turn) and not turn.is_outside else None


def proof_mark(proof: TurnProof) -> ProofMark:
    return "checked" if proof.checked_in is not None else proof.state


def is_proven(proof: TurnProof | None) -> bool:
    """Return whether what a turn changed was checked, at its end or later."""
    return proof is not None and proof_mark(proof) == "checked"


def activity_word(state: State, session: Session) -> str:
    """Return what a session is at in a word or two: `busy`, `idle`, `done ○` …"""
    if is_open(session) and not session.silent and is_asking(state, session):
        return "asks you"
    record = record_of(state, session)
    if record is not None and not session.silent:
        return record.word
    word = activity(session)
    is_resting = word in ("idle", WAITS_FOR_SHELL)
    return "busy" if is_resting and is_at_work(state, session) else word


def waits_for_shell(state: State, session: Session) -> bool:
    """Return whether a session waits for commands in the background, and its agent rests."""
    return activity(session) == WAITS_FOR_SHELL and not is_at_work(state, session)


def unchecked_sessions(state: State) -> list[Session]:
    """Return the open sessions that changed files and rest unchecked, the newest to rest first."""
    found: list[Session] = []
    for session in state.sessions.values():
        if session.state == "idle" and is_open(session):
            record = record_of(state, session)
            if record is not None and record.mark == "unchecked":
                found.append(session)
    return sorted(found, key=lambda one: _rested_at(state, one), reverse=True)


def _rested_at(state: State, session: Session) -> str:
    turns = state.turns.get(session.id)
    latest = None if turns is None else turns.latest
    return "" if latest is None else latest.ended_at or ""


def proof_line(proof: TurnProof, clock: Callable[[str], str]) -> str:
    """Return the line of a turn: `○ unchecked: 3 files changed since pytest passed, 19:41 · checked
    in 13`. `clock` shows a time as the person reads it."""
    text = one_line(proof.text)
    if proof.state == "unchecked" and text.endswith((" passed", " failed")):
        ran = next((one.ts for one in proof.pointers if one.kind == "command"), None)
        text += f", {clock(ran)}" if ran else ""
    line = f"{SIGNS[proof.state]} {WORDS[proof.state]}: {text}"
    return line if proof.checked_in is None else f"{line} · checked in {proof.checked_in}"


def recorded_words(
    turns: LiveTurns, turn: LiveTurn, clock: Callable[[str], str], names: str
) -> str | None:
    """Return what is recorded of a turn that ended: its line, or why there is none; None while it
    goes on, and where it changed no file. `names`: the keys that name a check."""
    if turn.proof is not None:
        return proof_line(turn.proof, clock)
    if turn.told_state()[1] is None or turn.is_outside or not has_changed_files(turn):
        return None
    if turn.is_history:
        return FROM_BEFORE
    return no_check_words(names) if _proved(turns) is None else NOT_COUNTED


def no_check_words(names: str) -> str:
    return f"no check known here; {names} names one"


def session_recorded_words(turns: LiveTurns, clock: Callable[[str], str], names: str) -> str | None:
    """Return what is recorded of a session, as `recorded_words` does of a turn."""
    record = newest_record(turns) if turns.running is None else None
    if record is None:
        return None
    if record.proof is not None:
        return proof_line(record.proof, clock)
    if turns.standing is not None:
        return NOT_LOOKED_AT
    if not has_changed_files(record.turn):
        return no_check_words(names)
    return recorded_words(turns, record.turn, clock, names)


def _proved(turns: LiveTurns) -> LiveTurn | None:
    """Return the newest turn with a proof: a check is known then."""
    return next((one for one in reversed(turns.turns) if one.proof is not None), None)


def says_words(turn: LiveTurn | None) -> str | None:
    """Return the end of the agent's last message in a turn, quoted; None for none."""
    return f"“{turn.says}”" if turn is not None and turn.says else None


def told_record(record: SessionRecord | None) -> dict[str, Any] | None:
    """Return a session's record as JSON has it. `state` is `unknown` where files were changed and
    no check is known, or the folder was not looked at yet."""
    if record is None:
        return None
    proof, own = record.proof, record.turn.proof
    return {
        "state": record.mark,
        "turn": record.turn.number,
        "text": one_line(proof.text) if proof is not None else None,
        "checkedIn": own.checked_in if own is not None else None,
    }


def told_records(state: State) -> dict[str, Any]:
    """Return the records of the sessions that rest, by their ids, as JSON has them."""
    told = {id_: told_record(record_of(state, one)) for id_, one in state.sessions.items()}
    return {id_: one for id_, one in told.items() if one is not None}
