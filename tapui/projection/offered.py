"""The tools that providers offer to a session, in words."""

from tapui.projection.state import State
from tapui.wire.subjects import Session


def tools_that_wait(state: State, session: Session) -> str | None:
    """As `tools_of`, but None where the session's agent has its tools."""
    return tools_of(state, session) if session.tools_taken is False else None


def tools_of(state: State, session: Session) -> str | None:
    """Return how many tools providers offer to a session, and whether its agent has them yet.

    None where there is nothing to say.
    """
    known = [state.providers[id_] for id_ in session.providers if id_ in state.providers]
    count = len({tool for provider in known for tool in provider.tools})
    if session.state == "ended" or (not count and session.tools_taken is not False):
        return None
    words = "1 tool" if count == 1 else f"{count} tools"
    return f"{words} (not yet taken)" if session.tools_taken is False else words
