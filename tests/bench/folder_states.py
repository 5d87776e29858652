"""States of folders, and what changed in them: how long the process that reads them takes."""

import asyncio
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tapui.core.effects import FilePlace
from tapui.core.proof.folder_states import pair_of
from tapui.runtime.folders.reader import FolderReader

FOLDER = 10
"""Files of a folder."""
LONGEST = 120.0
"""Seconds for a look that has to be whole."""


@dataclass(frozen=True)
class Looks:
    """Milliseconds of looks at one repository, and of `git status` there; the process's MB."""

    cold: float
    warm: float
    committed: float
    git: float
    memory: float
    files: int


def repository(root: Path, files: int) -> None:
    """Make a repository of so many files of some hundred bytes, all of them committed."""
    for number in range(files):
        folder = root / f"p{number // (FOLDER * 100)}/m{number // FOLDER % 100}"
        if number % FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"f{number}.py").write_text(f"value = {number}\n" * 20)
    _git(root, "init", "-q")
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "all")


def edit(root: Path, count: int) -> None:
    """Change the first files of as many folders."""
    for number in range(count):
        write(edited(root, number), number)


def edited(root: Path, number: int) -> Path:
    """Return the first file of a folder."""
    return next((root / f"p{number // 100}/m{number % 100}").iterdir())


def write(path: Path, number: int) -> None:
    """Give a file a content that it never had."""
    path.write_text(f"edited {number} {time.time_ns()}\n")


def looks(root: Path, times: int) -> Looks:
    """Measure looks of a process that is new, and of the same one again and after a commit."""
    return asyncio.run(_looks(root, times))


async def _looks(root: Path, times: int) -> Looks:
    reader = FolderReader()
    try:
        await reader.look("/")  # its start is not measured
        while not (await reader.look(str(root.parent), seconds=LONGEST))[0].why:
            pass
        cold, found = await look(reader, root)
        warm = [(await look(reader, root))[0] for _ in range(times)]
        assert reader.pid is not None
        memory = psutil.Process(reader.pid).memory_info().rss / 1e6
        begun = time.perf_counter()
        _git(root, "status", "--porcelain")
        status = time.perf_counter() - begun
        _git(root, "commit", "-qam", "edits", "--allow-empty")
        committed, _ = await look(reader, root)
    finally:
        await reader.stop()
    return Looks(cold, statistics.median(warm), committed, status * 1e3, memory, found)


@dataclass(frozen=True)
class Comparisons:
    """Milliseconds to list what changed, and to read the lines of one of these files."""

    files: int
    listed: float
    lines: float


def comparisons(root: Path, times: int) -> Comparisons:
    """Measure comparisons with the newest commit, in a process that runs already."""
    return asyncio.run(_comparisons(root, times))


async def _comparisons(root: Path, times: int) -> Comparisons:
    reader = FolderReader()
    try:
        (state,) = await reader.look(str(root), seconds=LONGEST)
        pairs = (pair_of(None, state),)
        listed, lines = [], []
        for _ in range(times):
            begun = time.perf_counter()
            found = await reader.compare(pairs)
            listed.append(time.perf_counter() - begun)
            file = found.files[0]
            begun = time.perf_counter()
            await reader.compare(pairs, FilePlace(file.root, file.path))
            lines.append(time.perf_counter() - begun)
    finally:
        await reader.stop()
    if found.fault or found.notes:
        raise RuntimeError(found.fault or found.notes[0])
    middle = statistics.median
    return Comparisons(len(found.files), middle(listed) * 1e3, middle(lines) * 1e3)


async def look(reader: FolderReader, root: Path) -> tuple[float, int]:
    """Return the milliseconds of a look, which has to be whole, and how many files are changed."""
    begun = time.perf_counter()
    (state,) = await reader.look(str(root), seconds=LONGEST)
    took = time.perf_counter() - begun
    if not state.is_whole:
        raise RuntimeError(state.why)
    return took * 1e3, len(state.files)


def sizes() -> Iterator[tuple[int, int]]:
    """Yield files and how often each is looked at."""
    yield 1_000, 40
    yield 10_000, 20
    yield 100_000, 7


def _git(root: Path, *args: str) -> None:
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", *identity, *args], cwd=root, check=True, stdout=subprocess.DEVNULL)
