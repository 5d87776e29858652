"""What a session changed, of a real repository: by whom, since when, its lines, and as a patch."""

import asyncio
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tapui.runtime.folders.comparison import LARGE
from tapui.wire import limits
from tests.cli.running import ran
from tests.cli.schemas import check
from tests.gateway.test_proof import PASSED, at_work, folder
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Json, Tower
from tests.rig.waiting import HUNG, until

__all__ = ["folder"]


async def changes(tower: Tower, **asked: Any) -> Json:
    await tower.send({"type": "changes.read", "id": "c", "sessionId": "s1", **asked})
    return await answer(tower, "changes", "changes.read")


async def diff(tower: Tower, root: Path, path: str, **asked: Any) -> Json:
    place = {"root": str(root), "path": path}
    await tower.send({"type": "diff.read", "id": "d", "sessionId": "s1", **place, **asked})
    return await answer(tower, "diff", "diff.read")


async def answer(tower: Tower, kind: str, asked: str) -> Json:
    while True:
        came = await tower.next()
        if came["type"] == kind or (came["type"] == "error" and came.get("replyTo") == asked):
            return came


def git(folder: Path, *words: str, text: bytes | None = None) -> bytes:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", *names, *words], cwd=folder, check=True, env=environ, input=text,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    return done.stdout


def told_by(file: Json) -> list[tuple[str, str]]:
    return [(one["kind"], one.get("what", "")) for one in file.get("by", [])]


