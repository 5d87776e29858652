"""Orders: what the person wants of a session, given to its host, and what became of it."""

import pytest

from tapui.projection.state import State
from tapui.wire import limits
from tapui.wire.tower import Snapshot
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, Peer

CAN = ["tell", "now", "stop", "compact", "model", "effort", "label"]


@pytest.fixture
def able(scene: Scene) -> Scene:
    """The session s1 with a host that takes every order."""
    scene.host.say(type="session.update", sessionId="s1", can=CAN)
    scene.host.hear()
    scene.tower.hear()
    return scene


def tell(scene: Scene, text: str = "go on", way: str | None = None) -> Json:
    """Let the person tell a text; return what the host hears."""
    more = {"way": way} if way else {}
    scene.tower.say(type="session.tell", id="w1", sessionId="s1", text=text, **more)
    return scene.host.hear_one("session.tell")


def states(talk: Conversation) -> list[tuple[str, str | None]]:
    """Return the states that the events told, with their errors."""
    return [(one["state"], one.get("error")) for one in talk.events("order.changed")]


def test_a_text_goes_to_the_host_with_its_sender(able: Scene) -> None:
    told = tell(able, "/help me")
    assert told == {
        "type": "session.tell", "id": "o-1", "sessionId": "s1", "text": "/help me",
        "from": "you",
    }  # fmt: skip
    assert able.tower.hear_one("session.ordered") == {
        "type": "session.ordered", "id": "w1", "orderId": "o-1",
    }  # fmt: skip
    given = able.talk.events("order.given")[0]
    order = given["order"]
    assert given["sessionId"] == "s1"
    assert (order["kind"], order["state"], order["by"], order["text"], order["way"]) == (
        *("tell", "given", "you", "/help me"),
        "after",
    )


def test_nobody_says_in_anothers_name(able: Scene) -> None:
    able.tower.say(
        {"type": "session.tell", "id": "w", "sessionId": "s1", "text": "t", "from": "the person"}
    )
    assert able.host.hear_one("session.tell")["from"] == "you"


@pytest.mark.parametrize("way", ["after", "now", "stopFirst"])
def test_what_becomes_of_a_text_is_told_until_it_is_there(able: Scene, way: str) -> None:
    told = tell(able, way=way)
    assert told.get("way", "after") == way
    able.host.say(type="order.result", id="o-1", state="queued")
    able.talk.wait(3600)
    able.host.say(type="order.result", id="o-1", state="done", running=["sleep 9"], dropped=["x"])
    assert states(able.talk) == [("queued", None), ("done", None)]
    order = able.talk.gateway.state.orders["o-1"]
    assert (order.state, order.running, order.dropped) == ("done", ["sleep 9"], ["x"])
    assert able.host.ask(type="order.result", id="o-1", state="failed") == []
    assert len(states(able.talk)) == 2


@pytest.mark.parametrize(
    ("wanted", "kind", "text"),
    [
        ({"type": "session.stop"}, "stop", ""),
        ({"type": "session.compact"}, "compact", ""),
        ({"type": "session.set", "what": "model", "value": "gpt-5"}, "model", "gpt-5"),
        ({"type": "session.set", "what": "effort", "value": "high"}, "effort", "high"),
        ({"type": "session.set", "what": "label", "value": "Mine"}, "label", "Mine"),
    ],
)
def test_each_order_goes_to_the_host_as_it_is(
    able: Scene, wanted: Json, kind: str, text: str
) -> None:
    able.tower.say(wanted, id="w1", sessionId="s1")
    assert able.host.hear_one(wanted["type"]) == {**wanted, "id": "o-1", "sessionId": "s1"}
    order = able.talk.gateway.state.orders["o-1"]
    assert (order.kind, order.text, order.state) == (kind, text, "given")


def test_a_host_that_does_not_answer_fails_the_order(able: Scene) -> None:
    tell(able)
    able.talk.wait(limits.ORDER_TIMEOUT + 1)
    ((state, error),) = states(able.talk)
    assert state == "failed"
    assert "did not answer" in (error or "")


def test_a_host_that_has_begun_may_take_its_time_but_not_for_ever(able: Scene) -> None:
    able.tower.say(type="session.compact", id="w1", sessionId="s1")
    able.host.say(type="order.result", id="o-1", state="working")
    able.talk.wait(limits.ORDER_WORK_TIMEOUT - 1)
    assert states(able.talk) == [("working", None)]
    able.talk.wait(2)
    assert states(able.talk)[-1][0] == "failed"


def test_a_refused_order_says_why(able: Scene) -> None:
    tell(able)
    able.host.say(type="order.result", id="o-1", state="failed", error="the turn was stopped")
    assert states(able.talk) == [("failed", "the turn was stopped")]


def test_a_text_that_was_not_delivered_is_a_step_of_the_turn(able: Scene) -> None:
    able.host.event("s1", "user.message", content="begin")
    tell(able, "and then this")
    able.host.say(type="order.result", id="o-1", state="failed", error="gone")
    turn = able.talk.gateway.state.turns["s1"].current()
    assert turn is not None
    step = turn.steps[-1]
    assert (step.kind, step.state, step.summary, step.error, step.provider) == (
        *("prompt", "failed", "and then this"),
        "gone",
        "you",
    )


def test_a_text_of_the_person_names_where_it_came_from(able: Scene) -> None:
    able.host.event("s1", "user.message", content="go on", **{"from": "you"})
    source = able.talk.gateway.state.turns["s1"].heads()[0].source
    assert (source.kind, source.name) == ("person", "you")


