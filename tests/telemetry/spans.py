"""Spans as they are recorded, and what OpenTelemetry's own schema makes of what is exported."""

import base64
import json
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tapui.wire.subjects import Span

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def span(number: int = 1, name: str = "tool", **fields: Any) -> Span:
    """Return a span; `fields` are its own."""
    given: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": f"{number:016x}",
        "started_at": "2026-11-21T19:45:00.250000Z",
        "duration": 1.5,
    }
    return Span(name=name, **(given | fields))  # type: ignore[arg-type]


def read(body: bytes) -> TracesData:
    """Read OTLP/JSON by the official schema: unknown fields and wrong types raise.

    OTLP's ids are hexadecimal where protobuf's JSON has base64: that alone is turned round.
    """
    told = json.loads(body)
    for resource in told["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for one in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in one:
                        one[key] = base64.b64encode(bytes.fromhex(one[key])).decode()
    return json_format.ParseDict(told, TracesData(), ignore_unknown_fields=False)


def spans_of(body: bytes) -> list[OtlpSpan]:
    return [
        one
        for resource in read(body).resource_spans
        for scope in resource.scope_spans
        for one in scope.spans
    ]


def attributes(one: Any) -> dict[str, Any]:
    """Return the attributes of a span or a resource by their names."""
    found: dict[str, Any] = {}
    for pair in one.attributes:
        assert pair.key not in found, pair.key
        found[pair.key] = getattr(pair.value, pair.value.WhichOneof("value"))
    return found
