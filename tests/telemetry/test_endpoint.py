"""Posting to a collector: where it goes, and what a bad one costs."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tapui.telemetry.endpoint import Endpoint, ExportError, Poster, PostTimes
from tests.rig.waiting import HUNG
from tests.telemetry.collector import Collector, collecting

SHORT = PostTimes(wait=0.3, whole=0.6)
"""For an endpoint that gives no answer; one that does is waited for."""
TIMES = PostTimes(wait=HUNG, whole=HUNG)


@contextmanager
def posting(collector: Collector) -> Iterator[Poster]:
    poster = Poster(Endpoint.of(collector.address), TIMES)
    try:
        yield poster
    finally:
        poster.close()


@pytest.mark.parametrize(
    ("address", "told", "path"),
    [
        ("http://localhost:4318", "http://localhost:4318", "/v1/traces"),
        ("http://localhost:4318/", "http://localhost:4318", "/v1/traces"),
        ("https://otel.example/x", "https://otel.example:443", "/x/v1/traces"),
        ("http://h/v1/traces", "http://h:80", "/v1/traces"),
        ("http://[::1]:9", "http://[::1]:9", "/v1/traces"),
    ],
)
def test_an_address_is_of_the_collector_or_of_its_path(address: str, told: str, path: str) -> None:
    endpoint = Endpoint.of(address)
    assert (str(endpoint), endpoint.path) == (told, path)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "no http or https address"),
        ("localhost:4318", "no http or https address"),
        ("ftp://h", "no http or https address"),
        ("file:///etc/passwd", "no http or https address"),
        ("http://", "no http or https address"),
        ("http://u:p@h", "without a name"),
        ("http://h?x=1", "without a name"),
        ("http://h#x", "without a name"),
        ("http://h:99999", "Port out of range"),
    ],
)
def test_what_is_no_address_is_refused(address: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Endpoint.of(address)


def test_spans_are_posted_over_one_connection() -> None:
    with collecting() as collector, posting(collector) as poster:
        assert [poster.post(b"1"), poster.post(b"2")] == [0, 0]
        assert collector.came == [
            ("/v1/traces", "application/json", b"1"),
            ("/v1/traces", "application/json", b"2"),
        ]


def test_a_kept_connection_that_the_other_end_closed_is_opened_anew() -> None:
    with collecting(200, "closes", 200) as collector, posting(collector) as poster:
        poster.post(b"1")
        poster.post(b"2")  # posted again after the close
        assert [body for _path, _type, body in collector.came] == [b"1", b"2", b"2"]


def test_what_the_collector_does_not_accept_is_counted() -> None:
    body = b'{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}'
    with collecting(body=body) as collector, posting(collector) as poster:
        assert poster.post(b"1") == 3


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"partialSuccess":{"rejectedSpans":"x"}}'])
def test_an_answer_that_says_nothing_is_taken_as_success(body: bytes) -> None:
    with collecting(body=body) as collector, posting(collector) as poster:
        assert poster.post(b"1") == 0


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(status: int) -> None:
    with collecting(status, 200) as collector:
        with pytest.raises(ExportError, match=f"answered {status} .redirects are not followed"):
            Poster(Endpoint.of(collector.address), TIMES).post(b"1")
        assert [path for path, _type, _body in collector.came] == ["/v1/traces"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (500, "answered 500"),
        (404, "answered 404"),
        (429, "answered 429"),
        ("hangs", "does not answer in time"),
        ("drips", "does not answer in time"),
        ("drips on", "does not answer in time"),
        ("closes", "ended the connection"),
        ("talks", "does not speak HTTP"),
    ],
)
def test_an_endpoint_that_does_not_take_spans_is_named_soon(answer: object, why: str) -> None:
    times = SHORT if answer in ("hangs", "drips", "drips on") else TIMES
    with collecting(answer) as collector:
        began = time.monotonic()
        with pytest.raises(ExportError, match=why):
            Poster(Endpoint.of(collector.address), times).post(b"1")
        assert time.monotonic() - began < 5.0


def test_an_endpoint_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ExportError, match="refused"):
        Poster(Endpoint.of(f"http://127.0.0.1:{port}"), TIMES).post(b"1")
