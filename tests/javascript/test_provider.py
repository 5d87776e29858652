"""A provider in JavaScript at a real gateway: calls, results, rules, pushes and events."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.javascript.conftest import PROGRAMS, Bench, Program, environment
from tests.rig.gateway import Home
from tests.rig.peers import Host, Json

WIDE = (PROGRAMS / "wide.js").read_text()


@pytest.fixture
async def wide(bench: Bench, tmp_path: Path) -> AsyncIterator[Program]:
    with Program(tmp_path / "wide", environment(bench.gateway, bench.session), WIDE) as program:
        program.says(f"wide: in session label of {bench.session} ({bench.session})")
        yield program
        assert program.leave() == 0, program.err
        assert not re.search(r"^wide: \S+: [A-Z_]+: ", program.out, re.MULTILINE), program.out
        assert "wide: left" in program.out


async def decision(bench: Bench, tool: str, **args: Any) -> Json:
    """Have the session ask whether a call may run."""
    ask = {"type": "hook.preToolUse", "id": "h", "sessionId": bench.session, "tool": tool}
    await bench.host.send({**ask, "args": args})
    return await bench.host.expect("hook.decision", id="h")


def size_of(path: str) -> int:
    return Path(path).stat().st_size


RESULTS: dict[str, Any] = {
    "nothing": None,
    "words": "words",
    "shape": {"a": [1, 2.5, None, True], "when": "1970-01-01T00:00:00.000Z"},
    "surrogate": {"key\ufffd": "text\ufffd"},
}
UNFIT = {
    "nan": "NaN or an infinite number",
    "bigint": "BigInt",
    "knot": "circular",
    "deep": "deeper than 256",
    "endless": "call stack",
    "function": "no JSON",
    "big": "6.0 MiB; a result has at most 5 MiB",
    "noImage": "no PNG",
    "missing": "cannot be used",
    "huge": "21.0 MiB; at most 20 MiB",
}


async def test_results_and_errors(bench: Bench, wide: Program) -> None:
    for kind, data in RESULTS.items():
        assert await bench.data("result", {"kind": kind}) == data
    for kind, part in UNFIT.items():
        outcome = await bench.call("result", {"kind": kind})
        assert part in outcome["error"], outcome
    assert len(await bench.data("result", {"kind": "nearlyBig"})) == 5 * 2**20 - 2000
    assert await bench.data("result", {"kind": "nearlyDeep"})

    for kind, mime in {"bytes": "image/png", "image": "image/png", "file": "text/plain"}.items():
        file = (await bench.call("result", {"kind": kind}))["file"]
        assert file["mimeType"] == mime
        assert size_of(file["path"]) == file["size"] == 11

    refused = await bench.call("refuses")
    assert (refused["errorCode"], refused["error"]) == ("NOT_TODAY", "ask tomorrow")
    failed = await bench.call("fails")
    assert failed["errorCode"] == "INTERNAL"
    assert failed["error"] == "TypeError: the tool failed; its log has the reason"
    assert "the secret is 1234" in wide.err
    assert (await bench.call("throwsNothing"))["errorCode"] == "INTERNAL"


async def test_arguments_are_checked_before_the_function_runs(bench: Bench, wide: Program) -> None:
    fit = {"count": 2, "speed": "fast", "items": [{"n": 1.5}]}
    assert await bench.data("strict", fit) == fit
    for wrong, part in (
        ({}, "count: missing"),
        ({"count": 1.5}, "count: integer expected, got number"),
        ({"count": 0}, "count: at least 1"),
        ({"count": 1, "speed": "warp"}, 'speed: one of ["slow","fast"]'),
        ({"count": 1, "items": [{}, {"n": "x"}]}, "items[1].n: number expected, got string"),
        ({"count": 1, "colour": 1}, "colour: not expected"),
    ):
        outcome = await bench.call("strict", wrong)
        assert outcome["errorCode"] == "INVALID_ARGS"
        assert part in outcome["error"]


async def test_progress_cancel_and_time_outs(bench: Bench, wide: Program) -> None:
    id_ = await bench.start("counts")
    news = [await bench.host.expect("tool.progress", id=id_) for _ in range(3)]
    told = [one["message"] for one in news]
    assert (news[0]["done"], news[0]["total"]) == (1, 3)
    assert told == ["1/3 steps", "2/3 steps", "3/3 steps"]
    assert (await bench.host.expect("tool.outcome", id=id_))["data"] == "counts"

    assert (await bench.call("waits"))["errorCode"] == "TIMEOUT"
    id_ = await bench.start("waitsLong")
    await bench.host.send({"type": "tool.abort", "id": id_, "reason": "enough"})
    assert (await bench.host.expect("tool.outcome", id=id_))["errorCode"] == "CANCELLED"
    assert (await bench.call("deaf"))["errorCode"] == "TIMEOUT"
    heard = await bench.data("heard")
    assert "waits: AbortError true" in heard
    assert "waitsLong: AbortError true" in heard

    id_ = await bench.start("chatters")
    assert (await bench.host.expect("tool.outcome", id=id_))["data"] == "done"
    assert (await bench.data("result", {"kind": "words"})) == "words"


async def test_gates_rules_contexts_and_transforms(bench: Bench, wide: Program) -> None:
    assert (await decision(bench, "bash", command="ls"))["decision"] in ("allow", "ask")
    assert (await decision(bench, "bash", command="git push"))["decision"] in ("allow", "ask")
    denied = await decision(bench, "bash", command="git push --force")
    assert (denied["decision"], denied["reason"]) == ("deny", "CI is red")
    told = await decision(bench, "edit", path="add.sql")
    assert f"edit in label of {bench.session}: keep it compatible" in told["context"]
    assert (await decision(bench, "edit", path="drop.sql"))["reason"] == "never drop"
    denied = await decision(bench, "breaks")
    assert denied["reason"] == "the gate 'gate-3' failed, which counts as a no"
    assert (await decision(bench, "open"))["decision"] in ("allow", "ask")
    assert (await decision(bench, "bash", command="rm -rf /"))["reason"] == "Not here."
    assert "Mind the changelog." in (await decision(bench, "publish"))["context"]

    ask = {"type": "prompt.submitted", "id": "p", "sessionId": bench.session, "prompt": "go"}
    sections = {"tone": "be brief", "guidelines": "test it", "custom_instructions": "hi"}
    await bench.host.send({**ask, "sections": sections})
    prepared = await bench.host.expect("prompt.prepared", id="p")
    for part in ("CI is green.", "Notes are in docs."):
        assert part in str(prepared["context"])
    assert prepared["sections"]["tone"] == "BE BRIEF"
    assert prepared["sections"].get("guidelines", "test it") == "test it"
    assert "Use pnpm." in prepared["sections"]["custom_instructions"]

    await bench.data("changes")
    await bench.has_tools("later")
    assert await bench.data("later") == "here"
    assert (await bench.call("refuses"))["errorCode"] == "NOT_FOUND"
    await bench.host.send(ask)
    assert "CI is red." in str((await bench.host.expect("prompt.prepared", id="p"))["context"])


async def test_pushes_filters_queries_and_events(bench: Bench, wide: Program) -> None:
    assert await bench.data("says", {"text": "alarm 1"}) == f"label of {bench.session}"
    await bench.logs("alarm 1")
    await bench.data("says", {"text": "noise"})
    await bench.data("says", {"text": "calm"})
    assert await bench.data("asks", {"text": "told"}) == ["calm", "noise", "alarm 1"]
    assert await bench.data("asks", {"text": "logs"}) == ["calm", "alarm 1"]
    assert await bench.data("asks", {"text": "beside"}) == ["began"]
    await bench.host.send(
        {"type": "session.event", "sessionId": bench.session, "event": "session.idle"}
    )
    facts = await bench.data("session")
    assert (facts["id"], facts["folder"], facts["hasFolder"]) == (bench.session, "/tmp", True)
    await bench.logs(f"{bench.session} rests")
    assert "says ran" in await bench.data("heard")
    assert "a handler that fails" in wide.err


async def test_pushes_keep_to_the_gateways_budget(bench: Bench, wide: Program) -> None:
    await bench.data("floods")
    await bench.logs("flooded")
    every = [f"line {n}" for n in range(29, -1, -1)]
    assert await bench.data("asks", {"text": "flood"}) == every


async def test_it_leaves_an_ending_session_and_enters_the_next(
    bench: Bench, tmp_path: Path
) -> None:
    env = environment(bench.gateway, f"label of {bench.session}")
    with Program(tmp_path / "wide", env, WIDE) as program:
        program.says(f"({bench.session})")
        id_ = await bench.start("waitsLong")
        await bench.host.send({"type": "session.close", "sessionId": bench.session})
        outcome = await bench.host.expect("tool.outcome", id=id_)
        assert outcome["errorCode"] in ("CANCELLED", "DISCONNECTED")
        program.says(f"waiting: no session 'label of {bench.session}' is open")
        async with await Host.hello(bench.gateway.url, bench.gateway.internal_token) as host:
            next_ = f"{bench.session}-next"
            await host.open(next_, label=f"label of {bench.session}", cwd="/tmp")
            program.says(f"({next_})")
            await host.invoke(next_, "heard", id_="h")
            heard = (await host.expect("tool.outcome", id="h"))["data"]
        assert f"left {bench.session}" in heard
        assert program.leave() == 0


CLOCK = """
import { Provider } from "./tap-provider.js";
const clock = new Provider("clock");
clock.tool("setBack", () => {
  for (let i = 0; i < 10; i++) clock.log("before");
  Date.now = () => 0;
  clock.log("after");
});
await clock.run();
"""


async def test_pushes_go_on_when_the_clock_is_set_back(bench: Bench, tmp_path: Path) -> None:
    with Program(tmp_path, environment(bench.gateway, bench.session), CLOCK) as clock:
        clock.says(f"({bench.session})")
        await bench.data("setBack")
        await bench.logs("after")


FLOOD = """
import { Provider } from "./tap-provider.js";
const flood = new Provider("flood");
flood.tool("start", () => {
  for (let i = 0; i < 150; i++) flood.push(`line ${i}`);
});
await flood.run();
"""


async def test_a_stream_says_how_many_pushes_were_too_many(bench: Bench, tmp_path: Path) -> None:
    with Program(tmp_path, environment(bench.gateway, bench.session), FLOOD) as flood:
        flood.says(f"({bench.session})")
        await bench.data("start")
        flood.says("the oldest are dropped")
        asked = {"stream": "flood@flood", "last": 50}
        told = ""
        async with asyncio.timeout(20):  # the line comes a second later
            while "40 dropped, faster than 10 a second" not in told:
                told = json.dumps(await bench.data("tap_stream_history", asked))


ALONE = """
import { Provider } from "./tap-provider.js";
const alone = new Provider("alone");
alone.tool("bytes", () => new Uint8Array(3));
for (let i = 0; i < 3; i++) await alone.call("bytes");
"""


def test_files_of_calls_without_a_gateway_are_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    env = Home(tmp_path / "home").env(TMPDIR=str(tmp_path / "tmp"))
    with Program(tmp_path / "alone", env, ALONE) as alone:
        assert alone.process.wait(10) == 0, alone.err
    (folder,) = (tmp_path / "tmp").glob("tapui-results-*")
    assert len(list(folder.iterdir())) == 3
