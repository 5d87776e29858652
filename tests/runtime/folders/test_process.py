"""The process that reads folders, and the gateway's side of it."""

import ast
import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from tapui.core.effects import FilePlace
from tapui.core.proof.folder_states import (
    NO_REPOSITORY,
    Difference,
    FolderState,
    difference,
    pair_of,
)
from tapui.runtime.children.lines import LineSplitter
from tapui.runtime.folders.messages import AT_GATEWAY, Compare, Compared, Look, Looked
from tapui.runtime.folders.reader import START_SECONDS, FolderReader
from tests.rig.waiting import HUNG, until
from tests.runtime.folders.repositories import Repo, sha

LONG = 20.0
"""Seconds for a look that has to be whole, on a busy machine."""


@pytest.fixture
async def reader() -> AsyncIterator[FolderReader]:
    made = FolderReader()
    yield made
    await made.stop()


async def test_a_look_is_answered(reader: FolderReader, repo: Repo) -> None:
    repo.write("a.py", "2\n")
    (state,) = await reader.look(str(repo.root / "src"), seconds=LONG)
    assert state == repo.look()
    repo.git("commit", "-qam", "x")
    (same,) = await reader.look(str(repo.root), {str(repo.root): state.head}, LONG)
    assert same == state


async def test_roots_within_are_looked_at_too(
    reader: FolderReader, repo: Repo, tmp_path: Path
) -> None:
    inner = Repo(repo.root / "inner")
    inner.commit(a_py="1\n")
    before = await reader.look(str(repo.root), seconds=LONG)
    inner.write("a.py", "2\n")
    after = await reader.look(str(repo.root), {one.root: one.head for one in before}, LONG)
    assert [one.root for one in after] == [str(repo.root), str(inner.root)]
    found: Difference = difference(before, after)
    assert found.verdict == "changed"
    assert [*found.changed] == [(str(inner.root), "")]


