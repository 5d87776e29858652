"""The live export: what ends is sent, and a bad endpoint costs spans that are counted."""

import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tapui.telemetry.endpoint import Endpoint, PostTimes
from tapui.telemetry.exporter import ExportTiming, SpanExporter, masked_span
from tapui.wire.events import Entry, SessionHappened, SpanEnded
from tapui.wire.subjects import SpanExport
from tests.rig.waiting import HUNG
from tests.telemetry.collector import Collector, collecting
from tests.telemetry.spans import attributes, span, spans_of

POST = PostTimes(wait=HUNG, whole=HUNG)
TIMING = ExportTiming(gather=0.01, first_pause=0.01, last_pause=0.05, told=0.0, post=POST)


def entries(*numbers: int, **fields: object) -> list[Entry]:
    """Return the events of a turn: spans, and one of another kind."""
    other = Entry("r1", 1, "", SessionHappened("s1", "session.idle", None, None))
    return [other, *(Entry("r1", 2, "", SpanEnded(span(one, **fields), "s1")) for one in numbers)]


@contextmanager
def exporting(
    collector: Collector, timing: ExportTiming = TIMING
) -> Iterator[tuple[SpanExporter, "queue.Queue[SpanExport]"]]:
    told: queue.Queue[SpanExport] = queue.Queue()
    exporter = SpanExporter(Endpoint.of(collector.address), str, told.put, timing)
    exporter.start()
    try:
        yield exporter, told
    finally:
        exporter.stop()


def sent(collector: Collector) -> list[int]:
    return [
        int(one.span_id.hex(), 16)
        for path, _type, body in list(collector.came)
        if path == "/v1/traces"
        for one in spans_of(body)
    ]


def test_spans_are_sent_as_they_end() -> None:
    with collecting() as collector, exporting(collector) as (exporter, told):
        exporter.offer(entries(1, 2))
        collector.wait_for(1)
        assert told.get(timeout=HUNG).sent == 2
        exporter.offer(entries(3))
        collector.wait_for(2)
        assert sent(collector) == [1, 2, 3]


def test_what_is_left_is_sent_at_the_end() -> None:
    slow = ExportTiming(gather=HUNG, stop=HUNG, post=POST)
    with collecting() as collector:
        with exporting(collector, slow) as (exporter, _told):
            exporter.offer(entries(*range(1, 1_001)))
        assert sent(collector) == list(range(1, 1_001))
        assert len(collector.came) == 2  # `batch` at once


@pytest.mark.parametrize("answer", [500, 302, "hangs", "closes"])
def test_a_bad_endpoint_is_told_once_and_again_when_it_works(answer: object) -> None:
    post = PostTimes(wait=1.0, whole=2.0) if answer == "hangs" else POST
    quiet = ExportTiming(gather=0.01, first_pause=0.01, last_pause=0.02, told=HUNG, post=post)
    with collecting(answer, answer, answer, 200) as collector:
        with exporting(collector, quiet) as (exporter, told):
            for number in (1, 2, 3):
                exporter.offer(entries(number))
                collector.wait_for(number)
            failing = told.get(timeout=HUNG)
            assert failing.error is not None
            exporter.offer(entries(4))
            works = told.get(timeout=HUNG)
        assert (works.error, works.sent, works.dropped) == (None, 1, 3)
        assert told.empty()
        assert not [path for path, _type, _body in collector.came if path.startswith("GET")]


def test_offering_to_an_endpoint_that_hangs_waits_for_nothing() -> None:
    timing = ExportTiming(gather=0.01, queue=100, batch=10, stop=0.05, post=PostTimes(HUNG, HUNG))
    with collecting("hangs") as collector, exporting(collector, timing) as (exporter, _told):
        exporter.offer(entries(1))
        collector.wait_for(1)
        many = entries(*range(2, 5_002))
        began = time.thread_time()  # the time of others on this machine is not the exporter's
        exporter.offer(many)
        took = time.thread_time() - began
        assert took < 0.5
        assert exporter.state.dropped == 4_900, "the post hangs as before"
        began = time.monotonic()
        exporter.stop()
        assert time.monotonic() - began < 5.0
        collector.over.set()


def test_what_the_collector_rejects_is_dropped() -> None:
    body = b'{"partialSuccess":{"rejectedSpans":1}}'
    with collecting(body=body) as collector, exporting(collector) as (exporter, told):
        exporter.offer(entries(1, 2, 3))
        state = told.get(timeout=HUNG)
        assert (state.sent, state.dropped, state.error) == (2, 1, None)


def test_a_span_that_cannot_be_told_costs_only_itself() -> None:
    with collecting() as collector, exporting(collector) as (exporter, told):
        exporter.offer([*entries(1), *entries(2, started_at="never")])
        state = told.get(timeout=HUNG)
        assert (state.sent, state.dropped) == (1, 1)
        assert sent(collector) == [1]


def test_secrets_are_masked_and_errors_are_left_out() -> None:
    found = span(tool="hunter2", error="hunter2", code="EXIT_1", status="error", stream="a@tap")
    shown = masked_span(found, lambda text: text.replace("hunter2", "[masked]"))
    assert (shown.tool, shown.error, shown.stream) == ("[masked]", None, "a@tap")
    plain = span(tool="bash")
    assert masked_span(plain, str) is plain


def test_what_is_sent_is_masked() -> None:
    told: queue.Queue[SpanExport] = queue.Queue()
    with collecting() as collector:
        endpoint = Endpoint.of(collector.address)
        exporter = SpanExporter(endpoint, lambda _text: "[masked]", told.put, TIMING)
        exporter.start()
        exporter.offer(entries(1, tool="hunter2", error="hunter3"))
        collector.wait_for(1)
        exporter.stop()
        (one,) = spans_of(collector.came[0][2])
    assert attributes(one)["gen_ai.tool.name"] == "[masked]"
    assert b"hunter" not in collector.came[0][2]


@pytest.mark.expects_error_log("spans could not be exported")
def test_a_fault_in_what_makes_it_ends_nothing() -> None:
    told: queue.Queue[SpanExport] = queue.Queue()
    with collecting() as collector:
        faults = iter([True, False])

        def masked(text: str) -> str:
            if next(faults, False):
                raise RuntimeError("a pattern that fails")
            return text

        exporter = SpanExporter(Endpoint.of(collector.address), masked, told.put, TIMING)
        exporter.start()
        exporter.offer(entries(1, tool="a"))
        assert told.get(timeout=HUNG).dropped == 1
        exporter.offer(entries(2, tool="a"))
        collector.wait_for(1)
        exporter.stop()
    assert sent(collector) == [2]
