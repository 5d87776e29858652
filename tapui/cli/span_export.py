"""`tapui records export --otlp`: spans of the records as OTLP/JSON, to a file or a collector."""

import argparse
import contextlib
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from tapui.cli import output
from tapui.cli.failure import WRONG_USE, Failure
from tapui.cli.journals import folders_of
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.telemetry.endpoint import Endpoint, ExportError, Poster
from tapui.telemetry.otlp import CallContent, ExportedSpan, document
from tapui.wire import events as ev
from tapui.wire.subjects import Call, Cut, Span

STDOUT = "-"
_BATCH = 1_000
"""Spans of a document."""
_CALLS = 4_096
"""Calls whose arguments and results are at hand for the spans that follow."""
Write = Callable[[bytes], int]
"""Writes a document; returns how many of its spans were not accepted."""


def run(args: argparse.Namespace) -> int:
    """Export all spans that were asked for, the oldest of each journal first."""
    since = "" if args.since is None else _rfc3339(args.since)
    damage = Damage()
    sent = refused = damaged = 0
    with _target(args.otlp) as write:
        for batch in _batches(_spans(args.session, since, damage, with_content=args.content)):
            made = document(batch)
            damaged += made.damaged
            if made.spans:
                rejected = min(write(made.body), made.spans)
                sent, refused = sent + made.spans - rejected, refused + rejected
    output.note(f"{sent:,} {'span' if sent == 1 else 'spans'} exported")
    if refused:
        output.note(f"spans that were not accepted: {refused:,}")
    if damaged or damage.lines or damage.torn:
        output.note(f"damaged ones passed over: {damaged + damage.lines + damage.torn:,}")
    return 0


def _rfc3339(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
    except (ValueError, OverflowError, OSError):
        raise Failure("--since: there is no such time", WRONG_USE) from None


# Where to


@contextlib.contextmanager
def _target(name: str) -> Iterator[Write]:
    if name == STDOUT:
        yield _written_to_stdout
    elif name.startswith(("http://", "https://")):
        with contextlib.closing(_poster(name)) as poster:
            yield lambda body: _posted(poster, name, body)
    else:
        with _new_file(Path(name)) as write:
            yield write


def _written_to_stdout(body: bytes) -> int:
    sys.stdout.buffer.write(body + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _poster(address: str) -> Poster:
    try:
        return Poster(Endpoint.of(address))
    except ValueError as error:
        raise Failure(f"--otlp: {error}", WRONG_USE) from None


def _posted(poster: Poster, address: str, body: bytes) -> int:
    try:
        return poster.post(body)
    except ExportError as error:
        raise Failure(f"{address}: {error}") from None


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[Write]:
    """Make a file that only the person can read; it goes again when the export fails."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise Failure(f"{path} is there already; name another file") from None
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(fd, "wb") as file:

            def write(body: bytes) -> int:
                file.write(body)
                file.write(b"\n")
                return 0

            yield write
    except OSError as error:
        path.unlink(missing_ok=True)
        raise Failure(f"{path} cannot be written: {error.strerror}") from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise


# What


class _SpanLine(Struct, rename="camel"):
    """As much of a record as an export needs."""

    kind: str
    ts: str
    session_id: str | None = None
    span: Span | None = None


_decoder = msgspec.json.Decoder(_SpanLine)
_ENDED = str(ev.SpanEnded.__struct_config__.tag)


def _batches(spans: Iterator[list[ExportedSpan]]) -> Iterator[list[ExportedSpan]]:
    batch: list[ExportedSpan] = []
    for some in spans:
        batch += some
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _spans(
    wanted: str | None, since: str, damage: Damage, *, with_content: bool
) -> Iterator[list[ExportedSpan]]:
    for session_id, folders in folders_of(wanted):
        for folder in folders:
            yield from spans_in(folder, session_id, since, damage, with_content=with_content)


def spans_in(
    folder: Path,
    session_id: str | None = None,
    since: str = "",
    damage: Damage | None = None,
    *,
    with_content: bool = False,
) -> Iterator[list[ExportedSpan]]:
    """Yield the spans of a journal, of a session (None: of all) since a time, some at once."""
    damage = damage or Damage()
    calls = _Calls(folder, damage) if with_content else None
    some: list[_SpanLine] = []
    for line in _lines(folder, damage):
        if line.ts < since or session_id not in (None, line.session_id):
            continue
        some.append(line)
        if len(some) == _BATCH:
            yield _exported(some, calls)
            some = []
    yield _exported(some, calls)


def _lines(folder: Path, damage: Damage) -> Iterator[_SpanLine]:
    """Yield the spans of a journal. Reads each line once, and no more of it than is exported: four
    times as fast as `reader.scan`."""
    for fd in reader.collection_files(folder, "traces", newest_first=False):
        for line in reader.lines_forward(fd, damage):
            try:
                if not line.isascii():
                    line.decode()
                told = _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                damage.lines += 1
                continue
            if told.kind == _ENDED and told.span is not None:
                yield told


def _exported(lines: list[_SpanLine], calls: "_Calls | None") -> list[ExportedSpan]:
    if calls is None:
        return [ExportedSpan(one.span, one.session_id) for one in lines if one.span is not None]
    if lines:
        calls.read_until(lines[-1].ts)
    return [
        ExportedSpan(one.span, one.session_id, calls.content(one.span))
        for one in lines
        if one.span is not None
    ]


class _Calls:
    """What was said in the newest calls of a journal, read beside its spans."""

    def __init__(self, folder: Path, damage: Damage) -> None:
        self._records = reader.scan(folder, "calls", damage=damage)
        self._next: Record | None = next(self._records, None)
        self._known: OrderedDict[str, CallContent] = OrderedDict()

    def read_until(self, ts: str) -> None:
        """Read what was recorded until then."""
        while self._next is not None and self._next.ts <= ts:
            match self._next.event:
                case ev.CallStarted(call=call) | ev.CallFinished(call=call):
                    self._note(call)
            self._next = next(self._records, None)

    def _note(self, call: Call) -> None:
        known = self._known.pop(call.id, CallContent())
        arguments = _text(call.args, call.args_cut) or known.arguments
        result = _text(call.data, call.data_cut) or call.error or known.result
        self._known[call.id] = CallContent(arguments, result)
        if len(self._known) > _CALLS:
            self._known.popitem(last=False)

    def content(self, span: Span) -> CallContent:
        return self._known.get(span.call_id or "", CallContent())


def _text(whole: Raw | None, cut: Cut | None) -> str | None:
    """Return JSON as it was recorded: whole, or its head."""
    if whole is not None:
        return bytes(whole).decode("utf-8", "replace")
    return None if cut is None else cut.head
