"""Providers of a folder's file, with a real gateway: each session has a process of its own."""

import json
import sys
from pathlib import Path

from tests.gateway.emitting import Watcher, until_dead
from tests.rig.gateway import Gateway

PROVIDER = """
import json, os, sys
from websockets.sync.client import connect

print("pid", os.getpid(), flush=True)
print("to", *sys.argv[1:], os.environ["WIKI"], file=sys.stderr, flush=True)
tool = {"name": sys.argv[1], "description": "Ask the wiki", "parameters": {"type": "object"}}
with connect(os.environ["TAP_GATEWAY"], proxy=None) as socket:
    say = lambda **message: socket.send(json.dumps(message))
    say(type="auth", token=os.environ["TAP_PROVIDER_TOKEN"])
    for message in map(json.loads, socket):
        if message["type"] == "sessions":
            (session,) = message["active"]
            say(type="hello", name="wiki", protocolVersion=2, session=session["id"], tools=[tool])
        elif message["type"] == "tool.call":
            say(type="tool.result", id=message["id"], data=str(os.getpid()))
"""


def write(folder: Path, tool: str = "ask") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "wiki.py").write_text(PROVIDER)
    args = ["wiki.py", tool]
    wiki = {"name": "wiki", "command": sys.executable, "args": args, "env": {"WIKI": "all of it"}}
    (folder / "tap.config.json").write_text(json.dumps({"providers": [wiki]}))
    return str(folder.resolve())


async def call(seen: Watcher, session: str, tool: str = "ask") -> str:
    """Call a session's tool once it is there; return the process that answered."""
    await seen.host.offered(session, tool)
    await seen.host.invoke(session, tool, {}, id_=f"{session}-{tool}")
    outcome = await seen.host.expect("tool.outcome", id=f"{session}-{tool}")
    return str(outcome["data"])


async def test_each_session_has_a_process_with_its_tools(gateway: Gateway, tmp_path: Path) -> None:
    repo = write(tmp_path / "repo")
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        shown = await seen.allow("wiki")
        assert (shown["kind"], shown["command"]) == ("provider", sys.executable)
        assert (shown["args"], shown["env"]) == (["wiki.py", "ask"], {"WIKI": "all of it"})
        assert shown["files"] == ["wiki.py"]
        assert shown["schedule"] == "runs while the session is open, without asking again"
        first = await call(seen, "s1")
        assert await seen.line("to", "wiki@tap") == "ask all of it"
        await seen.host.open("s2", cwd=repo)
        second = await call(seen, "s2")
        assert first != second
        await seen.close("s1")
        await until_dead(first)
        await seen.host.open("s3", cwd=repo, replaces="s2")
        await seen.host.invoke("s3", "ask", {}, id_="again")
        outcome = await seen.host.expect("tool.outcome", id="again")
        assert outcome["data"] == second
        await seen.close("s3")
        await until_dead(second)


async def test_one_that_dies_is_started_again_and_another_asks_first(
    gateway: Gateway, tmp_path: Path
) -> None:
    repo = write(tmp_path / "repo")
    async with Watcher(gateway) as seen:
        await seen.host.open("s1", cwd=repo)
        await seen.allow("wiki")
        first = await call(seen, "s1")
        await seen.order("pause", "wiki")
        await until_dead(first)
        await seen.state("wiki", "paused")
        await seen.order("resume", "wiki")
        second = await call(seen, "s1")
        write(tmp_path / "repo", tool="look_up")
        shown = await seen.allow("wiki")
        assert shown["changed"] == "other arguments"
        await until_dead(second)
        assert await call(seen, "s1", "look_up") not in (first, second)
