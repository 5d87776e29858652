"""Emitters of a folder's file: what starts, what becomes of lines and ends, what is ordered."""

import pytest

from tapui.core.effects import CheckEmitter
from tapui.wire import limits
from tapui.wire.emitters import EmitterCounts
from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell, entry, lines, of


def test_what_is_allowed_starts_with_the_first_session(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.write("/repo", entry(), allows=True)
    assert not shell.started
    host.open("s1", cwd="/repo")
    assert shell.shown().state == "queued"
    shell.starts()
    shown = shell.shown()
    assert (shown.state, shown.session_id, shown.runs) == ("running", "s1", 1)
    assert shown.stream == "watch@tap"
    assert lines(talk) == [("keep", "started with command=./watch")]


def test_exactly_the_plan_that_was_allowed_is_started(shell: EmitterShell, host: Peer) -> None:
    one = entry(shell="zsh", env=(("A", "1"),), cwd="/repo/sub", include_stderr=False)
    shell.opens(host, one)
    (start,) = shell.started
    assert start.plan == one.plan


def test_nothing_is_asked_of_a_shell_that_runs_no_emitters(talk: Conversation, host: Peer) -> None:
    talk.runner.files["/repo"] = (entry(),)
    host.open("s1", cwd="/repo")
    assert talk.runner.checks == 0
    talk.runner.begin()
    assert talk.runner.shown().state == "asking"


def test_what_does_not_start_by_itself_is_shown_and_started_by_the_person(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(auto_start=False))
    assert (shell.shown().state, shell.started) == ("configured", [])
    tower.say(type="emitter.start", **of(talk))
    shell.starts()
    assert shell.shown().state == "running"
    assert tower.error(type="emitter.start", **of(talk))["message"] == (
        "emitter 'watch' is active already"
    )


def test_lines_are_stored_shown_and_counted(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry(stream="ops"))
    shell.starts()
    host.hear()
    shell.says("one")
    shell.says("two", outcome="surface", source="stderr")
    assert lines(talk, "ops@tap")[1:] == [("keep", "one"), ("surface", "two")]
    posted = talk.events("stream.posted")[-1]
    metadata = posted["line"]["metadata"]
    assert metadata == {"emitter": "watch", "source": "stderr", "run": 1, "traceId": f"{1:032x}"}
    assert host.hear_one("session.log")["message"] == "ops@tap: two"
    shell.ends(counts=EmitterCounts(lines=5, dropped=3))
    counts = shell.shown().counts
    assert (counts.lines, counts.dropped, counts.kept, counts.surfaced) == (5, 3, 1, 1)


@pytest.mark.parametrize(
    ("end", "state", "status", "said"),
    [
        ({"code": 0}, "exited", "success", ("keep", "exited with code 0")),
        ({"code": 3}, "exited", "failure", ("surface", "exited with code 3")),
        ({"signal": "SIGSEGV"}, "exited", "failure", ("surface", "exited by SIGSEGV")),
        ({"error": "no such folder"}, "error", "failure", ("surface", "failed: no such folder")),
    ],
)
def test_a_command_that_ends_is_not_started_again(
    talk: Conversation,
    shell: EmitterShell,
    host: Peer,
    end: Json,
    state: str,
    status: str,
    said: tuple[str, str],
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.ends(**end)
    shown = shell.shown()
    assert (shown.state, shown.last_status) == (state, status)
    assert (shown.exit_code, shown.signal) == (end.get("code"), end.get("signal"))
    assert lines(talk)[-1] == said
    talk.wait(limits.MAX_CALL_TIMEOUT)
    assert shell.runs() == 1


def test_a_failure_is_shown_with_the_last_words(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.ends(code=1, last_words=("npm ERR!", "missing script: watch"))
    assert shell.shown().error == "exit code 1: missing script: watch"
    assert lines(talk)[-1] == ("surface", "exited with code 1"), "its filter may drop that line"


def test_what_is_lost_while_it_stops_was_stopped(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    tower.say(type="emitter.stop", **of(talk))
    shell.lost()
    shown = shell.shown()
    assert (shown.state, shown.last_status, shown.error) == ("stopped", "stopped", None)


def test_what_has_ended_can_be_started_again_and_its_stream_goes_on(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.says("before")
    shell.ends(code=1)
    tower.say(type="emitter.start", **of(talk))
    shell.starts()
    shell.says("after")
    talk.wait(limits.COUNTED_INTERVAL)
    assert [text for _, text in lines(talk)] == [
        "started with command=./watch",
        "before",
        "exited with code 1",
        "started with command=./watch",
        "after",
    ]
    assert shell.shown().counts.kept == 2
    assert shell.shown().error is None


def test_stopping_ends_the_run_and_keeps_its_last_words(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    run = shell.starts()
    tower.say(type="emitter.stop", **of(talk))
    assert (shell.stopping, shell.shown().state) == ([run], "stopping")
    tower.say(type="emitter.stop", **of(talk))
    assert shell.stopping == [run]
    shell.says("my last words")
    shell.ends(signal="SIGTERM")
    shown = shell.shown()
    assert (shown.state, shown.last_status, shown.error) == ("stopped", "stopped", None)
    assert lines(talk)[-2:] == [("keep", "my last words"), ("keep", "stopped")]


def test_what_was_stopped_before_its_process_was_there_is_stopped(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    tower.say(type="emitter.stop", **of(talk))
    shell.starts()
    assert shell.shown().state == "stopping"
    shell.ends(signal="SIGTERM")
    assert shell.shown().state == "stopped"


def test_what_was_stopped_while_it_was_checked_never_starts(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry(), allows=True)
    shell.holds = (CheckEmitter,)
    host.open("s1", cwd="/repo")
    assert shell.shown().state == "queued"
    tower.say(type="emitter.stop", **of(talk))
    shell.answer()
    assert (shell.shown().state, shell.started) == ("stopped", [])


def test_a_pause_ends_what_runs_all_the_time_and_resuming_starts_it(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    run = shell.starts()
    tower.say(type="emitter.pause", **of(talk))
    assert shell.stopping == [run]
    shell.ends(signal="SIGTERM")
    assert shell.shown().state == "paused"
    tower.say(type="emitter.resume", **of(talk))
    shell.starts()
    assert shell.shown().state == "running"
    assert tower.error(type="emitter.resume", **of(talk))["code"] == "INVALID_JSON"


def test_what_is_not_there_is_not_found(talk: Conversation, tower: Peer) -> None:
    for what in ("start", "stop", "pause", "resume", "run"):
        assert tower.error(type=f"emitter.{what}", emitterId="e-9")["code"] == "NOT_FOUND"


def test_a_file_that_changed_is_taken_entry_by_entry(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry("a"), entry("b"), entry("c"))
    for name in "abc":
        shell.starts(name)
    ids = {name: shell.shown(name).id for name in "abc"}
    shell.write("/repo", entry("a"), entry("c", command="other"), entry("d"), allows=True)
    assert shell.shown("a").id == ids["a"]
    assert shell.runs("a") == 1
    assert not shell.is_there("b")
    assert shell.shown("c").state == "stopping"
    assert len(shell.stopping) == 2
    shell.ends("c", signal="SIGTERM")
    assert shell.started[-1].plan.command == "other"
    shell.starts("d")
    gone = talk.events("emitter.gone")
    assert [(one["name"], one["emitterId"]) for one in gone] == [("b", ids["b"])]


def test_a_file_that_cannot_be_read_changes_nothing(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.is_readable = False
    shell.write("/repo")
    assert shell.shown().state == "running"
    assert shell.stopping == []


def test_of_a_run_that_is_forgotten_nothing_is_heard(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.write("/repo")
    talk.forget()
    shell.says("late")
    shell.counts(lines=3)
    shell.ends(code=1)
    assert talk.events() == []


def test_there_are_at_most_so_many(
    talk: Conversation,
    shell: EmitterShell,
    host: Peer,
    tower: Peer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MAX_EMITTERS", 3)
    shell.write("/a", entry("a"), entry("b"), allows=True)
    shell.write("/b", entry("c"), entry("d"), entry("e"), allows=True)
    host.open("s1", cwd="/a")
    host.open("s2", cwd="/b")
    assert [one.plan.name for one in shell.started] == ["a", "b", "c"]
    (notice,) = tower.hear_of("tower.notice")
    assert notice["message"] == "2 emitters of /b are left out: a gateway has at most 3"


def test_a_folder_leaves_room_to_others(
    shell: EmitterShell, host: Peer, tower: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_EMITTERS", 4)
    monkeypatch.setattr(limits, "MAX_FOLDER_EMITTERS", 2)
    shell.write("/a", entry("a"), entry("b"), entry("c"), entry("d"), allows=True)
    shell.write("/b", entry("e"), allows=True)
    host.open("s1", cwd="/a")
    host.open("s2", cwd="/b")
    assert [one.plan.name for one in shell.started] == ["a", "b", "e"]
    (notice,) = tower.hear_of("tower.notice")
    assert notice["message"] == "2 emitters of /a are left out: one folder has at most 2"
    shell.write("/a", entry("b"), entry("c"), entry("d"), allows=True)
    assert [one.plan.name for one in shell.started] == ["a", "b", "e", "c"]
    assert len(tower.hear_of("tower.notice")) == 1


def test_providers_of_a_folder_count_in_each_session(
    shell: EmitterShell, host: Peer, tower: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_FOLDER_EMITTERS", 3)
    shell.write("/a", entry("a"), entry("p", kind="provider"), allows=True)
    for number in range(3):
        host.open(f"s{number}", cwd="/a")
    assert sorted(one.plan.name for one in shell.started) == ["a", "p", "p"]
    (notice,) = tower.hear_of("tower.notice")
    assert notice["message"] == "1 emitters of /a are left out: one folder has at most 3"


def test_a_stream_too_many_is_told_and_costs_only_its_emitter(
    shell: EmitterShell, host: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_EMITTER_STREAMS", 2)
    shell.opens(host, entry("a"), entry("b"), entry("c"))
    assert shell.shown("c").state == "error"
    assert shell.shown("c").error == "tapui itself may have at most 2 streams"
    assert shell.shown("b").state == "queued"


def test_counts_are_told_now_and_then_while_lines_come(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    talk.forget()
    for _ in range(10):
        talk.wait(0.5)
        shell.says("line")
    told = talk.events("emitter.counted", "emitter.changed")
    assert {one["kind"] for one in told} == {"emitter.counted"}
    assert 2 <= len(told) <= 3
    assert shell.shown().counts.kept == told[-1]["counts"]["kept"]


def test_a_flood_of_surfaced_lines_is_stored_and_not_all_shown(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    host.hear()
    shell.says(*(f"line {number}" for number in range(30)), outcome="surface")
    shown = host.hear_of("session.log")
    assert len(shown) == limits.SURFACED_PER_SECOND
    assert len(lines(talk)) == 31
    talk.wait(2)
    shell.says("later", outcome="surface")
    assert [one["message"] for one in host.hear_of("session.log")] == [
        "watch@tap: 20 lines were too many to be shown here",
        "watch@tap: later",
    ]


def test_a_snapshot_has_the_emitters_and_a_detail_all_of_one(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    long = "echo " + "x" * 10_000
    shell.opens(host, entry(command=long, description="what it does"))
    tower = talk.tower()
    (shown,) = tower.ack["state"]["emitters"]
    assert shown["isCut"]
    assert len(shown["command"]) < 3_000
    tower.say(type="detail.read", id="d", of="emitter", subject=shown["id"])
    assert tower.hear_one("detail")["emitter"]["command"] == long
    missing = tower.error(type="detail.read", id="d", of="emitter", subject="e-99")
    assert missing["code"] == "NOT_FOUND"
