"""What a record costs: CPU microseconds of `Journal.write()`, by records a turn.

    python tests/bench/records_cost.py [--records N] [--folder DIR]

CPU time of the writing thread (user and system, by `thread_time`) and of the whole process, which
adds the thread that syncs. Compare within one run only.
"""

import argparse
import shutil
import tempfile
import time
from pathlib import Path

import msgspec

from tapui.records.journal import Journal
from tapui.settings.settings import Records
from tapui.wire.codec import encode
from tapui.wire.events import AnyEvent, CallFinished, CallStarted, Entry, SessionOpened
from tapui.wire.subjects import Call, Session

TS = "2026-01-01T00:00:00.000000Z"
TURNS = (1, 10, 64)


def _pair(seq: int) -> list[tuple[Entry, bytes]]:
    """A call's start and end, as a relayed call of 100 bytes makes them."""
    call = Call(
        id=f"c{seq}", session_id="s1", provider="ci", tool="greet", state="running",
        started_at=TS, timeout=120_000, provider_id="p-1", caller="copilot",
        args=msgspec.Raw(b'{"text":"' + b"x" * 100 + b'"}'),
    )  # fmt: skip
    ended = msgspec.structs.replace(
        call, state="done", args=None, data=msgspec.Raw(b'"' + b"y" * 100 + b'"'), duration=0.4
    )
    events: list[AnyEvent] = [CallStarted("s1", call), CallFinished("s1", ended)]
    return [
        (Entry("r", seq + number, TS, event), encode(event)) for number, event in enumerate(events)
    ]


def measure(folder: Path, records: int, turn: int) -> tuple[float, float, float]:
    """Return µs CPU of the writing thread, of the process, and bytes, each per record."""
    workspace = folder / "workspace"
    workspace.mkdir()
    journal = Journal(folder / "state", "r", Records(), lambda line, _level: print(line))
    session = Session("s1", "s1", "/", "idle", "bench", [], TS, workspace=str(workspace))
    opened = SessionOpened("s1", session)
    journal.write([(Entry("r", 0, TS, opened), encode(opened))])
    entries = [one for seq in range(1, records, 2) for one in _pair(seq)]
    turns = [entries[start : start + turn] for start in range(0, len(entries), turn)]
    thread, process = time.thread_time(), time.process_time()
    for one in turns:
        if journal.write(one):
            raise SystemExit("records were lost")
    thread, process = time.thread_time() - thread, time.process_time() - process
    journal.close(10)
    size = (workspace / "files" / "tap" / "calls.jsonl").stat().st_size
    shutil.rmtree(folder)
    count = len(entries)
    return thread / count * 1e6, process / count * 1e6, size / count


def main() -> None:
    """Print one line a turn size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where to write (default: the temp folder)")
    arguments = parser.parse_args()
    print("records/turn  µs CPU/record  with syncing  bytes/record")
    for turn in TURNS:
        folder = Path(tempfile.mkdtemp(dir=arguments.folder))
        writing, all_threads, size = measure(folder, arguments.records, turn)
        print(f"{turn:12}  {writing:13.2f}  {all_threads:12.2f}  {size:12.0f}")


if __name__ == "__main__":
    main()
