"""Spans as OTLP/JSON: the official schema reads each, and nothing is in them that was said."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.telemetry.otlp import CallContent, ExportedSpan, document
from tapui.wire.subjects import Span, SpanName
from tapui.wire.turns import Usage
from tests.telemetry.spans import PARENT, TRACE, attributes, read, span, spans_of

FULL = span(
    2,
    parent_id=PARENT,
    status="error",
    code="INTERNAL",
    tool="bash",
    provider="shop",
    call_id="call-1",
    agent_id="c1",
    turn=3,
    dropped=4,
    emitter="watch",
    run=5,
    lines=6,
    kept=3,
    surfaced=2,
    injected=1,
    held=0,
    tool_call_id="t1",
    agent="explore",
    emitter_id="0123/watch",
    stream="watch@tap",
    from_seq=1,
    to_seq=6,
    error="EXIT_1: hunter2",
    model="m-1",
    usage=Usage(10, 20, cache_read=7, cache_write=8, calls=1),
)


def test_a_document_names_the_service_and_the_version_of_the_names() -> None:
    found = read(document([ExportedSpan(span(), "s1")]).body)
    (resource,) = found.resource_spans
    (scope,) = resource.scope_spans
    assert attributes(resource.resource)["service.name"] == "tapui"
    assert resource.schema_url == scope.schema_url == "https://opentelemetry.io/schemas/1.44.0"
    assert scope.scope.name == "tapui"


def test_a_span_has_its_ids_its_times_and_its_attributes() -> None:
    made = document([ExportedSpan(FULL, "s1")])
    (one,) = spans_of(made.body)
    assert (made.spans, made.damaged) == (1, 0)
    assert (one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex()) == (
        TRACE,
        f"{2:016x}",
        PARENT,
    )
    assert one.end_time_unix_nano - one.start_time_unix_nano == 1_500_000
    assert one.start_time_unix_nano == 1_795_290_300_250_000_000
    assert (one.name, one.status.code) == ("execute_tool bash", 2)
    found = attributes(one)
    expected = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "t1",
        "gen_ai.agent.id": "c1",
        "gen_ai.agent.name": "explore",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 7,
        "gen_ai.usage.cache_creation.input_tokens": 8,
        "session.id": "s1",
        "error.type": "INTERNAL",
        "tapui.emitter.run": 5,
        "tapui.lines.from": 1,
        "tapui.lines.to": 6,
    }
    assert expected.items() <= found.items()


def test_nothing_that_was_said_is_in_it_unless_it_is_wanted() -> None:
    quiet = document([ExportedSpan(FULL, "s1")]).body
    assert b"hunter2" not in quiet
    content = CallContent('{"command":"hunter3"}', '"hunter4"')
    (one,) = spans_of(document([ExportedSpan(FULL, "s1", content)]).body)
    found = attributes(one)
    assert found["gen_ai.tool.call.arguments"] == '{"command":"hunter3"}'
    assert found["gen_ai.tool.call.result"] == '"hunter4"'
    assert one.status.message == "EXIT_1: hunter2"


@pytest.mark.parametrize("name", get_args(SpanName))
def test_every_kind_of_span_is_told(name: SpanName) -> None:
    (one,) = spans_of(document([ExportedSpan(span(name=name), None)]).body)
    assert one.name
    assert attributes(one)["tapui.span"] == name
    assert "session.id" not in attributes(one)


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("denied", 0), ("cancelled", 0)])
def test_what_did_not_fail_is_no_error(status: str, code: int) -> None:
    (one,) = spans_of(document([ExportedSpan(span(status=status), "s1")]).body)
    assert one.status.code == code
    assert attributes(one).get("tapui.status", "ok") == status


@pytest.mark.parametrize(
    "wrong",
    [
        {"trace_id": "0" * 32},
        {"trace_id": TRACE[:-1]},
        {"trace_id": TRACE.upper()},
        {"trace_id": '"},{"x":"' + "0" * 23},
        {"span_id": "0" * 16},
        {"span_id": ""},
        {"started_at": "yesterday"},
        {"started_at": "2026-13-01T00:00:00Z"},
        {"started_at": "1960-01-01T00:00:00Z"},
        {"started_at": ""},
    ],
)
def test_a_span_that_cannot_be_told_is_left_out_and_counted(wrong: dict[str, str]) -> None:
    made = document([ExportedSpan(span(1, **wrong), "s1"), ExportedSpan(span(3), "s1")])
    (one,) = spans_of(made.body)
    assert (one.span_id.hex(), made.spans, made.damaged) == (f"{3:016x}", 1, 1)


@pytest.mark.parametrize("duration", [-1.0, float("inf"), float("nan"), 1e300])
def test_a_duration_that_is_none_is_told_as_none(duration: float) -> None:
    (one,) = spans_of(document([ExportedSpan(span(duration=duration), "s1")]).body)
    assert one.end_time_unix_nano == one.start_time_unix_nano


def test_a_parent_that_is_none_is_left_out() -> None:
    (one,) = spans_of(document([ExportedSpan(span(parent_id='"}'), "s1")]).body)
    assert one.parent_span_id == b""


_TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)


@given(
    _TEXTS,
    _TEXTS,
    _TEXTS,
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(get_args(SpanName)),
)
def test_whatever_a_record_holds_what_is_exported_is_read(
    tool: str, session: str, code: str, number: int, duration: float, name: SpanName
) -> None:
    one = span(
        name=name, tool=tool, code=code, emitter=tool, run=number, lines=number,
        duration=duration, status="error", error=code, agent=session,
    )  # fmt: skip
    made = document([ExportedSpan(one, session, CallContent(tool, code))])
    assert len(spans_of(made.body)) == made.spans == 1
    assert b"\n" not in made.body


def test_no_span_is_no_document_that_cannot_be_read() -> None:
    assert spans_of(document([]).body) == []


def test_a_span_of_the_records_is_one_of_these() -> None:
    recorded = msgspec.json.decode(msgspec.json.encode(FULL), type=Span)
    assert document([ExportedSpan(recorded, "s1")]) == document([ExportedSpan(FULL, "s1")])
