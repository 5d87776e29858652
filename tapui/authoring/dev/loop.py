"""The loop of `tapui provider dev`: a program for each save, one after the other."""

import asyncio
import math
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from functools import partial
from pathlib import Path

from watchfiles import Change, awatch

from tapui.authoring.dev.printer import Printer
from tapui.authoring.dev.program import LOAD_FAILED
from tapui.authoring.dev.relay import Relay, RelayedProgram
from tapui.authoring.dev.signals import (
    AT_DEV,
    DialClosed,
    DialOpened,
    FileFailed,
    FileLoaded,
    ProviderWaits,
    Signal,
)
from tapui.invocation import INSIDE
from tapui.provider.link import Dial
from tapui.runtime.children.channel import Channel
from tapui.runtime.children.child import Child, Command, Ended, OnLine
from tapui.secret import Secret
from tapui.wire.message import Message
from tapui.wire.provider import FromProvider

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds before a program that has ended by itself is started again: doubled each time."""
STEADY_SECONDS = 60.0
"""How long a program runs that has not ended soon."""
LAST_WORDS = 1.0
"""Seconds for what a program that has ended said last."""
STEP_MS = 20
"""Milliseconds without a further change after which those before count as one save."""
LONGEST_MS = 200
"""... and how long continuing changes are collected at most."""
_MODULE = "tapui.authoring.dev.program"


class _Program:
    """A child process with its channel."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.relayed = RelayedProgram(number, self.put, self.stop)
        self.has_loaded = False
        self.is_unwanted = False
        self.failure: str | None = None
        self.started = time.monotonic()
        self._channel: Channel[FromProvider | Signal] | None = None
        self._child: Child | None = None
        self._stopping: asyncio.Task[Ended] | None = None

    def put(self, what: Message | Signal) -> None:
        if self._channel is not None:
            self._channel.send(what)

    def stop(self) -> None:
        self.is_unwanted = True
        if self._child is not None and self._stopping is None:
            self._stopping = asyncio.create_task(self._child.stop())

    async def run(
        self,
        command: Command,
        heard: Callable[["_Program", Message | Signal], None],
        on_line: OnLine,
    ) -> Ended:
        """Start it, hear it, and return how it ended. Cancelled, it is stopped first."""
        # The dev loop forwards what the gateway sends: a program that is busy reads it later.
        self._channel = channel = Channel(
            "the program", AT_DEV, partial(heard, self), most_unsent=math.inf
        )
        self._child = child = await channel.start(command, on_line)
        if self.is_unwanted:
            self.stop()
        try:
            ended = await child.wait()
            # The end of the process is the end of its channel, unless a child of it lives on.
            await asyncio.wait([channel.ended], timeout=LAST_WORDS)
        except asyncio.CancelledError:
            await child.stop()
            raise
        finally:
            channel.close()
        return ended


