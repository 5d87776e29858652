"""The gateway in memory: the real core, its effects carried out at once, time turned by hand."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tapui.core.effects import (
    Authenticated,
    Close,
    ConnectionId,
    CopyFile,
    EarlierTurns,
    Effect,
    Identified,
    Identify,
    MakeDurable,
    MakePersistDir,
    Mention,
    NoteAgent,
    ReadRecords,
    ReadRules,
    RecordsRead,
    Send,
)
from tapui.core.gateway import Gateway
from tapui.files.locked_folder import FOLDER_MODE, folder_name
from tapui.policies.reading import FolderRules
from tapui.runtime import disk_work
from tapui.runtime.system import RegexMatcher, SystemMint, new_run
from tapui.settings import Settings
from tapui.testing.clock import HandClock
from tapui.wire.events import Entry
from tapui.wire.message import Message

PROVIDER_TOKEN = "ptk-in-memory"  # noqa: S105 - opens nothing but the gateway of one test
_INTERNAL_TOKEN = "itk-in-memory"  # noqa: S105 - likewise


@dataclass(slots=True, frozen=True)
class TestedEnd:
    """What the gateway says to one connection is handed to these, in order."""

    receive: Callable[[Message], None]
    closed: Callable[[int, str], None]


class Folders:
    """The temporary folder of one test, made when something is first written."""

    def __init__(self) -> None:
        self._root: Path | None = None

    @property
    def root(self) -> Path:
        """Where it is."""
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="tapui-test-"))
        return self._root

    def of_provider(self, name: str) -> Path:
        """Return where a provider's files are; the folder may not be there yet."""
        return self.root / "providers" / folder_name(name)

    def of_session(self, session_id: str) -> tuple[int, Path]:
        """Make the folder for a session's files; return it, open, and where it is."""
        path = self.root / "sessions" / folder_name(session_id)
        path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY), path

    def remove(self) -> None:
        """Remove it with all that is in it."""
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None


class MemoryGateway:
    """Takes messages and hands out what they cause before it returns. For one thread.

    `happened` is told each turn's events. Nothing is recorded but in memory: what must be durable
    is so at once.
    """

    def __init__(
        self, clock: HandClock, folders: Folders, happened: Callable[[Iterable[Entry]], None]
    ) -> None:
        self._clock = clock
        self._folders = folders
        self._happened = happened
        self._peers: dict[ConnectionId, TestedEnd] = {}
        self._is_running = False
        self.turns = 0
        """How many turns brought something forth: it stands still while nothing goes on."""
        self.core = Gateway(
            run=new_run(),
            mint=SystemMint(),
            settings=Settings(),
            persist_dir=lambda name: str(folders.of_provider(name)),
            matcher=RegexMatcher(),
            provider_token=PROVIDER_TOKEN,
            internal_token=_INTERNAL_TOKEN,
        )

    # Ends

    def connect(self, peer: TestedEnd) -> ConnectionId:
        """Open an end that speaks in messages and may do everything: a host, a tower."""
        number = self.core.opened_in_process(self._clock.now())
        self._peers[number] = peer
        self.run()
        return number

    def connect_provider(self, peer: TestedEnd) -> ConnectionId:
        """Open an end that speaks in bytes and must show a token, as on a socket."""
        number = self.core.opened(None, self._clock.now())
        self._peers[number] = peer
        return number

    def given(self, number: ConnectionId, message: Message) -> None:
        """Take a message of an end that speaks in messages."""
        self.core.given(number, message, self._clock.now())
        self.run()

    def received(self, number: ConnectionId, data: bytes) -> None:
        """Take a frame of an end that speaks in bytes."""
        self.core.received(number, data, self._clock.now())
        self.run()

    def left(self, number: ConnectionId) -> None:
        """An end is gone."""
        if self._peers.pop(number, None) is not None:
            self.core.tell(self._clock.now(), self.core.closed, number)
            self.run()

    def stop(self) -> None:
        """Be gone at once, as a gateway that is killed: every end is closed."""
        peers, self._peers = self._peers, {}
        for peer in peers.values():
            peer.closed(1006, "the gateway is gone")

    # Time

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is due next, or None."""
        return self.core.next_deadline

    def tick(self) -> None:
        """Let every deadline up to the clock's time come."""
        self.core.tell(self._clock.now(), self.core.tick)
        self.run()

    # The turn

    def run(self) -> None:
        """Carry out what the core has brought forth, and what comes of it, until it is quiet."""
        if self._is_running:
            return  # what an end sends while it is told something is carried out by that turn
        self._is_running = True
        try:
            while True:
                entries, _, effects = self.core.take()
                if not entries and not effects:
                    return
                self.turns += 1
                for effect in effects:
                    self._carry_out(effect)
                self._happened(entries)
        finally:
            self._is_running = False

    def _carry_out(self, effect: Effect) -> None:
        def answer(ticket: int, found: object) -> None:
            self.core.tell(self._clock.now(), self.core.answered, ticket, found)

        match effect:
            case Send(number, message) | Mention(number, message):
                peer = self._peers.get(number)
                if peer is not None:
                    peer.receive(message)
            case Close(number, code, reason):
                peer = self._peers.pop(number, None)
                if peer is not None:
                    peer.closed(code, reason)
            case Authenticated():
                pass  # the limits of strangers are the server's
            case MakeDurable(ticket):
                answer(ticket, True)
            case MakePersistDir(provider):
                folder = self._folders.of_provider(provider)
                folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            case CopyFile():
                target = self._folders.of_session(effect.session_id)
                copied = disk_work.copied(effect, target, time.monotonic())
                answer(effect.ticket, copied)
            case ReadRules(ticket, cwd):
                answer(ticket, FolderRules(cwd, cwd))
            case ReadRecords(ticket, _, EarlierTurns()):
                answer(ticket, RecordsRead([]))
            case ReadRecords(ticket):
                answer(ticket, RecordsRead([], "a gateway in memory keeps no records"))
            case NoteAgent():
                pass  # no connection of a test is looked at
            case Identify(ticket):
                answer(ticket, Identified(None))
            case _:
                raise NotImplementedError(f"a test has no {type(effect).__name__}")
