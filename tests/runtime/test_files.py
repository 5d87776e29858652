"""Results in files: copied to the session's folder before the caller hears of them."""

import errno
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tapui.core.effects import Copied, CopyFile, NotCopied
from tapui.records.record_file import trim
from tapui.runtime import disk_work
from tapui.runtime.disk_work import copied
from tapui.wire.limits import MAX_FILE_BYTES
from tests.rig.waiting import HUNG
from tests.runtime.house import House, Witness, until


@pytest.fixture
def persist(tmp_path: Path) -> Path:
    folder = tmp_path / "providers" / "p"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def session(tmp_path: Path) -> Path:
    folder = tmp_path / "tap"
    folder.mkdir()
    return folder


def copy(
    path: Path | str, persist: Path, session: Path, *, ttl: float | None = None
) -> Copied | NotCopied:
    fd = os.open(session, os.O_RDONLY)
    effect = CopyFile(1, str(path), str(persist), "s1", "call-1", ttl)
    before = len(list(Path("/dev/fd").iterdir()))
    found = copied(effect, (fd, session), time.monotonic())
    assert len(list(Path("/dev/fd").iterdir())) == before - 1, "every descriptor is closed"
    return found


def refused(found: Copied | NotCopied) -> str:
    assert isinstance(found, NotCopied)
    return f"{found.code}: {found.text}"


