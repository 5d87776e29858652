"""Each run of an emitter is a span; what it sends into the session is a child of it."""

from hashlib import sha256

import pytest

from tapui.settings.settings import Records, Settings
from tapui.wire import limits
from tapui.wire.emitters import EmitterCounts
from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell, entry, of


def spans(talk: Conversation, name: str) -> list[Json]:
    return [one["span"] for one in talk.events("span.ended") if one["span"]["name"] == name]


def test_a_run_is_a_span_with_its_counts_and_nothing_that_it_said(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
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
        "held": 0,
        "emitterId": f"{sha256(b'/repo').hexdigest()[:12]}/watch",
        "error": "EXIT_3",
    }
    assert "secret" not in str(span)


def test_how_runs_end(talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer) -> None:
    shell.opens(host, entry())
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
    shell.opens(host, entry())
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
    shell.opens(host, entry(kind="oneTime", prompt="Look."))
    talk.wait(0.25)
    host.event("s1", "assistant.turn_start")
    (run,), (dispatch,) = spans(talk, "emitter"), spans(talk, "dispatch")
    assert (run["duration"], "lines" in run) == (250.0, False)
    assert dispatch["parentId"] == run["spanId"]


def test_without_traces_there_are_no_spans() -> None:
    talk = Conversation(Settings(records=Records(traces=False)))
    talk.runner.begin()
    host = talk.host()
    talk.runner.opens(host, entry())
    talk.runner.starts()
    talk.runner.ends()
    assert talk.events("span.ended") == []


# Lines


def metadata(talk: Conversation) -> list[Json]:
    """Return the metadata of each line with the line's number and text."""
    found = []
    for event in talk.events("stream.posted"):
        line = event["line"]
        found.append({"seq": line["seq"], "event": line["event"], **line["metadata"]})
    return found


def test_lines_say_which_run_they_are_from(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
    for number in (1, 2):
        shell.starts()
        shell.says(f"line {number}", source="stderr")
        shell.ends(code=number - 1)
        talk.wait(60)
    first, second = spans(talk, "emitter")
    found = metadata(talk)
    assert [one["run"] for one in found] == [1, 1, 2, 2]
    assert [(one["event"], one["run"]) for one in found[1:]] == [
        ("line 1", 1),
        ("line 2", 2),
        ("run failed: exit code 1", 2),
    ]
    assert {one["traceId"] for one in found if one["run"] == 1} == {first["traceId"]}
    assert {one["traceId"] for one in found if one["run"] == 2} == {second["traceId"]}
    assert (found[1]["source"], found[3]["source"]) == ("stderr", "system")


def test_a_line_that_is_of_no_run_names_none(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
    shell.starts()
    shell.ends()
    shell.faults["watch"] = "its folder is gone"
    talk.wait(60)
    last = metadata(talk)[-1]
    assert last["event"] == "cannot run: its folder is gone"
    assert not last.keys() & {"run", "traceId"}


def test_a_batch_of_lines_is_one_span(talk: Conversation, shell: EmitterShell, host: Peer) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.says("one", "two")
    talk.wait(0.25)
    shell.says("three", outcome="surface")
    shell.counts(lines=5, dropped=2)
    shell.counts(lines=6, dropped=3)  # nothing was let through
    shell.says("four", outcome="inject")
    shell.ends(counts=EmitterCounts(lines=8, dropped=4))
    first, second = spans(talk, "route")
    (run,) = spans(talk, "emitter")
    assert (first["traceId"], first["parentId"]) == (run["traceId"], run["spanId"])
    posted = {one["event"]: one["seq"] for one in metadata(talk)}
    assert (first["fromSeq"], first["toSeq"]) == (posted["one"], posted["three"])
    assert (second["fromSeq"], second["toSeq"]) == (posted["four"], posted["four"])
    assert [(one["lines"], one["kept"], one["surfaced"], one["injected"], one["held"])
            for one in (first, second)] == [(5, 2, 1, 0, 0), (3, 0, 0, 1, 0)]  # fmt: skip
    assert (first["duration"], first["stream"], first["run"]) == (250.0, "watch@tap", 1)
    assert first["emitterId"] == second["emitterId"] == run["emitterId"]
    assert run["lines"] == first["lines"] + second["lines"]


def test_batches_beyond_the_bound_join_the_next(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    for number in range(1, limits.MAX_ROUTE_SPANS + 11):
        shell.says("x")
        shell.counts(lines=number)
    assert len(spans(talk, "route")) == limits.MAX_ROUTE_SPANS
    talk.wait(1)
    shell.says("y")
    shell.counts(lines=limits.MAX_ROUTE_SPANS + 11)
    *_, before, last = spans(talk, "route")
    assert last["fromSeq"] == before["toSeq"] + 1
    assert (last["toSeq"] - last["fromSeq"] + 1, last["lines"], last["kept"]) == (11, 11, 11)


def test_many_lines_leave_room_for_other_spans(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    for number in range(1, limits.MAX_SPANS + 1):
        shell.says("x")
        shell.counts(lines=number)
    host.event("s1", "tool.execution_start", toolCallId="t1", tool="bash")
    host.event("s1", "tool.execution_complete", toolCallId="t1", tool="bash")
    assert len(spans(talk, "tool")) == 1


# Errors


@pytest.mark.parametrize(
    ("last_error", "error"),
    [
        ("", "EXIT_1"),
        ("no such file", "EXIT_1: no such file"),
        ("a b " * 100, "EXIT_1: " + "a b " * 50),
        ("x " * 95 + "ghp_" + "0" * 40, "EXIT_1: " + "x " * 95),
    ],
    ids=["none", "short", "long", "a secret at the cut"],
)
def test_a_run_that_failed_tells_its_code_and_its_last_error(
    talk: Conversation, shell: EmitterShell, host: Peer, last_error: str, error: str
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.ends(code=1, last_error=last_error)
    assert spans(talk, "emitter")[0]["error"] == error


def test_a_run_that_went_well_tells_no_error(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.ends(code=0, last_error="a warning")
    assert "error" not in spans(talk, "emitter")[0]
