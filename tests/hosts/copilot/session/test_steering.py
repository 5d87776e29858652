"""Orders of the person, carried out in a played CLI over a real socket."""

from typing import Any, get_args

import msgspec
import pytest

from tapui.hosts.copilot.uplink import HostTiming
from tapui.wire.host import SessionEvent, SessionOpen, SessionUpdate
from tapui.wire.message import Message
from tapui.wire.steering import (
    Ability,
    ModelChoice,
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionCompact,
    SessionSet,
    SessionStop,
    SessionTell,
    Way,
)
from tests.hosts.cli_played import CliPlayed
from tests.hosts.gateway import GatewayPlayed
from tests.rig.waiting import until


def became(gateway: GatewayPlayed, order: Message, state: str = "done") -> OrderResult:
    """Give an order and wait until this has become of it."""
    gateway.tell(order)
    return gateway.wait(OrderResult, id="o-1", state=state)


def states(gateway: GatewayPlayed) -> list[str]:
    return [one.state for one in gateway.of(OrderResult)]


def tell(text: str = "go on", way: Way = "after") -> SessionTell:
    return SessionTell("o-1", "s1", text, way, "tapui")


def prompted(cli: CliPlayed, text: str, **more: Any) -> None:
    """The CLI takes a text as a prompt."""
    cli.happens("s1", "user.message", content=text, messageId=f"m-{text}", **more)


def test_host_says_what_it_can(gateway: GatewayPlayed) -> None:
    session = gateway.wait(SessionOpen).session
    others = [one for one in get_args(Ability) if one != "close"]  # of sessions started here
    assert session.can == others
    assert not session.cannot


@pytest.mark.parametrize("text", ["go on", "/compact", "!rm -rf ."])
def test_a_text_is_a_prompt_and_marked_with_its_sender(
    cli: CliPlayed, gateway: GatewayPlayed, text: str
) -> None:
    became(gateway, tell(text), "working")
    until(lambda: cli.asked("session.send"), what="the prompt")
    prompted(cli, text, delivery="idle")
    gateway.wait(OrderResult, state="done")
    sent = cli.asked("session.send")[0]
    assert (sent["prompt"], sent["mode"]) == (text, "enqueue")
    assert "displayPrompt" not in sent
    said = gateway.wait(SessionEvent, event="user.message")
    assert msgspec.json.decode(said.data) == {"content": text, "from": "tapui"}


