"""The emitters, as a part: files are read and watched, and runs are run."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tapui.core.effects import (
    CheckEmitter,
    EmitterEffect,
    KeepConsent,
    KeepGoalConsent,
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
from tapui.home.paths import typed_path
from tapui.station.parts.part import GatewayAccess, pause

if TYPE_CHECKING:
    from tapui.emitters.shell.folders import FolderShell
    from tapui.emitters.shell.runs import RunShell

LOOK_SECONDS = 2.0
"""Seconds between two looks at the files in use."""
_FAILED = "tapui failed at it: its log says more"

_log = logging.getLogger(__name__)

FileEffect = (
    ReadEmitters | LeaveEmitters | CheckEmitter | KeepConsent | KeepGoalConsent | SaveEmitter
)


def _own_variables(access: GatewayAccess) -> dict[str, str]:
    """Return what a provider that ships needs to find the same files as this gateway."""
    found = {"COPILOT_HOME": str(access.home.copilot)}
    if access.options.home is not None:
        found["TAPUI_HOME"] = str(access.options.home)
    if folder := access.options.settings.memory.folder:
        found["TAPUI_MEMORY_FOLDER"] = str(typed_path(folder))
    return found


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
            self._runner = RunShell(
                access.turn, access.report, access.announced.url, _own_variables(access)
            )
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
                    await self._carry_out(self._asked.popleft())
        finally:
            self._files.close()

    async def _carry_out(self, effect: FileEffect) -> None:
        """Do it and answer, also where it fails unforeseen: the core must not wait for ever."""
        files = self._files
        work: Callable[[], object]
        failed: object = None
        match effect:
            case LeaveEmitters(folder):
                work = partial(files.leave, folder)
            case ReadEmitters(cwd=cwd):
                work = partial(files.read, cwd)
                failed = FolderEmitters(cwd, cwd, is_readable=False)
            case CheckEmitter():
                work, failed = partial(files.check, effect), CannotStart(_FAILED)
            case KeepConsent():
                work, failed = partial(files.keep, effect), _FAILED
            case KeepGoalConsent():
                work, failed = partial(files.keep_goal, effect), _FAILED
            case SaveEmitter():
                work, failed = partial(files.save, effect), SavedEmitter(fault=_FAILED)
        try:
            answer: object = await asyncio.to_thread(work)
        except Exception:  # noqa: BLE001 - logged and answered; what else is asked goes on
            _log.exception("%s of an emitter failed", type(effect).__name__)
            answer = failed
        if not isinstance(effect, LeaveEmitters):
            self._access.turn.answer(effect.ticket, answer)
        if isinstance(effect, ReadEmitters):
            await self._look()

    async def _watch(self) -> None:
        """Look for changes, as long as a folder is in use."""
        while not self._stopping.is_set():
            await pause(self._stopping, LOOK_SECONDS)
            if self._files.is_used:
                await self._look()

    async def _look(self) -> None:
        try:
            changes = await asyncio.to_thread(self._files.look)
        except Exception:  # noqa: BLE001 - logged; the next look may succeed
            _log.exception("a look at the files of emitters failed")
            return
        for found in changes.found:
            self._tell(self._gateway.emitter_folders.changed, found)
        for folder in changes.files:
            self._tell(self._gateway.emitter_folders.files_changed, folder)
        for fault in changes.faults:
            self._access.report(fault, "warning")
