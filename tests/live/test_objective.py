"""The objective of a session of the real CLI (`/goal`), as the gateway shows it."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tapui.wire.host import SessionEvent, SessionOpen
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.live.conftest import Desk
from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway
from tests.rig.model_server import ModelServer, Rule
from tests.rig.waiting import until

_CONSENT = "Enable autopilot mode"


@pytest.fixture
def gateway(copilot: Copilot) -> Iterator[GatewayPlayed]:
    """It has the CLI's session."""
    played = GatewayPlayed()
    with HostThread(played, copilot.copilot_home):
        played.wait(SessionOpen)
        yield played


def told(gateway: GatewayPlayed) -> list[dict[str, Any]]:
    """Return how the objective stood, each time that it was told."""
    events = gateway.of(SessionEvent, event="session.objective")
    return [json.loads(bytes(one.data)) for one in events]


def test_a_goal_is_told_until_the_agent_says_that_it_is_complete(
    copilot: Copilot, gateway: GatewayPlayed, model: ModelServer, at_desk: Desk
) -> None:
    at_desk.is_spent = True  # once autopilot is allowed, `/goal` asks no more
    done = ("task_complete", {"summary": "the cart is mended"})
    model.script(Rule(text="working on it", calls=[done], when="mend", needs="task_complete"))
    copilot.prompt("/goal mend the cart")
    copilot.screen.wait_for(_CONSENT)
    until(lambda: told(gateway), what="the objective")
    copilot.screen.keys("Down", "Enter")  # permissions stay asked about
    copilot.screen.wait_gone(_CONSENT)
    until(lambda: told(gateway)[-1]["status"] == "completed", what="its end")
    one = {"id": "1", "text": "mend the cart"}
    assert told(gateway) == [
        {**one, "status": "active", "reason": ""},
        {**one, "status": "completed", "reason": "the cart is mended"},
    ]


def test_another_goal_and_another_mode_are_told(
    copilot: Copilot, gateway: GatewayPlayed, model: ModelServer
) -> None:
    copilot.prompt("/goal mend the cart")
    copilot.screen.wait_for(_CONSENT)
    copilot.screen.keys("Escape")  # it is there, and autopilot is off
    copilot.screen.wait_gone(_CONSENT)
    until(lambda: told(gateway) and told(gateway)[-1]["status"] == "paused", what="it")
    assert (told(gateway)[-1]["text"], told(gateway)[-1]["id"]) == ("mend the cart", "1")


def test_it_is_a_goal_of_its_session(copilot: Copilot, serve: Callable[..., Gateway]) -> None:
    tapui = serve()

    def goals() -> list[dict[str, Any]]:
        return list(tapui.home.state().get("goals", []))

    copilot.prompt("/goal mend the cart")
    copilot.screen.wait_for(_CONSENT)
    (goal,) = until(goals, what="the goal")
    assert (goal["title"], goal["openedBy"], goal["status"]) == (
        "mend the cart",
        "copilot",
        "active",
    )
    assert (goal["sessionId"], goal.get("criteria", [])) == (copilot.session_id, [])
