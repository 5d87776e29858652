"""What the agent writes this moment: streamed pieces of text, made into a few lines a second."""

import asyncio

from tapui.hosts.copilot.gateway_host import Uplink
from tapui.wire import limits
from tapui.wire.message import NowText

_KEPT = 2 * limits.MAX_SUMMARY


class Writing:
    """Follows the text of one session, and tells its last line when it may."""

    def __init__(self, session_id: str, uplink: Uplink) -> None:
        self._session_id = session_id
        self._uplink = uplink
        self._text = ""
        self._of = ""
        self._told = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, message_id: str, piece: str) -> None:
        """The agent wrote a piece more of a message."""
        if message_id != self._of:
            self._of, self._text = message_id, ""
        self._text = (self._text + piece[-_KEPT:])[-_KEPT:]
        if self._timer is None:
            loop = asyncio.get_running_loop()
            at = max(self._told + limits.NOW_INTERVAL, loop.time())
            self._timer = loop.call_at(at, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self._told = asyncio.get_running_loop().time()
        lines = self._text.split("\n")
        line = next((one for one in reversed(lines) if one.strip()), "").strip()
        if line:
            self._uplink.send(NowText(self._session_id, line[-limits.MAX_SUMMARY :]))

    def close(self) -> None:
        """The message is whole, or the session is gone: nothing more of it is told."""
        self._of = self._text = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
