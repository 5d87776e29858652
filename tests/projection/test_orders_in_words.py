"""Orders in words."""

import pytest

from tapui.projection.words import became, order_words
from tapui.wire.steering import Order


def order(**fields: object) -> Order:
    given = {"id": "o-1", "session_id": "s1", "kind": "tell", "state": "given", "by": "tapui"}
    return Order(**{**given, "at": "", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (order(text="go\non", way="stopFirst"), "tell (stop, then send): go ⏎ on"),
        (order(kind="stop"), "stop the turn"),
        (order(kind="model", text="gpt-5"), "model gpt-5"),
    ],
)
def test_what_is_wanted(given: Order, words: str) -> None:
    assert order_words(given) == words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (order(), "sent"),
        (order(state="queued"), "waits for the turn's end"),
        (order(state="done"), "delivered"),
        (order(state="failed", error="gone"), "not delivered: gone"),
        (
            order(kind="stop", state="done", running=["sleep 9"], dropped=["a", "b"]),
            "stopped; still running in the background: sleep 9; dropped with the turn: a, b",
        ),
        (order(kind="compact", state="done"), "done"),
    ],
)
def test_what_became_of_it(given: Order, words: str) -> None:
    assert became(given) == words
