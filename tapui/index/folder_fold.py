"""What the index remembers of a folder: the fold of its records so far, and its checkpoints."""

import json
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from tapui.index.facts import Open
from tapui.projection.state import State
from tapui.wire.codec import encode
from tapui.wire.subjects import Call
from tapui.wire.tower import Snapshot

CHECKPOINTS = 64
"""States that are kept of one folder at most; beyond that every second one goes."""
CHECKPOINT_BYTES = 2 * 1024 * 1024
"""Bytes of records between two of them at least; more in a large folder."""
MAX_OPEN = 200
"""Calls under way whose arguments are remembered for what they will have changed."""
_OPEN_BYTES = 256 * 1024

_snapshots = msgspec.json.Decoder(Snapshot)
_calls = msgspec.json.Decoder(list[Call])


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The fold of a folder's records up to (`run`, `seq`), which happened at `ts`.

    `offsets` says how far each file was read, by (device, inode): replay goes on from there.
    """

    run: str
    seq: int
    ts: str
    offsets: dict[tuple[int, int], int]
    state: State


class FolderFold:
    """The fold of one folder while its new records are read."""

    def __init__(
        self, number: int, row: tuple[bytes | None, bytes | None, bytes | None, int] | None
    ) -> None:
        self.number = number
        state, open_, facts, self.bytes = row or (None, None, None, 0)
        self.facts = Open.thawed(facts)
        self.state = thawed(state) if state else State()
        self.open: dict[str, Call] = {}
        """Calls under way, with all of their arguments."""
        if open_:
            self.open = {call.id: call for call in _calls.decode(zlib.decompress(open_))}

    def began(self, call: Call) -> None:
        if call.args is None or len(memoryview(call.args)) > _OPEN_BYTES:
            return
        self.open[call.id] = call
        if len(self.open) > MAX_OPEN:
            del self.open[next(iter(self.open))]

    def save(self, connection: sqlite3.Connection) -> None:
        open_ = zlib.compress(encode(list(self.open.values())), 1) if self.open else None
        connection.execute(
            "UPDATE folders SET state = ?, open = ?, facts = ?, bytes = ? WHERE id = ?",
            (frozen(self.state), open_, self.facts.frozen(), self.bytes, self.number),
        )

    def is_due(self, connection: sqlite3.Connection) -> bool:
        """Return whether enough was read since the last checkpoint for another one."""
        (last,) = connection.execute(
            "SELECT coalesce(max(bytes), 0) FROM checkpoints WHERE folder = ?", (self.number,)
        ).fetchone()
        spacing = max(CHECKPOINT_BYTES, self.bytes // (CHECKPOINTS // 2))
        return bool(self.bytes - last >= spacing)

    def check(
        self,
        connection: sqlite3.Connection,
        at: tuple[str, int, str],
        offsets: Mapping[tuple[int, int], int],
    ) -> None:
        """Add a checkpoint of now: after the record `at`, its run, number and time."""
        kept = json.dumps([[*file, offset] for file, offset in offsets.items()])
        connection.execute(
            "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)",
            (self.number, *at, self.bytes, kept, frozen(self.state)),
        )
        (count,) = connection.execute(
            "SELECT count(*) FROM checkpoints WHERE folder = ?", (self.number,)
        ).fetchone()
        if count > CHECKPOINTS:
            connection.execute(
                "DELETE FROM checkpoints WHERE rowid IN (SELECT rowid FROM (SELECT rowid,"
                " row_number() OVER (ORDER BY bytes) AS place FROM checkpoints WHERE folder = ?)"
                " WHERE place % 2 = 1)",
                (self.number,),
            )


def frozen(state: State) -> bytes:
    """Return a state as bytes: what a tower would be sent of it."""
    return zlib.compress(encode(state.snapshot()), 1)


def thawed(data: bytes) -> State:
    """Return a state again. Raises `zlib.error` and `msgspec.DecodeError`."""
    return State.of(_snapshots.decode(zlib.decompress(data)))


def checkpoint_before(
    connection: sqlite3.Connection, folder: str, ts: str | None
) -> Checkpoint | None:
    """Return the last checkpoint of a folder up to `ts` (None: the last of all).

    Raises `sqlite3.Error`, `zlib.error` and `msgspec.DecodeError`.
    """
    found = connection.execute(
        "SELECT run, seq, ts, offsets, c.state FROM checkpoints c JOIN folders f ON f.id = folder"
        " WHERE path = ? AND (? IS NULL OR ts <= ?) ORDER BY c.bytes DESC LIMIT 1",
        (folder, ts, ts),
    ).fetchone()
    if found is None:
        return None
    run, seq, at, offsets, state = found
    places = {(device, inode): offset for device, inode, offset in json.loads(offsets)}
    return Checkpoint(run, seq, at, places, thawed(state))
