"""Traces with the real CLI and its telemetry: its ids reach a provider, and the records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live.test_headless import Runs, touches
from tests.rig.copilot import Copilot, find_cli
from tests.rig.gateway import Gateway, Home
from tests.rig.model_server import ModelServer, Rule
from tests.rig.provider_process import ProviderProcess
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import until
from tests.telemetry.rotel import Relay, relaying
from tests.telemetry.spans import attributes

LOOKUP = {
    "name": "lookup_order",
    "description": "Look up an order",
    "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
}


def with_telemetry(file: Path) -> tuple[str | Path, ...]:
    """Return a command line of the CLI that writes its spans into a file."""
    return (
        "env",
        "COPILOT_OTEL_ENABLED=true",
        "COPILOT_OTEL_EXPORTER_TYPE=file",
        f"COPILOT_OTEL_FILE_EXPORTER_PATH={file}",
        find_cli() or "",
        "--ui-server",
    )


def spans(copilot: Copilot) -> list[dict[str, Any]]:
    """Return the spans in the session's own folder, in the order in which they ended."""
    file = copilot.workspace / "files" / "tap" / "traces.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["span"] for line in lines]


def test_the_clis_trace_goes_through_the_gateway_to_the_provider_and_into_the_records(
    start_copilot: Callable[..., Copilot],
    serve: Callable[..., Gateway],
    model: ModelServer,
    tmp_path: Path,
) -> None:
    exported = tmp_path / "spans.jsonl"
    copilot = start_copilot(argv=with_telemetry(exported))
    gateway = serve()
    wait_for_tools(gateway.home, copilot)
    model.script(
        Rule(calls=[("lookup_order", {"id": "A-17"})], when="where is it", needs="lookup_order"),
        Rule(text="It is on its way.", role="tool"),
    )
    shop = {"name": "shop", "tools": [LOOKUP], "session": copilot.session_id}
    with ProviderProcess(gateway.url, gateway.token, **shop) as provider:
        wait_for_tools(gateway.home, copilot)
        copilot.prompt("where is it")
        copilot.choose_first("Run extension tool")
        call = provider.expect("tool.call")
        provider.send({"type": "tool.result", "id": call["id"], "data": "shipped"})
        copilot.screen.wait_for("It is on its way")
        until(lambda: "turn" in [one["name"] for one in spans(copilot)], what="the turn's span")
    prompt, of_call, turn = spans(copilot)
    assert [one["name"] for one in (prompt, of_call, turn)] == ["prompt", "provider", "turn"]
    assert of_call["callId"] == call["id"]
    version, trace, span, flags = call["traceparent"].split("-")
    assert (version, flags) == ("00", "01")
    assert (of_call["traceId"], of_call["spanId"]) == (trace, span)
    assert {one["traceId"] for one in (prompt, turn)} == {trace}
    assert prompt["parentId"] == turn["spanId"]
    # The parent is a span of the CLI's own, as it exports them.
    copilot.quit()
    theirs = exported.read_text()
    assert trace in theirs
    assert of_call["parentId"] in theirs
    found = gateway.home.run("records", "--collection", "traces").stdout
    assert trace in found


@pytest.fixture
def run(home: Home, cli: Path, cli_cache: Path, model: ModelServer) -> Runs:
    """`tapui run`, which may touch a file."""
    home.tapui.mkdir(mode=0o700)
    home.settle('[[rules]]\nallow = "touch a"\n')
    return Runs(home, cli_cache, cli, model)


def test_spans_that_copilot_writes_are_within_the_turn_of_a_session_of_ours(
    run: Runs, model: ModelServer, serve: Callable[..., Gateway], tmp_path: Path
) -> None:
    file = tmp_path / "theirs.jsonl"
    run.home.settle(f'[telemetry]\nfile-path = "{file}"\n')
    serve(env=run.env)  # at its end a gateway waits for no export for long
    model.script(*touches("touch it", "a"))
    done = run("touch it")
    assert done.returncode == 0, done.stderr
    (turn,) = [
        one["span"]
        for path in run.home.copilot.rglob("traces.jsonl")
        for one in map(json.loads, path.read_text().splitlines())
        if one["span"]["name"] == "turn"
    ]

    def theirs() -> dict[str, dict[str, Any]]:
        whole = file.read_text().rpartition("\n")[0] if file.exists() else ""
        found = [json.loads(line) for line in whole.splitlines()]
        return {one["name"]: one for one in found if one["type"] == "span"}

    until(lambda: "invoke_agent" in theirs(), what=lambda: f"its span: {list(theirs())}")
    agent, chat = theirs()["invoke_agent"], theirs()["chat scripted"]
    assert {one["traceId"] for one in theirs().values()} == {turn["traceId"]}
    assert agent["parentSpanId"] == turn["spanId"]
    assert chat["parentSpanId"] == agent["spanId"]


def test_one_collector_has_the_turn_and_what_copilot_did_in_it_as_one_tree(
    run: Runs, model: ModelServer, serve: Callable[..., Gateway], tmp_path: Path
) -> None:
    with relaying(tmp_path) as relay:
        run.home.settle(f'[telemetry]\notlp-endpoint = "{relay.address}"\n')
        serve(env=run.env)
        model.script(*touches("touch it", "a"))
        done = run("touch it")
        assert done.returncode == 0, done.stderr
        until(lambda: is_a_tree(relay), what=lambda: f"all of it: {relay.spans}")
        ours, theirs = of_service(relay, "tapui"), of_service(relay, "github-copilot")
    assert len({one.trace_id for one in [*ours.values(), *theirs.values()]}) == 1
    assert ours["execute_tool bash"].parent_span_id == ours["invoke_agent"].span_id
    assert theirs["invoke_agent"].parent_span_id == ours["invoke_agent"].span_id
    assert theirs["chat scripted"].parent_span_id == theirs["invoke_agent"].span_id
    (tool,) = [one for name, one in theirs.items() if name.startswith("execute_tool bash")]
    assert tool.parent_span_id == theirs["invoke_agent"].span_id
    call = "gen_ai.tool.call.id"
    assert attributes(tool)[call] == attributes(ours["execute_tool bash"])[call]


def of_service(relay: Relay, service: str) -> dict[str, Any]:
    """Return the spans of a program by their names."""
    return {
        span.name: span
        for one in relay.resources
        if attributes(one.resource)["service.name"] == service
        for scope in one.scope_spans
        for span in scope.spans
    }


def is_a_tree(relay: Relay) -> bool:
    """Return whether both programs' turn has come, and the parent of each span but one."""
    spans = relay.spans
    known = {one.span_id for one in spans}
    roots = [one for one in spans if one.parent_span_id not in known]
    turns = [one for one in spans if one.name == "invoke_agent"]
    return len(turns) == 2 and len(roots) == 1