def test_a_session_that_closes_tells_what_was_not_delivered(able: Scene) -> None:
    tell(able)
    able.host.say(type="order.result", id="o-1", state="queued")
    able.host.say(type="session.close", sessionId="s1")
    assert states(able.talk) == [("queued", None), ("failed", "the session ended")]


def test_a_host_that_is_lost_fails_its_orders(able: Scene) -> None:
    tell(able)
    able.host.drop()
    assert states(able.talk) == [("failed", "the session ended")]


def test_a_session_that_is_replaced_fails_its_orders(able: Scene) -> None:
    tell(able)
    able.host.open("s2", replaces="s1")
    assert states(able.talk) == [("failed", "the session was replaced")]


def test_another_host_cannot_answer(able: Scene) -> None:
    tell(able)
    able.talk.host("other").say(type="order.result", id="o-1", state="done")
    assert states(able.talk) == []


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        ({"sessionId": "s9"}, "INVALID_SESSION", "Session s9 does not exist"),
        ({"text": "  \n"}, "INVALID_JSON", "text: must not be empty"),
        ({"text": "x" * (limits.MAX_TELL + 1)}, "INVALID_JSON", "text:"),
        ({"way": "never"}, "INVALID_JSON", "way:"),
    ],
)
def test_what_is_not_in_order_is_refused(able: Scene, fields: Json, code: str, text: str) -> None:
    message = {"type": "session.tell", "id": "w1", "sessionId": "s1", "text": "t", **fields}
    error = able.tower.error(message)
    assert (error["code"], error["id"]) == (code, "w1")
    assert error["message"].startswith(text)
    assert able.talk.events("order.given") == []


def test_an_order_that_the_host_does_not_take_is_refused_with_its_reason(scene: Scene) -> None:
    why = {"compact": "this CLI is too old"}
    scene.host.say(type="session.update", sessionId="s1", can=["tell"], cannot=why)
    scene.tower.hear()
    error = scene.tower.error(type="session.compact", id="w", sessionId="s1")
    assert (error["code"], error["replyTo"]) == ("NOT_FOUND", "session.compact")
    assert "this CLI is too old" in error["message"]
    error = scene.tower.error(type="session.tell", id="w", sessionId="s1", text="t", way="now")
    assert "its host does not offer that" in error["message"]
    scene.tower.say(type="session.tell", id="w", sessionId="s1", text="t")
    assert scene.host.hear_one("session.tell")["text"] == "t"


def test_what_a_host_can_is_on_show(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1", can=["tell", "fly"], cannot={"stop": "no"})
    session = talk.gateway.state.sessions["s1"]
    assert (session.can, session.cannot) == (["tell", "fly"], {"stop": "no"})


def test_only_so_many_orders_are_under_way(able: Scene) -> None:
    for number in range(limits.MAX_ORDERS):
        able.tower.say(type="session.tell", id=f"w{number}", sessionId="s1", text="t")
    able.tower.hear()
    error = able.tower.error(type="session.tell", id="w", sessionId="s1", text="t")
    assert error["code"] == "RATE_LIMITED"


def test_only_the_newest_orders_that_are_over_are_kept(able: Scene) -> None:
    for number in range(limits.RECENT_ORDERS + 5):
        able.tower.say(type="session.stop", id="w", sessionId="s1")
        able.host.say(type="order.result", id=f"o-{number + 1}", state="done")
    assert len(able.talk.gateway.state.orders) == limits.RECENT_ORDERS


def test_a_tower_that_comes_later_sees_the_orders(able: Scene) -> None:
    tell(able)
    told = able.talk.tower().ack["state"]["orders"]
    assert [(one["id"], one["state"]) for one in told] == [("o-1", "given")]
    live: Snapshot = able.talk.gateway.state.snapshot()
    assert State.of(live).orders == able.talk.gateway.state.orders


# Models


def ask_models(scene: Scene, tower: Peer) -> str:
    tower.say(type="models.read", id="x", sessionId="s1")
    return str(scene.host.hear_one("models.read")["id"])


def test_the_host_says_which_models_there_are(able: Scene) -> None:
    asked = ask_models(able, able.tower)
    models = [{"id": "gpt-5", "name": "GPT-5", "efforts": ["low", "high"]}]
    able.host.say(type="models.list", id=asked, models=models)
    assert able.tower.hear_one("models.list") == {
        "type": "models.list",
        "id": "x",
        "models": models,
    }
    assert able.host.ask(type="models.list", id=asked, models=[]) == []
    assert able.tower.hear() == []


def test_a_host_that_does_not_know_its_models(able: Scene) -> None:
    ask_models(able, able.tower)
    able.talk.wait(limits.ORDER_TIMEOUT + 1)
    assert "did not answer" in able.tower.hear_one("models.list")["error"]


def test_a_session_that_ends_answers_who_asked_for_models(able: Scene) -> None:
    asked = ask_models(able, able.tower)
    able.host.say(type="session.close", sessionId="s1")
    assert able.tower.hear_one("models.list")["error"] == "the session ended"
    assert able.host.ask(type="models.list", id=asked) == []


def test_a_tower_that_has_gone_is_told_no_models(able: Scene) -> None:
    other = able.talk.tower()
    asked = ask_models(able, other)
    other.drop()
    assert able.host.ask(type="models.list", id=asked) == []


def test_a_host_without_models_is_not_asked(scene: Scene) -> None:
    error = scene.tower.error(type="models.read", id="x", sessionId="s1")
    assert (error["code"], error["message"]) == ("NOT_FOUND", "its host does not offer that")
