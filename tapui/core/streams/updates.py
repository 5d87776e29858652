"""Lines of emitters as the one prompt that they are sent as, in the earlier extension's form."""

from collections.abc import Iterable

from tapui.core.model import HeldInject, HeldLine
from tapui.wire.host import Sender
from tapui.wire.message import BUILTIN_PROVIDER, UPDATE_MARK

_FIRST = f"{UPDATE_MARK} — background event stream update:"
_LAST = "Only react if the update matters to the current task."


def joined(sent: list[HeldInject]) -> tuple[Sender, str]:
    """Return who sends what was taken to be sent at once, and its text.

    It is one inject, or the lines of one or several emitters.
    """
    if sent[0].lines is None:
        return sent[0].sender, sent[0].prompt
    lines = sorted((line for one in sent for line in one.lines or ()), key=lambda line: line.number)
    streams = {line.stream for line in lines}
    stream = streams.pop() if len(streams) == 1 else None
    return Sender(BUILTIN_PROVIDER, stream), update(lines, sum(one.left_out for one in sent))


def update(lines: Iterable[HeldLine], left_out: int) -> str:
    """Return the text; `left_out` is how many earlier lines there were."""
    more = []
    if left_out:
        were = "1 earlier line is" if left_out == 1 else f"{left_out:,} earlier lines are"
        more = [f"- {were} left out here; tap_stream_history has them"]
    items = [
        f"- stream={line.stream} emitter={line.emitter}/{line.source}: {line.text}"
        for line in lines
    ]
    return "\n".join((_FIRST, *more, *items, _LAST))