def test_a_text_waits_for_the_turns_end(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.processing = True
    became(gateway, tell(), "queued")
    until(lambda: cli.asked("session.send"), what="the prompt")
    assert cli.asked("session.send")[0]["mode"] == "enqueue"
    prompted(cli, "go on", delivery="queued")
    assert not gateway.wait(OrderResult, state="done").running
    assert states(gateway) == ["queued", "done"]


def test_a_text_that_goes_into_the_turn_names_what_goes_on(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.processing = True
    cli.commands = ["sleep 9; echo done", "is over"]
    became(gateway, tell(way="now"), "working")
    until(lambda: cli.asked("session.send"), what="the prompt")
    assert cli.asked("session.send")[0]["mode"] == "immediate"
    prompted(cli, "go on", delivery="steering")
    assert gateway.wait(OrderResult, state="done").running == ["sleep 9; echo done"]


def test_a_text_that_cannot_go_into_the_turn_yet_waits(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.processing, cli.steering = True, ["go on"]
    became(gateway, tell(way="now"), "queued")
    assert states(gateway) == ["working", "queued"]


def test_stop_then_send_waits_for_rest(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.processing = True
    cli.queued, cli.commands = ["of the person"], ["sleep 9"]
    became(gateway, tell(way="stopFirst"), "stopping")
    until(lambda: cli.asked("session.send"), what="the prompt")
    methods = [one["method"] for one in cli.requests]
    assert methods.index("session.abort") < methods.index("session.send")
    prompted(cli, "go on", delivery="idle")
    done = gateway.wait(OrderResult, state="done")
    assert (done.running, done.dropped) == (["sleep 9"], ["of the person"])


def test_a_stop_names_what_survives_and_what_is_lost(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.processing = True
    cli.queued, cli.steering, cli.commands = ["one"], ["two"], ["sleep 9"]
    done = became(gateway, SessionStop("o-1", "s1"))
    assert (done.running, done.dropped) == (["sleep 9"], ["one", "two"])
    assert states(gateway) == ["stopping", "done"]


@pytest.mark.parametrize("timing", [HostTiming(rest=0.3)])
def test_a_session_that_does_not_rest_is_told(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.processing = cli.is_restless = True
    failed = became(gateway, SessionStop("o-1", "s1"), "failed")
    assert "does not rest" in (failed.error or "")


def test_a_turn_is_stopped_also_when_the_queue_cannot_be_asked(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.unknown.add("session.queue.pendingItems")
    became(gateway, SessionStop("o-1", "s1"))
    assert cli.asked("session.abort")


@pytest.mark.parametrize("timing", [HostTiming(lost=0.01)])
def test_a_text_that_waits_is_lost_when_its_turn_is_stopped(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.processing, cli.queued = True, ["go on"]
    became(gateway, tell(), "queued")
    until(lambda: cli.asked("session.send"), what="the prompt")
    cli.happens("s1", "session.idle")  # it still waits
    until(lambda: len(cli.asked("session.queue.pendingItems")) >= 1, what="a look")
    cli.processing, cli.queued = False, []
    cli.happens("s1", "session.idle", aborted=True)
    failed = gateway.wait(OrderResult, state="failed")
    assert "the turn was stopped" in (failed.error or "")
    # The same words of the person are their own again.
    prompted(cli, "go on")
    said = gateway.wait(SessionEvent, event="user.message")
    assert msgspec.json.decode(said.data) == {"content": "go on"}


@pytest.mark.parametrize("timing", [HostTiming(lost=0.01)])
def test_a_text_that_waited_while_the_connection_was_lost_is_looked_for(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.processing, cli.queued = True, ["go on"]
    became(gateway, tell(), "queued")
    until(lambda: cli.asked("session.send"), what="the prompt")
    looked = len(cli.asked("session.queue.pendingItems"))
    cli.drop()
    until(lambda: len(cli.asked("session.queue.pendingItems")) > looked, what="a look")
    assert states(gateway) == ["queued"]
    cli.queued = []
    cli.drop()
    failed = gateway.wait(OrderResult, state="failed")
    assert "look there whether it came" in (failed.error or "")


def test_a_text_that_the_session_does_not_take_says_why(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.deaf = {"s1"}
    failed = became(gateway, tell(), "failed")
    assert "the session takes no prompt" in (failed.error or "")


def test_a_cli_that_does_not_know_a_request_lacks_that_order_from_then_on(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.unknown.add("session.history.compact")
    assert "does not know" in (became(gateway, SessionCompact("o-1", "s1"), "failed").error or "")
    update = gateway.wait(SessionUpdate, lambda one: one.can is not None)
    assert "compact" not in (update.can or ())
    assert "update it" in (update.cannot or {})["compact"]
    assert "tell" in (update.can or ())


def test_compact_rename_and_effort(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    became(gateway, SessionCompact("o-1", "s1"))
    assert states(gateway) == ["working", "done"]
    gateway.tell(SessionSet("o-2", "s1", "label", "Mine"))
    gateway.wait(OrderResult, id="o-2", state="done")
    assert cli.asked("session.name.set")[0]["name"] == "Mine"
    gateway.tell(SessionSet("o-3", "s1", "effort", "high"))
    gateway.wait(OrderResult, id="o-3", state="done")
    gateway.tell(SessionSet("o-4", "s1", "effort", "nonsense"))
    assert "there are: none, minimal, low" in (
        gateway.wait(OrderResult, id="o-4", state="failed").error or ""
    )


def test_a_compaction_that_fails_says_so(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.deaf = {"s1"}
    assert "could not" in (became(gateway, SessionCompact("o-1", "s1"), "failed").error or "")


def test_a_model_is_chosen_from_those_that_there_are(
    cli: CliPlayed, gateway: GatewayPlayed
) -> None:
    cli.models = [
        {"id": "scripted", "supportedReasoningEfforts": ["low"]},
        {"id": "gpt", "name": "GPT"},
        {"no": "id"},
    ]
    gateway.tell(ModelsRead("mr-1", "s1"))
    listed = gateway.wait(ModelsList, id="mr-1")
    assert listed.models == [ModelChoice("scripted", None, ["low"]), ModelChoice("gpt", "GPT")]
    became(gateway, SessionSet("o-1", "s1", "model", "gpt"))
    assert cli.asked("session.model.switchTo")[0]["modelId"] == "gpt"
    gateway.tell(SessionSet("o-2", "s1", "model", "other"))
    failed = gateway.wait(OrderResult, id="o-2", state="failed")
    assert failed.error == "there is no model other; there are: scripted, gpt"
    gateway.tell(SessionSet("o-3", "s1", "effort", "high"))
    assert "there are: low" in (gateway.wait(OrderResult, id="o-3", state="failed").error or "")


def test_a_model_that_waits_for_the_turns_end(cli: CliPlayed, gateway: GatewayPlayed) -> None:
    cli.processing = True
    became(gateway, SessionSet("o-1", "s1", "model", "gpt"), "queued")
    cli.happens("s1", "session.model_change", newModel="gpt", previousModel="scripted")
    gateway.wait(OrderResult, state="done")


def test_orders_of_a_session_that_is_gone_fail(gateway: GatewayPlayed) -> None:
    gateway.tell(SessionStop("o-9", "s9"))
    assert gateway.wait(OrderResult, id="o-9").error == "the session ended"
    gateway.tell(ModelsRead("mr-9", "s9"))
    assert gateway.wait(ModelsList, id="mr-9").error == "the session ended"
