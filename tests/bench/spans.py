"""What spans cost: the core's CPU for a call, with and without them, and the export's speed.

`python -m tests.bench.spans [--calls N] [--spans N]`. The calls come 100 a second by the core's
clock, so that each has its span. Both ways are measured by turns; the least of each counts.
"""

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tapui.cli.span_export import spans_in
from tapui.core.gateway import Gateway
from tapui.runtime.system import RegexMatcher, SystemIds
from tapui.settings.settings import Records, Settings
from tapui.telemetry.otlp import ExportedSpan, document
from tapui.wire.events import SpanEnded
from tests.records.turns import Writer, opened
from tests.telemetry.spans import span

_ROUNDS = 7
_LINES = 20
"""Lines of a batch of an emitter's."""


class _Core:
    """A gateway's core with a session, whose own tools are called."""

    def __init__(self, *, traces: bool) -> None:
        self.gateway = Gateway(
            run="r1",
            ids=SystemIds(),
            settings=Settings(records=Records(traces=traces)),
            persist_dir=str,
            matcher=RegexMatcher(),
            provider_token="ptk-x",
            internal_token="itk-x",
        )
        self.now = time.monotonic()
        self.host = self.gateway.opened(None, self.now)
        self._said = 0
        self.say(type="auth", token="itk-x")
        self.say(type="host.hello", name="copilot", kind="copilot", protocolVersion=2)
        session = {"id": "s1", "label": "s", "cwd": "/s1"}
        self.say(type="session.open", session=session)
        self.event("user.message", content="hi")

    def say(self, **fields: object) -> None:
        self.gateway.received(self.host, json.dumps(fields).encode(), self.now)
        self.gateway.take()

    def event(self, event: str, **data: object) -> None:
        self.say(type="session.event", sessionId="s1", event=event, data=data)

    def call(self, frames: tuple[bytes, bytes]) -> None:
        self.now += 0.01
        gateway = self.gateway
        gateway.received(self.host, frames[0], self.now)
        gateway.received(self.host, frames[1], self.now)
        gateway.take()


def _frames(number: int) -> tuple[bytes, bytes]:
    told = {"toolCallId": f"t{number}", "tool": "bash"}
    began = told | {"args": {"command": "npm test -- --watch", "description": "Run the tests"}}
    ended = told | {"result": {"type": "success", "output": "ok\n" * 20}}
    both = (("tool.execution_start", began), ("tool.execution_complete", ended))
    return tuple(  # type: ignore[return-value]
        json.dumps(
            {"type": "session.event", "sessionId": "s1", "event": event, "data": data}
        ).encode()
        for event, data in both
    )


def _least(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def of_calls(calls: int) -> tuple[float, float]:
    """Return the CPU microseconds of a session's own call without and with spans."""
    cores = _Core(traces=False), _Core(traces=True)
    best = [float("inf"), float("inf")]
    for turn in range(_ROUNDS):
        frames = [_frames(turn * calls + one) for one in range(calls)]
        for index, core in enumerate(cores):

            def work(core: _Core = core, frames: list[tuple[bytes, bytes]] = frames) -> None:
                for one in frames:
                    core.call(one)

            best[index] = min(best[index], _least(work))
    return best[0] / calls * 1e6, best[1] / calls * 1e6


def of_export(spans: int) -> tuple[float, float]:
    """Return how many spans a second are exported from records, and are made OTLP/JSON alone."""
    common = {"tool": "bash", "parent_id": "f" * 16, "turn": 1}
    made = [span(one, call_id=f"call-{one}", **common) for one in range(1, spans + 1)]
    with tempfile.TemporaryDirectory() as scratch:
        workspace = Path(scratch) / "s1"
        workspace.mkdir()
        with Writer(Path(scratch) / "state") as writer:
            writer.turn(opened("s1", workspace))
            writer.turn(*(SpanEnded(one, "s1") for one in made))
            folder = writer.journal.folder_of("s1")
        target = Path(scratch) / "spans.jsonl"

        def export() -> None:
            with target.open("wb") as file:
                for batch in spans_in(folder):
                    file.write(document(batch).body)

        whole = min(_least(export) for _ in range(3))

    def encode() -> None:
        for start in range(0, spans, 1_000):
            document(ExportedSpan(one, "s1") for one in made[start : start + 1_000])

    alone = min(_least(encode) for _ in range(3))
    return spans / whole, spans / alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2_000)
    parser.add_argument("--spans", type=int, default=50_000)
    args = parser.parse_args()
    without, with_spans = of_calls(args.calls)
    ratio = with_spans / without
    print(f"a call's CPU in the core, without and with its span: {without:.1f} µs, "
          f"{with_spans:.1f} µs: {with_spans - without:+.2f} µs, ratio {ratio:.2f}")  # fmt: skip
    whole, alone = of_export(args.spans)
    print(f"export from records: {whole:,.0f} spans/s; OTLP/JSON alone: {alone:,.0f} spans/s")


if __name__ == "__main__":
    main()
