"""Lines that reach the session: injectors, the one message of what waits, the brake."""

from typing import Any

import pytest

from tapui.wire import limits
from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell, entry, lines, of

FIRST = "※ tap — background event stream update:"
LAST = "Only react if the update matters to the current task."


def begin(shell: EmitterShell, host: Peer, *names: str, **plan: Any) -> None:
    """Start emitters in session `s1`."""
    names = names or ("watch",)
    shell.opens(host, *(entry(name, **plan) for name in names))
    for name in names:
        shell.starts(name)
    host.hear()


def sent(host: Peer) -> list[Json]:
    return host.hear_of("session.send")


def items(message: Json) -> list[str]:
    """Return the lines of a message between its first and its last."""
    first, *between, last = message["prompt"].split("\n")
    assert (first, last) == (FIRST, LAST)
    return list(between)


def turn(host: Peer) -> None:
    host.event("s1", "assistant.turn_start")
    host.event("s1", "session.idle")


def test_an_inject_is_one_message_in_the_documented_form(shell: EmitterShell, host: Peer) -> None:
    begin(shell, host, stream="ops")
    shell.says("it failed", outcome="inject", source="stderr")
    (message,) = sent(host)
    assert message["prompt"] == (f"{FIRST}\n- stream=ops emitter=watch/stderr: it failed\n{LAST}")
    assert message["from"] == {"provider": "tap", "stream": "ops"}


def test_lines_that_come_together_are_sent_together(shell: EmitterShell, host: Peer) -> None:
    begin(shell, host)
    shell.says("one", "two", outcome="inject")
    (message,) = sent(host)
    assert items(message) == [
        "- stream=watch emitter=watch/stdout: one",
        "- stream=watch emitter=watch/stdout: two",
    ]


def test_what_waits_for_a_busy_session_is_one_message_of_all_emitters_in_order(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "a", "b")
    host.event("s1", "assistant.turn_start")
    shell.says("1", name="a", outcome="inject")
    shell.says("2", name="b", outcome="inject")
    shell.says("3", name="a", outcome="inject")
    talk.wait(limits.COUNTED_INTERVAL)
    assert sent(host) == []
    assert (shell.shown("a").waiting, shell.shown("b").waiting) == (2, 1)
    assert (shell.shown("a").counts.injected, shell.shown("a").counts.sent) == (2, 0)
    host.event("s1", "session.idle")
    (message,) = sent(host)
    assert items(message) == [
        "- stream=a emitter=a/stdout: 1",
        "- stream=b emitter=b/stdout: 2",
        "- stream=a emitter=a/stdout: 3",
    ]
    assert message["from"] == {"provider": "tap"}
    assert (shell.shown("a").waiting, shell.shown("b").waiting) == (0, 0)


def test_one_message_an_idle_in_order_with_those_of_providers(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host)
    provider = talk.provider("s1")
    host.event("s1", "assistant.turn_start")
    provider.push("of the provider", "inject")
    shell.says("of the emitter", outcome="inject")
    host.event("s1", "session.idle")
    assert [one["prompt"] for one in sent(host)] == ["of the provider"]
    talk.wait(1)
    turn(host)
    (message,) = sent(host)
    assert items(message) == ["- stream=watch emitter=watch/stdout: of the emitter"]


def test_too_many_that_wait_are_counted_and_it_is_said(
    shell: EmitterShell, host: Peer, talk: Conversation
) -> None:
    begin(shell, host)
    host.event("s1", "assistant.turn_start")
    many = limits.MAX_HELD_LINES + 7
    shell.says(*(f"line {number}" for number in range(many)), outcome="inject")
    host.event("s1", "session.idle")
    (message,) = sent(host)
    more, *rest = items(message)
    assert more == "- 7 earlier lines are left out here; tap_stream_history has them"
    assert len(rest) == limits.MAX_HELD_LINES
    assert rest[-1].endswith(f"line {many - 1}")
    counts = shell.shown("watch").counts
    assert (counts.injected, counts.sent, counts.left_out) == (many, limits.MAX_HELD_LINES, 7)
    assert len(lines(talk)) == many + 1, "all are stored"


def test_a_long_line_is_cut_in_the_message_and_whole_in_the_stream(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host)
    shell.says("x" * 50_000, outcome="inject")
    (message,) = sent(host)
    assert len(message["prompt"]) < limits.MAX_HELD_LINE + 200
    assert items(message)[0].endswith("x…")
    assert len(lines(talk)[-1][1]) == 50_000