async def test_a_folder_without_a_repository_says_it(reader: FolderReader, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        (state,) = await reader.look(str(folder), seconds=LONG)
        assert state == FolderState(str(folder), "", {}, is_whole=False, why=NO_REPOSITORY)


async def test_the_start_of_the_process_is_no_time_of_the_first_look(
    reader: FolderReader, tmp_path: Path
) -> None:
    (state,) = await reader.look(str(tmp_path), seconds=0.0)
    assert state.why == NO_REPOSITORY, "the process has answered"


async def test_no_folder_breaks_it(reader: FolderReader, repo: Repo) -> None:
    for folder in ("/a\0b", "", "not/absolute", "/" + "x/" * 5000, "/\udcff"):
        (state,) = await reader.look(folder, seconds=LONG)
        assert not state.is_whole
        (state,) = await reader.look(str(repo.root), {str(repo.root): folder}, seconds=LONG)
        assert state.is_whole == (not folder)
        assert reader.pid is not None


async def test_a_comparison_is_answered_also_by_a_process_that_is_new(
    reader: FolderReader, repo: Repo
) -> None:
    repo.write("a.py", "edited\n")
    pairs = (pair_of(None, repo.look()),)
    for _ in range(2):
        found = await reader.compare(pairs)
        assert [(one.path, one.added) for one in found.files] == [("a.py", 1)]
    nowhere = (replace(pairs[0], root="/nowhere"),)
    found = await reader.compare(nowhere)
    assert found.notes == ("/nowhere: its repository is not there any more",)
    for root in ("", "//\\xff", "not/absolute", "/\0", "/" + "x/" * 5000):
        found = await reader.compare((replace(pairs[0], root=root),))
        assert found.files == ()


async def test_looks_at_once_are_answered_in_turn(reader: FolderReader, repo: Repo) -> None:
    found = await asyncio.gather(
        *(reader.look(str(repo.root), seconds=LONG) for _ in range(20)),
    )
    assert all(states == (repo.look(),) for states in found)


async def test_a_look_that_is_late_is_gone_on_with(reader: FolderReader, repo: Repo) -> None:
    """Without time there is an answer all the same; the next ones have more."""
    for number in range(2000):
        repo.write(f"new/{number}.py", f"{number}\n")
    (first,) = await reader.look(str(repo.root), seconds=0.0)
    assert not first.is_whole
    end = asyncio.get_running_loop().time() + HUNG
    while asyncio.get_running_loop().time() < end:
        (state,) = await reader.look(str(repo.root), seconds=0.5)
        if state.is_whole:
            break
    assert state == repo.look()


async def test_a_reader_that_is_killed_is_started_again(reader: FolderReader, repo: Repo) -> None:
    (state,) = await reader.look(str(repo.root), seconds=LONG)
    assert reader.pid is not None
    psutil.Process(reader.pid).kill()
    end = asyncio.get_running_loop().time() + HUNG
    seen = set()
    while asyncio.get_running_loop().time() < end:
        (again,) = await reader.look(str(repo.root), seconds=LONG)
        if again == state:
            break
        assert not again.is_whole
        seen.add(again.why)
        await asyncio.sleep(0)  # a refusal is answered at once
    assert again == state
    assert seen <= {
        "the reader of folders failed: it ended",
        "the reader of folders failed: it ended, and is started again later",
    }


async def test_it_ends_when_it_is_stopped(repo: Repo) -> None:
    reader = FolderReader()
    await reader.look(str(repo.root), seconds=LONG)
    pid = reader.pid
    assert pid is not None
    await reader.stop()
    assert not psutil.pid_exists(pid)


async def test_it_ends_with_its_parent(repo: Repo, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = started(theirs)
    ours.close()
    assert process.wait(HUNG) == 0


AS_MODULE = ("-m", "tapui.runtime.folders")


def started(theirs: socket.socket, how: tuple[str, ...] = AS_MODULE) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", *how, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        cwd="/",
    )


def asked(ours: socket.socket, folder: Path, number: int) -> tuple[FolderState, ...]:
    found = answered(ours, Look(number, str(folder), seconds=LONG))
    assert isinstance(found, Looked)
    return found.states


def answered(ours: socket.socket, question: Look | Compare) -> Looked | Compared:
    ours.sendall(AT_GATEWAY.encode(question))
    splitter = LineSplitter()
    ours.settimeout(HUNG)
    while True:
        for line in splitter.feed(ours.recv(1 << 20)):
            return AT_GATEWAY.decode(line)


WATCHED = """
import os, runpy, sys

log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
begins = ("open", "os.", "subprocess.", "pty.")

def watch(event, args):
    if event.startswith(begins):
        os.write(log, (ascii((event, *args)) + "\\n").encode())

sys.addaudithook(watch)
runpy.run_module("tapui.runtime.folders", run_name="__main__", alter_sys=True)
"""
"""Runs the process, and logs what it opens, starts and changes."""

PROGRAMS = """
[core]
    fsmonitor = {marker} fsmonitor
    hooksPath = {hooks}
    sshCommand = {marker} ssh
    pager = {marker} pager
    editor = {marker} editor
    gitProxy = {marker} proxy
    attributesFile = {hooks}/attributes
[include]
    path = {included}
[includeIf "gitdir:/"]
    path = {included}
[filter "lfs"]
    clean = {marker} clean %f
    smudge = {marker} smudge %f
    process = {marker} process
    required = true
[filter "other"]
    clean = {marker} clean %f
    process = {marker} process
[diff "other"]
    textconv = {marker} textconv
    command = {marker} diff
[diff]
    external = {marker} external
[merge "other"]
    driver = {marker} merge
[credential]
    helper = !{marker} credential
[gpg]
    program = {marker} gpg
[alias]
    status = !{marker} alias
[extensions]
    partialClone = origin
[remote "origin"]
    url = ext::{marker} remote
    promisor = true
    uploadpack = {marker} upload
"""


def test_no_program_of_a_repository_runs(repo: Repo, tmp_path: Path) -> None:
    """Python's audit: the process starts none, reads no included file, and writes nothing."""
    marker, marked = tmp_path / "marker", tmp_path / "marked"
    marker.write_text(f'#!/bin/sh\necho "$@" >>{marked}\n')
    marker.chmod(0o755)
    hooks, included = tmp_path / "hooks", tmp_path / "included"
    hooks.mkdir()
    names = ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction")
    for folder in (hooks, repo.root / ".git/hooks"):
        for name in names:
            (folder / name).write_bytes(marker.read_bytes())
            (folder / name).chmod(0o755)
    included.write_text(f"[core]\n\tfsmonitor = {marker} included\n")
    repo.write(".gitattributes", "* filter=other diff=other merge=other\n*.bin filter=lfs\n")
    repo.write("x.bin", "large\n")
    repo.commit()
    with (repo.root / ".git/config").open("a") as config:
        config.write(PROGRAMS.format(marker=marker, hooks=hooks, included=included))
    repo.write("a.py", "edited\n")
    repo.write("x.bin", "edited\n")
    marked.unlink(missing_ok=True)
    # Git itself would run them.
    repo.git("status", check=False)
    assert marked.exists()
    marked.unlink()

    log = tmp_path / "log"
    ours, theirs = socket.socketpair()
    with theirs:
        process = started(theirs, ("-c", WATCHED.format(log=str(log))))
    with ours:
        (state,) = asked(ours, repo.root, 1)
        (missing,) = asked(ours, repo.root / "src", 2)
        pairs = (pair_of(None, state),)
        listed = answered(ours, Compare(3, pairs))
        files = [
            answered(ours, Compare(number, pairs, FilePlace(str(repo.root), path)))
            for number, path in enumerate(("a.py", "x.bin"), 4)
        ]
    assert process.wait(HUNG) == 0
    assert state.is_whole, state.why
    assert state.files == {"a.py": sha("edited\n"), "x.bin": sha("edited\n")}
    assert missing == state
    assert isinstance(listed, Compared)
    assert [(one.path, one.added) for one in listed.found.files] == [("a.py", 1), ("x.bin", 1)]
    lines = [one.found.hunks[0].lines for one in files if isinstance(one, Compared)]
    assert lines == [["-a.py 1", "+edited"], ["-large", "+edited"]]
    acts = [ast.literal_eval(line) for line in log.read_text().splitlines()]
    reads = {act[0] for act in acts} - {"open"}
    assert reads <= {"os.listdir", "os.scandir"}, reads
    opened = [(os.fsdecode(act[1]), act[3]) for act in acts if act[0] == "open"]
    of_repo = [(path, flags) for path, flags in opened if str(tmp_path) in path]
    assert [path for path, _ in of_repo if path.endswith("/repo/.git/HEAD")]
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    assert not [path for path, flags in of_repo if flags & writing]
    assert not [path for path, _ in of_repo if str(included) in path or str(hooks) in path]
    assert not marked.exists()


async def test_a_process_that_is_being_started_ends_too(repo: Repo) -> None:
    reader = FolderReader()
    seconds = -START_SECONDS - 1.0  # its time is over at once
    (state,) = await reader.look(str(repo.root), seconds=seconds)
    assert not state.is_whole
    await reader.stop()
    assert [
        one for one in psutil.Process().children() if "tapui.runtime.folders" in cmdline(one)
    ] == []


def cmdline(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def test_memory_has_a_limit() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        process = started(theirs)
    with ours:
        (state,) = asked(ours, Path("/"), 1)
        assert not state.is_whole
        data = psutil.Process(process.pid).rlimit(psutil.RLIMIT_DATA)
        assert data[0] == data[1] < 2**33
        until(lambda: process.poll() is None, what="the process to live on")
    assert process.wait(HUNG) == 0
