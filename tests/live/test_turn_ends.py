"""The end of a turn in the real CLI: sent back by a rule, and left alone where tapui is silent."""

import signal
from collections.abc import Callable, Iterator

import pytest

from tapui.wire.host import SessionOpen, TurnEnding
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.copilot import Copilot
from tests.rig.gateway import Gateway
from tests.rig.model_server import ModelServer, Rule
from tests.rig.waiting import until


class Watching(GatewayPlayed):
    """A gateway whose rule sends a turn back once."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = lambda ending: None if ending.active else "pytest has not run: run it"


@pytest.fixture
def gateway(copilot: Copilot) -> Iterator[Watching]:
    """It has the CLI's session."""
    played = Watching()
    with HostThread(played, copilot.copilot_home):
        played.wait(SessionOpen)
        yield played


def test_an_agent_that_claims_is_sent_back_and_goes_on(
    copilot: Copilot, gateway: Watching, model: ModelServer
) -> None:
    model.script(Rule(text="all tests pass", when="mend it"), Rule(text="now they do"))
    copilot.prompt("mend it")
    copilot.screen.wait_for("now they do")
    until(lambda: len(gateway.of(TurnEnding)) == 2, what="both ends")
    first, second = gateway.of(TurnEnding)
    assert (first.session_id, first.message, first.active) == (
        copilot.session_id,
        "all tests pass",
        False,
    )
    assert (second.message, second.active) == ("now they do", True)
    assert any("pytest has not run: run it" in str(one.messages) for one in model.requests)


def test_a_silent_gateway_lets_the_turn_end(
    copilot: Copilot, gateway: Watching, model: ModelServer
) -> None:
    gateway.answers_hooks = False
    model.script(Rule(text="first", when="one"), Rule(text="second", when="two"))
    copilot.prompt("one")
    gateway.wait(TurnEnding)
    gateway.answers_hooks = True
    copilot.prompt("two")
    copilot.screen.wait_for("second")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_gateway_that_is_killed_or_frozen_lets_the_turn_end(
    copilot: Copilot, model: ModelServer, serve: Callable[..., Gateway], how: signal.Signals
) -> None:
    tapui = serve()

    def is_listed() -> bool:
        return copilot.session_id in str(tapui.home.state().get("sessions"))

    until(is_listed, what="attached")
    tapui.signal(how)
    model.script(Rule(text="first", when="one"), Rule(text="second", when="two"))
    copilot.prompt("one")
    copilot.screen.wait_for("first")
    copilot.prompt("two")
    copilot.screen.wait_for("second")
    if how is signal.SIGSTOP:
        tapui.signal(signal.SIGCONT)