@pytest.mark.parametrize("size", [0, 1, 3_000_000, MAX_FILE_BYTES])
def test_a_file_is_copied_whole(persist: Path, session: Path, size: int) -> None:
    data = os.urandom(1000) * (size // 1000 + 1)
    (persist / "shots").mkdir()
    source = persist / "shots" / "page.png"
    source.write_bytes(data[:size])
    found = copy(source, persist, session)
    target = session / "results" / "call-1.png"
    assert found == Copied(str(target), size)
    source.unlink()
    assert target.read_bytes() == data[:size]
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.parent.stat().st_mode & 0o777 == 0o700


def test_a_persist_dir_may_be_named_by_its_real_path(
    tmp_path: Path, persist: Path, session: Path
) -> None:
    (persist / "a.txt").write_text("hello")
    link = tmp_path / "home"
    link.symlink_to(persist.parent)
    for path in (persist / "a.txt", link / "p" / "a.txt"):
        assert isinstance(copy(path, link / "p", session), Copied)
        (session / "results" / "call-1.txt").unlink()


def test_what_is_no_file_of_the_provider_is_refused(
    tmp_path: Path, persist: Path, session: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (persist / "link").symlink_to(secret)
    (persist / "folder-link").symlink_to(tmp_path)
    (persist / "folder").mkdir()
    os.mkfifo(persist / "fifo")
    cases: list[Path | str] = [
        persist / "link",
        persist / "folder-link" / "secret",
        persist / "folder",
        persist / "fifo",
        persist / "missing",
        persist / "missing" / "deeper",
        persist / ".." / "p" / "folder",
        f"{persist}//folder",
        f"{persist}/.",
        f"{persist}/",
        persist,
        f"{persist}-other/x",
        secret,
        "relative",
        "",
        "/",
        f"{persist}/a\0b",
        f"{persist}/" + "x" * 300,
        f"{persist}/caf\udce9",
        f"{persist}/half\ud83d",
    ]
    for path in cases:
        found = refused(copy(path, persist, session))
        assert found.startswith("INTERNAL: file.path: "), path
    assert not list(session.rglob("*.*"))


def test_a_provider_whose_folder_is_gone_is_refused(persist: Path, session: Path) -> None:
    persist.rmdir()
    assert "file.path" in refused(copy(persist / "a", persist, session))


def test_a_file_over_the_limit_is_refused(persist: Path, session: Path) -> None:
    source = persist / "large"
    with source.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert refused(copy(source, persist, session)).startswith("PAYLOAD_TOO_LARGE: ")


def test_a_file_that_grows_over_the_limit_meanwhile_leaves_nothing(
    persist: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = persist / "grows"
    source.write_bytes(b"x")
    read = os.read

    def growing(fd: int, size: int) -> bytes:
        with source.open("ab") as file:
            file.write(b"x" * 4_000_000)
        return read(fd, size * 4)

    monkeypatch.setattr(disk_work.os, "read", growing)
    found = copy(source, persist, session)
    monkeypatch.undo()
    assert refused(found).startswith("PAYLOAD_TOO_LARGE: ")
    assert list((session / "results").iterdir()) == []


def test_a_file_is_not_read_after_its_ttl(persist: Path, session: Path) -> None:
    (persist / "a").write_text("hello")
    assert "ttl" in refused(copy(persist / "a", persist, session, ttl=-1))
    assert isinstance(copy(persist / "a", persist, session, ttl=300), Copied)


def test_a_link_in_place_of_the_results_is_not_followed(
    tmp_path: Path, persist: Path, session: Path
) -> None:
    (persist / "a").write_text("hello")
    (tmp_path / "elsewhere").mkdir()
    (session / "results").symlink_to(tmp_path / "elsewhere")
    found = copy(persist / "a", persist, session)
    assert isinstance(found, NotCopied)
    assert found.is_ours
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_full_disk_leaves_no_part_of_a_copy(
    persist: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (persist / "a").write_bytes(b"x" * 10_000)
    write, room = os.write, [5000]

    def full(fd: int, data: Any) -> int:
        if not room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = write(fd, bytes(data)[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(disk_work.os, "write", full)
    found = copy(persist / "a", persist, session)
    monkeypatch.undo()
    assert isinstance(found, NotCopied)
    assert found.is_ours
    assert "No space left on device" in found.text
    assert list((session / "results").iterdir()) == []


def test_results_count_in_the_session_s_total(session: Path) -> None:
    results = session / "results"
    results.mkdir()
    for number in range(4):
        (results / f"call-{number}").write_bytes(b"x" * 1000)
        os.utime(results / f"call-{number}", (number, number))
    (results / "fresh").write_bytes(b"x" * 1000)
    (session / "calls.jsonl").write_bytes(b"x" * 1000)
    fd = os.open(session, os.O_RDONLY)
    try:
        assert trim(fd, 6000) == []
        assert trim(fd, 4000) == ["results/call-0", "results/call-1"]
        assert trim(fd, 0) == ["results/call-2", "results/call-3"]
    finally:
        os.close(fd)
    assert (results / "fresh").exists(), "its caller may not have read it yet"


async def test_a_result_in_a_file_reaches_its_caller_as_the_session_s_copy(
    house: House, witness: Witness
) -> None:
    host, provider = await house.bound()
    (house.state / "p").mkdir(exist_ok=True)
    source = house.state / "p" / "shot.png"
    source.write_bytes(b"an image")
    call = await house.called(host, provider)
    file = {"path": str(source), "mimeType": "image/png", "size": 1, "ttl": 60}
    house.say(provider, type="tool.result", id=call, file=file)
    id_ = witness.ask()
    await until(lambda: host.heard("tool.outcome"))
    target = house.state / "sessions/s1/results" / f"{call}.png"
    outcome = host.heard("tool.outcome")[0]
    assert outcome["file"] == {"path": str(target), "mimeType": "image/png", "size": 8}
    assert target.read_bytes() == b"an image"
    (finished,) = [
        one
        for one in house.records()
        if one["kind"] == "call.finished" and one["call"]["id"] == call
    ]
    assert finished["call"]["file"] == outcome["file"]
    await witness.is_answered(id_)
    witness.saw_every_event()


async def test_a_slow_copy_holds_nobody_else_up_and_one_that_fails_is_told(
    house: House, witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, provider, tower = house.host(), house.provider(), house.tower()
    await until(lambda: provider.heard("hello.ack"))
    free = threading.Event()

    def slow(*_: object) -> NotCopied:
        free.wait(HUNG)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk_work, "_copy", slow)
    call = await house.called(host, provider)
    file = {"path": "/x", "mimeType": "image/png", "size": 1}
    house.say(provider, type="tool.result", id=call, file=file)
    await witness.is_answered(witness.ask())
    assert not host.heard("tool.outcome")
    free.set()
    await until(lambda: host.heard("tool.outcome"))
    outcome = host.heard("tool.outcome")[0]
    assert outcome["errorCode"] == "INTERNAL"
    assert "No space left" in outcome["error"]
    await until(lambda: tower.heard("tower.notice"))
    assert "No space left" in json.dumps(tower.heard("tower.notice"))
    witness.saw_every_event()
