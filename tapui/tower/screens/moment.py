"""A time to go to, as people write it."""

import re
from datetime import datetime, timedelta

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from tapui.tower.plain import plain
from tapui.tower.safe_input import SafeInput
from tapui.tower.screens.live import LiveScreen

_SPAN = re.compile(r"([+-])\s*(\d{1,9})\s*([smhd])\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CLOCK = re.compile(r"\d?\d:\d\d(:\d\d)?\Z")
_HINT = "20:15, 20:15:30, 2026-11-20 20:15, +5m or -2h. Esc goes back."


class MomentScreen(LiveScreen[float | None]):
    """Asks for a time; the result is in seconds since the epoch, None where the person left.

    `now` is the time that a clock time or a span is counted from.
    """

    CSS_PATH = "dialog.tcss"

    def __init__(self, now: float) -> None:
        super().__init__()
        self._now = now

    def compose(self) -> ComposeResult:
        """The question, its field, what may be written there."""
        with Vertical(classes="dialog"):
            yield Static(plain("Go to a time", "bold"), markup=False)
            yield SafeInput(max_length=40)
            yield Static(plain(_HINT, "$text-muted"), classes="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go there, or say that it is no time."""
        found = moment_meant(event.value, self._now)
        if found is None:
            self.query_one(".keys", Static).update(plain(f"Not a time. Write {_HINT}", "$error"))
        else:
            self.dismiss(found)


def moment_meant(text: str, now: float) -> float | None:
    """Return the seconds since the epoch that are meant, None where it is no time.

    A time of day is that of the day of `now`, a span goes on from `now`; both in local time.
    """
    text = text.strip()
    try:
        day = datetime.fromtimestamp(now).astimezone()
        if span := _SPAN.match(text):
            seconds = int(span[2]) * _SECONDS[span[3]]
            then = day + timedelta(seconds=seconds if span[1] == "+" else -seconds)
            return then.timestamp() if 1 < then.year < 9999 else None
        if _CLOCK.match(text):
            hour, minute, *second = map(int, text.split(":"))
            given = day.replace(hour=hour, minute=minute, second=0, microsecond=999_999)
            # Everything that happened in that second, or at the beginning of that minute.
            return given.replace(second=second[0] if second else 0).timestamp()
        then = datetime.fromisoformat(text)
        return then.astimezone().timestamp() if 1 < then.year < 9999 else None
    except (ValueError, OverflowError, OSError):
        return None
