"""Goals in a running gateway: the end of a turn is answered, and a hundred files are verified.

    python -m tests.bench.verifying URL INTERNAL_TOKEN_FILE FOLDER TIMES

The program verifies, from a process of its own: beside it the gateway's loop is watched, in the
process in which the gateway runs.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tapui.runtime import tuning
from tapui.runtime.folders.reader import FolderReader
from tapui.station.running_gateway import RunningGateway
from tests.bench import folder_states
from tests.rig.gateway import Gateway
from tests.rig.peers import Host, Json, Tower
from tests.station.running import options_in

CHECKS = 100
"""File checks of one verify; as many files."""
PROBE_SECONDS = 0.001
QUIET_SECONDS = 2.0
_ENDING = {"type": "turn.ending", "sessionId": "s1"}
_SESSION: Json = {"shellTools": ["bash"], "reservedTools": ["bash", "edit"]}


@dataclass(frozen=True)
class Ends:
    """Milliseconds from `turn.ending` to `turn.end`, and of a look at the same folder alone."""

    p50: float
    p95: float
    look: float
    look_p95: float


@dataclass(frozen=True)
class LoopHeld:
    """How long the loop did nothing else, in milliseconds: how late a timer was, and the CPU that
    the loop's thread used between two of its turns, which neighbours on the machine do not touch.
    """

    late_p99: float
    late: float
    cpu: float


@dataclass(frozen=True)
class Verified:
    """Milliseconds of a verify, and the loop beside it and while nothing is asked."""

    p50: float
    longest: float
    beside: LoopHeld
    quiet: LoopHeld


def _at(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def ends(gateway: Gateway, folder: Path, times: int) -> Ends:
    """Measure ends of turns that changed a file and are sent back, in a repository."""
    found = asyncio.run(_ends(gateway, folder, times))
    looks = asyncio.run(_looks(folder, times))
    return Ends(_at(found, 0.5), _at(found, 0.95), _at(looks, 0.5), _at(looks, 0.95))


async def _ends(gateway: Gateway, folder: Path, times: int) -> list[float]:
    found = []
    async with (
        await Host.hello(gateway.url, gateway.internal_token) as host,
        await Tower.hello(gateway.url, gateway.internal_token) as tower,
    ):

        async def tell(name: str, **data: object) -> None:
            event = {"type": "session.event", "sessionId": "s1", "event": name, "data": data}
            await host.send(event)

        await host.open("s1", cwd=str(folder), **_SESSION)
        goal = {"criteria": [{"check": {"kind": "ran", "command": "pytest -q"}}]}
        asked = {"type": "goal.open", "id": "g", "sessionId": "s1", "unproven": "send back"}
        await tower.send({**asked, **goal})
        await tower.expect("goal.answer", id="g")
        for number in range(times):
            await tell("user.message", content="go")
            call = {"tool": "edit", "toolCallId": f"t{number}"}
            path = folder_states.edited(folder, number)
            await tell("tool.execution_start", **call, args={"path": str(path)})
            folder_states.write(path, number)
            changes = [{"path": str(path), "added": 1, "removed": 1}]
            await tell("tool.execution_complete", **call, changes=changes)
            begun = time.perf_counter()
            await host.send({**_ENDING, "id": f"e{number}"})
            answer = await host.expect("turn.end", id=f"e{number}")
            found.append((time.perf_counter() - begun) * 1e3)
            if answer["decision"] != "again":
                raise RuntimeError(f"the agent was not sent back: {answer}")
            await tell("session.idle")
            host.inbox.messages.clear()
            tower.inbox.messages.clear()
    return found


async def _looks(folder: Path, times: int) -> list[float]:
    reader, found = FolderReader(), []
    try:
        await folder_states.look(reader, folder)
        for number in range(times):
            folder_states.write(folder_states.edited(folder, number), number)
            found.append((await folder_states.look(reader, folder))[0])
    finally:
        await reader.stop()
    return found


def verified(root: Path, times: int) -> Verified:
    """Measure verifies of `CHECKS` files, with the gateway in this process and its caller in
    another."""
    folder = root / "work"
    folder.mkdir()
    for number in range(CHECKS):
        (folder / f"f{number}.py").write_text(f"value = {number}\n" * 500)
    with asyncio.Runner(loop_factory=tuning.new_loop) as runner:
        return runner.run(_verified(root, folder, times))


async def _verified(root: Path, folder: Path, times: int) -> Verified:
    running = RunningGateway(options_in(root), print, lambda: None)
    announced = await running.start()
    try:
        running.load()
        asked = (announced.url, announced.internal_token_file, str(folder), str(times))
        with tuning.settled():
            async with _caller(*asked) as caller:
                quiet = await _held(asyncio.ensure_future(asyncio.sleep(QUIET_SECONDS)))
                assert caller.stdin is not None
                assert caller.stdout is not None
                caller.stdin.close()
                answer = asyncio.ensure_future(caller.stdout.readline())
                beside = await _held(answer)
        took: list[float] = json.loads(answer.result())
    finally:
        await running.stop()
    return Verified(statistics.median(took), max(took), beside, quiet)


@asynccontextmanager
async def _caller(*args: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run this file; it has its session once it is yielded, and begins when its input ends."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "tests.bench.verifying", *args)
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        assert process.stdout is not None
        if await process.stdout.readline() != b"ready\n":
            raise RuntimeError("the benchmark's caller did not come up")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _held(work: "asyncio.Future[Any]") -> LoopHeld:
    """Watch the loop until `work` is done."""
    late, cpu = [0.0], 0.0
    used = time.thread_time()
    while not work.done():
        due = time.perf_counter() + PROBE_SECONDS
        await asyncio.sleep(PROBE_SECONDS)
        late.append((time.perf_counter() - due) * 1e3)
        now = time.thread_time()
        cpu, used = max(cpu, (now - used) * 1e3), now
    return LoopHeld(_at(late, 0.99), max(late), cpu)


async def _verify(url: str, token: str, folder: str, times: int) -> list[float]:
    checks = [
        {"kind": "file", "path": f"f{number}.py", "contains": [f"value = {number}"], "minBytes": 1}
        for number in range(CHECKS)
    ]
    took = []
    async with await Host.hello(url, token) as host:
        await host.open("s1", cwd=folder, **_SESSION)
        await _checked(host, checks, "first")
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        for number in range(times):
            begun = time.perf_counter()
            await _checked(host, checks, f"v{number}")
            took.append((time.perf_counter() - begun) * 1e3)
    return took


async def _checked(host: Host, checks: list[Json], id_: str) -> None:
    await host.invoke("s1", "tap_verify_goal_output", {"checks": checks}, id_=id_)
    outcome = await host.expect("tool.outcome", id=id_)
    if outcome.get("data", {}).get("counts", {}).get("pass") != CHECKS:
        raise RuntimeError(f"not all checks passed: {str(outcome)[:500]}")


if __name__ == "__main__":
    url_, token_file, folder_, times_ = sys.argv[1:]
    secret = Path(token_file).read_text().strip()
    print(json.dumps(asyncio.run(_verify(url_, secret, folder_, int(times_)))), flush=True)
