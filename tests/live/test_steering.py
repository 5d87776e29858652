"""The person's orders in the real CLI: texts in three ways, stops, model, effort, name, context."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    ModeResult,
    ModeSet,
    SessionEvent,
    SessionOpen,
    SessionUpdate,
)
from tapui.wire.message import Message
from tapui.wire.steering import (
    ModelsList,
    ModelsRead,
    OrderResult,
    SessionCompact,
    SessionSet,
    SessionStop,
    SessionTell,
    Way,
)
from tests.hosts.gateway import GatewayPlayed, HostThread
from tests.rig.copilot import Copilot
from tests.rig.gateway import ANYBODY, Home
from tests.rig.model_server import ALWAYS, ModelServer, Rule
from tests.rig.taken import wait_for_tools
from tests.rig.tower import TowerProcess
from tests.rig.waiting import until


@pytest.fixture
def gateway(copilot: Copilot) -> Iterator[GatewayPlayed]:
    """The gateway's view of a host that has joined the CLI's session."""
    played = GatewayPlayed()
    with HostThread(played, copilot.copilot_home):
        opened = played.wait(SessionOpen).session
        assert opened.can == ["tell", "now", "stop", "compact", "model", "effort", "label", "ask"]
        played.wait(SessionUpdate, tools_revision=1)
        yield played


def bash(command: str, **more: Any) -> list[tuple[str, dict[str, Any]]]:
    return [("bash", {"command": command, "description": "a command", **more})]


def became(gateway: GatewayPlayed, id_: str, state: str) -> OrderResult:
    """Wait until this has become of an order."""
    return gateway.wait(OrderResult, id=id_, state=state)


def states(gateway: GatewayPlayed, id_: str) -> list[str]:
    return [one.state for one in gateway.of(OrderResult, id=id_)]


def prompts(gateway: GatewayPlayed) -> list[tuple[str, str | None, str | None]]:
    """Return the prompts that the host told of: content, delivery, who."""
    told = [msgspec.json.decode(one.data) for one in gateway.of(SessionEvent, event="user.message")]
    return [(one["content"], one.get("delivery"), one.get("from")) for one in told]


class Person:
    """A person at a tower, who gives orders to the CLI's session."""

    def __init__(self, gateway: GatewayPlayed, copilot: Copilot) -> None:
        self.gateway = gateway
        self.session = copilot.session_id
        self._allowed: set[str] = set()

    def tell(self, id_: str, text: str, way: Way = "after") -> None:
        self.order(SessionTell(id_, self.session, text, way, "tapui"))

    def order(self, message: Message) -> None:
        self.gateway.tell(message)

    def allow(self, command: str) -> None:
        """Wait for the CLI's question about a command, allow it, and wait until it runs."""
        asked = self.gateway.wait(
            ApprovalRequest, lambda one: command in bytes(one.detail).decode()
        )
        self.gateway.tell(ApprovalAnswer(asked.id, "approve"))


@pytest.fixture
def person(gateway: GatewayPlayed, copilot: Copilot) -> Person:
    """A tower that steers."""
    return Person(gateway, copilot)


def test_texts_after_the_turn_and_into_it(
    gateway: GatewayPlayed, copilot: Copilot, model: ModelServer, person: Person
) -> None:
    started = copilot.cwd / "started"
    command = "touch started; until [ -e go ]; do sleep 0.2; done"
    model.script(
        Rule(calls=bash(command), when="run it"),
        Rule(text="so be it", times=ALWAYS),
    )
    # A text that begins with / goes to the model, also while nothing is under way.
    person.tell("o-1", "/help and !ls")
    became(gateway, "o-1", "done")
    assert model.wait_for(lambda one: "/help and !ls" in one.text).role == "user"
    gateway.wait(SessionEvent, event="session.idle")
    person.tell("o-2", "run it")
    person.allow("until [ -e go ]")
    until(started.exists, what="the command")
    person.tell("o-3", "and then this")
    became(gateway, "o-3", "queued")
    person.tell("o-4", "/compact now", "now")
    done = became(gateway, "o-4", "done")
    assert done.running == [command]
    assert "o-3" not in [one.id for one in gateway.of(OrderResult, state="done")]
    (copilot.cwd / "go").touch()  # the CLI keeps what is queued until the command has ended
    became(gateway, "o-3", "done")
    assert states(gateway, "o-3") == ["queued", "done"]
    assert prompts(gateway) == [
        ("/help and !ls", None, "tapui"),
        ("run it", None, "tapui"),
        ("/compact now", "steering", "tapui"),
        ("and then this", "queued", "tapui"),
    ]
    assert not gateway.of(SessionEvent, event="session.compaction_start")


def test_the_agent_rests_while_its_command_goes_on(
    gateway: GatewayPlayed, copilot: Copilot, model: ModelServer, person: Person
) -> None:
    command = "touch started; until [ -e go ]; do sleep 0.2; done; exit 3"
    model.script(Rule(calls=bash(command), when="run it"), Rule(text="so be it", times=ALWAYS))
    person.tell("o-1", "run it")
    person.allow("until [ -e go ]")
    until((copilot.cwd / "started").exists, what="the command")
    person.tell("o-2", "and now this", "now")
    assert became(gateway, "o-2", "done").running == [command]
    gateway.wait(SessionEvent, event="session.idle")
    (copilot.cwd / "go").touch()  # its text to the agent is a turn
    ended = gateway.wait(SessionEvent, event="shell.completed")
    assert msgspec.json.decode(ended.data)["exitCode"] == 3
    until(lambda: len(gateway.of(SessionEvent, event="session.idle")) == 2, what="rest")


