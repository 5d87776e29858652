"""`tapui tools dev` as a process, at a real gateway."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.authoring.test_dev import Dev
from tests.folder_tools.folder import folder_with, source
from tests.provider.conftest import running
from tests.rig.gateway import Gateway, tapui_argv
from tests.rig.peers import Host
from tests.rig.waiting import until, until_async

__all__ = ["running"]


class FolderDev(Dev):
    """`tapui tools dev` on a folder."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        super().__init__(gateway, folder)
        self.folder = folder

    def start(self, **env: str) -> None:
        port = str(self._gateway.port)
        argv = tapui_argv("tools", str(self.folder), "dev", "--yes", "--port", port)
        with self._out.open("wb") as out:
            self._process = subprocess.Popen(
                argv,
                env=self._gateway.home.env(**env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def put(self, **files: str) -> None:
        """Save files as editors do."""
        for name, text in files.items():
            beside = self.folder / f"{name}.new"
            beside.write_text(text)
            beside.replace(self.folder / "tools" / f"{name}.py")


@asynccontextmanager
async def developing(gateway: Gateway, folder: Path, **files: str) -> AsyncIterator[FolderDev]:
    folder_with(folder, **files)
    dev = FolderDev(gateway, folder)
    dev.start()
    try:
        await dev.until_told("tools is in session")
        yield dev
    finally:
        code = await dev.end()
    assert code == 0, dev.told


async def test_each_save_is_taken_over_and_a_call_ends_where_it_began(
    running: Gateway, tmp_path: Path
) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    body = (
        f"\n    open({str(begun)!r}, 'w').close()"
        f"\n    while not os.path.exists({str(go)!r}): time.sleep(0.01)"
        "\n    return 'before'"
    )
    one = source("one", "import os, time", body)
    async with developing(running, tmp_path / "repo", one=one) as dev:
        held = await dev.begin("one")
        await until_async(begun.exists, what="the call has begun")
        dev.put(one=source("one", body="return 'after'"), two=source("two"))
        await dev.until_told("in force: +two")
        assert await dev.call("one") == "after"
        assert await dev.call("two") == "done"
        go.touch()
        assert (await dev.outcome(held))["data"] == "before"
        (dev.folder / "tools/two.py").unlink()
        await dev.until_told("in force: −two")


async def test_a_file_that_loops_is_told_and_the_others_are_there(
    running: Gateway, tmp_path: Path
) -> None:
    async with developing(running, tmp_path / "repo", one=source("one")) as dev:
        dev.put(loops=source("loops", "while True:\n    pass"), two=source("two"))
        await dev.until_told("in force: +two")
        assert "tools/loops.py:1: it is still being imported after 3 s" in dev.told


async def test_a_save_during_an_agents_call_is_held(running: Gateway, tmp_path: Path) -> None:
    async with (
        await Host.hello(running.url, running.internal_token) as host,
        developing(running, tmp_path / "repo", one=source("one")) as dev,
    ):
        await host.open("s1", cwd=str(tmp_path / "repo"))

        async def tell(event: str, **data: Any) -> None:
            happened = {"type": "session.event", "sessionId": "s1", "event": event, "data": data}
            await host.send(happened)

        await tell("user.message", content="change it")
        await tell("tool.execution_start", toolCallId="t1", tool="bash", args={"command": "x"})
        await asyncio.to_thread(shown_running, running)
        dev.put(two=source("two"))
        await dev.until_told("held: saved during a call of an agent's: s1: bash")
        await dev.until_told("the tools of before go on")
        assert (await dev.call("two"))["errorCode"] == "NOT_FOUND"


def shown_running(gateway: Gateway) -> None:
    """Wait until the gateway tells of the call."""

    def told() -> bool:
        state = json.loads(gateway.home.run("status", "--json").stdout)["state"]
        steps = [one for turns in state["turns"] for one in turns["current"]["steps"]]
        return any(one.get("tool") == "bash" for one in steps)

    until(told, what=lambda: "the call is told of")
