"""Tool files and providers of a folder in the session of an MCP client: a real gateway, and the
official client."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tapui.home.tokens import ToolsTokenFile
from tapui.shipped import ARGUMENTS
from tests.folder_tools.folder import folder_with, source
from tests.gateway.emitting import Watcher
from tests.gateway.test_folder_tools import offered
from tests.gateway.test_project_providers import write
from tests.hosts.mcp.mcp_client import MODES, connected
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Json, Tower


@pytest.fixture
def home(home: Home) -> Home:
    """A home with a token for tools, and a setting about notes, made before any gateway."""
    ToolsTokenFile(home.tapui).make()
    setting = f"[memory]\nask-writes = true\nfolder = {str(home.root / 'notes')!r}\n"
    (home.tapui / "config.toml").write_text(setting)
    return home


def with_emitter(repo: str) -> str:
    file = Path(repo, "tap.config.json")
    emitter = {"name": "watch", "command": "sleep 60"}
    file.write_text(json.dumps({**json.loads(file.read_text()), "emitters": [emitter]}))
    return repo


async def test_a_client_has_the_tools_of_its_folder_as_another_session_has(
    home: Home, gateway: Gateway, tmp_path: Path
) -> None:
    repo = folder_with(tmp_path / "repo", one=source("one"))
    port = ("--port", str(gateway.port))
    async with (
        Watcher(gateway) as seen,
        connected(home, MODES[1], *port, folder=repo) as client,
    ):
        shown = await seen.allow("tools")
        assert shown["files"] == ["tools/one.py"]
        await client.has("one")
        assert (await client.call("one")).content[0].text == "done"
        folder_with(tmp_path / "repo", two=source("two", body="return ctx.session_id"))
        await seen.allow("tools")
        await client.has("one", "two")
        await seen.host.open("s1", cwd=repo)
        await offered(seen, "s1", {"one", "two"})
        await seen.host.invoke("s1", "two", {}, id_="c1")
        assert (await seen.host.expect("tool.outcome", id="c1"))["data"] == "s1"
        assert (await client.call("two")).content[0].text.startswith("mcp-")


async def test_a_client_has_the_providers_of_its_folders_file_and_no_emitter(
    home: Home, gateway: Gateway, tmp_path: Path
) -> None:
    repo = with_emitter(write(tmp_path / "repo"))
    port = ("--port", str(gateway.port))
    async with (
        Watcher(gateway) as seen,
        connected(home, MODES[0], *port, folder=repo) as client,
    ):
        await seen.allow("wiki")
        await client.has("ask")
        assert (await client.call("ask")).content[0].text.isdigit()
        assert set(seen.emitters) == {"wiki"}


def with_memory(repo: Path) -> str:
    """Make a folder with the notes that ship with tapui, run by another name of the interpreter."""
    own = Path(sys.executable)
    names = [one for one in own.parent.glob("python*") if one.resolve() == own.resolve()]
    python = next(str(one) for one in names if one != own)
    repo.mkdir()
    memory = {"name": "memory", "command": python, "args": [*ARGUMENTS, "memory"]}
    (repo / "tap.config.json").write_text(json.dumps({"providers": [memory]}))
    return str(repo.resolve())


def notes(home: Home) -> dict[str, str]:
    folder = home.root / "notes"
    return {one.name: one.read_text() for one in folder.glob("[!.]*")}


async def decide(tower: Tower, decision: str) -> Json:
    """Answer the next permission that is asked; return it."""
    while True:
        approval = (await tower.event("approval.requested"))["approval"]
        if approval["kind"] == "permission":
            break
    about = {"approvalId": approval["id"], "decision": decision}
    await tower.send({"type": "approval.decide", **about})
    return dict(approval)


async def test_the_person_is_asked_about_a_clients_note(
    home: Home, gateway: Gateway, tmp_path: Path
) -> None:
    repo, port = with_memory(tmp_path / "repo"), ("--port", str(gateway.port))
    async with (
        Watcher(gateway) as seen,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
        connected(home, MODES[0], *port, folder=repo) as client,
    ):
        await seen.allow("memory")
        await client.has("memory")
        save = {"command": "save", "path": "a.md", "content": "text"}
        calling = asyncio.create_task(client.call("memory", save))
        approval = await decide(tower, "approve")
        assert (approval["detail"]["args"], approval["sessionId"][:4]) == (save, "mcp-")
        assert (await calling).content[0].text == "Saved memory 'a.md'."
        calling = asyncio.create_task(client.call("memory", {"command": "delete", "path": "a.md"}))
        await decide(tower, "deny")
        assert (await calling).is_error
        read = await client.call("memory", {"command": "read", "path": "a.md"})
        assert (read.content[0].text, notes(home)) == ("text", {"a.md": "text"})
