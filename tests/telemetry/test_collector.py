"""A collector of another project takes what is exported, and hands it on as it was recorded."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import time_ns
from typing import Any

import pytest

from tapui.wire.turns import Usage
from tests.cli.test_span_export import ended, recorded
from tests.gateway.test_telemetry import call, status
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host
from tests.rig.waiting import until_async
from tests.telemetry.rotel import Relay, relaying
from tests.telemetry.spans import attributes, read

TURN, RUN = f"{1:016x}", f"{6:016x}"
OF_ALL_KINDS = [
    ended(
        1, name="turn", turn=3, model="gpt-5", dropped=2, usage=Usage(100, 20, 60, 5), duration=9.0
    ),
    ended(2, name="agent", parent_id=TURN, agent="reviewer", agent_id="kid", status="cancelled"),
    ended(3, name="tool", parent_id=TURN, tool="bash", call_id="c1", status="error", code="EXIT_1"),
    ended(4, name="provider", parent_id=TURN, tool="look_up", provider='the "shop" \u2713 \u00fc'),
    ended(5, name="gate", parent_id=TURN, tool="bash", provider="guard", status="denied"),
    ended(6, name="emitter", emitter="tests", emitter_id="e1", run=7, lines=4, kept=2, held=0),
    ended(7, name="route", parent_id=RUN, emitter="t", stream="t@tap", from_seq=1, to_seq=4),
]
MANY = 2_001
"""Spans of three documents."""


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    with relaying(tmp_path) as found:
        yield found


def test_what_was_recorded_arrives_as_a_file_of_it_has_it(home: Home, relay: Relay) -> None:
    recorded(home, *OF_ALL_KINDS, *(ended(one) for one in range(8, MANY + 1)))
    written = home.run("records", "export", "--otlp").stdout.splitlines()
    sent = home.run("records", "export", "--otlp", relay.address)
    assert (sent.returncode, sent.stderr) == (0, f"{MANY:,} spans exported\n")
    came = relay.wait_for(MANY)
    documents = [read(line.encode()).resource_spans[0] for line in written]
    wanted = [one for document in documents for one in document.scope_spans[0].spans]
    assert sorted(came, key=lambda one: one.span_id) == wanted
    for resource in relay.resources:
        (scope,) = resource.scope_spans
        assert resource.resource == documents[0].resource
        assert scope.scope == documents[0].scope_spans[0].scope
        assert (resource.schema_url, scope.schema_url) == (
            documents[0].schema_url,
            documents[0].scope_spans[0].schema_url,
        )
    turn, _agent, tool, provider, *_ = wanted
    assert (turn.parent_span_id, tool.parent_span_id) == (b"", bytes.fromhex(TURN))
    assert attributes(turn)["gen_ai.usage.input_tokens"] == 100
    assert attributes(provider)["tapui.provider"] == 'the "shop" \u2713 \u00fc'


async def test_spans_reach_it_as_they_end(
    home: Home, relay: Relay, serve: Callable[..., Gateway]
) -> None:
    home.settle(f'[telemetry]\notlp-endpoint = "{relay.address}"\n')
    gateway = serve("--no-attach")
    began = time_ns()
    async with await Host.hello(gateway.url, gateway.internal_token) as host:
        await host.open("s1", label="one")
        await call(host)
        await until_async(lambda: len(relay.spans) == 2, what=lambda: f"two: {relay.spans}")
        told = await until_async(lambda: sent_all(gateway), what=lambda: str(status(gateway)))
    tool, turn = sorted(relay.spans, key=lambda one: one.name != "execute_tool bash")
    assert (tool.name, turn.name) == ("execute_tool bash", "invoke_agent")
    assert (tool.trace_id, tool.parent_span_id) == (turn.trace_id, turn.span_id)
    assert turn.parent_span_id == b""
    for one in (tool, turn):
        assert began <= one.start_time_unix_nano <= one.end_time_unix_nano <= time_ns()
    assert attributes(tool).items() >= {"session.id": "s1", "gen_ai.tool.name": "bash"}.items()
    assert (told["dropped"], told["error"]) == (0, None)


def sent_all(gateway: Gateway) -> dict[str, Any] | None:
    """Return how the export goes, once both spans were taken."""
    export: dict[str, Any] | None = status(gateway)["spanExport"]
    return export if export is not None and export["sent"] == 2 else None
