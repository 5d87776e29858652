"""A played CLI in a process of its own: how soon it is attached to, what its streamed text costs.

`python -m tests.bench.streaming COPILOT_HOME SESSION DELTAS_PER_SECOND` plays until its standard
input ends.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tapui.client.gateways import find
from tapui.client.glance import glance
from tapui.home.paths import Home as Paths
from tapui.hosts.copilot.session import history
from tests.bench import roundtrip
from tests.bench.roundtrip import Rate
from tests.hosts.cli_played import CliPlayed
from tests.rig.gateway import Gateway
from tests.rig.waiting import until

_PIECE = "a few more words of a message "
_BURST = 20
"""Pieces that are sent between two pauses."""


def main() -> None:
    """Play one session."""
    home, session, per_second = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    with CliPlayed(home, session) as cli:
        print(time.time(), flush=True)
        while not ended.wait(_BURST / per_second if per_second else 1.0):
            for _ in range(_BURST if per_second else 0):
                cli.happens(session, "assistant.message_delta", deltaContent=_PIECE, messageId="m1")


@contextmanager
def played(gateway: Gateway, session: str, per_second: int = 0) -> Iterator[float]:
    """Play a session beside a gateway; gives the seconds until its row was there, whole."""
    paths = Paths.of(gateway.home.env())
    argv = [sys.executable, "-m", "tests.bench.streaming", str(gateway.home.copilot)]
    with subprocess.Popen(
        [*argv, session, str(per_second)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
    ) as process:
        assert process.stdout is not None
        began = float(process.stdout.readline())
        chosen = find(paths, gateway.port, is_explicit=True)

        def is_there() -> bool:
            sessions = glance(chosen, name="bench").state.sessions
            return any(one.id == session and one.tools_taken for one in sessions)

        until(is_there, what="the session's row")
        try:
            yield time.time() - began
        finally:
            assert process.stdin is not None
            process.stdin.close()


def beside_deltas(gateway: Gateway, seconds: float, per_second: int) -> tuple[Rate, Rate]:
    """Measure 500 calls/s without, and beside a session that streams so many pieces a second."""
    with played(gateway, "quiet"):
        before = roundtrip.through(gateway, 100, 0, seconds, per_second=500)
    with played(gateway, "loud", per_second):
        beside = roundtrip.through(gateway, 100, 0, seconds, per_second=500)
    return before, beside


def read_history(folder: Path, mib: int) -> tuple[float, int]:
    """Return the milliseconds in which the end of a session of this size is read, and its turns."""
    file = folder / "events.jsonl"
    stamp = "2026-11-21T22:15:49.000Z"
    with file.open("w") as out:
        number = 0
        while out.tell() < mib * 2**20:
            number += 1
            call = {"toolCallId": f"c{number}", "toolName": "bash"}
            for kind, data in (
                ("user.message", {"content": f"prompt {number}"}),
                ("tool.execution_start", {**call, "arguments": {"command": f"make {number}"}}),
                (
                    "tool.execution_complete",
                    {**call, "success": True, "result": {"content": "line\n" * 400}},
                ),
                ("assistant.message", {"content": "It is done. " * 20}),
            ):
                event = {"type": kind, "data": data, "id": str(number), "timestamp": stamp}
                out.write(json.dumps(event) + "\n")
    began = time.perf_counter()
    turns = history.read(folder, "s1", datetime.now(UTC), is_busy=False).turns
    return 1000 * (time.perf_counter() - began), len(turns)


if __name__ == "__main__":
    main()
