"""The process that reads folders as the gateway sees it: its start, its answers, its end."""

import asyncio
import contextlib
import itertools
import logging
import os
from collections.abc import Mapping
from dataclasses import replace

from tapui.core.effects import FileIsBack, FilePlace, FolderCompared
from tapui.core.proof.folder_states import TOO_LARGE, FolderState, StatePair
from tapui.runtime.children.channel import Channel
from tapui.runtime.children.child import Child
from tapui.runtime.children.lines import LineError
from tapui.runtime.children.supervisor import Backoff, ProgramLog, own_program
from tapui.runtime.folders.messages import (
    AT_GATEWAY,
    Answer,
    Compare,
    Compared,
    IsBack,
    Look,
    Looked,
    PutBack,
    Question,
)
from tapui.wire.changes import ChangeNote, DiffHunk

GRACE_SECONDS = 0.02
"""For the way of question and answer, beyond the look's own time."""
START_SECONDS = 10.0
"""For the start of the process, beyond the time of the first look: on a busy machine a start takes
seconds, and that look says how the session found the folder."""
COMPARE_SECONDS, COMPARED_SECONDS = 2.0, 25.0
"""For a comparison: after the first what is left is named without its lines, after the second it is
given up."""
SILENT_SECONDS = 60.0
"""Without any answer for so long, the process is killed; the next look starts another one."""
LEAVE_SECONDS = 2.0
_NAMED = ("XDG_CONFIG_HOME",)
"""What it gets of the environment besides: the person's own ignored patterns may lie there."""

_log = logging.getLogger(__name__)


class FolderReader:
    """Asks the process about folders; it is started with the first question.

    A look never raises and never takes longer than its time, the start of the process not counted:
    what is not known by then says why.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._channel: Channel[Answer] | None = None
        self._starting = asyncio.Lock()
        self._opening: asyncio.Task[Channel[Answer]] | None = None
        self._life: asyncio.Task[None] | None = None
        self._backoff = Backoff()
        self._not_before = 0.0
        self._asked_at: float | None = None
        """When the oldest question was asked that has no answer yet."""
        self._has_answered = False
        """Whether this process has: it is started then."""
        self._child: Child | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    async def look(
        self,
        folder: str,
        bases: Mapping[str, str] | None = None,
        seconds: float = 0.05,
        *,
        gives_way: bool = False,
    ) -> tuple[FolderState, ...]:
        """Look at a folder's repository and those within it.

        `bases` are the trees, by root, of the states that this is to be compared with. One that
        `gives_way` ends when anything else is asked.
        """
        asked = Look(next(self._numbers), folder, dict(bases or {}), seconds, gives_way)
        try:
            start = 0.0 if self._has_answered else START_SECONDS
            answer = await self._answered(asked, seconds + GRACE_SECONDS + start)
        except TimeoutError:
            self._end_silent()
            return (_unknown(folder, TOO_LARGE),)
        except (OSError, LineError) as error:
            return (_unknown(folder, f"the reader of folders failed: {error}"),)
        return answer.states if isinstance(answer, Looked) else ()

    async def compare(
        self,
        pairs: tuple[StatePair, ...],
        file: FilePlace | None = None,
        notes: tuple[ChangeNote, ...] = (),
    ) -> FolderCompared:
        """Compare repositories with what they were, or one file of them."""
        asked = Compare(next(self._numbers), pairs, file, notes, COMPARE_SECONDS)
        try:
            answer = await self._answered(asked, COMPARED_SECONDS)
        except TimeoutError:
            self._end_silent()
            return FolderCompared(fault="it takes too long")
        except (OSError, LineError) as error:
            return FolderCompared(fault=f"the reader of folders failed: {error}")
        return answer.found if isinstance(answer, Compared) else FolderCompared()

    async def put_back(
        self,
        pair: StatePair,
        file: FilePlace,
        state_id: str,
        hunk: DiffHunk | None = None,
        *,
        kept_in: str = "",
    ) -> FileIsBack:
        """Put a file or a hunk back; what was there is kept in a folder. After a time-out it may
        have been written all the same: a look shows it."""
        number = next(self._numbers)
        asked = PutBack(number, pair, file, state_id, hunk, COMPARE_SECONDS, kept_in)
        try:
            answer = await self._answered(asked, COMPARED_SECONDS)
        except TimeoutError:
            self._end_silent()
            return FileIsBack(fault="it takes too long: look whether it was done")
        except (OSError, LineError) as error:
            return FileIsBack(fault=f"the reader of folders failed: {error}")
        return answer.found if isinstance(answer, IsBack) else FileIsBack()

    async def _answered(self, asked: Question, seconds: float) -> Answer:
        """Ask, and return the answer. Raises `OSError`, `LineError`, `TimeoutError`."""
        answer: asyncio.Future[Answer] = self._loop.create_future()
        try:
            async with asyncio.timeout(seconds):
                channel = await self._opened()
                self._waiting[asked.id] = answer
                if self._asked_at is None:
                    self._asked_at = self._loop.time()
                channel.send(asked)
                return await answer
        finally:
            self._waiting.pop(asked.id, None)

    async def stop(self) -> None:
        """End the process, also one that is being started for a look that has given up."""
        if self._opening is not None:
            await asyncio.wait({self._opening})
        if self._channel is not None:
            self._channel.close()
        if self._life is not None:
            await asyncio.wait({self._life})

    async def _opened(self) -> Channel[Answer]:
        async with self._starting:
            if self._channel is not None and not self._channel.is_closed:
                return self._channel
            if self._loop.time() < self._not_before:
                raise OSError("it ended, and is started again later")
            # A start that is cancelled would be done again with each look: it is shielded.
            if self._opening is None or self._opening.done():
                self._opening = self._loop.create_task(self._start())
            return await asyncio.shield(self._opening)

    async def _start(self) -> Channel[Answer]:
        channel = Channel("the reader of folders", AT_GATEWAY, self._take)
        command = own_program("tapui.runtime.folders", environ=self._environ)
        more = {name: self._environ[name] for name in _NAMED if name in self._environ}
        command = replace(command, environ={**command.environ, **more})
        self._child = child = await channel.start(command, ProgramLog().take)
        self._channel = channel
        self._asked_at, self._has_answered = None, False
        self._life = self._loop.create_task(self._live(channel, child))
        return channel

    async def _live(self, channel: Channel[Answer], child: Child) -> None:
        ended = await channel.end_of(child, LEAVE_SECONDS)
        self._child = None
        if ended.code != 0:
            pause = self._backoff.pause(ended.seconds)
            self._not_before = self._loop.time() + pause
            _log.warning("the reader of folders ended (%s); started again in %g s", ended, pause)
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(OSError("it ended"))

    def _take(self, message: Answer) -> None:
        self._has_answered = True
        self._asked_at = self._loop.time() if len(self._waiting) > 1 else None
        answer = self._waiting.get(message.id)
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _end_silent(self) -> None:
        since = self._asked_at
        if since is not None and self._loop.time() - since > SILENT_SECONDS:
            with contextlib.suppress(ProcessLookupError):  # it has ended by now
                if self._child is not None:
                    self._child.kill()


def _unknown(folder: str, why: str) -> FolderState:
    return FolderState(folder, "", {}, is_whole=False, why=why)
