"""Traces with the real CLI and its telemetry: its ids reach a provider, and the records."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.rig.copilot import Copilot, find_cli
from tests.rig.gateway import Gateway
from tests.rig.model_server import ModelServer, Rule
from tests.rig.provider_process import ProviderProcess
from tests.rig.taken import wait_for_tools
from tests.rig.waiting import until

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
        copilot.choose_first("Run extension tool", within=30)
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