class DevLoop:
    """Serves a file until it is cancelled."""

    def __init__(
        self,
        file: Path,
        *,
        dial: Dial,
        token: Callable[[], Secret | None],
        printer: Printer,
        session: str | None = None,
        prefix: str = "",
        environ: Mapping[str, str] = os.environ,
        may_take: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`file` may be a folder of tool files. `may_take` is asked before a save is taken over."""
        self._may_take = may_take
        self._file = file
        self._session = session
        self._prefix = prefix
        self._environ = {**environ, "PYTHONUNBUFFERED": "1", INSIDE: "1"}
        self._printer = printer
        self._relay = Relay(dial, token, printer)
        self._saves = Saves([file])
        self._newest: _Program | None = None
        self._count = 0
        self._running: set[asyncio.Task[None]] = set()
        self._again: asyncio.Task[None] | None = None
        self._pause = FIRST_PAUSE

    async def run(self) -> None:
        """Serve, and take over each save; cancelled, leave in order."""
        try:
            self._start()
            async for _ in self._saves:
                if not self._file.exists():
                    continue  # an editor is about to put it there
                if self._may_take is not None and not await self._may_take():
                    continue
                self._printer.saved()
                self._pause = FIRST_PAUSE
                self._start()
        finally:
            await self._leave()

    async def _leave(self) -> None:
        if self._again is not None:
            self._again.cancel()
        await self._relay.close()
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    def _start(self) -> None:
        """Start a program for the file; one that still loads is given up."""
        if self._again is not None:
            self._again.cancel()
            self._again = None
        former = self._newest
        if former is not None and not former.has_loaded:
            former.stop()
        self._count += 1
        self._newest = program = _Program(self._count)
        task = asyncio.create_task(self._run(program), name=f"program {program.number}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, program: _Program) -> None:
        argv = (sys.executable, "-P", "-m", _MODULE, str(self._file))
        command = Command(
            (*argv, self._session or "", self._prefix), self._environ, drops_output=True
        )
        try:
            ended = await program.run(command, self._heard, self._printer.printed)
        except OSError as error:
            text = f"no program can be started: {error.strerror or error}"
            self._printer.failed(text, goes_on=self._relay.current is not None)
            return
        was_serving = self._relay.current is program.relayed
        self._relay.gone(program.relayed, str(ended))
        if program.failure is not None:
            goes_on = self._relay.current is not None
            self._printer.failed(program.failure, goes_on=goes_on)
        elif not program.is_unwanted and (was_serving or not program.has_loaded):
            self._start_later(program, ended)

    def _start_later(self, program: _Program, ended: Ended) -> None:
        if program is not self._newest or ended.code == LOAD_FAILED:
            return  # a newer one has its place, or comes with the next save
        if time.monotonic() - program.started > STEADY_SECONDS:
            self._pause = FIRST_PAUSE
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        self._printer.ended(str(ended), pause)

        async def again() -> None:
            await asyncio.sleep(pause)
            self._again = None
            self._start()

        self._again = asyncio.create_task(again())

    def _heard(self, program: _Program, came: Message | Signal) -> None:
        match came:
            case FileLoaded(files=files):
                program.has_loaded = True
                self._saves.watch([self._file, *map(Path, files)])
            case FileFailed(text=text, files=files):
                program.failure = text
                self._saves.watch([self._file, *map(Path, files)], others_too=True)
            case ProviderWaits(text=text):
                self._printer.waits(text)
            case DialOpened():
                self._relay.dialled(program.relayed)
            case DialClosed():
                pass  # it dials anew, or ends
            case Message():
                self._relay.said(program.relayed, came)


class Saves:
    """Yields at each save of one of the files; of a folder, at each change of a Python file in it.

    The folders are watched, not the files: most editors put a new file into the old one's place.
    """

    def __init__(self, files: Collection[Path]) -> None:
        self._folder = next((str(one) for one in files if one.is_dir()), None)
        self._folders: set[str] = set()
        self._has_other_folders = asyncio.Event()
        self.watch(files)

    def watch(self, files: Collection[Path], *, others_too: bool = False) -> None:
        """Take other files from now on; with `others_too`, any Python file beside them, and beside
        those before, counts: one that is missing may come."""
        if self._folder is not None:
            self._folders, self._files, self._others_too = {self._folder}, set(), True
            return
        self._files = {str(file) for file in files}
        folders = {str(file.parent) for file in files}
        if others_too:
            folders |= {folder for folder in self._folders if Path(folder).is_dir()}
        if folders != self._folders:
            self._folders = folders
            self._has_other_folders.set()
        self._others_too = others_too

    def _counts(self, change: Change, path: str) -> bool:
        if change is Change.deleted:
            return self._folder is not None and path.endswith(".py")
        return path in self._files or (self._others_too and path.endswith(".py"))

    async def __aiter__(self) -> AsyncIterator[None]:
        while True:
            self._has_other_folders.clear()
            async for _ in awatch(
                *self._folders,
                watch_filter=self._counts,
                step=STEP_MS,
                debounce=LONGEST_MS,
                recursive=self._folder is not None,
                ignore_permission_denied=True,
                stop_event=self._has_other_folders,
            ):
                yield
