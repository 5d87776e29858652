"""What the guide of the provider kit shows is run."""

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.provider.conftest import Bench
from tests.rig.waiting import until_async

GUIDE = Path(__file__).parents[2] / "tapui/provider/README.md"
PNG = b"\x89PNG\r\n\x1a\n and more"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def sections() -> dict[str, list[str]]:
    """Return the guide's pieces of code by the heading that they are under."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", GUIDE.read_text(), flags=re.MULTILINE)[1:]:
        if blocks := _BLOCK.findall(part):
            found[part.partition("\n")[0]] = blocks
    return found


def compiled(source: str) -> CodeType:
    return compile(source, str(GUIDE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.fixture
async def guide() -> dict[str, Any]:
    """Run all of the guide's code, top to bottom, and return its names."""
    names: dict[str, Any] = {"__name__": "guide"}
    for blocks in sections().values():
        for block in blocks:
            work = eval(compiled(block), names)
            if inspect.isawaitable(work):
                await work
    return names


CHECKS: dict[str, Callable[..., Any]] = {}


def checks(section: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(check: Callable[..., Any]) -> Callable[..., Any]:
        CHECKS[section] = check
        return check

    return keep


def test_every_section_with_code_is_checked() -> None:
    assert set(CHECKS) == set(sections())


@pytest.mark.parametrize("section", sections())
async def test_the_section_does_what_it_shows(
    section: str,
    guide: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    await CHECKS[section](guide, tmp_path)


@checks("Hello")
async def _hello(guide: dict[str, Any], _folder: Path) -> None:
    async with guide["greeter"].test() as session:
        assert (await session.call("greet", name="Ada")).text == "Hello, Ada!"


@checks("Arguments")
async def _arguments(guide: dict[str, Any], _folder: Path) -> None:
    async with guide["shop"].test() as session:
        wrong = await session.call("order", items=[{"name": "pen", "count": "2"}])
        assert wrong.error == "items[0].count: takes integer, got string"
        assert wrong.error in GUIDE.read_text().replace("\n", " ")
        assert wrong.error_code == "INVALID_ARGS"
        right = await session.call("order", items=[{"name": "pen", "count": 2}], discount=0.5)
        assert right.data == {"count": 2, "price": 10.0, "speed": "slow"}
        assert (await session.call("order", items=[], discount=0.6)).error_code == "INVALID_ARGS"
        about = bytes(session.tools["order"].parameters).decode()
        for text in ("is printed on the parcel", "as a share of 1", "at most ten kinds"):
            assert text in about
        assert session.tools["order"].description.endswith("the number of items and the price.")


@checks("Results and errors")
async def _results(guide: dict[str, Any], folder: Path) -> None:
    (folder / "logs").mkdir()
    (folder / "logs/build.txt").write_text("done")
    (folder / "chart.png").write_bytes(PNG)
    async with guide["files"].test() as session:
        assert (await session.call("read_log", name="build.txt")).file.read() == b"done"
        assert (await session.call("picture")).file.mime_type == "image/png"
        missing = await session.call("read_log", name="other.txt")
        assert missing.error_code == "NOT_FOUND"
        assert missing.error == "there is no log 'other.txt'; see list_logs"


@checks("Time")
async def _time(guide: dict[str, Any], _folder: Path) -> None:
    async with guide["builds"].test() as session:
        built = await session.call("build", targets=["a", "b"])
        assert (built.data, built.progress) == ("2 built", ["0/2 a", "1/2 b"])
        call = session.start("wait_for_release")
        await session.advance(601)
        assert (await call).error_code == "TIMEOUT"
        assert any("The call was cancelled" in line for line in session.timeline)


@checks("Wake the session")
async def _wake(guide: dict[str, Any], _folder: Path) -> None:
    async with guide["ci"].test() as session:
        for text in ("flaky: test_a", "fatal: no tests ran"):
            guide["failures"].put_nowait(text)
        assert "no tests ran" in (await session.next_prompt()).text
        assert [line.level for line in session.stream("failures")] == ["keep", "inject"]
        assert (await session.call("recent")).data == ["fatal: no tests ran", "flaky: test_a"]


@checks("Stop a command")
async def _gates(guide: dict[str, Any], _folder: Path) -> None:
    async with guide["guard"].test() as session:
        assert (await session.native("bash", command="git push")).is_denied
        assert (await session.native("bash", command="git push --dry-run")).is_allowed
        assert "write a new one" in (await session.native("edit", path="a.sql")).reason
        assert "compatible" in (await session.native("create", path="b/c.sql")).context
        assert (await session.native("bash", command="rm -rf /")).reason == "Not on this machine."
        assert "changelog" in (await session.native("bash", command="npm publish")).context


@checks("Context and prompt sections")
async def _context(guide: dict[str, Any], _folder: Path) -> None:
    async with guide["notes"].test() as session:
        told = "\n".join((await session.turn("Go on.")).context)
        assert "CI is green." in told
        assert "docs/notes" in told
        await session.call("report", state="red")
        assert "CI is red." in "\n".join((await session.turn("And now?")).context)
        changed = await session.transformed("code_change_rules", "Lint.")
        assert changed == "Lint.\nTest what you change."
        assert "pnpm" in await session.transformed("custom_instructions", "Be short.")


@checks("Events")
async def _events(guide: dict[str, Any], _folder: Path) -> None:
    async with guide["log"].test() as session:
        await session.native("bash", command="ls")
        assert await session.shutdown()
    assert guide["seen"] == ["test rests", "bash: success", "cleaned up"]


@checks("Several sessions, several instances")
async def _instances(guide: dict[str, Any], _folder: Path) -> None:
    made = guide["browser"]("one", "The first")
    async with made.test() as session:
        assert (await session.call("page_title", target="one")).data == "The first"
        assert "The first" in (await session.call("list_browser_instances")).text


@checks("Without `run()`")
async def _serve(guide: dict[str, Any], _folder: Path) -> None:
    """`test_serving_without_run` does it, with a gateway."""
    assert inspect.iscoroutinefunction(guide["serve"])


@checks("Tests")
async def _tests(guide: dict[str, Any], _folder: Path) -> None:
    found = [one for name, one in guide.items() if name.startswith("test_")]
    assert len(found) == 3
    for test in found:
        await test()


def begun(file: Path, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, str(file)], env=env, stdout=subprocess.DEVNULL)


async def test_serving_without_run(bench: Bench, guide: dict[str, Any]) -> None:
    work = guide["serve"](bench.gateway.url, bench.gateway.token, bench.session)
    serving = asyncio.create_task(work)
    await bench.host.expect("tools.changed")
    assert (await bench.call("greet", {"name": "Ada"}))["data"] == "Hello, Ada!"
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


async def test_the_first_program_runs(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "greeter.py"
    file.write_text(sections()["Hello"][0])
    env = bench.gateway.home.env(TAP_GATEWAY=bench.gateway.url, TAP_SESSION=bench.session)
    program = begun(file, env)
    try:
        await bench.host.expect("tools.changed")
        assert (await bench.call("greet", {"name": "Ada"}))["data"] == "Hello, Ada!"
        program.terminate()
        code = await until_async(lambda: program.poll() is not None, what="its end")
        assert code is not None
        assert program.returncode == 0
    finally:
        program.kill()
        program.wait()
