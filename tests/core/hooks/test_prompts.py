"""Prompts: context, and transforms of the system prompt's sections."""

from typing import Any

import pytest

from tests.core.conftest import Scene
from tests.core.harness import INTERNAL_TOKEN, PROVIDER_TOKEN, Conversation, Json, Peer


def prepare(host: Peer, id_: str = "q1", **sections: str) -> None:
    host.say(type="prompt.submitted", id=id_, sessionId="s1", prompt="go", sections=sections)


def prepared(host: Peer) -> Json:
    return host.hear_one("prompt.prepared")


def with_transforms(talk: Conversation, **transforms: Json) -> tuple[Peer, Peer]:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", hooks={"transforms": transforms})
    talk.wait(1)  # the change of tools is told
    host.hear()
    return host, provider


def test_startup_context_comes_once_and_context_with_every_prompt(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    talk.provider("s1", startup_context="hello", context="CI passes")
    host.hear()
    prepare(host)
    assert prepared(host) == {
        "type": "prompt.prepared",
        "id": "q1",
        "context": ["hello", "CI passes"],
        "sections": {},
    }
    prepare(host, "q2")
    assert prepared(host)["context"] == ["CI passes"]


def test_context_update_is_in_force_after_its_ack(scene: Scene) -> None:
    scene.provider.say(type="context.update", context="CI fails", requestId="r")
    assert scene.provider.hear_one("ack")["revision"] == 1
    prepare(scene.host)
    assert prepared(scene.host)["context"] == ["CI fails"]
    scene.provider.say(type="context.update", context="")
    prepare(scene.host)
    assert prepared(scene.host)["context"] == []


@pytest.mark.parametrize(
    ("transform", "result"),
    [
        ({"action": "append", "content": "new"}, "old\n\nnew"),
        ({"action": "prepend", "content": "new"}, "new\n\nold"),
        ({"action": "replace", "content": "new"}, "new"),
    ],
)
def test_static_transforms(talk: Conversation, transform: Json, result: str) -> None:
    host, _ = with_transforms(talk, tone=transform)
    prepare(host, tone="old", other="kept")
    assert prepared(host)["sections"] == {"tone": result, "other": "kept"}


def test_appends_of_several_providers_come_in_order_of_registration(talk: Conversation) -> None:
    host, _ = with_transforms(talk, tone={"action": "append", "content": "one"})
    talk.provider("s1", name="two", tools=[], hooks={"transforms": {
        "tone": {"action": "append", "content": "two"}}})  # fmt: skip
    prepare(host, tone="zero")
    assert prepared(host)["sections"]["tone"] == "zero\n\none\n\ntwo"


@pytest.mark.parametrize("section", ["safety", "identity"])
def test_protected_sections_are_only_appended_to(scene: Scene, section: str) -> None:
    for action in ("replace", "prepend", "callback"):
        error = scene.provider.error(
            type="hooks.update", transforms={section: {"action": action, "content": "c"}}
        )
        assert error["code"] == "UNAUTHORIZED"
    scene.provider.say(
        type="hooks.update", transforms={section: {"action": "append", "content": "and kind"}}
    )
    prepare(scene.host, **{section: "be safe"})
    assert prepared(scene.host)["sections"][section] == "be safe\n\nand kind"


def test_callback_is_asked_with_the_current_text(talk: Conversation) -> None:
    host, provider = with_transforms(talk, tone={"action": "callback"})
    prepare(host, tone="old")
    request = provider.hear_one("transform.request")
    assert request == {
        "type": "transform.request",
        "callId": request["callId"],
        "sessionId": "s1",
        "section": "tone",
        "current": "old",
    }
    assert not host.hear()
    provider.say(type="transform.result", callId=request["callId"], content="brand new")
    assert prepared(host)["sections"]["tone"] == "brand new"
    assert talk.deadlines == 0


def callbacks(talk: Conversation, *names: str, section: str = "tone") -> tuple[Peer, list[Peer]]:
    """Return a host and providers that each want to be asked for a section, in this order."""
    host = talk.host()
    host.open("s1")
    hooks = {"transforms": {section: {"action": "callback"}}}
    return host, [talk.provider("s1", name=name, tools=[], hooks=hooks) for name in names]


def test_each_provider_has_its_own_two_seconds(talk: Conversation) -> None:
    host, (one, two, three) = callbacks(talk, "one", "two", "three")
    prepare(host, tone="old")
    assert one.hear_one("transform.request")["current"] == "old"
    assert two.hear() == three.hear() == []
    talk.wait(2)
    request = two.hear_one("transform.request")
    assert (request["current"], host.hear()) == ("old", [])
    talk.wait(1.5)
    two.say(type="transform.result", callId=request["callId"], content="two")
    assert three.hear_one("transform.request")["current"] == "two"
    talk.wait(1.9)
    assert host.hear() == []
    talk.wait(0.1)
    assert prepared(host)["sections"]["tone"] == "two"
    assert talk.deadlines == 0


def test_silence_about_one_section_holds_no_other(talk: Conversation) -> None:
    host, (one,) = callbacks(talk, "one")
    hooks = {"transforms": {"style": {"action": "callback"}}}
    two = talk.provider("s1", name="two", tools=[], hooks=hooks)
    prepare(host, tone="t", style="s")
    assert one.hear_one("transform.request")["section"] == "tone"
    request = two.hear_one("transform.request")
    two.say(type="transform.result", callId=request["callId"], content="new")
    talk.wait(2)
    assert prepared(host)["sections"] == {"tone": "t", "style": "new"}


def test_who_leaves_before_its_turn_is_not_asked(talk: Conversation) -> None:
    host, (one, two, three) = callbacks(talk, "one", "two", "three")
    prepare(host, tone="old")
    two.drop()
    talk.wait(2)
    request = three.hear_one("transform.request")
    three.say(type="transform.result", callId=request["callId"], content="three")
    assert prepared(host)["sections"]["tone"] == "three"
    assert one.state == "Bound"


HOPES = {"transforms": {"tone": {"action": "append", "content": "be kind"}}}


def test_a_provider_is_warned_that_its_transforms_do_not_reach_the_session(
    talk: Conversation,
) -> None:
    host = talk.connect(INTERNAL_TOKEN)
    host.say(type="host.hello", name="cli", kind="k", protocolVersion=2, sections=False)
    host.open("s1")
    provider = talk.provider("s1", hooks=HOPES)
    text = (
        "transforms have no effect in session s1: its host 'cli' does not apply changed "
        "sections of the system prompt"
    )
    assert provider.ack["warnings"] == [text]
    assert "warnings" not in talk.provider("s1", name="plain", tools=[], context="c").ack
    shown = talk.gateway.state.providers["p-1"]
    assert (shown.sections, shown.sections_unapplied) == ({"tone": "append"}, ["s1"])
    provider.hear()
    plain = {"type": "hooks.update", "requestId": "r"}
    assert "warnings" not in provider.say(plain, onPreToolUse=[]).hear_one("ack")
    assert provider.say(plain, transforms=HOPES["transforms"]).hear_one("ack")["warnings"] == [text]
    assert "warnings" not in provider.say(plain, transforms={"tone": None}).hear_one("ack")
    assert talk.gateway.state.providers["p-1"].sections_unapplied == []


def test_a_host_that_cannot_apply_sections_waits_for_no_callback(talk: Conversation) -> None:
    host = talk.connect(INTERNAL_TOKEN)
    host.say(type="host.hello", name="cli", kind="k", protocolVersion=2, sections=False)
    host.open("s1")
    hooks = {"transforms": {"tone": {"action": "callback"}}}
    provider = talk.provider("s1", hooks=hooks, context="c")
    prepare(host)
    assert prepared(host)["context"] == ["c"]
    assert provider.hear_of("transform.request") == []


@pytest.mark.parametrize("how", ["says so", "gives sections"])
def test_a_host_that_applies_sections_warns_nobody(talk: Conversation, how: str) -> None:
    host = talk.connect(INTERNAL_TOKEN)
    sections = True if how == "says so" else None
    host.say(type="host.hello", name="cli", kind="k", protocolVersion=2, sections=sections)
    host.open("s1")
    first = talk.provider("s1", name="first", hooks=HOPES, tools=[])
    assert ("warnings" in first.ack) == (how == "gives sections")
    if how == "gives sections":
        assert "may have no effect" in first.ack["warnings"][0]
        prepare(host, tone="old")
        assert prepared(host)["sections"]["tone"] == "old\n\nbe kind"
    assert talk.gateway.state.providers["p-1"].sections_unapplied == []
    assert "warnings" not in talk.provider("s1", name="second", hooks=HOPES, tools=[]).ack
    host.open("s2")
    assert "warnings" not in talk.provider("s2", name="third", hooks=HOPES, tools=[]).ack


def test_silence_for_two_seconds_leaves_the_section(talk: Conversation) -> None:
    host, provider = with_transforms(talk, tone={"action": "callback"})
    talk.provider("s1", name="two", tools=[], hooks={"transforms": {
        "tone": {"action": "append", "content": "after"}}})  # fmt: skip
    prepare(host, tone="old")
    talk.wait(1.9)
    assert not host.hear()
    talk.wait(0.2)
    assert prepared(host)["sections"]["tone"] == "old\n\nafter"
    late = provider.hear_one("transform.request")["callId"]
    provider.say(type="transform.result", callId=late, content="late")
    assert not host.hear()


@pytest.mark.parametrize("content", [None, 7, ["x"]])
def test_malformed_answer_leaves_the_section_at_once(talk: Conversation, content: Any) -> None:
    host, provider = with_transforms(talk, tone={"action": "callback"})
    prepare(host, tone="old")
    call = provider.hear_one("transform.request")["callId"]
    provider.say(type="transform.result", callId=call, content=content)
    assert provider.hear_one("error")["code"] == "INVALID_JSON"
    assert prepared(host)["sections"]["tone"] == "old"


def test_disconnect_leaves_the_section(talk: Conversation) -> None:
    host, provider = with_transforms(talk, tone={"action": "callback"})
    prepare(host, tone="old")
    provider.drop()
    assert prepared(host)["sections"]["tone"] == "old"


def test_null_takes_a_transform_away(talk: Conversation) -> None:
    host, provider = with_transforms(talk, tone={"action": "replace", "content": "new"})
    provider.say(type="hooks.update", transforms={"tone": None})
    prepare(host, tone="old")
    assert prepared(host)["sections"] == {"tone": "old"}


def test_replaced_session_hears_the_startup_context_anew(talk: Conversation) -> None:
    host = talk.host()
    host.open("s0")
    provider = talk.provider("s0", startup_context="hello", context="c")
    host.open("s1", replaces="s0")
    prepare(host)
    assert prepared(host)["context"] == ["hello", "c"]
    assert provider.state == "Bound"


def contexts(host: Peer, session: str = "s1") -> list[str]:
    prompt = {"type": "prompt.submitted", "id": "q", "sessionId": session, "prompt": "p"}
    found: list[str] = host.ask(prompt)[0]["context"]
    return found


def test_a_second_startup_context_is_told_once_more(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", startup_context="one")
    assert [contexts(host), contexts(host)] == [["one"], []]
    provider.hello(session="s1", startup_context="two")
    assert [contexts(host), contexts(host)] == [["two"], []]
    provider.hello(session="s1", startup_context="two")
    assert [contexts(host), contexts(host)] == [["two"], []]


def test_who_comes_back_tells_its_startup_context_only_when_it_sends_one(
    talk: Conversation,
) -> None:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", startup_context="one")
    assert contexts(host) == ["one"]
    provider.drop()
    back = talk.connect(PROVIDER_TOKEN).hello(reconnectToken=provider.ack["reconnectToken"])
    assert contexts(host) == []
    token = back.hear_one("hello.ack")["reconnectToken"]
    back.drop()
    talk.connect(PROVIDER_TOKEN).hello(reconnectToken=token, startup_context="two")
    assert [contexts(host), contexts(host)] == [["two"], []]


def test_a_startup_context_that_nobody_heard_yet_comes_back(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", startup_context="one")
    provider.drop()
    talk.connect(PROVIDER_TOKEN).hello(reconnectToken=provider.ack["reconnectToken"])
    assert [contexts(host), contexts(host)] == [["one"], []]


def test_a_move_brings_the_startup_context_into_the_other_session(talk: Conversation) -> None:
    host, tower = talk.host(), talk.tower()
    host.open("s1")
    host.open("s2")
    talk.provider("s1", startup_context="one")
    assert contexts(host) == ["one"]
    tower.say(type="provider.move", providerId="p-1", sessionId="s2")
    assert [contexts(host, "s2"), contexts(host, "s2")] == [["one"], []]


def ask_sections(host: Peer, session: str = "s1", **sections: str) -> None:
    """Ask about sections as a host does that asks for them apart from prompts."""
    told = {"id": "q2", "sessionId": session, "prompt": "", "sections": sections}
    host.say(type="prompt.submitted", onlySections=True, **told)


def test_sections_alone_bring_no_context_and_leave_others_alone(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1", sections=True)
    provider = talk.provider(
        "s1",
        hooks={
            "transforms": {
                "tone": {"action": "append", "content": "Be brief."},
                "guidelines": {"action": "callback"},
            }
        },
        startup_context="hello",
        context="CI passes",
    )
    host.hear()
    ask_sections(host, tone="Be calm.")
    assert prepared(host) == {
        "type": "prompt.prepared",
        "id": "q2",
        "context": [],
        "sections": {"tone": "Be calm.\n\nBe brief."},
    }
    assert provider.hear_of("transform.request") == []
    # The prompt has the context, and asks for no section again.
    host.say(type="prompt.submitted", id="q1", sessionId="s1", prompt="go")
    told = prepared(host)
    assert (told["context"], told["sections"]) == (["hello", "CI passes"], {})
    assert provider.hear_of("transform.request") == []
    ask_sections(host, guidelines="Look first.")
    asked = provider.hear_one("transform.request")
    assert (asked["section"], asked["current"]) == ("guidelines", "Look first.")
    provider.say(type="transform.result", callId=asked["callId"], content="No.")
    assert prepared(host)["sections"] == {"guidelines": "No."}


def test_a_host_may_apply_sections_in_some_of_its_sessions_only(talk: Conversation) -> None:
    tone = {"tone": {"action": "append", "content": "Be brief."}}
    host = talk.connect(INTERNAL_TOKEN)
    host.say(type="host.hello", name="copilot", kind="copilot", protocolVersion=2, sections=False)
    host.open("own", sections=True)
    host.open("attached")
    own = talk.provider("own", name="one", tools=[], hooks={"transforms": tone})
    attached = talk.provider("attached", name="two", tools=[], hooks={"transforms": tone})
    assert "warnings" not in own.ack
    assert "system prompt" in attached.ack["warnings"][0]
    ask_sections(host, "own", tone="Be calm.")
    host.open("later")
    later = talk.provider("later", name="three", tools=[], hooks={"transforms": tone})
    assert "system prompt" in later.ack["warnings"][0]
