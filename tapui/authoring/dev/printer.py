"""The lines that `tapui provider dev` prints, one for each thing that happens."""

import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import UNSET

from tapui.authoring.description import signature_of
from tapui.authoring.dev.changes import ToolChanges
from tapui.provider.program import try_line
from tapui.runtime.children.child import Source
from tapui.text import cut, few, safe_text
from tapui.wire.message import ActiveSession, Error, Tool
from tapui.wire.provider import Hello, HelloAck, ToolCall, ToolResult

WIDTH = 200
"""Characters of arguments and results that a line shows."""
PRINTED = 1_000
"""Characters of a line that the program has printed."""
_GAP = "          "
"""As wide as the time before a line."""


class Printer:
    """Hands lines to `write`, safe for a screen. `port` goes into the line that tries a tool."""

    def __init__(
        self, name: str, write: Callable[[str], None], port: Callable[[], int | None]
    ) -> None:
        self._name = name
        self._write = write
        self._port = port
        self._saved_at: float | None = None
        self._last_wait = ""

    def _line(self, text: str) -> None:
        self._write(f"{time.strftime('%H:%M:%S')}  {safe_text(text)}")

    def _more(self, text: str) -> None:
        self._write(_GAP + safe_text(text))

    # The provider

    def bound(
        self, hello: Hello, ack: HelloAck, sessions: list[ActiveSession], front: str | None
    ) -> None:
        """The provider is in a session: its tools, and the line that tries one."""
        self._last_wait = ""
        self._saved_at = None
        names = ", ".join(f"{one.label} ({one.id})" for one in sessions) or ack.session_id
        self._line(f"{hello.name} is in session {names}")
        tools = hello.tools or []
        self._list(tools)
        if tools:
            self._more(f"try: {try_line(tools[0], self._port(), sessions, front)}")
        for text in ack.warnings or ():
            self._more(f"note: {text}")

    def _list(self, tools: Sequence[Tool]) -> None:
        shown, rest = few(tools)
        for tool in shown:
            summary = tool.description.strip().partition("\n")[0]
            self._more(f"  {signature_of(tool)}  {summary}")
        for more in rest:
            self._more(f"  {more}")

    def took_over(self, changes: ToolChanges, tools: list[Tool]) -> None:
        """A program has taken over: which tools came, went and changed."""
        told = [
            *(f"+{name}" for name in changes.added),
            *(f"−{name}" for name in changes.removed),
            *(f"~{name}" for name in changes.changed),
        ]
        named, rest = few(told)
        what = " ".join([*named, *rest]) or "the same tools"
        self._line(f"in force: {what}{self._since_save()}")
        shown = {*changes.added, *changes.changed}
        self._list([tool for tool in tools if tool.name in shown])

    def refused(self, what: str, error: Error) -> None:
        self._line(f"the gateway refuses {what}: {error.code}: {error.message}")
        self._more("what ran before goes on; save again once it is mended")

    def waits(self, why: str) -> None:
        if why != self._last_wait:
            self._last_wait = why
            self._line(f"waiting: {why}")

    # Calls

    def called(self, call: ToolCall) -> None:
        self._line(f"→ {call.tool} {_short(msgspec.json.format(bytes(call.args), indent=-1))}")

    def answered(self, tool: str, result: ToolResult, seconds: float) -> None:
        mark = "✗" if result.error is not None or result.error_code is not None else "←"
        self._line(f"{mark} {tool} {_result_text(result)}  {_duration(seconds)}")

    # Programs

    def printed(self, source: Source, text: str) -> None:
        self._more(f"{'│' if source == 'stdout' else '┃'} {cut(text, PRINTED)}")

    def saved(self) -> None:
        self._saved_at = time.monotonic()

    def failed(self, text: str, *, goes_on: bool) -> None:
        self._saved_at = None
        rest = "what ran before goes on" if goes_on else "nothing runs"
        self._line(f"{self._name} cannot be served; {rest} until it is saved again:")
        for line in text.splitlines():
            self._more(f"  {line}")

    def ended(self, how: str, again_in: float) -> None:
        self._line(f"the program ended ({how}); it is started again in {again_in:g} s, or on save")

    def _since_save(self) -> str:
        if self._saved_at is None:
            return ""
        seconds = time.monotonic() - self._saved_at
        self._saved_at = None
        return f", {seconds:.2f} s after the save"


def _result_text(result: ToolResult) -> str:
    if result.error is not None or result.error_code is not None:
        return f"{result.error_code or 'error'}: {result.error or ''}"
    if result.file is not None:
        return f"{result.file.mime_type}, {result.file.size:,} bytes: {result.file.path}"
    if result.data is UNSET:
        return "null"
    return _short(msgspec.json.format(bytes(result.data), indent=-1))


def _short(data: bytes) -> str:
    return cut(data[: 4 * WIDTH].decode("utf-8", "replace"), WIDTH)


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