def test_a_stop_and_what_it_leaves(
    gateway: GatewayPlayed, copilot: Copilot, model: ModelServer, person: Person
) -> None:
    held = threading.Event()
    model.script(
        Rule(calls=bash("sleep 61", mode="async", detach=True), when="run it"),
        Rule(calls=bash("touch started; sleep 62"), when="detached background"),
        Rule(calls=bash("touch never"), when="ask me"),
        Rule(text="thinking", when="think", until=held),
        Rule(text="so be it", times=ALWAYS),
    )
    person.tell("o-1", "run it")
    person.allow("sleep 61")
    person.allow("sleep 62")
    until((copilot.cwd / "started").exists, what="the command")
    person.tell("o-2", "waits in vain")
    became(gateway, "o-2", "queued")
    person.order(SessionStop("o-3", person.session))
    stopped = became(gateway, "o-3", "done")
    assert stopped.running == ["sleep 61"]  # which is detached; the other one was killed
    assert states(gateway, "o-3") == ["stopping", "done"]
    assert "the turn was stopped" in (became(gateway, "o-2", "failed").error or "")
    idle = gateway.wait(SessionEvent, event="session.idle")
    assert msgspec.json.decode(idle.data) == {"aborted": True}
    # Stopped while a permission waits: the question goes, and the text is the next prompt.
    person.tell("o-4", "ask me")
    gateway.wait(ApprovalRequest, lambda one: b"touch never" in bytes(one.detail))
    copilot.screen.wait_for("Do you want to run this command")
    person.tell("o-5", "think of it instead", "stopFirst")
    became(gateway, "o-5", "done")
    assert states(gateway, "o-5") == ["stopping", "done"]
    copilot.screen.wait_gone("Do you want to run this command")
    model.wait_for(lambda one: "think of it instead" in one.text)
    # Stopped while the model answers.
    person.order(SessionStop("o-6", person.session))
    became(gateway, "o-6", "done")
    held.set()
    assert not (copilot.cwd / "never").exists()
    assert [content for content, _, _ in prompts(gateway)] == [
        "run it",
        "ask me",
        "think of it instead",
    ]


def test_mode_model_effort_name_and_context(
    gateway: GatewayPlayed, copilot: Copilot, model: ModelServer, person: Person
) -> None:
    model.script(Rule(text="all that was said", times=ALWAYS))
    person.tell("o-1", "say something")
    became(gateway, "o-1", "done")
    gateway.wait(SessionEvent, event="session.idle")
    person.order(ModeSet("m-1", person.session, "plan"))
    assert gateway.wait(ModeResult, id="m-1").ok
    person.order(SessionSet("o-2", person.session, "label", 'Mine "again"'))
    became(gateway, "o-2", "done")
    gateway.wait(SessionUpdate, label='Mine "again"')
    person.order(SessionSet("o-3", person.session, "effort", "high"))
    became(gateway, "o-3", "done")
    gateway.wait(SessionUpdate, effort="high")
    person.order(SessionSet("o-4", person.session, "effort", "nonsense"))
    assert "there is no effort nonsense" in (became(gateway, "o-4", "failed").error or "")
    person.order(ModelsRead("mr-1", person.session))
    assert gateway.wait(ModelsList, id="mr-1").models == []  # offline it names none
    person.order(SessionSet("o-5", person.session, "model", "other"))
    became(gateway, "o-5", "done")
    gateway.wait(SessionUpdate, model="other")
    person.order(SessionSet("o-6", person.session, "model", "scripted"))
    became(gateway, "o-6", "done")
    person.order(SessionCompact("o-7", person.session))
    became(gateway, "o-7", "done")
    assert gateway.of(SessionEvent, event="session.compaction_complete")


def test_the_command_and_the_tower_steer_the_same_session(
    copilot: Copilot,
    model: ModelServer,
    start_tower: Callable[..., TowerProcess],
    home: Home,
) -> None:
    home.settle(ANYBODY)
    tower = start_tower()
    wait_for_tools(home, copilot)
    model.script(Rule(text="so be it", times=ALWAYS))
    port = tower.url.rpartition(":")[2]
    sent = home.run("send", copilot.session_id, "/say hello", "--port", port)
    assert (sent.returncode, sent.stderr) == (0, "")
    assert sent.stdout == "delivered  (tell (after this turn): /say hello)\n"
    tower.screen.wait_for("the command line, no check: “/say hello”")
    tower.screen.keys("t")
    tower.screen.wait_for("after this turn")
    tower.screen.type("hello from the tower")
    tower.screen.keys("Enter")
    tower.screen.wait_for("you: “hello from the tower”")
    copilot.screen.wait_for("hello from the tower")
    stopped = home.run("stop-turn", copilot.session_id, "--port", port)
    assert stopped.stdout.startswith("stopped")
