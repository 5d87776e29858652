"""Prompts and lines that wait to go into one session, in order."""

from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.errors import AttachError
from tapui.hosts.copilot.gateway_host import Uplink
from tapui.hosts.port import ReportLevel
from tapui.text import safe_text
from tapui.wire.host import SessionSent

if TYPE_CHECKING:
    from copilot import CopilotSession

LOG_LENGTH = 4_000
"""Characters of a line in the timeline."""
_MOST = 500
"""Prompts and lines that wait for the CLI; further lines are dropped."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A prompt of a provider for the session; with a `level`, a line for its timeline."""

    text: str
    level: ReportLevel | None
    provider: str = ""
    is_ephemeral: bool = False
    """Whether the CLI keeps the line out of its files."""


class Outgoing:
    """What waits for the CLI. It is sent while a session is bound.

    `spawn` runs a coroutine to its end, as long as the session lives. `on_prompt` is called with
    the text of each prompt and the name of its provider, right before it is sent.
    """

    def __init__(
        self,
        session_id: str,
        uplink: Uplink,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        on_prompt: Callable[[str, str], None],
    ) -> None:
        self._session_id = session_id
        self._uplink = uplink
        self._spawn = spawn
        self._on_prompt = on_prompt
        self._session: CopilotSession | None = None
        self._waiting: deque[_Entry] = deque()
        self._is_sending = False

    def bind(self, session: "CopilotSession") -> None:
        """Send what comes from now on into the session."""
        self._session = session

    def unbind(self) -> None:
        """Let what comes wait: the connection is gone."""
        self._session = None

    def prompt(self, text: str, provider: str) -> None:
        """Send a prompt, after what was sent before; the gateway is told how it went."""
        self._queue(_Entry(text, None, provider))

    def line(self, text: str, level: ReportLevel = "info", *, is_ephemeral: bool = False) -> None:
        """Put a line into the timeline, after what was sent before."""
        self._queue(_Entry(text, level, is_ephemeral=is_ephemeral))

    def _queue(self, entry: _Entry) -> None:
        if len(self._waiting) >= _MOST and entry.level is not None:
            if len(self._waiting) == _MOST:
                self._uplink.report(
                    "the CLI does not take more lines; some are left out", "warning"
                )
                self._waiting.append(_Entry("… lines left out", "warning"))
            return
        self._waiting.append(entry)
        self.send_on()

    def send_on(self) -> None:
        """Send what waits."""
        if self._waiting and not self._is_sending:
            self._is_sending = True
            self._spawn(self._send())

    async def _send(self) -> None:
        try:
            while self._waiting and self._session is not None:
                entry = self._waiting.popleft()
                error: str | None = None
                try:
                    await self._send_one(self._session, entry)
                except AttachError as failure:
                    error = str(failure)
                    self._uplink.report(error, "warning")
                if entry.level is None:
                    self._uplink.send(SessionSent(self._session_id, error is None, error))
        finally:
            self._is_sending = False

    async def _send_one(self, session: "CopilotSession", entry: _Entry) -> None:
        if entry.level is None:
            self._on_prompt(entry.text, entry.provider)
            await sdk.call("send the prompt", session.send(entry.text, mode="enqueue"))
        else:
            line = safe_text(entry.text, limit=LOG_LENGTH, newlines=True)
            shown = session.log(line, level=entry.level, ephemeral=entry.is_ephemeral)
            await sdk.call("write into the timeline", shown)
