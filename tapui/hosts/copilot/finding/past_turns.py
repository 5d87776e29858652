"""Turns of stored sessions that changed files: whether a check ran after the last change.

It rests on the CLI's own `events.jsonl`, which an agent can write, and proves nothing. No state of
the folder is known of the past: files are those that the session's own tools changed, and a command
that may have written makes a check unknown.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from tapui.core.proof.checks import Check, check
from tapui.core.proof.deciding import ShellReading, read
from tapui.core.proof.folder_states import is_counted
from tapui.core.proof.reporters import agrees, summary
from tapui.hosts.copilot.session.prompts import SentPrompts
from tapui.hosts.copilot.session.shells import RUNNING, exit_code, shell_behind, shell_ended
from tapui.projection.edits import edits
from tapui.projection.summary import one_line
from tapui.wire.message import WireStruct

PastState = Literal["checked", "failed", "unchecked", "unknown"]
PROVENANCE = "Copilot's files"
MOST_STEPS = 5_000
"""Commands and edits of a turn, and of a session commands, that are remembered."""
_MOST_PATHS = 1_000
_CUT = "Output too large"
_SHELL_LINE = re.compile(r"\n?<shellId: [^<>\n]{1,400}>\s*\Z")


class PastTurn(WireStruct):
    """A turn that changed files and ended. `known` are the checks that ran in its session so far.

    `files` are relative to `folder` where they lie in it.
    """

    session: str
    started_at: str
    folder: str
    state: PastState
    reason: str
    files: list[str]
    known: list[str]
    provenance: str


@dataclass(slots=True)
class _PastCommand:
    text: str
    dialect: str
    began: int
    ended: int | None = None
    code: int | None = None
    output: str = ""
    behind: str = ""

    @property
    def reading(self) -> ShellReading:
        return _reading(self.text, self.dialect)


@dataclass(slots=True)
class _PastEdit:
    paths: list[str]
    ended: int | None = None


@dataclass(slots=True)
class _OpenTurn:
    at: str
    commands: list[_PastCommand] = field(default_factory=list)
    edits: list[_PastEdit] = field(default_factory=list)
    is_stopped: bool = False
    is_working: bool = False
    is_cut: bool = False


class _Judged(NamedTuple):
    what: Check
    state: PastState
    reason: str


@lru_cache(maxsize=2_048)
def _reading(text: str, shell: str) -> ShellReading:
    return read(text, shell)


class SessionPast:
    """Folds the events of one stored session. Each answers with the turn that it ended, if any."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.folder = ""
        self._number = 0
        self._turn: _OpenTurn | None = None
        self._calls: dict[str, _PastCommand | _PastEdit] = {}
        self._sent = SentPrompts()
        self._texts: dict[tuple[str, str], None] = {}
        """The session's commands, the newest last."""

    def waits_for(self, call_id: str) -> bool:
        """Return whether the end of a call matters."""
        return call_id in self._calls

    def take(
        self, name: str, data: Mapping[str, Any], at: str, *, is_agent: bool
    ) -> PastTurn | None:
        """Take the next event; `is_agent` says that it is a subagent's."""
        self._number += 1
        turn = self._turn
        match name:
            case "session.start" | "session.resume" | "session.context_changed" if not is_agent:
                context = data if name == "session.context_changed" else data.get("context")
                self._place(context if isinstance(context, Mapping) else {})
            case "hook.end" if not is_agent:
                self._sent.by_hook(str(data.get("hookType")), data.get("output"))
            case "user.message" if not is_agent and self._sent.take(str(data.get("content"))):
                pass  # the agent was sent back: its turn goes on
            case "user.message" if not is_agent and data.get("delivery") != "steering":
                ended = self._end()
                self._turn = _OpenTurn(at)
                return ended
            case "assistant.turn_start" if turn is not None and not is_agent:
                turn.is_working = True
            case "assistant.turn_end" if turn is not None and not is_agent:
                turn.is_working = False
            case "session.shutdown" if turn is not None:
                turn.is_stopped = turn.is_stopped or turn.is_working
                turn.is_working = False
            case "abort" if turn is not None and not is_agent:
                turn.is_stopped = True
            case "tool.execution_start" if turn is not None:
                self._started(turn, data)
            case "tool.execution_complete" if turn is not None:
                self._completed(turn, data)
            case "external_tool.requested":
                # Another program answers this call: its exit code is that program's report.
                self._forget(str(data.get("toolCallId")))
            case "session.snapshot_rewind" if turn is not None:
                turn.is_cut = True
            case "system.notification" if turn is not None and (ended_shell := shell_ended(data)):
                for command in turn.commands:
                    if command.behind == ended_shell[0] and command.ended is None:
                        command.ended, command.code = self._number, ended_shell[1]
        return None

    def end(self) -> PastTurn | None:
        """Return the newest turn, where it has ended."""
        return self._end()

    def _place(self, context: Mapping[str, Any]) -> None:
        found = context.get("gitRoot") or context.get("cwd")
        if isinstance(found, str) and found.startswith("/"):
            self.folder = posixpath.normpath(found)

    def _forget(self, call_id: str) -> None:
        call = self._calls.pop(call_id, None)
        if self._turn is not None and isinstance(call, _PastCommand):
            self._turn.commands = [one for one in self._turn.commands if one is not call]

    def _started(self, turn: _OpenTurn, data: Mapping[str, Any]) -> None:
        call_id, tool, args = data.get("toolCallId"), data.get("toolName"), data.get("arguments")
        if not isinstance(call_id, str) or not isinstance(tool, str):
            return
        if data.get("mcpServerName") is not None or data.get("mcpToolName") is not None:
            return
        if len(turn.commands) + len(turn.edits) >= MOST_STEPS:
            turn.is_cut = True
            return
        if tool in RUNNING:
            text = args.get("command") if isinstance(args, Mapping) else None
            if not isinstance(text, str):
                return
            shell = "powershell" if tool == "powershell" else "bash"
            command = _PastCommand(text, shell, self._number)
            turn.commands.append(command)
            self._calls[call_id] = command
            self._texts.pop((text, shell), None)
            self._texts[text, shell] = None
            if len(self._texts) > MOST_STEPS:
                del self._texts[next(iter(self._texts))]
        elif found := edits(tool, args):
            edit = _PastEdit([one.path for one in found][:_MOST_PATHS])
            turn.edits.append(edit)
            self._calls[call_id] = edit

    def _completed(self, turn: _OpenTurn, data: Mapping[str, Any]) -> None:
        call = self._calls.pop(str(data.get("toolCallId")), None)
        is_ok = data.get("success") is True
        told = data.get("fileEdits")
        paths = [
            one["path"]
            for one in (told if isinstance(told, list) else [])
            if isinstance(one, Mapping) and isinstance(one.get("path"), str)
        ][:_MOST_PATHS]
        if isinstance(call, _PastCommand):
            result = data.get("result")
            text = result.get("content") if isinstance(result, Mapping) else None
            call.behind = shell_behind(data) or ""
            if not call.behind:
                call.ended, call.code = self._number, exit_code(data) if is_ok else None
                call.output = _SHELL_LINE.sub("", text) if isinstance(text, str) else ""
        elif isinstance(call, _PastEdit):
            call.ended = self._number
            call.paths = (paths or call.paths) if is_ok else paths
        if paths and not isinstance(call, _PastEdit) and len(turn.edits) < MOST_STEPS:
            turn.edits.append(_PastEdit(paths, self._number))

    # What a turn shows

    def _end(self) -> PastTurn | None:
        turn, self._turn = self._turn, None
        self._calls.clear()
        if turn is None or turn.is_stopped or turn.is_working:
            return None
        files = list(dict.fromkeys(path for one in turn.edits for path in self._counted(one.paths)))
        if not files:
            return None
        state, reason = self._judge(turn)
        known = list(self._known()) if state != "checked" else []
        at, folder = turn.at, self.folder
        return PastTurn(self.session_id, at, folder, state, reason, files, known, PROVENANCE)

    def _counted(self, paths: list[str]) -> list[str]:
        """Return the files in the session's folder of which a change counts."""
        found = []
        for path in paths:
            whole = posixpath.normpath(posixpath.join(self.folder or "/", path))
            if self.folder and not whole.startswith(f"{self.folder.rstrip('/')}/"):
                continue
            inner = posixpath.relpath(whole, self.folder) if self.folder else whole
            if is_counted(inner):
                found.append(inner)
        return found

    def _known(self) -> Iterator[str]:
        seen = set()
        for text, shell in reversed(self._texts):
            for part in _reading(text, shell).parts:
                what = check(part.words)
                if what is not None and what.program not in seen:
                    seen.add(what.program)
                    yield what.program

    def _judge(self, turn: _OpenTurn) -> tuple[PastState, str]:
        about = [one for one in turn.edits if self._counted(one.paths)]
        if turn.is_cut:
            return "unknown", "not all that happened in it is known"
        if any(one.ended is None for one in about):
            return "unknown", "the end of an edit was not recorded"
        last = max(one.ended or 0 for one in about)
        judged: dict[tuple[str, ...], _Judged] = {}
        for command in reversed(turn.commands):
            if command.began < last:
                continue
            if command.reading.doubt:
                judged.setdefault(
                    (command.text,), _Judged(Check("", "tests"), "unknown", command.reading.doubt)
                )
            for at in reversed(range(len(command.reading.parts))):
                part = command.reading.parts[at]
                what = check(part.words)
                if what is not None and part.words not in judged and self._is_inside(part.folder):
                    judged[part.words] = _Judged(what, *self._of_run(turn, command, at, what))
        return self._of_all(list(judged.values()))

    def _of_all(self, judged: list[_Judged]) -> tuple[PastState, str]:
        for one in judged:
            if one.state == "failed":
                return "failed", f"{one.what.program}: {one.reason}"
        tests = [one for one in judged if one.what.kind == "tests"]
        for one in tests or judged:
            if one.state == "checked":
                return "checked", one.what.program
        if not judged:
            return "unchecked", "no check after the last change"
        one = (tests or judged)[0]
        return "unknown", f"{one.what.program}: {one.reason}" if one.what.program else one.reason

    def _is_inside(self, folder: str) -> bool:
        """Return whether a check ran in the session's folder."""
        whole = posixpath.normpath(posixpath.join(self.folder, folder))
        return f"{whole}/".startswith(f"{self.folder.rstrip('/')}/")

    @staticmethod
    def _is_built(command: _PastCommand, at: int) -> bool:
        """Return whether a command builds before one of its parts."""
        reading = command.reading
        builds = (check(part.words) for part in reading.parts[:at])
        return any(
            what is not None
            and what.kind == "build"
            and reading.outcome(number, command.code).state == "passed"
            for number, what in enumerate(builds)
        )

    def _of_run(
        self, turn: _OpenTurn, command: _PastCommand, at: int, what: Check
    ) -> tuple[PastState, str]:
        """Say what one run of a check shows."""
        reading = command.reading
        part = reading.parts[at]
        if command.ended is None:
            return "unknown", "its end was not recorded"
        is_cut = command.output.startswith(_CUT) or part.filtered_by is not None
        tests = summary(" ".join(part.words), command.output, is_cut=is_cut)
        outcome = reading.outcome(at, command.code)
        if outcome.state == "failed":
            return "failed", f"exit {command.code}"
        if outcome.state != "passed":
            if part.filtered_by and tests is not None and tests.failed:
                return "failed", f"its summary says {tests.failed} failed"
            return "unknown", outcome.reason
        if tests is not None and agrees(tests.program, tests, command.code) is False:
            return "unknown", "its summary and its exit code differ"
        if tests is not None and tests.unit != "problems" and tests.found_none:
            return "failed", "no tests ran"
        if tests is not None and tests.is_all_skipped:
            return "failed", "all tests were skipped"
        if what.part:
            return "unknown", what.part
        if what.is_of_built and not self._is_built(command, at):
            return "unknown", "the same command builds nothing before it"
        if reading.changes_tree or reading.writes_after(at):
            return "unknown", reading.changes_tree or "the same command may write files behind it"
        for other in turn.commands:
            is_beside = other.ended is None or other.ended > command.began
            if other is not command and is_beside and other.reading.writes_after(-1):
                return "unknown", f"{one_line(other.text)[:60]} may have changed files since"
        return "checked", ""
