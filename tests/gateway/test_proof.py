"""A turn's line from real ledgers and real folders, and what becomes of both when tapui dies."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tapui.projection.proof import record_of, told_record
from tapui.projection.state import State
from tapui.records import register
from tapui.wire.tower import Snapshot
from tests.cli.running import ran
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Json, Tower
from tests.rig.processes import files_of
from tests.rig.replayed import replay
from tests.rig.waiting import until

PASSED = "2 passed in 0.01s"
CHANGED = "the ledger was changed outside of tapui"


class Work:
    """A session in a repository: its host, a tower, and the files that its agent changes."""

    def __init__(self, home: Home, folder: Path, host: Host, tower: Tower) -> None:
        self.home, self.folder, self.host, self.tower = home, folder, host, tower
        self._calls = 0
        self.earlier = {one["startedAt"] for one in self.told() if one["fact"] == "judged"}

    def lines(self) -> list[str]:
        """Return what is on the disk: whole lines, no two of which are the same."""
        ledgers = files_of(self.home.tapui, "**/ledger.jsonl")
        text = ledgers[0].read_text() if ledgers else ""
        return text.rpartition("\n")[0].splitlines()

    def told(self, before: Collection[str] = ()) -> list[Json]:
        """Return the facts on the disk, but those of these lines."""
        return [json.loads(line[65:]) for line in self.lines() if line not in before]

    def is_seen(self, call: Json, before: Collection[str]) -> bool:
        """Return whether the folder was looked at for a call that has ended since these lines.

        A look that was under way may be recorded meanwhile: behind the end of a command that
        changes no file, and not behind that of a tool which wrote.
        """
        id_, ended = call["toolCallId"], ""
        for one in self.told(before):
            if one["fact"] in ("files", "command") and one["callId"] == id_:
                ended = one["fact"]
            elif one["fact"].startswith("folder") and (
                ended == "files" or (ended and one.get("callId") == id_)
            ):
                return True
        return False

    async def tell(self, name: str, **data: Any) -> None:
        message = {"type": "session.event", "sessionId": "s1", "event": name, "data": data}
        await self.host.send(message)

    async def edit(self, path: str, content: str) -> None:
        """The agent's own tool writes a file; then the folder is looked at."""
        call = await self.begin_edit(path)
        (self.folder / path).write_text(content)
        await self.end_edit(call, path)

    async def begin_edit(self, path: str, **args: Any) -> Json:
        self._calls += 1
        call: Json = {"tool": "edit", "toolCallId": f"t{self._calls}"}
        await self.tell("tool.execution_start", **call, args={"path": path, **args})
        return call

    async def end_edit(self, call: Json, path: str, *, removed: int = 0) -> None:
        """The tool has written a file; then the folder is looked at."""
        before = self.lines()
        changes = [{"path": str(self.folder / path), "added": 1, "removed": removed}]
        await self.tell("tool.execution_complete", **call, changes=changes)
        until(lambda: self.is_seen(call, before), what="a look after the edit")

    async def run(self, command: str, code: int, output: str = "") -> None:
        """The agent's shell runs a command; then the folder is looked at."""
        await self.end(await self.begin(command), code, output)

    async def begin(self, command: str) -> Json:
        self._calls += 1
        call: Json = {"tool": "bash", "toolCallId": f"t{self._calls}"}
        await self.tell("tool.execution_start", **call, args={"command": command})
        return call

    async def end(self, call: Json, code: int, output: str = "") -> None:
        """A command ends; then the folder is looked at."""
        before = self.lines()
        shell = {"id": "1", "cwd": str(self.folder)}
        result = {"type": "success", "output": output}
        await self.tell(
            "tool.execution_complete", **call, exitCode=code, shell=shell, result=result
        )
        until(lambda: self.is_seen(call, before), what="a look after the command")

    async def proof(self) -> str:
        """End the turn; return the line that it shows. Lines of an earlier run, which a gateway
        shows again once it has read the ledger, are passed over."""
        await self.tell("session.idle")
        while (event := await self.tower.event("session.proof"))["startedAt"] in self.earlier:
            pass
        return f"{event['proof']['state']}: {event['proof']['text']}"

    @property
    def ledger(self) -> Path:
        (file,) = self.home.tapui.glob("**/ledger.jsonl")
        return file

    def facts(self, kind: str) -> int:
        """Return how many facts of a kind are on the disk; of a look, whole ones and changes."""
        return sum(f'"fact":"{kind}' in line for line in self.lines())


