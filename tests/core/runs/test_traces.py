"""Each run of an emitter is a span; what it sends into the session is a child of it."""

from tapui.settings.settings import Records, Settings
from tapui.wire.emitters import EmitterCounts
from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell, entry, of


def spans(talk: Conversation, name: str) -> list[Json]:
    return [one["span"] for one in talk.events("span.ended") if one["span"]["name"] == name]


def begin(shell: EmitterShell, host: Peer, **plan: object) -> None:
    shell.write("/repo", entry(**plan), allows=True)
    host.open("s1", cwd="/repo")


def test_a_run_is_a_span_with_its_counts_and_nothing_that_it_said(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, kind="timed", every=60)
    shell.starts()
    shell.says("a secret")
    shell.says("another", outcome="surface")
    talk.wait(1.5)
    shell.ends(code=3, counts=EmitterCounts(lines=5, dropped=3))
    (span,) = spans(talk, "emitter")
    assert span.pop("startedAt")
    assert span == {
        "traceId": f"{1:032x}",
        "spanId": f"{1:016x}",
        "name": "emitter",
        "duration": 1500.0,
        "status": "error",
        "code": "EXIT_3",
        "emitter": "watch",
        "run": 1,
        "lines": 5,
        "kept": 1,
        "surfaced": 1,
        "injected": 0,
    }
    assert "secret" not in str(span)


def test_how_runs_end(talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer) -> None:
    begin(shell, host)
    for end in ({"code": 0}, {"signal": "SIGSEGV"}, {"error": "cannot"}):
        shell.starts()
        shell.ends(**end)
        tower.say(type="emitter.start", **of(talk))
    tower.say(type="emitter.stop", **of(talk))
    shell.ends(signal="SIGTERM")
    tower.say(type="emitter.start", **of(talk))
    shell.lost()
    shell.write("/repo")
    ended = [(one.get("status", "ok"), one.get("code")) for one in spans(talk, "emitter")]
    assert ended == [
        ("ok", None),
        ("error", "SIGSEGV"),
        ("error", "NOT_STARTED"),
        ("cancelled", "SIGTERM"),
        ("error", "LOST"),
    ]


def test_what_is_sent_is_a_child_of_its_run_and_the_turn_is_of_its_trace(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host)
    shell.starts()
    shell.says("it failed", outcome="inject")
    host.event("s1", "user.message", content="it failed")
    host.event("s1", "assistant.turn_start")
    host.event("s1", "session.idle")
    shell.ends()
    (run,), (dispatch,), (turn,) = (spans(talk, one) for one in ("emitter", "dispatch", "turn"))
    assert (dispatch["traceId"], dispatch["parentId"]) == (run["traceId"], run["spanId"])
    assert (dispatch["emitter"], "provider" in dispatch) == ("watch", False)
    assert turn["traceId"] == run["traceId"]


def test_a_prompts_run_is_a_span_until_the_session_has_it(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, kind="oneTime", prompt="Look.")
    talk.wait(0.25)
    host.event("s1", "assistant.turn_start")
    (run,), (dispatch,) = spans(talk, "emitter"), spans(talk, "dispatch")
    assert (run["duration"], "lines" in run) == (250.0, False)
    assert dispatch["parentId"] == run["spanId"]


def test_without_traces_there_are_no_spans() -> None:
    talk = Conversation(Settings(records=Records(traces=False)))
    talk.runner.begin()
    host = talk.host()
    begin(talk.runner, host)
    talk.runner.starts()
    talk.runner.ends()
    assert talk.events("span.ended") == []
