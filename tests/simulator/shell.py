"""A world with the real shell: turn and journal as they are, on a loop and a disk that fail.

What breaks inside is decided by the seed: a port that cannot be sent to, a receiver of this process
that raises, a disk that is full for a while, a journal that raises, records that cannot be made
durable or read back, files that cannot be looked at, readers that stop reading. Each fault may cost
its own connection or record; what any other connection, tower or file was to get is checked.
"""

import errno
import json
import logging
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tapui.core.effects import (
    ConnectionId,
    Copied,
    CopyFile,
    Effect,
    NotCopied,
    Send,
)
from tapui.core.model import Way
from tapui.home.local_socket import Peer
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.records import journal as journal_module
from tapui.records import lookup, record_file
from tapui.records.journal import Journal
from tapui.records.record_file import Handle
from tapui.records.syncer import Syncer
from tapui.runtime import askers, disk_work, tasks
from tapui.runtime import turn as turn_module
from tapui.runtime.processes import sights
from tapui.runtime.processes.status import Status
from tapui.runtime.turn import LoopTurn
from tapui.settings.settings import Records
from tapui.wire.codec import encode
from tapui.wire.errors import CallError
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.tower import InspectLines, TowerSnapshot
from tests.core.harness import NOW, PERSON, CountingIds
from tests.simulator.inside import InsideHost, InsideProvider, InsideTower, SpoiltPort
from tests.simulator.world import Link, World

WEIGHT = 2_000
"""How many bytes each byte counts for a reader that stands still: stories are short."""
_MEMORY_DISK = Path("/dev/shm")

_quiet = logging.getLogger("tests.simulator.faults")
_quiet.propagate = False
_quiet.addHandler(logging.NullHandler())


def _status(pid: int) -> Status | None:
    """Find the process behind every socket, and no other one."""
    person = PERSON.line[0]
    if pid != person.pid:
        return None
    return Status(pid, person.name, 4020, pid, 4020, 1, pid, person.start)


def _no_agent(_pid: int) -> None:
    """Find no agent: all sockets have one process here."""


class FollowingIds(CountingIds):
    """Ids as the turn wants them; its calendar is the world's."""

    def follow(self) -> None:
        """There is one clock only."""


class Timer:
    """A call that is set for a time."""

    def __init__(self, what: Callable[..., None]) -> None:
        self.what = what
        self.is_live = True

    def cancel(self) -> None:
        """Let it not happen."""
        self.is_live = False

    def run(self) -> None:
        """The time has come."""
        if self.is_live:
            self.what()


class Loop:
    """What a turn needs of an event loop, in the world's time."""

    def __init__(self, world: "ShellWorld") -> None:
        self._world = world
        self._ready: deque[Callable[[], None]] = deque()

    def call_soon(self, what: Callable[..., None], *args: Any) -> None:
        self._ready.append(lambda: what(*args))

    call_soon_threadsafe = call_soon

    def call_later(self, seconds: float, what: Callable[..., None], *args: Any) -> Timer:
        timer = Timer(lambda: what(*args))
        self._world.at(self._world.now + seconds, timer.run)
        return timer

    def run_in_executor(self, _executor: None, work: Callable[[], Any]) -> "Reading":
        reading = Reading(work)
        self._world.at(self._world.now + self._world.latency(), reading.run)
        return reading

    def drain(self) -> None:
        """Call what is ready, and what becomes ready by it."""
        while self._ready:
            self._ready.popleft()()


class Reading:
    """Work beside the loop; it is done some time later."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._result: Any = None
        self._error: Exception | None = None
        self._done: list[Callable[[Any], None]] = []

    def add_done_callback(self, done: Callable[[Any], None]) -> None:
        self._done.append(done)

    def cancelled(self) -> bool:
        return False

    def exception(self) -> Exception | None:
        return self._error

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._result

    def run(self) -> None:
        try:
            self._result = self._work()
        except Exception as error:  # noqa: BLE001 - as a future has it
            self._error = error
        for done in self._done:
            done(self)


class StepSyncer(Syncer):
    """Syncs in the world's time and without a thread; it may fail."""

    world: "ShellWorld"

    def touch(self, handle: Handle) -> None:
        pass

    def retire(self, handle: Handle) -> None:
        handle.retired = True
        for fd in (handle.fd, *handle.dirs):
            os.close(fd)
        handle.dirs.clear()
        handle.fd = -1

    def settle(self, folders: Any) -> None:
        for fd in folders:
            os.close(fd)

    def run(self, chore: Callable[[], None]) -> None:
        self._do(chore)

    def request(self, handles: Any, ok: bool, done: Callable[[bool], None]) -> None:
        world = self.world
        is_ok = ok and not world.breaks(0.05, "a sync fails")
        known = list(handles or ())
        world.at(world.now + world.latency(), lambda: self._answer(known, is_ok, done))

    def close(self, timeout: float) -> bool:
        return True


