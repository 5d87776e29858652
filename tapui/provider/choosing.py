"""Which of the open sessions a provider means."""

from collections.abc import Sequence

from tapui.wire.message import ActiveSession

ALL = "all"
_OF_CALLERS = "mcp-"
"""How ids of sessions of tool hosts begin: only who names one is in it."""


class NoSuchSession(Exception):  # noqa: N818 - a state of the world
    """The session that is meant is not there; the text is for the person."""


def choose(active: Sequence[ActiveSession], wanted: str | None) -> str:
    """Return the id of the session for a hello, or `"all"`.

    `wanted` is an id, the beginning of one, a label, or `"all"`; None is the session in front.
    Raises `NoSuchSession`.
    """
    if wanted == ALL:
        return ALL
    if wanted is None:
        own = [one for one in active if not one.id.startswith(_OF_CALLERS)]
        if not own:
            raise NoSuchSession("no session is open")
        return next((one.id for one in own if one.foreground), own[0].id)
    found = (
        [one.id for one in active if one.id == wanted]
        or [one.id for one in active if one.label == wanted]
        or [one.id for one in active if one.id.startswith(wanted)]
    )
    if not found:
        raise NoSuchSession(f"no session '{wanted}' is open")
    if len(found) > 1:
        raise NoSuchSession(
            f"several sessions are '{wanted}'; name one by its id: {', '.join(found)}"
        )
    return found[0]