@pytest.mark.parametrize(
    ("injector", "delivery", "outcome", "level", "is_sent", "counted"),
    [
        ("unset", "surface", "keep", "keep", False, "kept"),
        ("unset", "surface", "surface", "surface", False, "surfaced"),
        ("unset", "surface", "inject", "inject", True, "injected"),
        ("enabled", "surface", "keep", "keep", False, "kept"),
        ("enabled", "surface", "inject", "inject", True, "injected"),
        ("enabled", "important", "surface", "surface", False, "surfaced"),
        ("enabled", "important", "inject", "inject", True, "injected"),
        ("enabled", "all", "keep", "inject", True, "injected"),
        ("enabled", "all", "surface", "inject", True, "injected"),
        ("disabled", "surface", "inject", "surface", False, "held"),
        ("disabled", "all", "inject", "surface", False, "held"),
        ("disabled", "all", "keep", "keep", False, "kept"),
    ],
)
def test_the_injector_of_the_stream_has_the_last_word(
    talk: Conversation,
    shell: EmitterShell,
    host: Peer,
    injector: str,
    delivery: str,
    outcome: Any,
    level: str,
    is_sent: bool,
    counted: str,
) -> None:
    begin(shell, host, injector=injector, delivery=delivery)
    shell.says("a line", outcome=outcome)
    assert lines(talk)[-1] == (level, "a line")
    heard = host.hear()
    assert any(one["type"] == "session.send" for one in heard) == is_sent
    assert any(one["type"] == "session.log" for one in heard) == (level == "surface")
    shell.ends()
    assert getattr(shell.shown().counts, counted) == 1


@pytest.mark.parametrize(("injector", "wakes"), [("enabled", True), ("unset", False)])
def test_a_failure_is_told_the_agent_only_where_the_injector_is_enabled(
    shell: EmitterShell, host: Peer, injector: str, wakes: bool
) -> None:
    begin(shell, host, injector=injector)
    shell.ends(code=1)
    told = [items(one) for one in sent(host)]
    expected = [["- stream=watch emitter=watch/system: exited with code 1"]]
    assert told == (expected if wakes else [])


def test_an_end_without_a_failure_wakes_nobody(shell: EmitterShell, host: Peer) -> None:
    begin(shell, host, injector="enabled")
    shell.ends()
    assert sent(host) == []


def test_the_brake_holds_an_emitter_and_not_the_others(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "loud", "calm")
    for _ in range(limits.MAX_INJECT_CYCLES):
        shell.says("again", name="loud", outcome="inject")
        assert len(sent(host)) == 1
        turn(host)
    shell.says("again", name="loud", outcome="inject")
    heard = host.hear()
    assert [one["message"] for one in heard if one["type"] == "session.log"] == [
        (
            "tapui holds further prompts of emitter 'loud': it prompted this session 3 times "
            "without your input"
        )
    ]
    assert not [one for one in heard if one["type"] == "session.send"]
    assert (shell.shown("loud").braked, shell.shown("calm").braked) == (True, False)
    shell.says("hello", name="calm", outcome="inject")
    assert [items(one) for one in sent(host)] == [["- stream=calm emitter=calm/stdout: hello"]]
    turn(host)
    host.event("s1", "user.message")
    assert [items(one) for one in sent(host)] == [["- stream=loud emitter=loud/stdout: again"]]
    assert not shell.shown("loud").braked


def test_the_person_releases_the_brake_of_an_emitter(
    shell: EmitterShell, host: Peer, tower: Peer, talk: Conversation
) -> None:
    begin(shell, host)
    for _ in range(limits.MAX_INJECT_CYCLES + 1):
        host.hear()
        shell.says("again", outcome="inject")
        turn(host)
    assert sent(host) == []
    tower.say(type="injects.resume", providerId=of(talk)["emitterId"], sessionId="s1")
    assert len(sent(host)) == 1
    assert not shell.shown().braked


def test_what_waits_goes_with_its_emitter(shell: EmitterShell, host: Peer) -> None:
    begin(shell, host)
    host.event("s1", "assistant.turn_start")
    shell.says("never sent", outcome="inject")
    shell.write("/repo")
    host.event("s1", "session.idle")
    assert sent(host) == []


def test_what_waits_of_a_stopped_emitter_is_sent(
    shell: EmitterShell, host: Peer, tower: Peer, talk: Conversation
) -> None:
    begin(shell, host)
    host.event("s1", "assistant.turn_start")
    shell.says("it happened", outcome="inject")
    tower.say(type="emitter.stop", **of(talk))
    shell.ends(signal="SIGTERM")
    host.event("s1", "session.idle")
    assert len(sent(host)) == 1
