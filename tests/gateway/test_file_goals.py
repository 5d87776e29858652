"""Goals of a real `tap.config.json`: consent on the disk, problems, restarts, and their removal."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.cli.running import ran, run
from tests.gateway.test_goals import say
from tests.gateway.test_proof import Work, at_work, folder
from tests.rig.gateway import ANYBODY, Gateway, Home
from tests.rig.peers import Json
from tests.rig.waiting import until

__all__ = ["folder"]

TESTS: Json = {"title": "tests", "criteria": ["pytest -q"]}


def write(folder: Path, *goals: Any) -> None:
    (folder / "tap.config.json").write_text(json.dumps({"goals": goals}, indent=1))


class Events:
    """The events that a tower gets; those that were not asked for yet stay."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._seen: list[Json] = []

    async def next(self, kind: str, title: str = "") -> Json:
        """Return the subject of the next event of a kind, of the goal with this title."""
        while True:
            for event in self._seen:
                subject: Json = event.get("goal") or event.get("approval") or event
                named = subject.get("title") or subject.get("detail", {}).get("name")
                if event["kind"] == kind and title in ("", named):
                    self._seen.remove(event)
                    return subject
            self._seen.append((await self._work.tower.expect("tower.event"))["event"])

    async def asked(self, title: str = "tests") -> Json:
        return await self.next("approval.requested", title)

    async def opened(self, title: str = "tests") -> Json:
        return await self.next("goal.opened", title)


async def decide(work: Work, approval: Json, decision: str = "approve") -> None:
    await work.tower.send(
        {"type": "approval.decide", "approvalId": approval["id"], "decision": decision}
    )


async def goals(work: Work) -> list[Json]:
    """Return the goals of the session."""
    await work.tower.send({"type": "goals.read", "id": "r", "sessionId": "s1"})
    listed: list[Json] = (await work.tower.expect("goals.list", id="r"))["goals"]
    return listed


def consents(home: Home) -> list[str]:
    """Return the titles of the goals that are allowed on the disk."""
    (file,) = home.tapui.glob("**/goals/consents.json")
    (kept,) = json.loads(file.read_text())["folders"].values()
    return [one["entry"]["name"] for one in kept]


async def test_it_is_asked_about_once_and_again_where_its_text_changed(
    home: Home, folder: Path
) -> None:
    write(folder, TESTS)
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            events = Events(work)
            approval = await events.asked()
            assert approval["detail"]["file"] == f"{folder}/tap.config.json"
            assert (approval["detail"]["line"], approval["detail"]["changed"]) == (3, "")
            await decide(work, approval)
            goal = await events.opened()
            assert (goal["title"], goal["openedBy"]) == ("tests", "file")
            assert consents(home) == ["tests"]
            await work.host.open("s2", cwd=str(folder))
            second = await events.opened()
            assert (second["sessionId"], second["title"]) == ("s2", "tests")
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            events = Events(work)
            assert (await events.next("goal.updated"))["id"] == goal["id"]
            write(folder, {**TESTS, "criteria": ["true"]})
            approval = await events.asked()
            assert approval["detail"]["changed"] == "other criteria"
            assert [one["status"] for one in await goals(work)] == ["active"]
            write(folder)
            closed = await events.next("goal.closed")
            assert (closed["id"], closed["note"]) == (goal["id"], "removed from the file")


async def test_it_is_allowed_and_revoked_by_commands(home: Home, folder: Path) -> None:
    write(folder, "pytest -q", {"title": "page", "criteria": [{"text": "it looks good"}]})
    home.settle(ANYBODY)
    where = ("--folder", str(folder))
    code, out, err = await run(home, "emitters", "allow", "page", *where, "--yes")
    assert (code, out) == (0, f"allowed page in {folder}\n")
    assert "goal page:\n  │ you say: it looks good\n" in err
    assert "It runs nothing, and sends no agent back." in err
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            events = Events(work)
            assert await events.opened("page")
            assert await events.asked("pytest -q")
            code, out, err = await run(home, "emitters", "allow", *where, "--yes")
            assert (code, out) == (0, f"allowed pytest -q in {folder}\n")
            assert "  │ ran pytest -q\n" in err
            assert await events.opened("pytest -q")
            assert sorted(consents(home)) == ["page", "pytest -q"]
            code, out, _ = await run(home, "emitters", "revoke", "page", *where)
            assert (code, out) == (0, f"1 that were allowed in {folder} are not any more\n")
            assert await events.asked("page")


async def test_what_is_wrong_in_the_file_is_shown_where_emitters_problems_are(
    gateway: Gateway, home: Home, folder: Path
) -> None:
    write(folder, {**TESTS, "unproven": "send back"})
    line = (
        f"{folder}/tap.config.json:8: goals[0].unproven “tests”: a file cannot have an agent sent"
        " back: you switch that on at the goal itself"
    )
    async with at_work(gateway, folder) as work:
        events = Events(work)
        (problem,) = (await events.next("emitter.problems"))["problems"]
        assert (problem["line"], problem["key"]) == (8, "goals[0].unproven")
        status, doctor, listed = [
            await asyncio.to_thread(ran, home, *command)
            for command in (("status",), ("doctor",), ("emitters", "list"))
        ]
        assert line in status.stdout
        assert line in doctor.stdout
        assert line in listed.stderr
        write(folder, TESTS)
        assert await events.asked()


async def test_the_settings_forbid_them(home: Home, folder: Path) -> None:
    write(folder, TESTS, {"title": "no goal"})
    home.settle("[proof]\nfile-goals = false\n")
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            seen = []
            while not seen or seen[-1]["kind"] != "emitter.problems":
                seen.append((await work.tower.expect("tower.event"))["event"])
            assert not {"approval.requested", "goal.opened"} & {one["kind"] for one in seen}
            assert (await say(work, "goal.open", sessionId="s1", title="mine"))["goal"]


async def test_records_delete_takes_the_ledger_and_the_goals_along(
    home: Home, folder: Path
) -> None:
    write(folder, TESTS)
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            events = Events(work)
            await decide(work, await events.asked())
            await events.opened()
            await say(work, "goal.open", sessionId="s1", title="mine")
            ledger = work.ledger
            until(lambda: '"title":"mine"' in ledger.read_text(), what="the goal in the ledger")
    done = ran(home, "records", "delete", "s1", "--yes")
    assert (done.returncode, ledger.exists()) == (0, False)
    with Gateway(home, "--no-attach") as gateway:
        async with at_work(gateway, folder) as work:
            events = Events(work)
            goal = await events.opened()
            assert goal["title"] == "tests", "the consent is the folder's"
            assert [one["id"] for one in await goals(work)] == [goal["id"]]
