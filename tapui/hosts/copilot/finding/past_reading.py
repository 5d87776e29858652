"""The process that reads the stored sessions for a question:
`python -m tapui.hosts.copilot.finding.past_reading`.

It reads while the process that asked makes rows of what came before, each on a core of its own.
What is asked (`PastAsked`) comes as JSON on stdin. To stdout go the sessions' events as lines of
records, bounded and masked as the gateway would have kept them, and between them lines that say
how far it is (`PastProgress`).
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.hosts.copilot.finding.past_events import PastEvents
from tapui.hosts.copilot.finding.past_files import PastCounts
from tapui.projection.cuts import Bounds
from tapui.records.masking import Masks
from tapui.runtime.system import RegexMatcher
from tapui.wire.codec import encode

RECORD = b'{"v":'
"""How a line begins that is a record's."""
WORK_SECONDS = 1.0
"""Seconds of CPU after which a process that reads or makes rows gives way to others."""
_NICE = 10
_RUN = "past"
_TOLD_BYTES = 4 * 1024 * 1024
"""How far it is stands between the records at least so often."""
_BUFFER = 256 * 1024
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE",
              "PYTHONPYCACHEPREFIX", "TMPDIR", "TZ")  # fmt: skip


@dataclass(frozen=True)
class PastAsked:
    """What is to be read: sessions that were used since a time (epoch) and that are not `recorded`.

    `mask` are the person's patterns of secrets, `inline` the bytes of a field that are kept whole.
    """

    copilot_home: str
    since: float
    recorded: list[str]
    mask: list[str]
    inline: int


class PastVerdict(Struct, array_like=True):
    """What the checks of a turn show (`past_turns.PastTurn`)."""

    started_at: str
    state: str
    reason: str


class PastProgress(Struct, omit_defaults=True):
    """How far it is. With a `session`, its records follow; with `verdicts`, all of them came. The
    last line of all has neither.

    `found` are the sessions that are read in all, `total` their bytes; `recorded` and `others` as
    in `PastEvents`.
    """

    counts: PastCounts
    found: int
    total: int
    recorded: int
    others: int
    session: str | None = None
    verdicts: list[PastVerdict] | None = None


def lines_of(past: PastEvents, masks: Masks, inline: int) -> Iterator[bytes]:
    """Yield the lines that tell of the sessions, the newest first."""
    counts = past.counts

    def progress(session: str | None = None, verdicts: list[PastVerdict] | None = None) -> bytes:
        told = PastProgress(
            counts, past.found, past.total, past.recorded, past.others, session, verdicts
        )
        return msgspec.json.encode(told) + b"\n"

    for session in past.sessions():
        yield progress(session.id)
        bounds, told = Bounds(inline), counts.bytes
        for number, one in enumerate(session.events, 1):
            event = bounds.bounded(one.event) if one.size > inline else one.event
            head = f'{{"v":1,"run":"{_RUN}","seq":{number},"ts":"{one.ts}",'.encode()
            yield masks.masked(head + encode(event)[1:] + b"\n")
            if counts.bytes - told > _TOLD_BYTES:
                told = counts.bytes
                yield progress()
        yield progress(
            verdicts=[
                PastVerdict(turn.started_at, turn.state, masks.masked_text(turn.reason))
                for turn in session.turns
            ]
        )
    yield progress()


def give_way() -> None:
    """Lower the priority of a process that has worked for long: it runs beside a screen. What
    takes a moment is not slowed down: beside a build, a process that gives way hardly runs."""
    if time.process_time() > WORK_SECONDS and os.getpriority(os.PRIO_PROCESS, 0) < _NICE:
        os.nice(_NICE)


@dataclass(slots=True)
class ReadSession:
    """A session: its lines of records, and what its turns' checks show once all were read."""

    id: str
    records: Iterator[bytes]
    verdicts: list[PastVerdict] = field(default_factory=list)


class PastReading:
    """Takes the lines of `lines_of` apart. `progress` is how far they are."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self.progress = PastProgress(PastCounts(), 0, 0, 0, 0)

    def sessions(self) -> Iterator[ReadSession]:
        """Yield the sessions; the records of one are read before the next. Raises `EOFError` where
        the end is missing, `msgspec.DecodeError` for another line."""
        for line in self._lines:
            self.progress = _progress.decode(line)
            if self.progress.session is None:
                return
            found = ReadSession(self.progress.session, iter(()))
            found.records = self._records(found)
            yield found
        raise EOFError

    def _records(self, found: ReadSession) -> Iterator[bytes]:
        for line in self._lines:
            if line.startswith(RECORD):
                yield line
                continue
            self.progress = _progress.decode(line)
            if self.progress.verdicts is not None:
                found.verdicts = self.progress.verdicts
                return
        raise EOFError


_progress = msgspec.json.Decoder(PastProgress)


@contextlib.contextmanager
def reading(asked: PastAsked) -> Iterator[PastReading]:
    """Start the process, and read what it tells within. Raises `OSError`, also where it fails."""
    environ = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    command = (sys.executable, "-P", "-m", "tapui.hosts.copilot.finding.past_reading")
    with (
        tempfile.TemporaryFile() as fault,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=fault,
            bufsize=_BUFFER,
            env=environ,
            cwd="/",
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # One that has ended says why.
            with contextlib.suppress(BrokenPipeError), process.stdin as given:
                given.write(json.dumps(asdict(asked)).encode())
            yield PastReading(iter(process.stdout))
        except (EOFError, msgspec.DecodeError):  # it was ended, maybe within a line
            process.wait()
            fault.seek(0)
            last = fault.read()[-4096:].decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise OSError(f"the process that reads them failed: {last}") from None
        finally:
            process.kill()


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the process that asked says that it was ended
    asked = PastAsked(**json.load(sys.stdin.buffer))  # a path may be no UTF-8, which msgspec needs
    masks = Masks([RegexMatcher().compile(pattern) for pattern in asked.mask])
    past = PastEvents(Path(asked.copilot_home), asked.since, set(asked.recorded).__contains__)
    with open(sys.stdout.fileno(), "wb", _BUFFER, closefd=False) as output:
        for line in lines_of(past, masks, asked.inline):
            output.write(line)
            if not line.startswith(RECORD):
                output.flush()
                give_way()
    return 0


if __name__ == "__main__":
    sys.exit(main())
