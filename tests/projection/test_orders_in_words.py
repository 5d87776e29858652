"""Orders in words."""

import pytest

from tapui.projection.state import State, activity
from tapui.projection.words import (
    asks_there_words,
    became,
    context_parts_words,
    context_words,
    model_wait_words,
    order_words,
    quota_words,
    todo_lines,
    todo_words,
    warning_words,
)
from tapui.tower.sessions.session_status import Need, of_session
from tapui.wire.steering import Order
from tapui.wire.subjects import ContextUse, ModelWait, Quota, SessionWarning, Todo, TodoCounts
from tests.records.turns import session


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


def test_what_a_session_waits_for_wants_to_do_and_was_warned_of() -> None:
    plain = session("s1")
    assert (model_wait_words(plain), todo_words(plain), warning_words(plain, str)) == (
        *(None, None),
        None,
    )
    for wait, words in (
        (ModelWait("t", 1, 429, "rate_limited"), "waits for the model: 429"),
        (ModelWait("t", 3, None, "socket closed"), "waits for the model: socket closed, failed 3×"),
        (ModelWait("t", 1), "waits for the model: no answer"),
    ):
        assert model_wait_words(session("s1", model_wait=wait)) == words
    assert model_wait_words(session("s1", state="ended", model_wait=ModelWait("t", 1))) is None
    todos = [Todo("collect tags", "done"), Todo("write\nnotes", "inProgress"), Todo("fix")]
    listed = session("s1", todos=todos)
    assert todo_lines(listed) == ["✓ collect tags", "● write ⏎ notes", "○ fix"]
    assert todo_words(listed) == "1 of 3 done: ✓ collect tags   ● write ⏎ notes   ○ fix"
    long = session("s1", todos=todos, todo_counts=TodoCounts(done=9_000, blocked=1, pending=999))
    assert todo_words(long) == (
        "9,000 of 10,000 done: ✓ collect tags   ● write ⏎ notes   ○ fix   and 9,997 more"
    )
    warned = session("s1", warning=SessionWarning("20:10", "no server\nanswers", "mcp"))
    assert warning_words(warned, "at {}".format) == "no server ⏎ answers, at 20:10"


def test_what_a_session_asks_in_its_own_terminal() -> None:
    asking = session("s1", asks_there="trust this folder?")
    assert asks_there_words(asking) == "asks in its terminal: trust this folder?"
    assert activity(asking) == "asks there"
    ended = session("s1", state="ended", asks_there="trust this folder?")
    assert (asks_there_words(ended), activity(ended)) == (None, "ended")
    assert asks_there_words(session("s1")) is None
    standing = of_session(State(), asking, None, 0)
    assert (standing.need, standing.mark.word) == (Need.WAITING, "asks you")
    assert standing.now == "asks in its terminal: trust this folder?"


def test_what_fills_a_context_and_what_is_left_of_quotas() -> None:
    assert context_parts_words(None) is None
    assert context_parts_words(ContextUse(1, 2)) is None
    filled = ContextUse(12_626, 128_000, None, 5_323, 7_083, 220)
    assert context_parts_words(filled) == "5,323 system prompt, 7,083 tools, 220 conversation"
    assert quota_words(session("s1"), str) is None
    quotas = [Quota("premium", 35.33, 97, 150, "1 Dec"), Quota("chat", 100, 3)]
    words = "premium 35% left (97 of 150 used), anew 1 Dec; chat unlimited"
    assert quota_words(session("s1", quotas=quotas), str) == words


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (None, None),
        (ContextUse(1, 0), None),
        (ContextUse(50, 100), "50%: 50 of 100 tokens"),
        (
            ContextUse(1_440, 2_000, 1_600),
            "90%: 1,440 of 1,600 tokens, then it is compacted (the window has 2,000)",
        ),
    ],
)
def test_a_context_is_the_share_of_what_fits_before_it_is_compacted(
    use: ContextUse | None, words: str | None
) -> None:
    assert context_words(use) == words
