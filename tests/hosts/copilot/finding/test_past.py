"""What stored sessions' turns changed and checked: by stories, and by files as anybody may write
them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tapui.hosts.copilot.finding import past_files
from tapui.hosts.copilot.finding.past_files import PastCounts, PastSessions
from tapui.hosts.copilot.finding.past_turns import PastTurn

FOLDER = "/code/shop"
AT = "2026-11-23T23:09:09.698Z"
OK = "=== 3 passed in 0.10s ==="


class Stored:
    """The lines of a session as the CLI writes them (1.0.102)."""

    def __init__(self, copilot_home: Path, session: str = "s1") -> None:
        self.home = copilot_home
        self.session = session
        self.lines: list[bytes] = []
        self._calls = 0
        self.event("session.start", context={"cwd": f"{FOLDER}/src", "gitRoot": FOLDER})
        self.prompt()

    def event(self, name: str, /, agent: str | None = None, **data: Any) -> None:
        told: dict[str, Any] = {"type": name, "data": data, "id": "e", "timestamp": AT}
        if agent is not None:
            told["agentId"] = agent
        self.lines.append(json.dumps(told, separators=(",", ":")).encode())

    def prompt(self, **data: Any) -> None:
        self.event("user.message", content="go on", **data)

    def begin(self, tool: str, args: dict[str, Any], **more: Any) -> str:
        self._calls += 1
        call = f"call_{self._calls}"
        self.event("tool.execution_start", toolCallId=call, toolName=tool, arguments=args, **more)
        return call

    def edit(self, path: str = "cart.py", *, is_ok: bool = True) -> None:
        whole = f"{FOLDER}/{path}"
        call = self.begin("create", {"path": whole, "file_text": "x = 1\n"})
        told = [{"path": whole, "kind": "create"}] if is_ok else []
        self.event("tool.execution_complete", toolCallId=call, success=is_ok, fileEdits=told)

    def end(self, call: str, code: int = 0, output: str = "") -> None:
        self.event(
            "tool.execution_complete",
            toolCallId=call,
            shellExecution={"exitCode": code},
            success=True,
            result={"content": f"{output}\n<shellId: 0 completed with exit code {code}>"},
        )

    def run(self, command: str, code: int = 0, output: str = "", **more: Any) -> None:
        self.end(self.begin("bash", {"command": command}, **more), code, output)

    def spread(self) -> None:
        """Let a second be between the events."""
        for at, line in enumerate(self.lines):
            stamp = f"T23:{at // 60:02}:{at % 60:02}.698Z".encode()
            self.lines[at] = line.replace(b"T23:09:09.698Z", stamp)

    def store(self) -> None:
        folder = self.home / "session-state" / self.session
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.jsonl").write_bytes(b"".join(line + b"\n" for line in self.lines))

    def turns(self) -> list[PastTurn]:
        self.store()
        return list(PastSessions(self.home, 0.0).turns())

    def told(self) -> str:
        (turn,) = self.turns()
        return f"{turn.state}: {turn.reason}" if turn.reason else turn.state


@pytest.fixture
def story(tmp_path: Path) -> Stored:
    return Stored(tmp_path)


def test_a_check_after_the_last_change(story: Stored) -> None:
    story.edit()
    story.run("cd /code/shop && pytest -q", 0, OK)
    assert story.told() == "checked: pytest"


def test_no_check_after_the_last_change_names_the_one_that_is_known(story: Stored) -> None:
    story.run("pytest", 0, OK)
    story.edit()
    story.run("ls")
    (turn,) = story.turns()
    assert (turn.state, turn.known, turn.files) == ("unchecked", ["pytest"], ["cart.py"])
    assert turn.provenance == "Copilot's files"


@pytest.mark.parametrize(
    ("command", "code", "output", "told"),
    [
        ("pytest", 1, "=== 1 failed in 0.10s ===", "failed: pytest: exit 1"),
        ("pytest", 0, "=== 1 failed in 0.10s ===", "unknown: pytest: its summary and its exit"),
        ("pytest || true", 0, OK, "unknown: pytest: || hides its exit code"),
        ("pytest | tail -3", 0, OK, "unknown: pytest: the exit code is tail's"),
        ("pytest | tail -3", 0, "=== 1 failed in 0.10s ===", "failed: pytest: its summary says 1"),
        ("pytest tests/test_a.py", 0, OK, "unknown: pytest: it ran tests/test_a.py: a subset"),
        ("pytest; sed -i s/1/2/ cart.py", 0, OK, "unknown: pytest: "),
        ("pytest && sed -i s/1/2/ cart.py", 0, OK, "unknown: pytest: the same command may write"),
        ("pytest --collect-only", 0, "", "unchecked: "),
        ("ctest", 0, "", "unknown: ctest: the same command builds nothing before it"),
        ("cmake --build build && ctest --test-dir build", 0, "", "checked: ctest"),
        ("pytest tests/a.py && ruff check .", 0, OK, "unknown: pytest: it ran tests/a.py"),
        ("pytest", 0, "=== no tests ran in 0.01s ===", "failed: pytest: no tests ran"),
        ("cd /elsewhere && pytest", 0, OK, "unchecked: "),
        ("pytest 'unclosed", 0, OK, "unknown: "),
    ],
)
def test_what_a_run_shows(story: Stored, command: str, code: int, output: str, told: str) -> None:
    story.edit()
    story.run(command, code, output)
    assert story.told().startswith(told)


def test_an_agent_that_was_sent_back_goes_on_with_its_turn(story: Stored) -> None:
    story.edit()
    blocked = {"decision": "block", "reason": "run the tests"}
    for hook in ("preToolUse", "agentStop"):
        story.event("hook.end", hookInvocationId="h", hookType=hook, success=True, output=blocked)
    story.event("user.message", content="run the tests", delivery="queued")
    story.run("pytest", 0, OK)
    assert story.told() == "checked: pytest"
    story.prompt()
    story.edit()
    story.event("user.message", content="run the tests", delivery="queued")
    story.run("pytest", 0, OK)
    assert [one.state for one in story.turns()] == ["checked", "unchecked"]


def test_a_command_that_may_write_makes_it_unknown(story: Stored) -> None:
    story.edit()
    story.run("pytest", 0, OK)
    story.run("python fix.py")
    assert story.told() == "unknown: pytest: python fix.py may have changed files since"


def test_a_command_beside_the_check_makes_it_unknown(story: Stored) -> None:
    story.edit()
    other = story.begin("bash", {"command": "python fix.py"})
    story.run("pytest", 0, OK)
    story.end(other)
    assert story.told().startswith("unknown: pytest: python fix.py may")


def test_an_edit_while_the_check_runs_comes_after_it(story: Stored) -> None:
    check = story.begin("bash", {"command": "pytest"})
    story.edit()
    story.end(check, 0, OK)
    assert story.told().startswith("unchecked")


def test_a_subagents_edit_counts(story: Stored) -> None:
    story.edit()
    story.run("pytest", 0, OK)
    call = {"toolCallId": "a1", "toolName": "edit"}
    path = f"{FOLDER}/till.py"
    args = {"path": path, "old_str": "a", "new_str": "b"}
    story.event("tool.execution_start", "agent-1", **call, arguments=args)
    story.event("tool.execution_complete", "agent-1", toolCallId="a1", success=True)
    assert story.told().startswith("unchecked")


@pytest.mark.parametrize("more", [{"mcpServerName": "mine"}, {}])
def test_another_programs_bash_is_no_check(story: Stored, more: dict[str, str]) -> None:
    story.edit()
    call = story.begin("bash", {"command": "pytest"}, **more)
    if not more:
        story.event("external_tool.requested", toolCallId=call, toolName="bash")
    story.end(call, 0, OK)
    assert story.told().startswith("unchecked")


def test_a_check_in_the_background(story: Stored) -> None:
    story.edit()
    call = story.begin("bash", {"command": "pytest", "mode": "async"})
    content = {"content": "<command started in background with shellId: 1>"}
    story.event("tool.execution_complete", toolCallId=call, success=True, result=content)
    assert story.told() == "unknown: pytest: its end was not recorded"
    kind = {"type": "shell_completed", "shellId": "1", "exitCode": 1}
    story.event("system.notification", content="…", kind=kind)
    assert story.told() == "failed: pytest: exit 1"


def test_only_turns_that_changed_counted_files_and_ended_are_told(story: Stored) -> None:
    story.run("pytest", 0, OK)
    story.prompt()
    story.edit("README.md")
    story.prompt()
    story.edit("cart.py", is_ok=False)
    story.prompt()
    story.edit("../elsewhere/cart.py")
    story.prompt()
    story.edit()
    story.event("abort", reason="user_initiated")
    story.prompt()
    story.event("assistant.turn_start", turnId="0")
    story.edit()
    assert story.turns() == []
    story.event("assistant.turn_end", turnId="0")
    assert story.told().startswith("unchecked")


def test_a_prompt_that_steers_begins_no_turn(story: Stored) -> None:
    story.edit()
    story.prompt(delivery="steering")
    story.run("pytest", 0, OK)
    assert story.told() == "checked: pytest"


def test_a_rewind_makes_it_unknown(story: Stored) -> None:
    story.edit()
    story.event("session.snapshot_rewind", upToEventId="e", eventsRemoved=1)
    story.run("pytest", 0, OK)
    assert story.told().startswith("unknown")


def test_the_verdict_of_a_turn_rests_on_nothing_later(story: Stored) -> None:
    story.edit()
    story.prompt()
    story.run("pytest", 0, OK)
    (turn,) = story.turns()
    assert (turn.state, turn.known) == ("unchecked", [])


# Files


def test_the_newest_session_comes_first_and_older_ones_not_at_all(tmp_path: Path) -> None:
    for number, session in enumerate(("old", "mid", "new")):
        story = Stored(tmp_path, session)
        story.edit()
        story.store()
        path = tmp_path / "session-state" / session / "events.jsonl"
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    past = PastSessions(tmp_path, 1_700_000_001)
    assert [turn.session for turn in past.turns()] == ["new", "mid"]
    assert past.counts.sessions == 2


def test_hostile_files_are_counted_and_stop_nothing(
    tmp_path: Path, story: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past_files, "MAX_LINE", 4_096)
    story.edit()
    deep = b'{"type":"tool.execution_start","data":' + b"[" * 3_000
    story.lines += [b"\xff\xfe garbage", deep, b"[]", b"null", b'{"type":1,"data":{}}', b"{}"]
    story.lines += [b'{"type":"user.message","data":"' + b"x" * 50_000 + b'"}', b""]
    story.lines.append(b'{"type":"tool.execution_start","data":{"toolCallId":7,"toolName":[]}}')
    story.lines.append(b'{"type":"session.start","data":{"context":7}}')
    story.store()
    state = tmp_path / "session-state"
    for name in ("fifo", "link", "folder"):
        (state / name).mkdir()
    os.mkfifo(state / "fifo" / "events.jsonl")
    (state / "link" / "events.jsonl").symlink_to(state / "s1" / "events.jsonl")
    (state / "folder" / "events.jsonl").mkdir()
    (state / "linked").symlink_to(state / "s1")
    past = PastSessions(tmp_path, 0.0)
    assert [turn.session for turn in past.turns()] == ["s1"]
    counts = past.counts
    assert (counts.damaged, counts.too_long, counts.unreadable) == (7, 1, 3)
    assert (counts.sessions, counts.turns, counts.unchecked) == (1, 1, 1)


def test_what_takes_too_long_is_left_out(tmp_path: Path) -> None:
    for session in ("a", "b", "c"):
        Stored(tmp_path, session).store()
    ticks = iter(range(0, 100_000, 50))
    past = PastSessions(tmp_path, 0.0, lambda: next(ticks))
    assert list(past.turns()) == []
    assert past.counts.left_out == 3


def test_no_copilot_is_nothing(tmp_path: Path) -> None:
    past = PastSessions(tmp_path / "none", 0.0)
    assert list(past.turns()) == []
    assert past.counts == PastCounts()
