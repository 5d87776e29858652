"""Tools of the kit, called through a real gateway."""

import asyncio
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from tapui.provider import Context, File, Image, Provider, ToolError
from tapui.provider.calls import _FILES
from tapui.provider.results import FILE_SECONDS, ResultFolder, result_of
from tests.provider.conftest import Bench
from tests.rig.waiting import HUNG, until_async

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c626001000000ffff03000006000557bfabd40000000049454e44ae426082"
)


def read(path: str) -> bytes:
    return Path(path).read_bytes()


@dataclass
class Point:
    x: int
    y: int = 0


async def test_a_plain_function_and_a_coroutine_are_tools(bench: Bench) -> None:
    provider = Provider("greeter")
    names: list[str] = []

    @provider.tool
    def greet(name: str) -> str:
        """Greet somebody by name."""
        names.append(threading.current_thread().name)
        return f"Hello, {name}!"

    @provider.tool(name="add_up", description="Add")
    async def add(a: int, b: int = 2) -> int:
        names.append(threading.current_thread().name)
        return a + b

    await bench.serve(provider)
    offered = await bench.host.expect("tools.changed", sessionId=bench.session)
    tools = {tool["name"]: tool for tool in offered["tools"]}
    assert tools["greet"]["description"] == "Greet somebody by name."
    assert tools["greet"]["parameters"]["required"] == ["name"]
    assert (await bench.call("greet", {"name": "Ada"}))["data"] == "Hello, Ada!"
    assert (await bench.call("add_up", {"a": 1}))["data"] == 3
    assert names == ["tool greet", threading.current_thread().name]


async def test_arguments_are_checked_before_the_function_runs(bench: Bench) -> None:
    provider = Provider("checker")
    ran = []

    @provider.tool
    def place(point: Point, kind: Literal["a", "b"], count: Annotated[int, "how many"] = 1) -> Any:
        ran.append(point)
        return [point.x, point.y, kind, count]

    await bench.serve(provider)
    for args, text in (
        ({"point": {"x": "1"}, "kind": "a"}, "point.x: takes integer, got string"),
        ({"point": {"x": 1}}, "kind: is missing"),
        ({"point": {"x": 1}, "kind": "c"}, 'kind: takes "a" | "b"'),
        ({"point": {"x": 1}, "kind": "a", "conut": 1}, "conut: is not known; did you mean count?"),
    ):
        outcome = await bench.call("place", args)
        assert (outcome["errorCode"], outcome["error"]) == ("INVALID_ARGS", text)
    assert not ran
    for count in (1.0, None):  # as JavaScript writes 1, and an absent argument
        args = {"point": {"x": 1}, "kind": "b", "count": count}
        assert (await bench.call("place", args))["data"] == [1, 0, "b", 1]


async def test_files_bytes_and_images_are_copied_for_the_session(
    bench: Bench, tmp_path: Path
) -> None:
    provider = Provider("files")
    text = tmp_path / "notes.txt"
    text.write_text("notes")
    values: dict[str, Any] = {
        "path": text,
        "file": File(text, "text/markdown", note="A file."),
        "bytes": b"\x00\x01",
        "image": Image(PNG, note="n" * 20_000),
        "no image": Image(b"text"),
        "missing": tmp_path / "missing.txt",
    }

    @provider.tool
    def value(name: str) -> Any:
        return values[name]

    @provider.tool
    async def value_later(name: str) -> Any:
        return values[name]

    await bench.serve(provider)
    for tool in ("value", "value_later"):
        for name, kind, content, note in (
            ("path", "text/plain", b"notes", None),
            ("file", "text/markdown", b"notes", "A file."),
            ("bytes", "application/octet-stream", b"\x00\x01", None),
            ("image", "image/png", PNG, "n" * 16_384),
        ):
            file = (await bench.call(tool, {"name": name}))["file"]
            assert (file["mimeType"], read(file["path"])) == (kind, content)
            assert file.get("note") == note
        assert "is no PNG" in (await bench.call(tool, {"name": "no image"}))["error"]
        assert "missing.txt is not there" in (await bench.call(tool, {"name": "missing"}))["error"]


def test_files_of_results_are_removed_once_their_time_is_over(tmp_path: Path) -> None:
    folder = ResultFolder(str(tmp_path))
    old = tmp_path / "results" / "old.bin"
    old.parent.mkdir()
    old.write_bytes(b"old")
    os.utime(old, (0, 0))
    first, odd = folder.place(".txt"), tmp_path / "name.\udc80"
    first.write_bytes(b"new")
    odd.write_bytes(b"odd")
    assert not old.exists()
    assert result_of("c", odd, folder).file is not None
    folder.place("")
    assert first.exists()


