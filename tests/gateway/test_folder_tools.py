"""Tool files of a folder, with a real gateway: asked about, served, held back, taken over."""

import json
from pathlib import Path

from tests.cli.running import ran
from tests.folder_tools.folder import folder_with, source
from tests.gateway.emitting import Watcher
from tests.gateway.test_project_providers import call
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Json


async def offered(seen: Watcher, session: str, wanted: set[str]) -> list[Json]:
    """Wait until a session has these tools of the provider `tools`, and no others."""
    while True:
        told = await seen.host.expect("tools.changed", sessionId=session)
        tools = [one for one in told["tools"] if one["provider"] == "tools"]
        if {one["name"] for one in tools} == wanted:
            return tools


async def test_the_files_are_asked_about_and_then_tools_of_each_session(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = folder_with(
        tmp_path / "repo",
        one=source("one"),
        bash=source("bash"),
        loops=source("loops", "while True:\n    pass"),
    )
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo, reservedTools=["bash"])
        shown = await seen.allow("tools")
        assert shown["files"] == ["tools/bash.py", "tools/loops.py", "tools/one.py"]
        assert (shown["kind"], shown["asksEachChange"]) == ("provider", True)
        # A file that loops is left out, and so is a name of the session's own.
        (tool,) = await offered(seen, "s1", {"one"})
        assert tool["description"].startswith("Does what a test wants")
        await seen.host.invoke("s1", "one", {}, id_="c1")
        assert (await seen.host.expect("tool.outcome", id="c1"))["data"] == "done"
        await seen.host.open("s2", cwd=repo)
        await offered(seen, "s2", {"one", "bash"})


async def test_a_change_is_held_back_until_it_is_allowed(gateway: Gateway, tmp_path: Path) -> None:
    repo = folder_with(tmp_path / "repo", one=source("one"))
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("tools", laterVersions=True)
        assert await call(seen, "s1", "one") == "done"
        folder_with(tmp_path / "repo", one=source("one", body="return 'other'"))
        folder_with(tmp_path / "repo", two=source("two"))
        await seen.until(
            lambda: "tools/two.py" in str(seen.waiting.get("tools")), "the newest change is asked"
        )
        await seen.host.invoke("s1", "one", {}, id_="c2")
        assert (await seen.host.expect("tool.outcome", id="c2"))["data"] == "done"
        shown = await seen.allow("tools")
        assert shown["changed"].startswith("files that it names: tools/one.py")
        await offered(seen, "s1", {"one", "two"})
        await seen.host.invoke("s1", "one", {}, id_="c3")
        assert (await seen.host.expect("tool.outcome", id="c3"))["data"] == "other"
        assert seen.emitters["tools"]["runs"] == 1


async def test_a_folder_that_gets_tools_asks_and_one_that_loses_them_has_none(
    gateway: Gateway, tmp_path: Path
) -> None:
    (tmp_path / "repo").mkdir()
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=str(tmp_path / "repo"))
        folder_with(tmp_path / "repo", one=source("one"))
        await seen.allow("tools")
        await offered(seen, "s1", {"one"})
        (tmp_path / "repo/tools/one.py").unlink()
        await seen.until(lambda: "tools" in seen.gone, "the provider has gone")


async def test_what_is_wrong_is_in_the_status_and_the_list(
    gateway: Gateway, tmp_path: Path, home: Home
) -> None:
    repo = folder_with(tmp_path / "repo", one=source("one"), two=source("zwei"))
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.state("tools", "asking")
        told = json.loads(ran(home, "status", "--json").stdout)["tools"]["s1"]
        assert (told["folder"], told["state"], told["waits"]) == (repo, "asking", True)
        (problem,) = told["problems"]
        assert problem.startswith(f"{repo}/tools/two.py:")
        assert "the file is two.py" in problem
        doctor = ran(home, "doctor").stdout
        assert f"the tool files of {repo} wait until you allow them" in doctor
        assert f"tapui emitters allow tools --folder {repo}" in doctor
        assert "tools/two.py:" in doctor
        listed = ran(home, "emitters", "list", "--folder", repo)
        assert "tools/two.py" in listed.stderr
