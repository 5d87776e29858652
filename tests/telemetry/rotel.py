"""Rotel, a collector of another project, as a process on loopback.

It is in the package index as `rotel`, with its program in the wheel. What it takes as OTLP/JSON it
decodes, batches and sends on as OTLP in protobuf: to a server of the test, which reads that with
OpenTelemetry's own classes.
"""

import gzip
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import psutil
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan

from tests.conftest import missing
from tests.rig.waiting import HUNG, until
from tests.telemetry.collector import Collector, collecting

VERSION = "0.0.1a11"
"""The smallest release that takes JSON and runs with the C library of Debian 12."""
_ELSEWHERE = "127.0.0.2"
"""Where it takes gRPC: the port on 127.0.0.1 is the one for HTTP."""


@dataclass
class Relay:
    """A collector that runs: its address, and what it has sent on."""

    address: str
    beyond: Collector

    @property
    def resources(self) -> list[ResourceSpans]:
        found: list[ResourceSpans] = []
        for path, kind, body in list(self.beyond.came):
            if path == "/v1/traces":  # others are for metrics
                assert kind == "application/x-protobuf"
                sent = ExportTraceServiceRequest.FromString(gzip.decompress(body))
                found += sent.resource_spans
        return found

    @property
    def spans(self) -> list[OtlpSpan]:
        return [span for one in self.resources for scope in one.scope_spans for span in scope.spans]

    def wait_for(self, spans: int) -> list[OtlpSpan]:
        """Wait until so many spans were sent on; return them."""
        until(lambda: len(self.spans) >= spans, what=lambda: f"{spans} spans: {self.spans}")
        return self.spans


@contextmanager
def relaying(folder: Path) -> Iterator[Relay]:
    """Run the collector with its log in a folder. Skips the test where it is not installed."""
    program = _program()
    log = folder / "rotel.log"
    with collecting(body=b"") as beyond, log.open("wb") as out:
        process = subprocess.Popen(
            [
                *(program, "start", "--exporter", "otlp", "--otlp-exporter-protocol", "http"),
                *("--otlp-exporter-endpoint", beyond.address),
                *("--otlp-http-endpoint", "127.0.0.1:0"),
                *("--otlp-grpc-endpoint", f"{_ELSEWHERE}:0"),
            ],
            cwd=folder,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
        try:
            port = until(lambda: _port(process.pid), what=log.read_text)
            yield Relay(f"http://127.0.0.1:{port}", beyond)
        finally:
            process.kill()
            process.wait(HUNG)


def _program() -> str:
    """Return the collector's program, once it has said that it runs."""
    try:
        found = distribution("rotel")
    except PackageNotFoundError:
        found = None
    if found is None or found.version != VERSION:
        missing(f"the collector is not installed (pip install rotel=={VERSION})")
        raise AssertionError
    program = str(found.locate_file("rotel/rotel-agent"))
    said = subprocess.run(
        [program, "--version"], env={}, capture_output=True, text=True, check=False
    )
    if said.returncode:  # it links the shared library of Python
        missing(f"the collector does not run here: {said.stderr.strip()}")
    return program


def _port(pid: int) -> int | None:
    with suppress(psutil.NoSuchProcess):
        for one in psutil.Process(pid).net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.ip == "127.0.0.1":
                return int(one.laddr.port)
    return None
