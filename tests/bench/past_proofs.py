"""Stored sessions of the CLI, read for turns that ended without a check."""

import json
import os
import pty
import subprocess
import time
from contextlib import closing, suppress
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from tapui.hosts.copilot.finding.past_files import PastSessions
from tapui.hosts.copilot.finding.past_reading import PastAsked, reading
from tapui.index.past import PastIndex
from tapui.index.store import writing
from tapui.settings.settings import Records
from tests.rig.gateway import tapui_argv

_TURNS = 20
_AT = "2026-11-23T23:09:09.698Z"
_TIME = b"T23:09:09.698"
_DAY = date(2020, 1, 1).toordinal()
_SHELL = "\n<shellId: 0 completed with exit code 0>"
_DIFF = "\n--- aFILE\n+++ bFILE\n@@ -1,200 +1,200 @@\n" + "-a\n" * 200 + "+b\n" * 200
MIB = 1024 * 1024


class PastReading(NamedTuple):
    """MiB a second, and the seconds until the first turn was there."""

    rate: float
    first: float
    turns: int


class PastAnswer(NamedTuple):
    """Seconds until a terminal had the first answer of `tapui query --past`, and the whole one."""

    first: float
    whole: float


def store(copilot_home: Path, mib: int) -> None:
    """Store sessions of about a MiB each: mostly what tools answered, prompts of hooks, edits."""
    lines = [_line("session.start", context={"cwd": "/code/shop"})]
    for turn in range(_TURNS):
        lines.append(_line("user.message", content="go on", transformedContent="x" * 2_000))
        for step in range(6):
            lines.append(_line("hook.start", hookType="preToolUse", input="x" * 1_000))
            lines += _call(f"v{turn}.{step}", "view", {"path": "a.py"}, "def a(): …\n" * 300)
        path = {"path": f"/code/shop/m{turn}.py", "old_str": "a\n" * 200, "new_str": "b\n" * 200}
        lines += _call(f"e{turn}", "edit", path, "done", _DIFF, path["path"])
        lines += _call(f"b{turn}", "bash", {"command": f"git diff {turn} | head"}, "+ x\n" * 900)
        if turn % 2:
            lines += _call(f"c{turn}", "bash", {"command": "pytest -q"}, "1 passed in 0.10s")
        lines.append(_line("system.message", content="y" * 8_000))
        lines.append(_line("assistant.turn_end", turnId="0"))
    stamps = (f"T23:{at // 60000:02}:{at // 1000 % 60:02}.{at % 1000:03}" for at in count(0, 700))
    data = b"".join(
        line.replace(_TIME, stamp.encode()) for line, stamp in zip(lines, stamps, strict=False)
    )
    for number in range(max(mib * MIB // len(data), 1)):
        folder = copilot_home / "session-state" / f"s{number}"
        folder.mkdir(parents=True)
        day = date.fromordinal(_DAY + number).isoformat()
        (folder / "events.jsonl").write_bytes(data.replace(b"2026-11-23", day.encode()))


def _line(name: str, /, **data: Any) -> bytes:
    told = {"type": name, "data": data, "id": "e", "timestamp": _AT}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _call(
    call: str, tool: str, args: dict[str, Any], text: str, diff: str = "", path: str = ""
) -> list[bytes]:
    began = _line("tool.execution_start", toolCallId=call, toolName=tool, arguments=args)
    shell = {"shellExecution": {"exitCode": 0}} if tool == "bash" else {}
    edited = {"fileEdits": [{"path": path, "kind": "edit"}]} if path else {}
    result = {"content": text + (_SHELL if shell else "")} | (
        {"detailedContent": diff.replace("FILE", path)} if diff else {}
    )
    more = {**shell, **edited}
    ended = _line("tool.execution_complete", toolCallId=call, success=True, result=result, **more)
    return [began, ended]


def fill(home: Path, copilot_home: Path) -> float:
    """Read them all into rows, as `tapui query --past` does; return MiB a second."""
    with writing(home):
        pass  # an index without records
    begun = time.perf_counter()
    asked = PastAsked(str(copilot_home.absolute()), 0.0, [], [], Records().inline)
    with closing(PastIndex(home, home)) as rows, reading(asked) as past:
        for session in past.sessions():
            rows.add(session.records)
    return past.progress.counts.bytes / MIB / (time.perf_counter() - begun)


def answer(env: dict[str, str]) -> PastAnswer:
    """Ask on a terminal; where all was read at once, the first answer is the whole one."""
    sql = "SELECT tool, count(*) AS calls, sum(is_failed) AS failed FROM calls GROUP BY tool"
    master, slave = pty.openpty()
    begun = time.perf_counter()
    first, said = 0.0, b""
    argv = tapui_argv("query", sql, "--past", "2001-01-01")
    with subprocess.Popen(argv, env=env, stdin=slave, stdout=slave, stderr=slave):
        os.close(slave)
        with suppress(OSError):  # Linux: the other end is closed
            while block := os.read(master, 4096):
                said += block
                if not first and b"reading on" in said:
                    first = time.perf_counter() - begun
    os.close(master)
    whole = time.perf_counter() - begun
    return PastAnswer(first or whole, whole)


def read(copilot_home: Path) -> PastReading:
    """Read them all."""
    past = PastSessions(copilot_home, 0.0)
    begun = time.perf_counter()
    first = 0.0
    for turn in past.turns():
        if not first and turn.state != "checked":
            first = time.perf_counter() - begun
    took = time.perf_counter() - begun
    return PastReading(past.counts.bytes / MIB / took, first, past.counts.turns)