@asynccontextmanager
async def at_work(gateway: Gateway, folder: Path) -> AsyncIterator[Work]:
    """Open the session and begin a turn; no look is under way then."""
    async with (
        await Host.hello(gateway.url, gateway.internal_token) as host,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):
        work = Work(gateway.home, folder, host, tower)
        before = work.lines()

        def is_looked_at() -> bool:
            kinds = [one["fact"] for one in work.told(before)]
            began = kinds.index("turn") if "turn" in kinds else len(kinds)
            return any(kind.startswith("folder") for kind in kinds[began:])

        await host.open("s1", cwd=str(folder), shellTools=["bash"], reservedTools=["bash"])
        await work.tell("user.message", content="go")
        until(is_looked_at, what="the turn's first look")
        yield work


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with one commit."""
    made = tmp_path / "shop"
    made.mkdir()
    (made / "cart.py").write_text("old\n")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *command], cwd=made, check=True, env=environ)
    return made


async def test_checked_and_changed_again(gateway: Gateway, folder: Path) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.run("pytest -q", 0, PASSED)
        assert await work.proof() == "checked: pytest, 2 tests, after the last change"
        await work.tell("user.message", content="more")
        await work.edit("till.py", "new\n")
        line = "unchecked: 1 file changed since pytest passed"
        assert await work.proof() == line


async def test_status_records_and_the_tower_s_state_show_the_same(
    gateway: Gateway, folder: Path
) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.run("pytest -q", 0, PASSED)
        await work.edit("till.py", "new\n")
        await work.tell("assistant.message", content="Done: all tests pass.")
        line = (await work.proof()).partition(": ")[2]
        told = [
            (await asyncio.to_thread(ran, gateway.home, "status", *options)).stdout
            for options in (("--line",), ("--json",), ())
        ]
    state = json.dumps(json.loads(told[1])["state"])
    live = State.of(msgspec.json.decode(state, type=Snapshot))
    replayed = replay(register.sessions(gateway.home.tapui)["s1"])
    assert told[0] == "○1\n"
    recorded = {"state": "unchecked", "turn": 1, "text": line, "checkedIn": None}
    assert json.loads(told[1])["recorded"] == {"s1": recorded}
    assert re.search(r"s1 .* done ○ ", told[2])
    assert re.search(rf"○ unchecked: {re.escape(line)}, \d\d:\d\d\n", told[2])
    for state in (live, replayed):
        session = replace(state.sessions["s1"], state="idle")  # the host has gone since
        found = record_of(state, session)
        assert told_record(found) == recorded
        assert found is not None
        assert found.turn.says == "Done: all tests pass."


@pytest.mark.parametrize(
    ("code", "output", "sign", "line"),
    [
        (0, PASSED, "", "✓ checked: pytest"),
        (1, "1 failed in 0.01s", "✗1", "✗ check failed: pytest"),
    ],
)
async def test_the_tests_are_run_in_the_turn_after(
    gateway: Gateway, folder: Path, code: int, output: str, sign: str, line: str
) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.tell("session.idle")
        until(lambda: work.facts("judged"), what="the turn's end")
        await work.tell("user.message", content="run the tests")
        until(lambda: work.facts("turn") == 2, what="the next turn")
        await work.run("pytest -q", code, output)
        await work.tell("session.idle")
        assert (await work.tower.event("session.standing", having="standing"))["standing"].get(
            "unproven", 0
        ) == code
        run = partial(asyncio.to_thread, ran, gateway.home)
        assert (await run("status", "--line")).stdout.strip() == sign
        assert line in (await run("status")).stdout
        proof = await run("proof", "s1")
        assert proof.returncode == (6 if code else 0)
        assert f"**{line}" in proof.stdout
        assert ("· checked in 2" in proof.stdout) == (code == 0)


async def test_a_later_run_that_fails_takes_it_back(home: Home, folder: Path) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("cart.py", "new\n")
            await work.run("pytest -q", 0, PASSED)
            checked = "checked: pytest, 2 tests, after the last change"
            assert await work.proof() == checked
            await work.tower.event("session.standing", having="standing")
            await work.tell("user.message", content="run them once more")
            until(lambda: work.facts("turn") == 2, what="the next turn")
            await work.run("pytest -q", 1, "1 failed in 0.01s")
            await work.tell("session.idle")
            live = (await work.tower.event("session.standing", having="standing"))["standing"]
            assert live["proof"]["state"] == "failed"
            proof = await asyncio.to_thread(ran, gateway.home, "proof", "s1")
            assert proof.returncode == 6
            assert f"✓ {checked}" in proof.stdout, "the turn's own line stays"
    with Gateway(home, "--no-attach") as gateway:
        async with (
            await Tower.hello(gateway.url, gateway.internal_token) as tower,
            await Host.hello(gateway.url, gateway.internal_token) as host,
        ):
            await host.open("s1", cwd=str(folder), shellTools=["bash"], reservedTools=["bash"])
            assert (await tower.event("session.standing", having="standing"))["standing"] == live


async def test_a_ledger_that_is_written_to_is_told_and_not_believed(
    gateway: Gateway, folder: Path
) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.run("pytest -q", 0, PASSED)
        assert await work.proof() == "checked: pytest, 2 tests, after the last change"
        before = work.ledger.read_bytes()
        forged = before + b"0" * 64 + b" {}\n"
        work.ledger.write_bytes(forged)
        await work.tell("user.message", content="more")
        notice = await work.tower.expect("tower.notice")
        assert notice["message"].startswith(CHANGED)
        alarm = (await work.tower.event("alarm.raised"))["alarm"]
        assert (alarm["kind"], alarm["sessionId"], alarm["why"]) == ("ledger", "s1", CHANGED)
        told = (await work.tower.event("session.proof"))["proof"]
        assert (told["state"], told["text"]) == ("unchecked", CHANGED)
        (kept,) = gateway.home.tapui.glob("**/ledger.altered-1.jsonl")
        assert kept.read_bytes() == forged
        status, shown, doctor, records = [
            (await asyncio.to_thread(ran, gateway.home, *words)).stdout
            for words in (
                ("status", "--json"),
                ("status",),
                ("doctor",),
                ("records", "--session", "s1"),
            )
        ]
        assert json.loads(status)["state"]["alarms"][0]["why"] == CHANGED
        assert f"what was proven is unknown: {CHANGED}" in shown
        assert f"what was proven is unknown: {CHANGED}" in doctor
        assert str(kept) in doctor
        assert f"what was proven is unknown: {CHANGED}" in records
        (log,) = gateway.home.tapui.glob("**/tapui-*.log")
        assert f"it is kept as {kept}" in log.read_text()
        state = await tool(work, "tap_get_session_state")
        assert CHANGED in state["ledger"]


async def tool(work: Work, name: str) -> Any:
    await work.host.invoke("s1", name, {}, id_=name)
    return (await work.host.expect("tool.outcome", id=name))["data"]


@pytest.mark.parametrize("how", ["renamed", "removed"])
async def test_a_ledger_whose_folder_is_gone_is_noticed_with_the_next_fact(
    gateway: Gateway, folder: Path, how: str
) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.run("pytest -q", 0, PASSED)
        assert await work.proof() == "checked: pytest, 2 tests, after the last change"
        place = work.ledger.parent
        if how == "removed":
            shutil.rmtree(place)
        else:
            place.rename(place.with_name("gone"))
        await work.tell("user.message", content="more")
        told = (await work.tower.event("session.proof"))["proof"]
        assert (told["state"], told["text"]) == ("unchecked", CHANGED)
        until((place / "ledger.jsonl").exists, what="a new ledger")


async def test_a_ledger_that_is_changed_at_last_is_noticed_at_the_session_s_end(
    gateway: Gateway, folder: Path
) -> None:
    async with at_work(gateway, folder) as work:
        await work.edit("cart.py", "new\n")
        await work.run("pytest -q", 0, PASSED)
        assert await work.proof() == "checked: pytest, 2 tests, after the last change"
        work.ledger.write_bytes(work.ledger.read_bytes())
        await work.host.send({"type": "session.close", "sessionId": "s1", "reason": "over"})
        told = (await work.tower.event("session.proof"))["proof"]
        assert (told["state"], told["text"]) == ("unchecked", CHANGED)


async def test_a_ledger_that_is_changed_at_last_is_noticed_when_tapui_ends(
    home: Home, folder: Path
) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("cart.py", "new\n")
            await work.run("pytest -q", 0, PASSED)
            assert await work.proof() == "checked: pytest, 2 tests, after the last change"
            whole = work.ledger.read_bytes()
            shorter = b"".join(whole.splitlines(keepends=True)[:3])
            work.ledger.write_bytes(shorter)
            gateway.stop()
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            alarm = (await work.tower.event("alarm.raised"))["alarm"]
            assert (alarm["kind"], alarm["why"]) == ("ledger", CHANGED)


async def test_a_kill_between_the_end_of_a_command_and_its_record(home: Home, folder: Path) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("cart.py", "new\n")
            await work.run("pytest -q", 0, PASSED)
            await work.edit("cart.py", "newer\n")
            await work.begin("pytest -q")
            until(lambda: work.facts("begin") == 2, what="the command's beginning")
            gateway.signal(signal.SIGKILL)
            gateway.wait()
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("cart.py", "newest\n")
            line = "unchecked: 1 file changed since pytest passed"
            assert await work.proof() == line


async def test_a_restart_forgets_nothing(home: Home, folder: Path) -> None:
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("cart.py", "new\n")
            await work.run("pytest -q", 0, PASSED)
            assert await work.proof() == "checked: pytest, 2 tests, after the last change"
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            await work.edit("README.md", "text\n")
            await work.edit("cart.py", "newer\n")
            assert await work.proof() == ("unchecked: 1 file changed since pytest passed")
