"""Textual's bindings out of the table, and the queue: keys are taken one at a time.

Each goes to what the one before it brought up."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping
from types import MappingProxyType

from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Key, Paste
from textual.keys import key_to_character
from textual.message_pump import MessagePump

from tapui.tower.keys.key_table import BY_ID
from tapui.tower.keys.names import key_name

NO_OFFERS: Mapping[str, str] = MappingProxyType({})


def bindings(*ids: str, offers: Mapping[str, str] = NO_OFFERS) -> list[BindingType]:
    """Return the bindings of these actions, for a widget, screen or app that has their methods.
    `offers` has other words for the footer."""
    made: list[BindingType] = []
    for name in ids:
        one = BY_ID[name]
        first = one.keys.split(",")[0]
        made.append(
            Binding(
                one.keys,
                one.action,
                offers.get(name) or one.offer or one.does,
                show=bool(one.offer),
                key_display=key_name(first),
                tooltip=one.does,
                id=one.id,
            )
        )
    return made


_READ_AT = "tapui_read_at"


def mark_read(event: Key | Paste, at: float) -> None:
    """Note when a key was read from the terminal, in seconds of the app's `ticks`."""
    setattr(event, _READ_AT, at)


def read_at(event: Key | Paste) -> float | None:
    """Return when it was read; None for one that came from no terminal."""
    at: float | None = getattr(event, _READ_AT, None)
    return at


MAX_WAITING = 10_000
"""Keys and pastes that wait; what is typed beyond that is dropped (a file sent to the terminal)."""
_LEAST_ROUNDS, _MOST_ROUNDS = 2, 8
_STEP_SECONDS = 1.0


class KeyQueue:
    """The keys and pastes of an app. `put` them; `run` hands them on, each to `deliver`."""

    def __init__(self, app: App[str], deliver: Callable[[Key | Paste], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._typed: asyncio.Queue[tuple[Key | Paste, float, bool]] = asyncio.Queue(MAX_WAITING)
        self._unfinished = 0
        self.is_alone = True
        """Whether the key that acts now came by itself: the one before it had had its effect, and
        none has come since. Keys of one read of the terminal do not."""

        self.read_at: float | None = None
        """When the key that acts now was read; None while none does."""

    def put(self, event: Key | Paste, at: float) -> None:
        """Take a key or a paste that was read at this time."""
        if not self._typed.full():
            self._typed.put_nowait((event, at, self._unfinished == 0))
            self._unfinished += 1

    async def run(self) -> None:
        """Deliver what is typed, for as long as the app runs."""
        while True:
            event, self.read_at, is_first = await self._typed.get()
            self.is_alone = is_first and self._typed.empty()
            try:
                await self._deliver(event)
                await self._settled()
            finally:
                self.is_alone, self.read_at = True, None
                self._unfinished -= 1
                self._typed.task_done()

    async def done(self) -> None:
        """Wait until everything typed so far had its effect."""
        await self._typed.join()

    async def _settled(self) -> None:
        """Wait until the last key was handled, and what it opened can take the next one.

        A key goes from the focused widget up to the app, which acts on it; what the action posts
        (such as `Table.Opened`) takes the same way once more. Then the screen on top and the focus
        stay as they are.
        """
        app, was = self._app, None
        for number in range(_MOST_ROUNDS):
            if not app.screen_stack:
                return
            now = (app.screen, app.focused)
            if number >= _LEAST_ROUNDS and now == was:
                return
            was = now
            for node in (app.focused or app.screen).ancestors_with_self:
                await _emptied(node)


async def _emptied(pump: MessagePump) -> None:
    """Wait until `pump` has handled all that is in its queue; not for ever: it may be closing."""
    reached = asyncio.Event()
    if pump.call_later(pump.call_next, reached.set):
        waiting = asyncio.ensure_future(reached.wait())
        await asyncio.wait([waiting], timeout=_STEP_SECONDS)
        waiting.cancel()


def without_alt(event: Key | Paste, bound: Container[str]) -> list[Key | Paste]:
    """Return an Alt key that nothing is bound to as Escape and the key: terminals send both alike,
    and tmux joins an Escape with what is typed right after it."""
    if isinstance(event, Paste) or not event.key.startswith("alt+") or event.key in bound:
        return [event]
    key = event.key.removeprefix("alt+")
    return [Key("escape", "\x1b"), Key(key, key_to_character(key))]
