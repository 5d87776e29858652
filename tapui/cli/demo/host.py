"""The demo's session: it plays a conversation, starts the providers, and clears everything away.

    python -m tapui.cli.demo.host FOLDER PID

waits for the gateway whose home is `FOLDER/home`, as long as its parent, process PID, lives. When
the gateway is gone, however it went, it ends the providers and removes FOLDER.
"""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Coroutine
from pathlib import Path

from tapui.cli.demo.line import SESSION, TOKEN, URL, GatewayLine, Json, ended, run

PROVIDERS = ("ci_watch", "workshop", "visitor")
START_WITHIN = 60.0
END_WITHIN = 15.0
NOTICE_WITHIN = 1.0
_POLL = 0.05

_PROMPTS = ("Is main green?", "Which test fails, and since when?", "Fix it and push the branch.")
_COMMANDS = ("git log --oneline -5", "pytest -q tests/quota", "git diff --stat")
_CONTEXT_LIMIT = 128_000


class Host:
    """The host's side of the conversation, and the script that it plays."""

    def __init__(self, line: GatewayLine, folder: Path) -> None:
        self._line = line
        self._folder = folder
        self._ids = itertools.count(1)
        self._outcomes: dict[str, asyncio.Future[Json]] = {}
        self._playing: set[asyncio.Task[None]] = set()
        self._tools: set[str] = set()
        self._tools_changed = asyncio.Event()

    async def open(self) -> None:
        """Say hello and open the session."""
        await self._line.until("sessions")
        await self._line.send(
            "host.hello", name="demo", kind="demo", protocolVersion=2, hooks=False
        )
        workspace = self._folder / "workspace"
        workspace.mkdir()
        session = {
            "id": SESSION,
            "label": "Keep main green",
            "cwd": str(workspace),
            "workspace": str(workspace),
            "foreground": True,
            "mode": "interactive",
            "model": "scripted",
        }
        await self._line.send("session.open", session=session)
        self._offer((await self._line.until("session.opened"))["tools"])

    async def play(self) -> None:
        """Play the script and answer the gateway, until it is gone."""
        for part in (self._turns(), self._slow_calls(), self._permissions(), self._modes()):
            self._start(part)
        try:
            async for message in self._line:
                await self._answer(message)
        finally:
            await ended(self._playing)

    def _start(self, part: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(part)
        self._playing.add(task)
        task.add_done_callback(self._playing.discard)

    async def _event(self, name: str, **data: object) -> None:
        await self._line.send("session.event", sessionId=SESSION, event=name, data=data)

    async def _answer(self, message: Json) -> None:
        match message["type"]:
            case "tools.changed":
                self._offer(message["tools"])
            case "tool.outcome":
                self._settle(message["id"], message)
            case "approval.answer":
                self._settle(message["id"], message)
            case "session.send":
                self._start(self._prompted(message["prompt"], message["from"]["provider"]))
            case "mode.set":
                await self._line.send("mode.result", id=message["id"], ok=True)
                await self._line.send("session.update", sessionId=SESSION, mode=message["mode"])
            case "session.abort":
                await self._event("session.idle")

    def _settle(self, id_: str, message: Json) -> None:
        waiting = self._outcomes.pop(id_, None)
        if waiting is not None:
            waiting.set_result(message)

    def _expect(self) -> tuple[str, "asyncio.Future[Json]"]:
        id_ = f"demo-{next(self._ids)}"
        self._outcomes[id_] = asyncio.get_running_loop().create_future()
        return id_, self._outcomes[id_]

    def _offer(self, tools: list[Json]) -> None:
        self._tools = {tool["name"] for tool in tools}
        self._tools_changed.set()

    async def _invoke(self, tool: str, **args: object) -> tuple[str, "asyncio.Future[Json]"]:
        """Call a tool as soon as a provider offers it; return the call's id and its outcome."""
        while tool not in self._tools:
            self._tools_changed.clear()
            await self._tools_changed.wait()
        id_, outcome = self._expect()
        await self._line.send("tool.invoke", id=id_, sessionId=SESSION, tool=tool, args=args)
        return id_, outcome

    async def _own_tool(self, command: str) -> None:
        """Let the session use a tool of its own."""
        call_id = f"bash-{next(self._ids)}"
        args = {"command": command}
        await self._event("tool.execution_start", tool="bash", toolCallId=call_id, args=args)
        await asyncio.sleep(0.8)
        await self._event(
            "tool.execution_complete",
            tool="bash",
            toolCallId=call_id,
            result={"type": "success", "output": "5 lines"},
            exitCode=0,
        )

    async def _prompted(self, prompt: str, provider: str) -> None:
        """A provider's inject wakes the session."""
        await self._event("prompt.injected", content=prompt, **{"from": provider})
        await self._event("assistant.turn_start")
        await asyncio.sleep(1)
        await self._event("assistant.intent", intent="Finding the commit")
        await self._event("assistant.message", content=f"I look into it: {prompt}")
        await self._own_tool("git bisect run pytest -q")
        await self._event("session.idle")

    async def _turns(self) -> None:
        for turn in itertools.count():
            await self._event("user.message", content=_PROMPTS[turn % len(_PROMPTS)])
            await self._event("assistant.turn_start")
            await self._own_tool(_COMMANDS[turn % len(_COMMANDS)])
            _, outcome = await self._invoke("run_tests", subject="main")
            await outcome
            tokens = min(18_000 + 7_000 * turn, _CONTEXT_LIMIT)
            await self._event("session.context", tokens=tokens, limit=_CONTEXT_LIMIT)
            await self._event("assistant.usage", inputTokens=tokens, outputTokens=420)
            await self._event("assistant.message", content="249 tests pass, one fails.")
            await self._event("session.idle")
            await asyncio.sleep(6)

    async def _slow_calls(self) -> None:
        """One call that times out, and one that is given up."""
        while True:
            await asyncio.sleep(0.7)
            id_, moved = await self._invoke("migrate", subject="builds")
            _, report = await self._invoke("yearly_report", subject="2025")
            await report
            await asyncio.sleep(5)
            if not moved.done():
                await self._line.send("tool.abort", id=id_, reason="it is not worth the wait")
            await moved
            await asyncio.sleep(15)

    async def _permissions(self) -> None:
        while True:
            await asyncio.sleep(0.3)
            id_, answer = self._expect()
            await self._line.send(
                "approval.request",
                id=id_,
                sessionId=SESSION,
                kind="permission",
                detail={
                    "kind": "shell",
                    "fullCommandText": "git push --force-with-lease origin fix/quota",
                    "intention": "Publish the fix",
                },
            )
            said = await answer
            await self._event("permission.completed", decision=said["decision"])
            await asyncio.sleep(20)

    async def _modes(self) -> None:
        for mode in itertools.cycle(("plan", "autopilot", "interactive")):
            await asyncio.sleep(0.5)
            _, outcome = await self._invoke(
                "tap_set_session_mode", mode=mode, reason="the next step needs it"
            )
            await outcome
            await asyncio.sleep(30)


async def host(folder: Path, url: str, internal: str) -> None:
    """Play the session at a gateway, until it is gone."""
    line = await GatewayLine.open(url, {"token": internal})
    try:
        playing = Host(line, folder)
        await playing.open()
        await playing.play()
    finally:
        await line.close()


def gateway(folder: Path, starter: int) -> Json | None:
    """Wait for the gateway's announcement; None when who started us is gone, or it is too late."""
    deadline = time.monotonic() + START_WITHIN
    while os.getppid() == starter and time.monotonic() < deadline:
        for file in folder.glob("home/run/*/gateway.json"):
            with contextlib.suppress(OSError, ValueError):  # it is being written, or goes
                said: Json = json.loads(file.read_bytes())
                return said
        time.sleep(_POLL)
    return None


def wait_for_end(pid: int, starter: int) -> None:
    """Wait until the gateway's process has ended: it may still write into our folder.

    It is the process that started us, as a rule; we then have another parent as soon as it ends,
    also while nobody has asked for its exit code.
    """
    deadline = time.monotonic() + END_WITHIN
    while os.getppid() == starter and time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(_POLL)


def main(folder: Path, starter: int) -> None:
    """Play the demo in `folder`, and remove it."""
    _end_in_order()
    try:
        said = gateway(folder, starter)
        if said is not None:
            play(folder, said)
            wait_for_end(said["pid"], starter)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def play(folder: Path, said: Json) -> None:
    """Play the session and run the providers, until the gateway is gone or SIGTERM comes."""
    internal = Path(said["internalTokenFile"]).read_text().strip()
    token = Path(said["tokenFile"]).read_text().strip()
    environment = {**os.environ, URL: said["url"], TOKEN: token}
    providers = [
        subprocess.Popen(
            [sys.executable, "-m", f"tapui.cli.demo.{name}"],
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        for name in PROVIDERS
    ]
    try:
        run(host(folder, said["url"], internal))
    finally:
        _end_in_order()  # the event loop has taken its own handler away
        _end(providers)


def _end(providers: list["subprocess.Popen[bytes]"]) -> None:
    """Let the providers notice that the gateway is gone; end those that were not looking."""
    deadline = time.monotonic() + NOTICE_WITHIN
    try:
        while time.monotonic() < deadline and any(one.poll() is None for one in providers):
            time.sleep(_POLL)
    finally:
        for process in providers:
            process.terminate()
        for process in providers:
            process.wait()


def _end_in_order() -> None:
    """Let SIGTERM run what stands in `finally`."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
