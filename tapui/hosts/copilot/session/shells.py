"""The CLI's own shells: what it tells of a command in fields that no command can print.

A command may print every word of the CLI's, and another program's tool, or an MCP server's, may be
called `bash` and answer with the CLI's own fields. So nothing is taken from the text of a result
but the id of a shell that goes on behind its call, and nothing at all of a call that another
program answers (`external_tool.requested` comes before its end) or that began before this host
came.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tapui.secret import without_begun, without_rest
from tapui.wire import limits

RUNNING = frozenset({"bash", "powershell", "local_shell"})
"""Tools that run a command. The others (`read_bash`, `write_bash` …) tell of one that runs."""
_MOST_OUTPUTS = 200
"""Commands whose output is kept; of one more, that of the oldest is let go."""
_HEAD = 4 * 1024
_TAIL = limits.MAX_SHELL_TEXT
_LONGEST_LINE = 1024
"""Characters within which a cut text is made to begin, or to end, with a line."""
_HIGHEST = 2**31
_ENDS = {"denied": "denied", "rejected": "denied", "timeout": "timeout"}
"""How a tool ended that did not fail by itself, by the code of its error."""
_SHELL_LINE = 1000
"""Characters at the end of a result in which its shell is named."""
_SHELL = re.compile(r"<[^<>\n]*\bshellId: ([^\s<>]{1,200})[^<>\n]*>\s*$")

Place = tuple[str | None, str]
"""A shell: the agent whose it is (None: the session's own), and its id. Two agents may have shells
of the same id."""


class ShellOutput:
    """The beginning and the end of what a command printed, out of `tool.shell_output`."""

    __slots__ = ("_expected", "_head", "_size", "_tail")

    def __init__(self) -> None:
        self._head = self._tail = ""
        self._size = 0
        """Characters so far, and a whole end more for each piece that did not come."""
        self._expected = 0

    def add(self, sequence: int, text: str) -> None:
        """Take the next piece. What follows a gap is an end alone: it is not joined to what came
        before, of which only the beginning stays."""
        if sequence != self._expected:
            self._tail, self._size = "", self._size + _TAIL
        elif self._size < _HEAD:
            self._head += text[: _HEAD - self._size]
        self._expected = sequence + 1
        self._tail = (self._tail + text)[-_TAIL:]
        self._size += len(text)

    @property
    def newest(self) -> str:
        return self._tail

    def ends(self) -> dict[str, str]:
        """Return `head` and `tail`, as the wire has them; no `head` where the end is everything."""
        if self._size <= _TAIL:
            return {"tail": self._tail} if self._tail else {}
        tail = _in_bytes(self._tail)
        head = self._head[: self._size - len(tail)]
        line = tail.find("\n", 0, _LONGEST_LINE) + 1
        whole = head.rfind("\n", max(len(head) - _LONGEST_LINE, 0)) + 1
        ends = {
            "head": head[:whole] if whole else without_begun(head),
            "tail": tail[line:] if line else without_rest(tail),
        }
        return {name: text for name, text in ends.items() if text}


def _in_bytes(text: str) -> str:
    """Return the end of a text, as long as its limit is in bytes."""
    return text.encode("utf-8", "replace")[-_TAIL:].decode("utf-8", "ignore")


@dataclass(slots=True)
class _Behind:
    """A command that goes on behind its call; `call` names that for `shell.completed`."""

    call: dict[str, str]
    known: dict[str, Any] | None
    """Its shell, as the wire has it; None where that may be another's."""
    is_awaited: bool = True
    """Whether the CLI may wait for its end before it says `session.idle`."""


@dataclass(slots=True)
class Shells:
    """Follows the shells of one session."""

    _own: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """Calls under way that the CLI itself answers."""
    _outputs: OrderedDict[str, ShellOutput] = field(default_factory=OrderedDict)
    """By the call that began the command, also after its end."""
    _behind: OrderedDict[Place, _Behind] = field(default_factory=OrderedDict)

    def started(self, call_id: str, tool: str, *, is_mcp: bool) -> None:
        """A call began that is not this host's to answer."""
        self._outputs.pop(call_id, None)
        self._own.pop(call_id, None)
        if is_mcp:
            return
        _keep(self._own, call_id, None, limits.MAX_NATIVE_CALLS)
        if tool in RUNNING:
            _keep(self._outputs, call_id, ShellOutput(), _MOST_OUTPUTS)

    def is_own(self, call_id: str) -> bool:
        """Return whether a call under way is one that the CLI itself answers, as far as that was
        seen."""
        return call_id in self._own

    def answered_elsewhere(self, call_id: str) -> None:
        """The CLI asks another program for the result of a call."""
        self._own.pop(call_id, None)
        self._outputs.pop(call_id, None)

    def lost(self) -> None:
        """The connection is gone: what happens meanwhile is not heard, and a shell's id may have
        come to mean another one."""
        self._own.clear()
        self._outputs.clear()
        for behind in self._behind.values():
            behind.known = None

    def awaited(self) -> list[str]:
        """Return the commands for whose end the CLI waits while its agent rests."""
        commands = [
            behind.call["command"]
            for behind in self._behind.values()
            if behind.is_awaited and behind.known is not None
        ]
        return commands[: limits.MAX_SHELLS]

    def stopped(self, place: Place) -> None:
        """The agent has stopped a command in the background: none tells its end."""
        if (behind := self._behind.get(place)) is not None:
            behind.is_awaited = False

    def rested(self) -> None:
        """The CLI has said `session.idle`: it waits for none of the commands that go on."""
        for behind in self._behind.values():
            behind.is_awaited = False

    def printed(self, call_id: str, sequence: int, text: str) -> None:
        """A command printed something."""
        if (output := self._outputs.get(call_id)) is not None:
            output.add(sequence, text)

    def newest(self, call_id: str) -> str:
        """Return the end of what a command of the CLI's own has printed so far."""
        output = self._outputs.get(call_id)
        return output.newest if output is not None else ""

    def completed(
        self,
        told: Mapping[str, Any],
        call: dict[str, str],
        agent: str | None,
        *,
        is_detached: bool = False,
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """A call has ended: return what its shell told, and the `shell.completed` of a command of
        an earlier call, of whose end it tells.

        `told` is the event's data, `call` names it (`toolCallId`, `tool`, `command`), `agent` made
        it.
        """
        call_id = call["toolCallId"]
        is_own = call_id in self._own
        self._own.pop(call_id, None)
        is_running = call["tool"] in RUNNING
        behind = shell_behind(told) if is_running else None
        if behind is not None:
            place = agent, behind
            shell = {"id": behind} if is_own else None
            if place in self._behind:  # whose end comes is not known by that id
                shell = None
            one = _Behind(call, shell, not is_detached)
            _keep(self._behind, place, one, limits.MAX_NATIVE_CALLS)
            return {"id": behind, "isBehind": True} if is_own else None, None
        output = self._outputs.pop(call_id, None)
        exit_ = _shell_exit(told) if is_own else None
        if exit_ is None:
            return None, None
        said = _told(exit_)
        if not is_running:
            return None, self._ended((agent, exit_["shellId"]), exit_["exitCode"], said)
        if "isCut" in said and output is not None:
            said |= output.ends()
        return said, None

    def notified(self, told: Mapping[str, Any], agent: str | None) -> dict[str, Any] | None:
        """Return the `shell.completed` that a `system.notification` tells of, if it does."""
        ended = shell_ended(told)
        return None if ended is None else self._ended((agent, ended[0]), ended[1], {})

    def _ended(self, place: Place, code: int, told: dict[str, Any]) -> dict[str, Any] | None:
        behind = self._behind.pop(place, None)
        if behind is None:
            return None  # told before, or begun before this host came
        output = self._outputs.pop(behind.call["toolCallId"], None)
        completed: dict[str, Any] = {**behind.call, "exitCode": code}
        if behind.known is not None:
            ends = output.ends() if output is not None else {}
            completed["shell"] = behind.known | told | {"isBehind": True} | ends
        return completed


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)


def _told(exit_: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the CLI tells of a shell, as the wire has it."""
    cwd = exit_.get("cwd")
    told = {"id": exit_["shellId"]}
    if isinstance(cwd, str) and 0 < len(cwd) <= limits.MAX_PATH:
        told["cwd"] = cwd
    return told | ({"isCut": True} if exit_.get("outputTruncated") is True else {})


def _shell_exit(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the CLI tells of a command's end; None where it tells none, or two."""
    result = data.get("result")
    contents = result.get("contents") if isinstance(result, Mapping) else None
    if not isinstance(contents, list):
        return None
    exits = [
        one for one in contents if isinstance(one, Mapping) and one.get("type") == "shell_exit"
    ]
    if len(exits) != 1 or data.get("success") is not True:
        return None
    shell, code = exits[0].get("shellId"), exits[0].get("exitCode")
    if not isinstance(shell, str) or not 0 < len(shell) <= limits.MAX_ID:
        return None
    return exits[0] if type(code) is int and exit_code(data) == code else None


def exit_code(data: Mapping[str, Any]) -> int | None:
    """Return the exit code of a shell's command; None for other tools."""
    shell = data.get("shellExecution")
    found = shell.get("exitCode") if isinstance(shell, Mapping) else None
    result = data.get("result")
    contents = result.get("contents") if isinstance(result, Mapping) else None
    for content in contents if isinstance(contents, list) else ():
        if found is None and isinstance(content, Mapping) and content.get("type") == "shell_exit":
            found = content.get("exitCode")
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return int(found) if -_HIGHEST <= found < _HIGHEST else None


def result_type(data: Mapping[str, Any]) -> str:
    """Return how a tool ended, from its `tool.execution_complete`: "success", "failure", "timeout",
    or "denied", by a rule, a hook or the person."""
    if data.get("success") is True:
        return "success"
    error = data.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    return _ENDS.get(code, "failure") if isinstance(code, str) else "failure"


def shell_behind(data: Mapping[str, Any]) -> str | None:
    """Return the id of the shell in which a call's command goes on; None where it has ended."""
    result = data.get("result")
    text = result.get("content") if isinstance(result, Mapping) else None
    if not isinstance(text, str) or exit_code(data) is not None:
        return None
    found = _SHELL.search(text[-_SHELL_LINE:])
    return found[1].rstrip(".,;") if found is not None and "completed" not in found[0] else None


def shell_ended(data: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the shell and the exit code of which a `system.notification` tells."""
    kind = data.get("kind")
    if not isinstance(kind, Mapping) or kind.get("type") != "shell_completed":
        return None
    shell, code = kind.get("shellId"), exit_code({"shellExecution": kind})
    return (shell, code) if isinstance(shell, str) and code is not None else None
