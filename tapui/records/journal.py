"""The journal: the events of one event-loop turn, one line each, one write a file."""

import errno
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from tapui import invocation
from tapui.files.locked_folder import make_path
from tapui.records import register
from tapui.records.masking import Masks
from tapui.records.open_files import MAX_OPEN_FILES, OpenFiles, Trouble, shown
from tapui.records.record_file import AppendError, Handle, RecordFile
from tapui.records.register import Place
from tapui.records.syncer import Report, Syncer
from tapui.settings.settings import Records
from tapui.text import safe_text
from tapui.wire.events import (
    COLLECTIONS,
    EVENTS,
    AnyEvent,
    CallFinished,
    Entry,
    SessionClosed,
    SessionOpened,
    SessionReplaced,
    SessionUpdated,
)

_log = logging.getLogger(__name__)

_ENDED_SESSIONS = 64
_TURNS = 1024
_LF, _CR = b"\n\r"
_PASSING = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO, errno.EFBIG}

_COLLECTION_OF: dict[type, str] = {
    kind: COLLECTIONS[str(kind.__struct_config__.tag).partition(".")[0]] for kind in EVENTS
}
_LIFE = {SessionOpened, SessionUpdated, SessionReplaced, SessionClosed}


class Journal:
    """Writes events as records below `state_dir` and into the workspaces of sessions.

    `run` names this gateway's life in every line. `report` takes lines for the person: a torn
    tail that was cut, a folder that could not be used, a disk that is full and when it works
    again; it is also called on the journal's own thread. `masks` takes secrets out of what is
    written (None: those of known forms); `syncer` makes it durable. `write`, `register` and
    `close` belong to one thread. No method raises for the disk's sake: what could not be written
    is returned.
    """

    def __init__(
        self,
        state_dir: Path,
        run: str,
        limits: Records,
        report: Report,
        *,
        masks: Masks | None = None,
        clock: Callable[[], float] = time.monotonic,
        syncer: Syncer | None = None,
        most_open: int = MAX_OPEN_FILES,
    ) -> None:
        self.state_dir = self._state_dir = state_dir.absolute()
        self.run = run
        self._head = f'{{"v":1,"run":{msgspec.json.encode(run).decode()},"seq":'
        self._report = report
        self._masks = masks or Masks()
        self._syncer = syncer or Syncer(report)
        self._gateway = Place.of_gateway(self._state_dir)
        self._places: dict[str, Place] = {}
        self._ended: set[str] = set()
        """Sessions whose files close at the end of the turn."""
        self._gone: dict[str, None] = {}
        """Ended sessions that late records may still name."""
        self._turn = 0
        self._turns: deque[tuple[int, int, frozenset[int], list[Handle]]] = deque(maxlen=_TURNS)
        self._trouble = Trouble(report, clock)
        self._files = OpenFiles(limits, self._syncer, self._trouble, report, most_open)
        self._closed = False

    # The turn

    @property
    def turns(self) -> int:
        return self._turn

    @property
    def has_trouble(self) -> bool:
        return bool(self._trouble)

    def write(self, entries: Sequence[tuple[Entry, bytes]]) -> frozenset[int]:
        """Append one turn's events, in order; return the `seq`s that could not be recorded.

        Each comes with its encoded JSON body. When this returns, what was written survives the
        end of the process; `sync()` makes it survive a power cut.
        """
        if not entries:
            return frozenset()
        if self._closed:
            return frozenset(entry.seq for entry, _ in entries)
        self._turn += 1
        turn, head, routes = self._turn, self._head, self._files.routes
        failed: list[int] = []
        files: list[RecordFile] = []
        for entry, body in entries:
            event = entry.event
            kind = type(event)
            session_id = getattr(event, "session_id", None)
            try:
                if kind in _LIFE:
                    self._follow(event)
                file = routes.get((session_id, kind)) or self._locate(session_id, kind)
                if _LF in body or _CR in body:
                    body = msgspec.json.format(body, indent=-1)  # noqa: PLW2901
            except Exception as error:  # noqa: BLE001 - logged and told; it costs this record only
                self._fault(self._gateway.path, f"record {entry.seq} ({kind.__name__})", error)
                file = None
            if file is None:
                failed.append(entry.seq)
                continue
            pending = file.pending
            if not pending:
                file.used = turn
                files.append(file)
            pending += (f'{head}{entry.seq},"ts":"{entry.ts}",'.encode(), body[1:], b"\n")
        handles: list[Handle] = []
        for file in files:
            data = b"".join(file.pending)
            file.pending.clear()
            try:
                data = self._masks.masked(data)
                kept = self._append(file, data, handles)
            except Exception as error:  # noqa: BLE001 - logged and told; the other files are written
                self._fault(file.path, f"an append of {len(data):,} bytes", error)
                kept = 0
            if kept is not None:
                failed += self._seqs(data)[kept:]
        lost = frozenset(failed)
        self._trouble.lost += len(lost)
        self._turns.append((entries[0][0].seq, entries[-1][0].seq, lost, handles))
        if self._ended:
            self._release_ended()
        return lost

    def _fault(self, path: Path, about: str, error: Exception) -> None:
        """A fault of ours, none of the disk's: log it, and tell it like the disk's."""
        _log.exception("%s could not be written to %s", about, shown(path))
        self._trouble.fail(path, OSError(errno.EIO, f"internal error: {error}"))

    def _append(self, file: RecordFile, data: bytes, handles: list[Handle]) -> int | None:
        """Append to the file or its successor; return None, or how many records are in it."""
        if file.handle.stale is not None:
            file.folder.named.clear()
            self._files.close_folder(file.folder.path)
        if file.handle.retired:
            successor = self._locate(*file.key)
            if successor is None:
                return 0
            file = successor
        kept = None
        try:
            if file.size and file.size + len(data) > file.rotate_at:
                self._files.rotate(file)
            file.append(data)
        except AppendError as error:
            self._trouble.fail(file.path, error.error)
            kept = error.kept
        except OSError as error:
            self._trouble.fail(file.path, error)
            return 0
        else:
            if self._trouble:
                self._trouble.works(file.path)
        handle = file.handle
        handles.append(handle)
        if not handle.dirty:
            handle.dirty = True
            self._syncer.touch(handle)
        return kept

    def _seqs(self, data: bytes) -> list[int]:
        start = len(self._head.encode())
        return [int(line[start : line.index(b",", start)]) for line in data.split(b"\n")[:-1]]

    # Durability

    def sync(self, seqs: frozenset[int] | None, done: Callable[[bool], None]) -> None:
        """Put the files of the records `seqs` (None: all files) on the disk, then call `done`.

        `done` is called on the journal's thread (at once, after `close()`) with whether all those
        records were written and are safe. Everything else follows within 100 ms by itself.
        """
        if self._closed:
            done(False)
            return
        if seqs is None:
            self._syncer.request(None, True, done)
            return
        open_ = set(seqs)
        handles: dict[Handle, None] = {}
        ok = True
        for low, high, lost, touched in reversed(self._turns):
            if not open_:
                break
            if here := {seq for seq in open_ if low <= seq <= high}:
                open_ -= here
                ok = ok and not here & lost
                handles.update(dict.fromkeys(touched))
        self._syncer.request(handles, ok and not open_, done)

    def close(self, timeout: float) -> bool:
        """Sync and close all files and let the locks go; return whether all that was in time.

        Further writes return all their `seq`s.
        """
        if self._closed:
            return True
        self._closed = True
        self._files.close()
        in_time = self._syncer.close(timeout)
        if not in_time:
            self._report(f"The last records were not on the disk after {timeout:g} s", "error")
        return in_time

    # Places

    def register(self, session_id: str, workspace: str | None) -> None:
        """Tell where a session's records go. `write()` does so for every session that opens."""
        place = Place.of_session(self._state_dir, session_id, workspace)
        known = self._places.get(session_id)
        self._gone.pop(session_id, None)
        self._ended.discard(session_id)
        if known is None or known.candidates[0].path != place.candidates[0].path:
            self._places[session_id] = place
            self._files.forget_routes(session_id)

    def folder_of(self, session_id: str | None) -> Path:
        """Return the folder in which a session's records are now (None: the gateway's)."""
        return self._places.get(session_id or "", self._gateway).path

    def trim(self, session_id: str) -> None:
        """Keep a session's folder within its total, after a result was copied to it."""
        file = None if self._closed else self._locate(session_id, CallFinished)
        if file is not None:
            self._files.trim_later(file.folder)

    def open_folder(self, session_id: str) -> tuple[int, Path] | None:
        """Return a descriptor of a session's folder, to be closed by the caller, and its path.

        None when no folder of the session can be written (that has been told), and after `close`.
        """
        file = None if self._closed else self._locate(session_id, CallFinished)
        return None if file is None else (os.dup(file.folder.fd), file.folder.path)

    def _follow(self, event: AnyEvent) -> None:
        """Learn from the life of sessions where their records go, and when their files close."""
        match event:
            case SessionClosed():
                self._ended.add(event.session_id)
            case SessionOpened():
                self.register(event.session_id, event.session.workspace)
            case SessionReplaced():
                self._ended.add(event.replaces)
                self.register(event.session_id, event.session.workspace)
            case SessionUpdated():
                place = self._places.get(event.session_id)
                if place is not None and place.position and place.returns():
                    self._files.forget_routes(place.session_id)
                    self._report(
                        f"Records of {safe_text(place.name)} go to {shown(place.path)} from now on",
                        "info",
                    )

    def _release_ended(self) -> None:
        """Close the files of ended sessions; a late record opens them once more."""
        for session_id in self._ended:
            place = self._places.get(session_id)
            if place is None:
                continue
            for folder in place.candidates:
                self._files.close_folder(folder.path)
            self._gone[session_id] = None
        self._ended.clear()
        while len(self._gone) > _ENDED_SESSIONS:
            session_id = next(iter(self._gone))
            del self._gone[session_id]
            del self._places[session_id]

    def _locate(self, session_id: str | None, kind: type) -> RecordFile | None:
        """Open the file for a session's events of this kind; report and return None if none is.

        Events of a session that never opened are the gateway's: anyone may have made their ids up.
        """
        place = self._gateway
        if session_id is not None and session_id in self._places:
            place = self._places[session_id]
            if session_id in self._gone:
                self._ended.add(session_id)
        collection = _COLLECTION_OF[kind]
        refusals: list[tuple[Path, OSError]] = []
        for position in range(place.position, len(place.candidates)):
            path = place.candidates[position].path / f"{collection}.jsonl"
            try:
                file = self._files.open(place.candidates[position], collection)
            except OSError as error:
                refusals.append((path, error))
                if error.errno in _PASSING:
                    break
                continue
            if position != place.position:
                self._move(place, position, *refusals[0])
            file.used = self._turn
            for refused, _ in refusals:
                self._trouble.moved(refused, path)
            if not place.is_noted:
                self._note(place, path.parent)
            file.key = (place.session_id, kind)
            self._files.routes[file.key] = file
            return file
        self._trouble.fail(*refusals[0])
        return None

    def _move(self, place: Place, position: int, path: Path, error: OSError) -> None:
        place.move(position, error)
        self._files.forget_routes(place.session_id)
        self._report(
            f"{shown(path)}: {error.strerror}; records of {safe_text(place.name)} go to "
            f"{shown(place.path)}",
            "warning",
        )

    def _note(self, place: Place, folder: Path) -> None:
        place.is_noted = True
        try:
            self._syncer.settle(make_path(self._state_dir))
            has_grown = register.note(self._state_dir, place.session_id or "", folder)
        except OSError as error:
            self._report(
                f"{shown(self._state_dir)}: {error.strerror}; "
                f"`{invocation.command('records')}` will not find "
                f"{shown(folder)} by its session",
                "warning",
            )
        else:
            if has_grown:
                self._syncer.run(partial(register.compact, self._state_dir))