async def test_each_file_with_its_writer(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        call = await work.begin("sed -i s/a/b/ till.py")
        (folder / "till.py").write_text("b\n")
        await work.end(call, 0)
        await work.run("pytest -q", 0, PASSED)
        await work.tell("session.idle")
        (folder / "notes.md").write_text("by an editor\n")
        listed = await changes(work.tower)
    files = {one["path"]: one for one in listed["files"]}
    assert [*files] == ["cart.py", "notes.md", "till.py"]
    assert told_by(files["cart.py"]) == [("tool", "edit")]
    assert told_by(files["till.py"]) == [("shell", "sed -i s/a/b/ till.py")]
    assert told_by(files["notes.md"]) == [("unknown", "")]
    states = [(one["state"], one["added"], one["removed"]) for one in listed["files"]]
    assert states == [("modified", 1, 1), ("added", 1, 0), ("added", 1, 0)]
    after = {path: one["isAfterCheck"] for path, one in files.items()}
    assert after == {"cart.py": False, "notes.md": True, "till.py": False}


async def test_what_another_program_writes_is_news_and_nothing_else_is(
    gateway: Gateway, folder: Path
) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.tell("session.idle")
        until(lambda: work.facts("judged"), what="the turn's end")
        known = (await changes(work.tower))["look"]
        same = await changes(work.tower, known=known)
        (folder / "notes.md").write_text("by an editor\n")
        news = await changes(work.tower, known=known)
        async with asyncio.timeout(HUNG):
            while "same" in news:  # other looks go before
                news = await changes(work.tower, known=known)
    assert (same["same"], same.get("files", [])) == (True, [])
    assert [one["path"] for one in news["files"]] == ["cart.py", "notes.md"]
    assert news["look"] > known


async def test_since_a_turn_and_since_the_newest_commit(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.tell("session.idle")
        until(lambda: work.facts("judged"), what="the turn's end")
        git(folder, "commit", "-qam", "second")
        await work.tell("user.message", content="more")
        until(lambda: work.facts("turn") == 2, what="the next turn")
        await work.edit("till.py", "new\n")
        start, turn, first, commit, none = [
            await changes(work.tower, **asked)
            for asked in (
                {},
                {"since": "turn"},
                {"since": "turn", "turn": 1},
                {"since": "commit"},
                {"since": "turn", "turn": 9},
            )
        ]
    paths = [[one["path"] for one in told["files"]] for told in (start, turn, first, commit)]
    assert paths == [["cart.py", "till.py"], ["till.py"], ["cart.py", "till.py"], ["till.py"]]
    assert (none["type"], none["code"]) == ("error", "NOT_FOUND")
    assert none["message"] == "how turn 9 found the folder is not known"


async def test_what_was_dirty_before_is_told(gateway: Gateway, folder: Path) -> None:
    (folder / "cart.py").write_text("dirty\n")
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        (one,) = (await changes(work.tower))["files"]
        told = await diff(work.tower, folder, "cart.py")
    assert one["note"].startswith("it was changed before: compared with the commit")
    assert told["hunks"] == [{"old": 1, "new": 1, "lines": ["-old", "+new"]}]
    assert told["notes"] == [one["note"]]


async def test_only_what_is_changed_is_read(gateway: Gateway, folder: Path) -> None:
    (folder / ".gitignore").write_text(".env\n")
    (folder / "same.py").write_text("same\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "second")
    (folder / ".env").write_text("TOKEN=x\n")
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        for path in (".env", "same.py", "../shop/cart.py", ".git/HEAD", "/etc/passwd", "nothing"):
            refused = await diff(work.tower, folder, path)
            assert (refused["type"], refused["message"]) == ("error", "it is not changed")
        refused = await diff(work.tower, Path("/etc"), "passwd")
        assert refused["message"] == "it is in no repository of the session"


async def test_the_command_line(gateway: Gateway, folder: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(folder), str(clone))
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        (folder / "odd \x1b[31m\té.txt").write_bytes(b"a\nno end")
        (folder / "bin").write_bytes(b"\0\x01")
        printed = {
            name: await asyncio.to_thread(ran, gateway.home, "changes", "s1", *options)
            for name, options in {
                "table": (),
                "json": ("--json",),
                "md": ("--md",),
                "patch": ("--patch",),
                "turn": ("--since", "9"),
                "wrong": ("--since", "soon"),
            }.items()
        }
    assert [one.returncode for one in printed.values()] == [0, 0, 0, 0, 1, 2]
    assert "\x1b[31m" not in printed["table"].stdout + printed["md"].stdout
    assert [line.split() for line in printed["table"].stdout.splitlines()][:3:2] == [
        ["FILE", "CHANGE", "+", "−", "BY"],
        ["cart.py", "modified", "+1", "−1", "edit"],
    ]
    told = json.loads(printed["json"].stdout)
    check("changes", printed["json"].stdout)
    assert [one["path"] for one in told["files"]] == ["bin", "cart.py", "odd \x1b[31m\té.txt"]
    assert "| cart.py | modified | +1 −1 | edit |  |" in printed["md"].stdout
    git(clone, "apply", "-", text=printed["patch"].stdout.encode())
    for name in ("cart.py", "bin", "odd \x1b[31m\té.txt"):
        assert (clone / name).read_bytes() == (folder / name).read_bytes()


async def test_much_is_bounded_and_passed_on(
    gateway: Gateway, folder: Path, tmp_path: Path
) -> None:
    """The most files, and a diff of nearly the most bytes, go through all of the gateway."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(folder), str(clone))
    async with at_work(gateway, folder) as work:
        (folder / "large.py").write_text('"é"\n' * 900_000)
        (folder / "larger.py").write_bytes(b"x\n" * 3_000_000)
        large = await diff_of(work.tower, folder, "large.py")
        larger = await diff_of(work.tower, folder, "larger.py")
        patch = await asyncio.to_thread(ran, gateway.home, "changes", "s1", "--patch")
        for number in range(limits.CHANGED_FILES):
            (folder / f"file-{number}.py").write_text("x\n")
        listed = await changes(work.tower)
    (hunk,) = large["hunks"]
    assert len(hunk["lines"]) > 400_000
    assert large["notes"] == [f"{900_000 - len(hunk['lines']):,} more lines are not shown"]
    assert (larger.get("hunks"), larger["notes"]) == (None, [LARGE])
    assert (patch.returncode, patch.stderr) == (1, f"larger.py: {LARGE}\n")
    git(clone, "apply", "-", text=patch.stdout.encode())
    assert (clone / "large.py").read_bytes() == (folder / "large.py").read_bytes()
    assert (len(listed["files"]), listed["more"]) == (limits.CHANGED_FILES, 2)


async def diff_of(tower: Tower, folder: Path, path: str) -> Json:
    """List what changed, so that the folder is looked at, and read the lines of one."""
    await changes(tower)
    return await diff(tower, folder, path)


@pytest.mark.parametrize("kind", ["no repository", "no shells"])
async def test_where_nothing_is_known(gateway: Gateway, tmp_path: Path, kind: str) -> None:
    from tests.rig.peers import Host

    shells = {"shellTools": ["bash"], "reservedTools": ["bash"]} if kind == "no repository" else {}
    async with (
        await Host.hello(gateway.url, gateway.internal_token) as host,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        await host.open("s1", cwd=str(tmp_path), **shells)
        refused = await changes(tower)
    assert refused["code"] == "NOT_FOUND"


async def order(tower: Tower, kind: str, **asked: Any) -> Json:
    await tower.send({"type": kind, "id": "o", "sessionId": "s1", **asked})
    return await answer(tower, "changes.done", kind)


async def test_a_hunk_and_a_file_are_put_back_as_the_persons_change(
    gateway: Gateway, folder: Path
) -> None:
    lines = [f"line {number}\n" for number in range(30)]
    (folder / "long.py").write_text("".join(lines))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "second")
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.edit("long.py", "".join(["zero\n", *lines[1:25], "more\n", *lines[25:]]))
        await work.run("pytest -q", 0, PASSED)
        shown = await diff(work.tower, folder, "long.py")
        place = {"root": str(folder), "path": "long.py", "stateId": shown["file"]["stateId"]}
        done = await order(work.tower, "file.putBack", **place, hunk=shown["hunks"][1])
        assert done["type"] == "changes.done"
        assert (folder / "long.py").read_text() == "".join(["zero\n", *lines[1:]])
        again = await order(work.tower, "file.putBack", **place)
        assert again["message"] == "the file is another one than shown: look again"
        files = {one["path"]: one for one in (await changes(work.tower))["files"]}
        assert told_by(files["long.py"])[0] == ("person", "put back")
        assert files["long.py"]["isAfterCheck"]
        state_id = files["cart.py"]["stateId"]
        whole = {"root": str(folder), "path": "cart.py", "stateId": state_id}
        assert (await order(work.tower, "file.putBack", **whole))["type"] == "changes.done"
        assert (folder / "cart.py").read_text() == "old\n"
        assert await work.proof() == "unchecked: 2 files changed since pytest passed"
    assert git(folder, "status", "--porcelain") == b" M long.py\n"


async def test_what_a_file_would_become_must_be_what_was_shown(
    gateway: Gateway, folder: Path
) -> None:
    """It is compared with the newest commit, and then there is a newer one."""
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "first\n")
        shown = (await diff(work.tower, folder, "cart.py", since="commit"))["file"]
        (folder / "cart.py").write_text("other\n")
        git(folder, "commit", "-qam", "second")
        (folder / "cart.py").write_text("first\n")
        place = {"root": str(folder), "path": "cart.py", "since": "commit"}
        states = {"stateId": shown["stateId"], "oldStateId": shown["oldStateId"]}
        refused = await order(work.tower, "file.putBack", **place, **states)
        why = "what it would become is another one than shown: look again"
        assert refused["message"] == why
        assert (folder / "cart.py").read_text() == "first\n"


async def test_nothing_is_put_back_once_another_turn_has_begun(
    gateway: Gateway, folder: Path
) -> None:
    """The person is asked about a file of the turn, and meanwhile there is a newer one."""
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "first\n")
        await changes(work.tower, since="turn")
        shown = await diff(work.tower, folder, "cart.py", since="turn")
        await work.tell("session.idle")
        await work.tell("user.message", content="more")
        until(lambda: work.facts("turn") == 2, what="the next turn")
        place = {"root": str(folder), "path": "cart.py", "since": "turn"}
        states = {key: shown["file"][key] for key in ("stateId", "oldStateId")}
        for hunk in ({}, {"hunk": shown["hunks"][0]}):
            refused = await order(work.tower, "file.putBack", **place, **states, **hunk)
            assert (refused["type"], refused["message"]) == ("error", "it is not changed")
        assert (folder / "cart.py").read_text() == "first\n"
        assert (await changes(work.tower, since="turn")).get("files", []) == []
        again = await diff(work.tower, folder, "cart.py", since="turn")
        assert again["message"] == "it is not changed"
        place["turn"] = 1
        done = await order(work.tower, "file.putBack", **place, **states)
        assert done["type"] == "changes.done"
        assert (folder / "cart.py").read_text() == "old\n"


async def test_marks_and_notes_are_there_after_a_restart(home: Home, folder: Path) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("cart.py", "new\n")
            (file,) = (await changes(work.tower))["files"]
            place = {"root": str(folder), "path": "cart.py", "stateId": file["stateId"]}
            await order(work.tower, "file.see", **place)
            note = {"body": "why?", "lines": {"first": 1, "last": 1}, "quote": "new"}
            await order(work.tower, "note.keep", **place, **note)
            until(lambda: work.facts("note"), what="the note on the disk")
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("till.py", "more\n")
            seen = {
                one["path"]: bool(one.get("isSeen")) for one in (await changes(work.tower))["files"]
            }
            async with await Tower.hello(gateway.url, gateway.internal_token) as other:
                (marks,) = other.snapshot["state"]["marks"]
    assert seen == {"cart.py": True, "till.py": False}
    assert [(one["body"], one["quote"]) for one in marks["notes"]] == [("why?", "new")]
