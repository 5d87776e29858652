"""The terminal of `tapui serve`: the person is asked there who may answer, as in a tower."""

import asyncio
import os
import termios
from collections.abc import Sequence
from contextlib import suppress

from tapui import times
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.state import is_waiting
from tapui.runtime.turn import LoopTurn
from tapui.text import safe_text
from tapui.wire import events as ev
from tapui.wire.events import Entry
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Error, Message
from tapui.wire.provider import Sessions
from tapui.wire.subjects import Approval
from tapui.wire.tower import ApprovalDecide, TowerHello

_LOCK = 0.5
"""Seconds after a question in which no answer is taken: it was typed for something else. Also
between two looks whether this process has the terminal."""
_LOCK_AFTER_ANOTHER = 2.0
"""The same where the question before it has ended by itself: the answer may be meant for that."""
_LINE = 4096


class ServePrompt:
    """Asks about shells and commands that want to answer, one question after the other; runs on
    the gateway's loop."""

    def __init__(self, turn: LoopTurn) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, Approval] = {}
        self._asked: str | None = None
        """The question that stands on the terminal."""
        self._timer: asyncio.TimerHandle | None = None
        # Opened anew, so that neither a stopped terminal nor another reader holds the loop.
        self._terminal = os.open("/dev/tty", os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
        self._typed = b""
        self._port = turn.open_port(self._receive, self.close, self._watch)

    def close(self) -> None:
        """Ask no more."""
        self._listen_not()
        self._waiting.clear()
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1

    def _receive(self, message: Message) -> None:
        if isinstance(message, Sessions):
            self._port.send(TowerHello(PROTOCOL_VERSION, "tapui serve", "prompt"))
        elif isinstance(message, Error):
            self._say(message.message)

    def _watch(self, entries: Sequence[Entry], _size: int) -> None:
        for entry in entries:
            approval = getattr(entry.event, "approval", None)
            if not isinstance(approval, Approval) or approval.kind not in ("terminal", "command"):
                continue
            if isinstance(entry.event, ev.ApprovalRequested):
                self._waiting[approval.id] = approval
            elif not is_waiting(approval):
                self._waiting.pop(approval.id, None)
        if self._asked not in self._waiting:
            self._ask()

    def _ask(self) -> None:
        self._listen_not()
        lock = _LOCK
        if self._asked is not None:
            lock = _LOCK_AFTER_ANOTHER
            self._say("(that question has ended)")
        self._asked = next(iter(self._waiting), None)
        if self._asked is not None:
            self._say(_question(self._waiting[self._asked]))
            self._listen_after(lock)

    def _listen_after(self, seconds: float) -> None:
        self._listen_not()
        self._timer = self._loop.call_later(seconds, self._listen)

    def _listen(self) -> None:
        """Take an answer from now on, once this process has the terminal."""
        with suppress(OSError, termios.error):  # the terminal has gone
            if self._is_in_front():
                termios.tcflush(self._terminal, termios.TCIFLUSH)
                self._typed = b""
                self._loop.add_reader(self._terminal, self._answered)
            else:
                self._listen_after(_LOCK)

    def _listen_not(self) -> None:
        if self._terminal >= 0:
            self._loop.remove_reader(self._terminal)
        if self._timer is not None:
            self._timer.cancel()

    def _is_in_front(self) -> bool:
        return os.tcgetpgrp(self._terminal) == os.getpgrp()

    def _answered(self) -> None:
        try:
            if not self._is_in_front():  # what is typed is another program's
                self._listen_after(_LOCK)
                return
            self._typed += os.read(self._terminal, _LINE)
        except BlockingIOError:  # another program has read it
            return
        except OSError:  # the terminal has gone: the person cannot be asked here any more
            self._port.close()
            self.close()
            return
        if not self._typed.endswith(b"\n"):
            self._typed = self._typed[-_LINE:]
            return
        typed, self._typed = self._typed.decode("utf-8", "replace").strip().lower(), b""
        if typed in ("y", "n") and self._asked is not None:
            asked, self._asked = self._asked, None
            self._waiting.pop(asked, None)
            self._port.send(ApprovalDecide(asked, "approve" if typed == "y" else "deny"))
            self._ask()
        else:
            self._say("y or n, and Enter")

    def _say(self, text: str) -> None:
        with suppress(OSError):  # the terminal has gone, or was stopped (ctrl+s)
            os.write(self._terminal, f"{safe_text(text)}\n".encode())


def _question(approval: Approval) -> str:
    detail, kind = detail_of(approval), kind_of(approval)
    if approval.kind == "terminal":
        opened = times.moment(str(detail.get("since")))
        what = f"{detail.get('device')}: {kind.line(approval, detail)}, opened {opened}"
        allow = "let this shell in"
    else:
        what, allow = f"{detail.get('why')}, and wants to {kind.line(approval, detail)}", "let it"
    odd = f" ({detail['warning']})" if detail.get("warning") else ""
    return f"{what}{odd}. y and Enter: {allow}; n and Enter: refuse"
