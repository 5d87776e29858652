"""The process that reads folders: `python -m tapui.runtime.folders CHANNEL`, a socket's number.

It answers one question after the other and starts nothing. It writes nothing but what the person
puts back. What a repository could do
to it has an end: an alarm breaks off an open or a read that hangs, and memory has a limit. A look
that came to its end too early is gone on with while nothing else is asked. It ends with its parent.
"""

import contextlib
import gc
import logging
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from types import FrameType

from tapui.core.effects import FileIsBack, FolderCompared
from tapui.core.proof.folder_states import NO_REPOSITORY, TOO_LARGE, FolderState
from tapui.runtime.children.lines import LineError, LineSplitter, inherited_end
from tapui.runtime.children.supervisor import LOG_FORMAT
from tapui.runtime.folders.comparison import compare
from tapui.runtime.folders.messages import (
    AT_READER,
    Compare,
    Compared,
    IsBack,
    Look,
    Looked,
    PutBack,
    Question,
)
from tapui.runtime.folders.putting_back import put_back
from tapui.runtime.folders.repository import Repository, find_repository, repository_at
from tapui.runtime.folders.work_tree import WorkTree, path_text

MAX_ROOTS = 20
"""Repositories within one folder that are looked at."""
_KEPT = 32
"""Work trees whose files are remembered."""
_HARD_SECONDS = 20.0
"""For a look and all that it opens, however long its own time is: then it is broken off."""
_REST_SECONDS = 15.0
MEMORY = 3 * 1024 * 1024 * 1024
_NICE = 5

_log = logging.getLogger(__name__)


class StuckError(BaseException):
    """The alarm: no `except Exception` of a library may take it."""


class LookServer:
    """Answers looks and comparisons on a channel."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._trees: dict[bytes, WorkTree] = {}

    def run(self) -> None:
        """Answer until the other end is closed."""
        splitter = LineSplitter()
        while data := self._channel.recv(64 * 1024):
            for line in splitter.feed(data):
                try:
                    self._answer(AT_READER.decode(line))
                except LineError as error:
                    _log.error("no question: %s", error)

    def _answer(self, asked: Question) -> None:
        match asked:
            case Compare():
                self._compare(asked)
            case PutBack():
                self._put_back(asked)
            case Look():
                self._look(asked)

    def _put_back(self, asked: PutBack) -> None:
        end = time.monotonic() + asked.seconds
        try:
            with _alarm(_HARD_SECONDS):
                found = put_back(
                    asked.pair,
                    asked.file,
                    asked.state_id,
                    asked.hunk,
                    lambda: time.monotonic() > end,
                    kept_in=asked.kept_in,
                )
        except (StuckError, MemoryError, RecursionError) as error:
            found = FileIsBack(fault=_broken_off(error))
        self._channel.sendall(AT_READER.encode(IsBack(asked.id, found)))
        gc.collect()

    def _compare(self, asked: Compare) -> None:
        end = time.monotonic() + asked.seconds
        try:
            with _alarm(_HARD_SECONDS):
                found = compare(
                    asked.pairs, asked.file, lambda: time.monotonic() > end, asked.notes
                )
        except (StuckError, MemoryError, RecursionError) as error:
            found = FolderCompared(fault=_broken_off(error))
        try:
            line = AT_READER.encode(Compared(asked.id, found))
        except LineError as error:
            line = AT_READER.encode(Compared(asked.id, FolderCompared(fault=str(error))))
        self._channel.sendall(line)
        gc.collect()

    def _look(self, look: Look) -> None:
        end = time.monotonic() + look.seconds
        states = self.look(look, end)
        try:
            line = AT_READER.encode(Looked(look.id, states))
        except LineError as error:
            root = states[0].root
            doubt = FolderState(root, states[0].head, {}, is_whole=False, why=str(error))
            line = AT_READER.encode(Looked(look.id, (doubt,)))
        self._channel.sendall(line)
        gc.collect(1)  # a library's errors stand in circles, with maps of packs in them
        is_early = any(state.why == TOO_LARGE for state in states)
        if is_early and not look.gives_way and not self._is_asked():
            self.look(look, time.monotonic() + _REST_SECONDS, is_rest=True)

    def look(self, look: Look, end: float, *, is_rest: bool = False) -> tuple[FolderState, ...]:
        """Look at a root and those within, up to `end`; the rest gives way to questions."""
        gives_way = is_rest or look.gives_way

        def is_late() -> bool:
            return time.monotonic() > end or (gives_way and self._is_asked())

        found = None
        states: list[FolderState] = []
        try:
            with _alarm(_HARD_SECONDS):
                found = _found(look.folder)
                if found is None:
                    return (FolderState(look.folder, "", {}, is_whole=False, why=NO_REPOSITORY),)
                waiting = [found.root]
                while waiting:
                    root = waiting.pop(0)
                    found = repository_at(root)
                    if found is None:
                        continue  # a submodule that is not checked out
                    tree = self._tree(found)
                    looked = tree.look(look.bases.get(path_text(root), ""), is_late)
                    states.append(looked.state)
                    waiting += looked.inner
                    if len(states) + len(waiting) > MAX_ROOTS:
                        del waiting[MAX_ROOTS - len(states) :]
                        states[0] = _doubted(states[0], f"more than {MAX_ROOTS} repositories")
        except (StuckError, MemoryError, RecursionError) as error:
            why = _broken_off(error)
            root_text = path_text(found.root) if found is not None else look.folder
            if found is not None:
                self._trees.pop(found.root, None)  # it may be half changed
            gc.collect()
            states.append(FolderState(root_text, "", {}, is_whole=False, why=why))
        return tuple(states)

    def _tree(self, found: Repository) -> WorkTree:
        tree = self._trees.pop(found.root, None)
        if tree is None or tree.repository != found:
            tree = WorkTree(found)
        while len(self._trees) >= _KEPT:
            del self._trees[next(iter(self._trees))]
        self._trees[found.root] = tree
        return tree

    def _is_asked(self) -> bool:
        return bool(select.select([self._channel], [], [], 0)[0])


def _broken_off(error: BaseException) -> str:
    if isinstance(error, StuckError):
        return f"it was broken off after {_HARD_SECONDS:.0f} seconds"
    return f"it was broken off ({type(error).__name__})"


def _found(folder: str) -> Repository | None:
    try:
        return find_repository(os.fsencode(folder)) if os.path.isabs(folder) else None  # noqa: PTH117 - maybe no path
    except UnicodeEncodeError:
        return None  # no name of a folder


def _doubted(state: FolderState, why: str) -> FolderState:
    return FolderState(
        state.root,
        state.head,
        state.files,
        is_whole=False,
        why=state.why or why,
        packages=state.packages,
    )


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise StuckError

    signal.signal(signal.SIGALRM, stop)
    # Again and again: the first may come where an exception is swallowed.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main() -> int:
    logging.basicConfig(format=LOG_FORMAT, level=logging.INFO, stream=sys.stderr)
    # A repository's patterns would fill the log.
    logging.getLogger("dulwich").setLevel(logging.CRITICAL)
    os.nice(_NICE)
    with contextlib.suppress(ValueError, OSError):  # a lower limit is there already
        # Of memory of its own: packs are mapped, and may be larger.
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    gc.freeze()
    gc.disable()  # hundreds of thousands of tuples that live on: each look collects what is new
    LookServer(inherited_end(sys.argv[1])).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
