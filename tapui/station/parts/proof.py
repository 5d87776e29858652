"""Proof, as a part: ledgers are read and written, and folders looked at, off the loop."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tapui.core.effects import (
    CloseLedger,
    CompareFolder,
    FactsKept,
    FilesSeen,
    KeepFacts,
    LedgerOpened,
    LookAtFiles,
    LookAtFolder,
    OpenLedger,
    ProofEffect,
    PutFileBack,
)
from tapui.files.locked_folder import FolderHeldError
from tapui.records.masking import Masks
from tapui.runtime.tasks import in_thread
from tapui.station.parts.part import GatewayAccess

if TYPE_CHECKING:
    from tapui.records.ledger_files import LedgerFile
    from tapui.runtime.folders.demands import DemandReader
    from tapui.runtime.folders.reader import FolderReader

_log = logging.getLogger(__name__)
_FAILED = "tapui failed at it: its log says more"
PUT_BACK_FOLDER = "put-back"
"""In the state folder: what was in files before the person put them back."""
E = TypeVar("E", OpenLedger, KeepFacts)


class ProofPart:
    """Carries out what the core asks of ledgers and folders.

    Ledgers are read and written in one thread, in the order in which the core asked.
    """

    name = "the ledgers"

    def __init__(self) -> None:
        self._ledgers = OpenLedgers()
        self._is_stopped = False
        self._at_work = 0
        """Effects on ledgers that are not answered."""
        self._rests = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, "ledgers")
        self._reader: FolderReader | None = None
        self._comparer: FolderReader | None = None
        """A process of its own: comparisons take longer than looks, which must not wait."""
        self._files: DemandReader | None = None
        self._reading = ThreadPoolExecutor(1, "demands")

    def start(self, access: GatewayAccess) -> None:
        """Take over what the core asks; before this it asks nothing."""
        self._access = access
        self._loop = asyncio.get_running_loop()
        self._ledgers.state = access.home.state
        access.turn.proof = self._take
        access.turn.tell(access.turn.gateway.proof.begin)

    async def stop(self) -> None:
        """Look at the ledgers once more, write what is still to be written, and end the process
        that looks at folders."""
        turn = self._access.turn
        turn.tell(turn.gateway.proof.check)
        self._loop.call_soon(self._look_for_rest)  # after the turn, which takes its effects
        await self._rests.wait()
        self._is_stopped = True
        self._thread.submit(self._ledgers.close)
        for reader in (self._reader, self._comparer):
            if reader is not None:
                await reader.stop()
        await asyncio.to_thread(self._thread.shutdown)
        await asyncio.to_thread(self._reading.shutdown)

    def _take(self, effect: ProofEffect) -> None:
        if self._is_stopped:
            return  # what happens from now on is of the next run
        match effect:
            case LookAtFolder():
                self._access.spawn(self._look(effect))
            case CompareFolder():
                self._access.spawn(self._compare(effect))
            case PutFileBack():
                self._access.spawn(self._put_back(effect))
            case LookAtFiles():
                self._read(effect)
            case OpenLedger():
                self._do(effect, self._ledgers.open, LedgerOpened(closed=_FAILED))
            case KeepFacts():
                self._do(effect, self._ledgers.keep, FactsKept(_FAILED))
            case CloseLedger(ledger=ledger):
                self._thread.submit(self._ledgers.close, ledger)

    def _read(self, effect: LookAtFiles) -> None:
        """Look at files in a thread of its own: patterns from outside run there."""
        if self._files is None:
            from tapui.runtime.folders.demands import DemandReader

            home = self._access.home
            self._files = DemandReader((home.config, home.state), Masks().masked_text)
        in_thread(
            self._loop,
            partial(self._files.look, effect),
            partial(self._access.turn.answer, effect.ticket),
            otherwise=FilesSeen,
            about="files of a goal",
            executor=self._reading,
        )

    def _do(self, effect: E, work: Callable[[E], object], failed: object) -> None:
        def answer(found: object) -> None:
            self._access.turn.answer(effect.ticket, found)
            self._at_work -= 1
            self._loop.call_soon(self._look_for_rest)  # what follows from the answer comes before

        self._at_work += 1
        self._rests.clear()
        in_thread(
            self._loop,
            partial(work, effect),
            answer,
            otherwise=lambda: failed,
            about=type(effect).__name__,
            executor=self._thread,
        )

    def _look_for_rest(self) -> None:
        if not self._at_work:
            self._rests.set()

    async def _look(self, effect: LookAtFolder) -> None:
        if self._reader is None:
            from tapui.runtime.folders.reader import FolderReader

            self._reader = FolderReader()
        states = await self._reader.look(
            effect.folder, effect.bases, effect.seconds, gives_way=effect.gives_way
        )
        self._access.turn.answer(effect.ticket, states)

    async def _compare(self, effect: CompareFolder) -> None:
        comparer = self._comparing()
        found = await comparer.compare(effect.pairs, effect.file, effect.notes)
        self._access.turn.answer(effect.ticket, found)

    async def _put_back(self, effect: PutFileBack) -> None:
        comparer = self._comparing()
        kept_in = str(self._access.home.state / PUT_BACK_FOLDER)
        found = await comparer.put_back(
            effect.pair, effect.file, effect.state_id, effect.hunk, kept_in=kept_in
        )
        self._access.turn.answer(effect.ticket, found)

    def _comparing(self) -> "FolderReader":
        if self._comparer is None:
            from tapui.runtime.folders.reader import FolderReader

            self._comparer = FolderReader()
        return self._comparer


class OpenLedgers:
    """The ledgers that are open, by the tickets with which they were. Every method blocks."""

    def __init__(self) -> None:
        self.state = Path()
        self._files: dict[int, tuple[str, LedgerFile]] = {}

    def open(self, effect: OpenLedger) -> LedgerOpened:
        """Read a ledger. One that does not hold together is not believed, and begins anew."""
        from tapui.core.proof import ledger
        from tapui.records.ledger_files import LedgerFile

        former = [at for at, (id_, _) in self._files.items() if id_ == effect.session_id]
        for number in former:
            self.close(number)
        file = LedgerFile(self.state, effect.session_id)
        try:
            data = file.open()
        except FolderHeldError:
            return LedgerOpened(closed="another gateway has the ledger")
        except OSError as error:
            return LedgerOpened(closed=_reason(error))
        self._files[effect.ticket] = effect.session_id, file
        found = ledger.read(effect.session_id, data)
        if not found.fault:
            return LedgerOpened(found.facts, found.last)
        try:
            _begin_anew(file, effect.session_id, found.fault)
        except OSError as error:
            return LedgerOpened(fault=found.fault, closed=_reason(error))
        return LedgerOpened(fault=f"the ledger of before is not believed: {found.fault}")

    def keep(self, effect: KeepFacts) -> FactsKept:
        """Append lines, unless something else changed the file."""
        session_id, file = self._files.get(effect.ledger, ("", None))
        if file is None:
            return FactsKept("the ledger is closed")
        try:
            if file.was_changed():
                _begin_anew(file, session_id, "changed while it was open")
                return FactsKept(was_changed=True)
            if effect.lines:
                file.append(effect.lines)
        except OSError as error:
            return FactsKept(_reason(error))
        return FactsKept()

    def close(self, number: int | None = None) -> None:
        """Let go of one, or of all."""
        for one in [number] if number is not None else list(self._files):
            _, file = self._files.pop(one, ("", None))
            if file is not None:
                file.close()


def _begin_anew(file: "LedgerFile", session_id: str, why: str) -> None:
    kept = file.begin_anew()
    where = f"it is kept as {kept}" if kept is not None else "it could not be kept"
    _log.warning("the ledger of session %s is not believed (%s): %s", session_id, why, where)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
