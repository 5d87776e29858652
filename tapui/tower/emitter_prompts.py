"""Turns that an emitter began: its name, and the lines that were sent, out of the prompt."""

import re
from typing import NamedTuple

from tapui.projection.summary import one_line
from tapui.projection.turns.turn import LiveTurn
from tapui.tower.view import View
from tapui.wire.message import BUILTIN_PROVIDER, UPDATE_MARK

_ITEM = re.compile(r" ⏎ - stream=\S+ emitter=([^\s/]+)/[a-z]+: (.*?)(?= ⏎ |$)")
"""A line in the prompt of emitters' lines (`tapui/wire/README.md`), all of it on one line here."""


class EmitterPrompt(NamedTuple):
    """Which emitters began a turn, and what they said, as far as the turn's head has it."""

    names: tuple[str, ...]
    said: tuple[str, ...]


def emitter_prompt(view: View, turn: LiveTurn) -> EmitterPrompt | None:
    """Return what emitters sent to begin a turn; None where none did."""
    if (turn.source.kind, turn.source.name) != ("provider", BUILTIN_PROVIDER):
        return None
    if turn.prompt.startswith(UPDATE_MARK):
        found = _ITEM.findall(turn.prompt)
        names = tuple(dict.fromkeys(name for name, _text in found))
        return EmitterPrompt(names, tuple(text for _name, text in found)) if found else None
    for emitter in view.state.emitters.values():
        if emitter.prompt and one_line(emitter.prompt) == turn.prompt:
            return EmitterPrompt((emitter.name,), (turn.prompt,))
    return None