async def test_progress_comes_before_the_result_from_threads_and_coroutines(bench: Bench) -> None:
    provider = Provider("walker")

    @provider.tool
    def walk(context: Context) -> str:
        for step in range(3):
            context.progress(step + 1, 3, "steps")
        return context.session.id

    @provider.tool
    async def stroll(context: Context, steps: int) -> str:
        context.progress(text=f"{steps} to go")
        return context.session.label

    await bench.serve(provider)
    assert (await bench.call("walk"))["data"] == bench.session
    news = [m for m in bench.host.inbox.messages if m["type"] == "tool.progress"]
    assert [(m["done"], m["total"]) for m in news] == [(1, 3), (2, 3), (3, 3)]
    heard = [m["message"] for m in news]
    assert heard == ["1/3 steps", "2/3 steps", "3/3 steps"]
    assert (await bench.call("stroll", {"steps": 2}))["data"] == f"label of {bench.session}"


async def test_a_call_that_is_cancelled_stops_its_coroutine(bench: Bench) -> None:
    provider = Provider("patient")
    began, stopped = asyncio.Event(), asyncio.Event()

    @provider.tool
    async def wait() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    await bench.serve(provider)
    await bench.host.invoke(bench.session, "wait", id_="w")
    await began.wait()
    await bench.host.send({"type": "tool.abort", "id": "w"})
    outcome = await bench.host.expect("tool.outcome", id="w")
    assert outcome["errorCode"] == "CANCELLED"
    async with asyncio.timeout(HUNG):
        await stopped.wait()


async def test_a_function_that_never_returns_is_given_up_at_its_time_out(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    provider = Provider("stuck", call_timeout=0.2)
    let_go = threading.Event()
    cancelled = threading.Event()

    @provider.tool
    def hang(context: Context) -> None:
        context.wait(60)
        if context.cancelled:
            cancelled.set()
        let_go.wait(60)

    @provider.tool(timeout=30)
    def answer() -> int:
        return 42

    await bench.serve(provider)
    outcome = await bench.call("hang")
    assert outcome["errorCode"] == "TIMEOUT"
    assert (await bench.call("answer"))["data"] == 42
    assert await asyncio.to_thread(cancelled.wait, HUNG)
    await until_async(lambda: "was given up" in caplog.text, what="the warning")
    assert any(one.name == "tool hang, given up" for one in threading.enumerate())
    let_go.set()
    assert (await bench.call("answer"))["data"] == 42


async def test_many_blocking_functions_run_at_once(bench: Bench) -> None:
    provider = Provider("many")
    meeting = threading.Barrier(12)

    @provider.tool
    def meet() -> int:
        return meeting.wait(HUNG)

    await bench.serve(provider)
    outcomes = await asyncio.gather(*(bench.call("meet") for _ in range(12)))
    assert sorted(one["data"] for one in outcomes) == list(range(12))


async def test_a_tool_runs_without_any_gateway() -> None:
    provider = Provider("alone")

    @provider.tool
    def double(n: int, context: Context) -> int:
        context.progress(1, 2)
        context.push("said to nobody")
        return 2 * n

    @provider.tool(timeout=0.2)
    async def never() -> None:
        await asyncio.Event().wait()

    assert await provider.call("double", {"n": 4}) == 8
    with pytest.raises(ToolError, match="INVALID_ARGS: n: takes integer, got string"):
        await provider.call("double", {"n": "4"})
    with pytest.raises(ToolError, match="NOT_FOUND"):
        await provider.call("treble", {})
    with pytest.raises(ToolError, match="TIMEOUT"):
        await provider.call("never")


async def test_files_of_calls_without_a_gateway_go_when_they_are_old() -> None:
    provider = Provider("drawing")

    @provider.tool
    def draw() -> bytes:
        return b"drawn"

    first, second = [Path((await provider.call("draw")).path) for _ in range(2)]
    assert first.parent == second.parent
    long_ago = time.time() - 3 * FILE_SECONDS
    os.utime(first, (long_ago, long_ago))
    _FILES._cleared = 0.0  # the last look was long ago, too
    await provider.call("draw")
    assert not first.exists()
    assert second.read_bytes() == b"drawn"