class FaultyJournal(Journal):
    """The journal, which now and then raises; what it lost is known to the world."""

    def __init__(self, world: "ShellWorld", folder: Path) -> None:
        super().__init__(
            folder, "run-1", Records(), lambda _text, _level: None, clock=lambda: world.now
        )
        self._world = world
        self._syncer = StepSyncer(lambda _text, _level: None)
        self._syncer.world = world

    def write(self, entries: Sequence[tuple[Entry, bytes]]) -> frozenset[int]:
        world = self._world
        for entry, body in entries:
            assert entry.seq == len(world.bodies) + 1, "an event is written twice or never"
            world.bodies.append(body)
        seqs = {entry.seq for entry, _ in entries}
        if world.breaks(0.02, "the journal raises"):
            world.lost |= seqs
            raise RuntimeError("injected")
        lost = super().write(entries)
        world.lost |= lost
        return lost

    def sync(self, seqs: frozenset[int] | None, done: Callable[[bool], None]) -> None:
        if self._world.breaks(0.05, "the journal raises at a sync"):
            raise RuntimeError("injected")

        def told(is_ok: bool) -> None:
            if is_ok:
                self._world.ledger.durable |= seqs or set()
            done(is_ok)

        super().sync(seqs, told)


class FullDisk:
    """The module `os`, with a disk that is full at times: half of a write fits, then nothing."""

    def __init__(self, world: "ShellWorld") -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, fd: int, data: bytes) -> int:
        if self._world.now >= self._world.full_until:
            return os.write(fd, data)
        if len(data) > 1 and self._world.dice.random() < 0.5:
            return os.write(fd, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


class PortLink(Link):
    """A link that is also the port of its socket: what the turn sends through it may fail."""

    world: "ShellWorld"
    way = Way.OTHER

    def __init__(self, *args: Any) -> None:
        self.expected: deque[Message] = deque()
        """What the core sent to it, and the turn has not delivered."""
        self.is_shut = False
        self.is_blamed = False
        """A fault was injected here: it may be closed for it."""
        self.is_stalled = False
        self.sent_bytes = self.outbox_bytes = 0
        person = PERSON.line[0]
        self.peer, self.client_end = Peer(person.pid, 0, person.start), None
        self.last_seq = 0
        self.folded = State()
        self._held: list[Callable[[], None]] | None = None
        """What arrives while the turn reads nothing from it."""
        super().__init__(*args)

    # The port, as the turn sees it

    def deliver(self, message: Message) -> None:
        is_next = bool(self.expected) and self.expected[0] is message
        # What is inspected is shown by the turn: the core sends only the first, empty answer.
        if not self.is_shut and (is_next or not isinstance(message, InspectLines)):
            assert self.expected, f"{self.number} gets a message that nobody sent"
            assert self.expected.popleft() is message, f"{self.number} gets another message"
        self._may_break()
        self._count(len(encode(message)))
        if isinstance(message, TowerSnapshot):
            self.last_seq = message.seq
            self.folded = State.of(message.state)
        self.world.note("%d ← %s", self.number, message)
        self.hear(message)

    def send(self, data: bytes) -> None:
        self._may_break()
        self._count(len(data))
        event = json.loads(data)
        assert event["seq"] == self.last_seq + 1, f"tower {self.number} misses an event"
        self.last_seq = event["seq"]
        entry = self.world.entries[self.last_seq - 1]
        fold(self.folded, entry.event, entry.ts)

    def authenticated(self) -> None:
        pass

    def close(self, code: int, reason: str) -> None:
        self.world.note("%d is closed: %s %s", self.number, code, reason)
        assert code != 1011 or self.is_blamed, f"{self.number} is closed for another's fault"
        assert "too slow" not in reason or self.is_stalled, f"{self.number} is not slow"
        self.is_shut = True
        self.expected.clear()
        self.shut()
        self.world.at(self.world.now + self.world.latency(), lambda: self.world.gone(self))
        if self.is_blamed and self.world.breaks(0.2, "a close fails"):
            raise OSError("injected")

    def pause_reading(self) -> None:
        if self._held is None:
            self._held = []

    def resume_reading(self) -> None:
        held, self._held = self._held or [], None
        for arrival in held:
            arrival()

    # Faults

    def _may_break(self) -> None:
        if not self.is_shut and self.world.breaks(0.003, f"sending to {self.number} fails"):
            self.is_blamed = True
            raise OSError("injected")

    def _count(self, size: int) -> None:
        self.sent_bytes += size * WEIGHT
        if self.is_stalled:
            self.outbox_bytes += size * WEIGHT

    def stall(self, seconds: float) -> None:
        """Read nothing for a while."""
        if not self.is_stalled and not self.is_shut:
            self.is_stalled = True
            self._down = max(self._down, self.world.now + seconds)
            self.world.at(self.world.now + seconds, self._read_on)

    def _read_on(self) -> None:
        self.is_stalled = False
        self.outbox_bytes = 0
        if not self.is_shut and not self.is_gone:
            self.world.shell.drained(self)

    is_gone = False

    def _arrive(self, data: bytes, message: Message | bytes) -> None:
        if self._held is not None:
            self._held.append(lambda: self._arrive(data, message))
        else:
            super()._arrive(data, message)


class ShellWorld(World):
    """Everything that a seed brings about, with faults inside."""

    link_type = PortLink
    pids = ()  # looking for processes takes a thread, which no seed decides

    def __init__(self, seed: int) -> None:
        self.entries: list[Entry] = []
        self.bodies: list[bytes] = []
        """The JSON of each event, by `seq`."""
        self.lost: set[int] = set()
        """The events that could not be recorded."""
        self.full_until = 0.0
        self._seen = [0, 0]
        self.tower: InsideTower | None = None
        super().__init__(seed)
        self.host = InsideHost(self)
        self.provider = InsideProvider(self)
        self.tower = InsideTower(self)
        self.later(1.0, self._trouble)

    def _begin(self) -> None:
        root = _MEMORY_DISK if _MEMORY_DISK.is_dir() else None
        self.folder = Path(tempfile.mkdtemp(prefix="tapui-simulator-", dir=root))
        replaced: list[tuple[Any, str, Any]] = [
            (turn_module, "time", SimpleNamespace(monotonic=lambda: self.now)),
            (disk_work, "time", SimpleNamespace(monotonic=lambda: self.now)),
            (disk_work, "copied", self._copied),
            (disk_work, "lookup", SimpleNamespace(find=self._find)),
            (disk_work, "_log", _quiet),
            (tasks, "_log", _quiet),
            (askers, "look", lambda _pid: PERSON),
            (askers, "system", SimpleNamespace(status=_no_agent, now=lambda: NOW)),
            (sights, "system", SimpleNamespace(status=_status)),
            (turn_module, "_log", _quiet),
            (journal_module, "_log", _quiet),
            (record_file, "os", FullDisk(self)),
        ]
        self._replaced = [(owner, name, _swap(owner, name, new)) for owner, name, new in replaced]
        self._take = self.gateway.take
        self.gateway.take = self._taken  # type: ignore[method-assign]
        self.loop = Loop(self)
        self.journal = FaultyJournal(self, self.folder)
        self.shell = LoopTurn(
            self.gateway,
            self.journal,
            FollowingIds(),  # type: ignore[arg-type]
            self.loop,  # type: ignore[arg-type]
            on_stop=lambda: None,
            persist_dir=self._make_folder,
        )
        self.shell.on_turn = self._looks
        self.shell.emitters = self.emitters.carry_out

    def end(self) -> None:
        """Give back what was replaced; the folder goes."""
        for owner, name, former in self._replaced:
            setattr(owner, name, former)
        self.journal.close(1.0)
        shutil.rmtree(self.folder, ignore_errors=True)

    # Inputs

    def opened(self, link: Link) -> ConnectionId:
        assert isinstance(link, PortLink)
        self.shell.opened(link)
        return link.number

    def received(self, link: Link, data: bytes) -> None:
        self.shell.received(link, data)  # type: ignore[arg-type]
        self._observe()

    def gone(self, link: Link) -> None:
        assert isinstance(link, PortLink)
        if not link.is_gone:
            link.is_gone = link.is_shut = True
            link.expected.clear()
            self.shell.closed(link)

    def tell(self, step: Callable[..., None], *args: object) -> None:
        self.shell.tell(step, *args)
        self._observe()

    def _open_inside(
        self,
        receive: Callable[[Message], None],
        closed: Callable[[], None],
    ) -> Any:
        return SpoiltPort(self.shell.open_port(receive, closed, is_builtin=True), self.dice)

    def everybody_leaves(self) -> None:
        self.host.leave()
        self.provider.leave()
        if self.tower is not None:
            self.tower.leave()
        self.turn()

    # The turn

    def step(self) -> bool:
        if not self._agenda:
            return False
        self._take_step()
        # Some inputs share a turn, as they do on a busy loop.
        while self._agenda and self._agenda[0][0] <= self.now and self.dice.random() < 0.3:
            self._take_step()
        self.turn()
        return True

    def turn(self) -> None:
        self._observe()
        self.loop.drain()
        self.is_touched = True
        self._check_delivery()

    def _observe(self) -> None:
        """Show the ledger what the core brought forth since the last time."""
        out = self.gateway.parts.context.out
        events, effects = out.events[self._seen[0] :], out.effects[self._seen[1] :]
        self._seen = [len(out.events), len(out.effects)]
        for entry in events:
            self.note("   %d %s", entry.seq, entry.event)
            self.entries.append(entry)
            self.ledger.happened(entry)
        for effect in effects:
            if isinstance(effect, Send) and effect.connection in self.links:
                link = self.links[effect.connection]
                assert isinstance(link, PortLink)
                if not link.is_shut:
                    link.expected.append(effect.message)
                self.ledger.leaving(link, effect.message)

    def _taken(self) -> tuple[list[Entry], list[bytes], list[Effect]]:
        self._observe()
        self._seen = [0, 0]
        return self._take()

    def _check_delivery(self) -> None:
        """Nobody but who had a fault misses anything."""
        for link in self.links.values():
            assert isinstance(link, PortLink)
            assert link.is_shut or not link.expected, f"{link.number} was not told something"
        for number in self.gateway.watchers:
            tower = self.links.get(number)
            if number in self.shell._slow.behind:
                assert isinstance(tower, PortLink)
                assert tower.is_stalled, f"tower {number} reads and gets nothing"
            elif isinstance(tower, PortLink):
                assert tower.last_seq == self.gateway.seq, f"tower {number} misses events"
                assert tower.folded == self.gateway.state, f"tower {number} shows something else"
        if self.tower is not None:
            self.tower.check()

    # Faults

    def breaks(self, likely: float, what: str) -> bool:
        """Return whether something breaks now."""
        if self.is_over or self.dice.random() >= likely:
            return False
        self.faults += 1
        self.note("!! %s", what)
        return True

    def _trouble(self) -> None:
        self.later(self.dice.random() * 4, self._trouble)
        dice = self.dice.random()
        links = [one for one in self.links.values() if one.is_up]
        if dice < 0.3:
            self.full_until = self.now + self.dice.choice((0.1, 1.0, 5.0))
            self.note("!! the disk is full until %s", self.full_until)
        elif dice < 0.7 and links:
            link = self.dice.choice(links)
            assert isinstance(link, PortLink)
            self.note("!! %d reads nothing", link.number)
            link.stall(self.dice.choice((0.5, 5.0, 20.0)))

    def _looks(self) -> None:
        if self.breaks(0.01, "what looks at each turn raises"):
            raise RuntimeError("injected")

    def _copied(
        self, effect: CopyFile, target: tuple[int, Path] | None, _asked: float
    ) -> Copied | NotCopied:
        if target is not None:
            os.close(target[0])
        if target is None or self.breaks(0.2, "a file cannot be copied"):
            return NotCopied(CallError.INTERNAL, "file: injected", is_ours=True)
        if not effect.path.startswith(effect.folder):
            return NotCopied(CallError.INTERNAL, "file.path: outside")
        return Copied(f"/results/{effect.name}", 7)

    def _find(self, *asked: Any) -> list[Entry]:
        if self.breaks(0.2, "records cannot be read"):
            raise self.dice.choice((OSError(errno.EIO, "I/O error"), RuntimeError("injected")))
        return lookup.find(*asked)

    def _make_folder(self, provider: str) -> Path:
        if self.breaks(0.1, "a folder cannot be made"):
            raise self.dice.choice((OSError(errno.EROFS, "read-only"), RuntimeError("injected")))
        return self.folder / provider

    # The end

    def check_records(self) -> None:
        """All events are on the disk as they were, but for those that were known to be lost."""
        found: dict[int, dict[str, Any]] = {}
        for path in self.folder.rglob("*.jsonl*"):
            if path.parent == self.folder:
                continue
            for line in path.read_bytes().splitlines():
                record = json.loads(line)
                assert record["seq"] not in found, "recorded twice"
                found[record["seq"]] = record
        assert found.keys() == set(range(1, self.gateway.seq + 1)) - self.lost, "records are lost"
        for seq, record in found.items():
            event: dict[str, Any] = json.loads(self.bodies[seq - 1])
            assert event.items() <= record.items(), f"record {seq} is not what happened"


def _swap(owner: Any, name: str, new: Any) -> Any:
    former = getattr(owner, name)
    setattr(owner, name, new)
    return former
