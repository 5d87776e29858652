"""The emitters, as a part: files are read and watched, and runs are run."""

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import TYPE_CHECKING

from tapui.core.effects import (
    CheckEmitter,
    EmitterEffect,
    KeepConsent,
    LeaveEmitters,
    ReadEmitters,
    SaveEmitter,
    SetRunFilter,
    StartRun,
    StopRun,
    TryFilter,
)
from tapui.core.emitters.plans import CannotStart, FolderEmitters, SavedEmitter
from tapui.core.runs.reports import RunEnded
from tapui.station.parts.part import GatewayAccess

if TYPE_CHECKING:
    from tapui.emitters.shell.folders import FolderShell
    from tapui.emitters.shell.runs import RunShell

LOOK_SECONDS = 2.0
"""Seconds between two looks at the files in use."""
_FAILED = "tapui failed at it: its log says more"

_log = logging.getLogger(__name__)

FileEffect = ReadEmitters | LeaveEmitters | CheckEmitter | KeepConsent | SaveEmitter


class EmittersPart:
    """Carries out what the core asks of emitters, and tells it what has changed.

    What needs files is done in a thread, one thing after the other, in the order in which the core
    asked.
    """

    name = "the emitters"

    def __init__(self) -> None:
        self._asked: deque[FileEffect] = deque()
        self._news = asyncio.Event()
        self._stopping = asyncio.Event()
        self._runner: RunShell | None = None

    def start(self, access: GatewayAccess) -> None:
        """Take over what the core asks; before this it asks nothing."""
        self._access = access
        self._tell, self._gateway = access.turn.tell, access.turn.gateway
        access.turn.emitters = self._take
        access.spawn(self._serve())
        self._tell(self._gateway.emitter_folders.begin)

    async def stop(self) -> None:
        """End all that runs."""
        self._stopping.set()
        if self._runner is not None:
            await self._runner.close()

    def _take(self, effect: EmitterEffect) -> None:
        if isinstance(effect, StartRun) and self._stopping.is_set():
            ended = RunEnded(effect.run, error="tapui ends")
            self._tell(self._gateway.runs.reported, ended)
        elif isinstance(effect, StartRun | StopRun | SetRunFilter):
            self._runs.carry_out(effect)
        elif isinstance(effect, TryFilter):
            self._access.spawn(self._runs.try_filter(effect))
        else:
            self._asked.append(effect)
            self._news.set()

    @property
    def _runs(self) -> "RunShell":
        from tapui.emitters.shell.runs import RunShell

        if self._runner is None:
            access = self._access
            self._runner = RunShell(access.turn, access.report, access.announced.url)
        return self._runner

    # Files

    def _load(self) -> "FolderShell":
        """Load what reads files and runs commands: 30 ms that the start does without."""
        import tapui.emitters.shell.runs  # noqa: F401 - it is needed soon
        from tapui.emitters.shell.folders import FolderShell

        return FolderShell(self._access.home.state, time.monotonic)

    async def _serve(self) -> None:
        """Do what needs files, one after the other."""
        await self._news.wait()
        self._files = await asyncio.to_thread(self._load)
        self._access.spawn(self._watch())
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                while self._asked:
                    effect = self._asked.popleft()
                    try:
                        await self._carry_out(effect)
                    except Exception:  # noqa: BLE001 - logged and answered; what else is asked goes on
                        _log.exception("%s of an emitter failed", type(effect).__name__)
                        self._answer_failed(effect)
        finally:
            self._files.close()

    async def _carry_out(self, effect: FileEffect) -> None:
        answer = self._access.turn.answer
        match effect:
            case ReadEmitters(ticket, cwd):
                found = await asyncio.to_thread(self._files.read, cwd)
                answer(ticket, found)
                await self._look()
            case LeaveEmitters(folder):
                await asyncio.to_thread(self._files.leave, folder)
            case CheckEmitter(ticket):
                standing = await asyncio.to_thread(self._files.check, effect)
                answer(ticket, standing)
            case KeepConsent(ticket):
                fault = await asyncio.to_thread(self._files.keep, effect)
                answer(ticket, fault)
            case SaveEmitter():
                saved = await asyncio.to_thread(self._files.save, effect)
                answer(effect.ticket, saved)

    def _answer_failed(self, effect: FileEffect) -> None:
        """Answer what failed unforeseen: the core must not wait for ever."""
        answer = self._access.turn.answer
        match effect:
            case ReadEmitters(ticket, cwd):
                nothing = FolderEmitters(cwd, cwd, is_readable=False)
                answer(ticket, nothing)
            case CheckEmitter(ticket):
                answer(ticket, CannotStart(_FAILED))
            case KeepConsent(ticket):
                answer(ticket, _FAILED)
            case SaveEmitter(ticket=ticket):
                failed = SavedEmitter(fault=_FAILED)
                answer(ticket, failed)
            case LeaveEmitters():
                pass

    async def _watch(self) -> None:
        """Look for changes, as long as a folder is in use."""
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):  # the time is up: look
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._stopping.wait()
            if self._files.is_used:
                try:
                    await self._look()
                except Exception:  # noqa: BLE001 - logged; the next look may succeed
                    _log.exception("a look at the files of emitters failed")

    async def _look(self) -> None:
        changes = await asyncio.to_thread(self._files.look)
        for found in changes.found:
            self._tell(self._gateway.emitter_folders.changed, found)
        for folder in changes.files:
            self._tell(self._gateway.emitter_folders.files_changed, folder)
        for fault in changes.faults:
            self._access.report(fault, "warning")
