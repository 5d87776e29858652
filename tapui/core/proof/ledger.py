"""The ledger of a session: facts in order, each with a hash over all before it.

Records lie in the workspace, where an agent can write; so they prove nothing. The ledger lies in
the state folder, and the gateway holds its newest hash in memory: what something else changes in
the file while tapui runs is noticed. A process of the same user that forges the whole file between
two runs is not (see THREATS.md).
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tapui.core.proof.facts import (
    AnyFact,
    FindingStood,
    FolderSeen,
    GoalStood,
    NoteLeft,
    NoteStood,
    SeenByPerson,
    SessionJudged,
    SurfaceSeen,
    ToolsStood,
    TurnEnded,
    TurnJudged,
    WatchBegan,
)
from tapui.wire import limits
from tapui.wire.criteria import SessionStanding, TurnProof

_BEGINNING = "tapui-ledger-1"
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyFact)
_HASH_LENGTH = 64


class LedgerRead(NamedTuple):
    """A ledger as it was read back: its facts up to the first line that does not follow."""

    facts: list[AnyFact]
    last: str
    """The hash of the last of them."""
    fault: str = ""
    """Why the rest is not believed."""


class ProofLedger:
    """Hashes the facts of one session as they are added. `last` is the newest hash."""

    def __init__(self, session_id: str, last: str = "") -> None:
        self.last = last or _first(session_id)

    def line(self, fact: AnyFact) -> bytes:
        """Return the line of the next fact: its hash, a blank, the fact as JSON, a newline."""
        body = _encoder.encode(fact)
        self.last = _next(self.last, body)
        return self.last.encode() + b" " + body + b"\n"


def read(session_id: str, data: bytes) -> LedgerRead:
    """Read a ledger back. It never raises: what does not follow is left out, with all behind it.

    A last line without its newline was being written when tapui ended: it is no fault.
    """
    last = _first(session_id)
    facts: list[AnyFact] = []
    for number, line in enumerate(_whole_lines(data), 1):
        given, body = line[:_HASH_LENGTH], line[_HASH_LENGTH + 1 :]
        following = _next(last, body)
        if given != following.encode() or line[_HASH_LENGTH : _HASH_LENGTH + 1] != b" ":
            return LedgerRead(facts, last, f"line {number} was changed outside of tapui")
        try:
            facts.append(_decoder.decode(body))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return LedgerRead(facts, last, f"line {number} is of another version of tapui")
        last = following
    return LedgerRead(facts, last)


class LedgerAccount(NamedTuple):
    """What the facts of a session that has ended show."""

    lines: dict[str, TurnProof | None]
    """What was shown of its turns that changed files, by their beginning."""
    standing: SessionStanding | None
    """How it stood last; None also where anything happened after that."""


def account(facts: Iterable[AnyFact]) -> LedgerAccount:
    """Return what was shown last, as the facts have it."""
    lines: dict[str, TurnProof | None] = {}
    standing: SessionStanding | None = None
    for told in facts:
        match told:
            case TurnJudged(started_at=started_at, proof=proof):
                lines[started_at] = proof
            case SessionJudged(standing=standing):
                pass
            case TurnEnded() | FolderSeen(is_same=True):
                pass
            case GoalStood() | SurfaceSeen() | ToolsStood():
                pass
            case SeenByPerson() | NoteStood() | NoteLeft() | FindingStood():
                pass
            case WatchBegan(why=""):
                pass  # another run of tapui that has seen nothing since
            case _:
                standing = None
    return LedgerAccount(lines, standing)


def _whole_lines(data: bytes) -> Iterable[bytes]:
    return data.split(b"\n")[:-1]


def _first(session_id: str) -> str:
    return hashlib.sha256(f"{_BEGINNING} {session_id[: limits.MAX_ID]}".encode()).hexdigest()


def _next(last: str, body: bytes) -> str:
    return hashlib.sha256(last.encode() + body).hexdigest()
