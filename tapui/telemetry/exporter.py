"""The live export: spans go to an endpoint as they end, on a thread of its own.

The gateway's loop appends to a bounded queue and wakes the thread; it waits for nothing. An
endpoint that hangs, redirects or fails costs the spans that it does not take: they are counted, and
the person gets one notice until it works again.
"""

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from tapui.telemetry.endpoint import Endpoint, ExportError, Poster, PostTimes
from tapui.telemetry.otlp import ExportedSpan, document
from tapui.wire.events import Entry, SpanEnded
from tapui.wire.subjects import Span, SpanExport

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExportTiming:
    """Seconds, and how many spans wait and go at once."""

    gather: float = 1.0
    """Spans wait for others so long."""
    first_pause: float = 1.0
    last_pause: float = 60.0
    """Between two tries after a failure: twice as long each time, from the first to the last."""
    told: float = 60.0
    """Between two reports of how many were sent and dropped."""
    stop: float = 1.0
    """What is left may take so long at the end."""
    queue: int = 4096
    batch: int = 512
    post: PostTimes = field(default_factory=PostTimes)


class SpanExporter:
    """Exports spans from `start` to `stop`.

    `masked` takes secrets out of a span's text. `on_change` gets how the export goes, on the
    exporter's thread: when the first spans were sent, when it begins to fail, when it works again,
    and at most once a minute when more were sent or dropped.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        masked: Callable[[str], str],
        on_change: Callable[[SpanExport], None],
        timing: ExportTiming | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._masked = masked
        self._on_change = on_change
        self._timing = timing = timing or ExportTiming()
        self._poster = Poster(endpoint, timing.post)
        self._queue: deque[ExportedSpan] = deque()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="span export", daemon=True)
        self._refused = 0
        """Spans that found the queue full; the loop alone counts them."""
        self._sent = self._lost = 0
        """Spans that the endpoint has, and that it did not take; the thread alone counts them."""
        self._in_hand = 0
        """Spans that were taken from the queue and are neither sent nor lost yet."""
        self._error: str | None = None
        self._told = SpanExport(str(endpoint))
        self._told_at = 0.0
        self._pause = 0.0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End within `ExportTiming.stop` seconds; what was not sent by then is not."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(self._timing.stop)

    def offer(self, entries: Iterable[Entry]) -> None:
        """Take the spans of a turn's events. Never waits, never raises."""
        for entry in entries:
            event = entry.event
            if type(event) is not SpanEnded:
                continue
            if len(self._queue) >= self._timing.queue:
                self._refused += 1
                continue
            self._queue.append(ExportedSpan(event.span, event.session_id))
            if not self._wake.is_set():
                self._wake.set()

    @property
    def state(self) -> SpanExport:
        return SpanExport(str(self._endpoint), self._sent, self._lost + self._refused, self._error)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait()
            is_last = self._stopping.wait(self._pause or self._timing.gather)
            self._wake.clear()
            if is_last and self._error is not None:
                break  # it would not take them now either
            try:
                self._send_all()
            except Exception:  # noqa: BLE001 - logged; the records have all spans; the gateway goes on
                _log.exception("spans could not be exported")
                self._lost, self._in_hand = self._lost + self._in_hand, 0
                if self._queue:
                    self._wake.set()
            self._tell()
        self._poster.close()

    def _send_all(self) -> None:
        """Send what waits; after a failure the rest waits for the next try."""
        self._pause = 0.0 if self._error is None else self._pause
        while self._queue:
            made = document(self._taken())
            self._lost, self._in_hand = self._lost + made.damaged, made.spans
            try:
                rejected = self._poster.post(made.body) if made.spans else 0
            except ExportError as error:
                self._lost, self._in_hand = self._lost + made.spans, 0
                timing = self._timing
                self._pause = min(max(self._pause * 2, timing.first_pause), timing.last_pause)
                self._error = str(error)
                if self._queue:
                    self._wake.set()
                return
            self._in_hand = 0
            self._sent += made.spans - min(rejected, made.spans)
            self._lost += min(rejected, made.spans)
            self._error, self._pause = None, 0.0

    def _taken(self) -> list[ExportedSpan]:
        batch: list[ExportedSpan] = []
        with contextlib.suppress(IndexError):  # the queue is empty
            while len(batch) < self._timing.batch:
                batch.append(self._queue.popleft())
        self._in_hand = len(batch)
        return [one._replace(span=masked_span(one.span, self._masked)) for one in batch]

    def _tell(self) -> None:
        now, state, told = time.monotonic(), self.state, self._told
        is_other = (state.error is None) != (told.error is None)
        is_first = told.sent == 0 and state.sent > 0
        is_due = state != told and now - self._told_at >= self._timing.told
        if is_other or is_first or is_due:
            self._told, self._told_at = state, now
            self._on_change(state)


_TEXTS = ("tool", "provider", "code", "agent", "emitter", "emitter_id", "stream", "model")


def masked_span(span: Span, masked: Callable[[str], str]) -> Span:
    """Return a span without secrets in the names that others gave, and without its error's text."""
    changes: dict[str, str | None] = {}
    if span.error is not None:
        changes["error"] = None
    for name in _TEXTS:
        text: str | None = getattr(span, name)
        if text is not None and (shown := masked(text)) != text:
            changes[name] = shown
    return replace(span, **changes) if changes else span
