"""How many tools a session is offered, and whether its agent has them."""

import pytest

from tapui.projection.state import State
from tapui.projection.words import tools_of, tools_that_wait
from tapui.wire.subjects import Provider, Session

AT = "2026-11-21T20:10:00.123456Z"


def provider(id_: str, *tools: str) -> Provider:
    return Provider(
        id=id_, name=id_, trust="token", state="bound", tools=list(tools), connected_at=AT
    )


@pytest.mark.parametrize(
    ("tools", "taken", "words"),
    [
        ((), None, None),
        ((), True, None),
        ((), False, "0 tools (not yet taken)"),
        (("a",), None, "1 tool"),
        (("a", "b"), True, "3 tools"),
        (("a", "b"), False, "3 tools (not yet taken)"),
    ],
)
def test_tools_are_counted_once_and_said_to_wait(
    tools: tuple[str, ...], taken: bool | None, words: str | None
) -> None:
    state = State()
    more = ("b", "c") if len(tools) > 1 else tools
    for one in (provider("p-1", *tools), provider("p-2", *more)):
        state.providers[one.id] = one
    session = Session(
        id="s1",
        label="one",
        cwd="/",
        state="idle",
        host="copilot",
        providers=["p-1", "p-2", "gone"],
        opened_at=AT,
        tools_taken=taken,
    )
    assert tools_of(state, session) == words
    assert tools_that_wait(state, session) == (words if taken is False else None)
