"""Schedules: intervals count from the end of a run, with a clock that the test turns."""

from typing import Any

import pytest

from tapui.wire import limits
from tests.core.emitters.test_consent import asked, decide
from tests.core.harness import Conversation, Peer
from tests.core.runner import EmitterShell, entry, lines, of

DAY = 24 * 3600.0


def timed(seconds: int, **plan: Any) -> Any:
    return entry(kind="timed", every=seconds, **plan)


def prompt(kind: str, **plan: Any) -> Any:
    return entry(kind=kind, prompt="Look again.", **plan)


def sent(host: Peer) -> list[str]:
    """Return the prompts that were sent into sessions since the last time."""
    return [one["prompt"] for one in host.hear_of("session.send")]


def turn(host: Peer, session: str = "s1") -> None:
    """Let a turn of a session begin and end."""
    host.event(session, "assistant.turn_start")
    host.event(session, "session.idle")


# Commands


def test_the_next_run_begins_an_interval_after_the_end_of_the_last(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, timed(60))
    shell.starts()
    talk.wait(500)
    assert shell.runs() == 1, "a run never overlaps itself"
    shell.ends()
    shown = shell.shown()
    assert (shown.state, shown.next_run_at) == ("waiting", talk.ids.timestamp(talk.now + 60))
    talk.wait(59)
    assert shell.runs() == 1
    talk.wait(1)
    assert shell.runs() == 2
    assert shell.shown().next_run_at is None
    assert shell.checks == 2, "consent is looked at before each run"


def test_what_a_schedule_says_once_is_said_once(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, timed(300))
    for _ in range(3):
        shell.starts()
        shell.ends()
        talk.wait(300)
    assert lines(talk) == [("keep", "queued (every 5m) with command=./watch")]


@pytest.mark.parametrize("end", [{"code": 0}, {"code": 1}, {"signal": "SIGKILL"}])
def test_every_run_counts_to_the_most_runs(
    talk: Conversation, shell: EmitterShell, host: Peer, end: dict[str, Any]
) -> None:
    shell.opens(host, timed(1, max_runs=3))
    for _ in range(3):
        shell.starts()
        shell.ends(**end)
        talk.wait(limits.FAILURE_PAUSE)
    assert (shell.runs(), shell.shown().state, shell.shown().runs) == (3, "completed", 3)
    assert lines(talk)[-1] == ("keep", "completed 3 of 3 runs")
    talk.wait(DAY)
    assert shell.runs() == 3


def test_failures_in_a_row_make_the_pauses_longer_until_a_run_succeeds(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, timed(60))
    pauses = []
    for code in (1, 1, 1, 1, 1, 0, 1):
        shell.starts()
        shell.ends(code=code)
        before, count = talk.now, shell.runs()
        while shell.runs() == count:
            talk.wait(1)
        pauses.append(talk.now - before)
    assert pauses == [60, 120, 240, 300, 300, 60, 60]
    failed = [one for one in lines(talk) if one[1] == "run failed: exit code 1"]
    assert [level for level, _ in failed] == ["surface", "keep", "keep", "keep", "keep", "surface"]


def test_an_interval_that_is_longer_than_the_longest_pause_stays_as_it_is(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, timed(3600))
    for _ in range(3):
        shell.starts()
        shell.ends(code=1)
        talk.wait(3599)
        count = shell.runs()
        talk.wait(1)
        assert shell.runs() == count + 1


@pytest.mark.parametrize("days", [25, 60, 366])
def test_long_intervals_are_as_long_as_they_are(
    talk: Conversation, shell: EmitterShell, host: Peer, days: int
) -> None:
    talk.ids.timestamp = lambda now: f"{now:.0f}"  # type: ignore[method-assign]
    shell.opens(host, timed(days * 86400))
    shell.starts()
    shell.ends()
    talk.wait(days * DAY - 1)
    assert shell.runs() == 1
    talk.wait(1)
    assert shell.runs() == 2


def test_a_clock_that_jumps_ahead_leads_to_one_run(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, timed(60))
    shell.starts()
    shell.ends()
    talk.now += 10 * 3600
    talk.tell(talk.gateway.tick)
    talk.turn()
    assert shell.runs() == 2


def test_a_command_that_runs_once_is_complete_or_has_failed(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry("a", kind="oneTime"), entry("b", kind="oneTime"))
    shell.starts("a")
    shell.starts("b")
    shell.ends("a")
    shell.ends("b", code=2)
    assert (shell.shown("a").state, shell.shown("b").state) == ("completed", "error")
    assert shell.shown("b").error == "exit code 2"
    talk.wait(DAY)
    assert len(shell.started) == 2


def test_what_was_lost_with_the_runner_runs_again_after_a_pause_that_grows(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry("a"), timed(60, name="b"))
    shell.starts("a")
    shell.starts("b")
    shell.says("kept", name="a")
    shell.lost()
    shown = shell.shown("a")
    assert (shown.state, shown.last_status, shown.why) == ("waiting", "lost", "the runner ended")
    assert shown.counts.kept == shown.counts.lines == 1
    talk.wait(limits.LOST_PAUSE)
    assert (shell.runs("a"), shell.runs("b")) == (2, 1)
    shell.starts("a")
    shell.lost()
    talk.wait(limits.LOST_PAUSE * 2 - 1)
    assert shell.runs("a") == 2
    talk.wait(1)
    assert shell.runs("a") == 3
    talk.wait(60)
    assert shell.runs("b") == 2


def test_a_pause_lets_a_run_go_on_to_its_end(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, timed(60))
    shell.starts()
    tower.say(type="emitter.pause", **of(talk))
    assert (shell.shown().state, shell.shown().why) == ("running", "it pauses after this run")
    shell.ends()
    assert shell.shown().state == "paused"
    talk.wait(3600)
    assert shell.runs() == 1
    tower.say(type="emitter.resume", **of(talk))
    assert shell.runs() == 2


def test_a_pause_of_what_waits_takes_its_next_run_away(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, timed(60))
    shell.starts()
    shell.ends()
    tower.say(type="emitter.pause", **of(talk))
    assert (shell.shown().state, shell.shown().next_run_at) == ("paused", None)
    talk.wait(3600)
    tower.say(type="emitter.run", **of(talk))
    shell.starts()
    shell.ends()
    assert shell.shown().state == "waiting"


def test_a_run_can_be_had_now_and_only_one(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, timed(60))
    shell.starts()
    assert tower.error(type="emitter.run", **of(talk))["message"] == "emitter 'watch' is running"
    shell.ends()
    tower.say(type="emitter.run", **of(talk))
    shell.starts()
    talk.wait(60)
    assert shell.runs() == 2, "the run that was due is the one under way"
    shell.ends()
    talk.wait(60)
    assert shell.runs() == 3


def test_what_cannot_run_for_a_while_is_tried_again(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, timed(60))
    shell.starts()
    shell.ends()
    shell.faults["watch"] = "its folder is not there"
    talk.wait(60)
    assert (shell.shown().state, shell.shown().why) == ("waiting", "its folder is not there")
    assert lines(talk)[-1] == ("surface", "cannot run: its folder is not there")
    shell.faults.clear()
    talk.wait(60)
    assert shell.runs() == 2


# Prompts


def test_a_prompt_is_sent_once(talk: Conversation, shell: EmitterShell, host: Peer) -> None:
    shell.write("/repo", prompt("oneTime"), allows=True)
    host.say(type="session.open", session={"id": "s1", "label": "", "cwd": "/repo"})
    (message,) = host.hear_of("session.send")
    assert (message["prompt"], message["from"]) == (
        "Look again.",
        {"provider": "tap", "stream": "watch"},
    )
    assert shell.shown().state == "running"
    turn(host)
    assert shell.shown().state == "completed"
    talk.wait(DAY)
    assert sent(host) == []


def test_a_prompt_that_runs_once_waits_for_a_session_that_is_busy(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, prompt("oneTime", auto_start=False))
    host.event("s1", "assistant.turn_start")
    tower.say(type="emitter.start", **of(talk))
    assert (sent(host), shell.shown().state) == ([], "queued")
    host.event("s1", "session.idle")
    assert sent(host) == ["Look again."]


def test_a_prompt_on_a_schedule_is_left_out_while_the_session_is_busy(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.write("/repo", prompt("timed", every=60), allows=True)
    host.say(type="session.open", session={"id": "s1", "label": "", "cwd": "/repo"})
    assert sent(host) == ["Look again."]
    host.event("s1", "assistant.turn_start")
    talk.wait(60)
    assert sent(host) == []
    assert lines(talk)[-1] == ("keep", "deferred: the session is busy; next in 1m")
    host.event("s1", "session.idle")
    talk.wait(59)
    assert sent(host) == []
    talk.wait(1)
    assert sent(host) == ["Look again."]
    assert shell.shown().runs == 2


def test_a_prompt_that_waits_for_the_idle_is_sent_a_moment_after_each(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.write("/repo", prompt("idle", max_runs=2), allows=True)
    host.say(type="session.open", session={"id": "s1", "label": "", "cwd": "/repo"})
    assert sent(host) == ["Look again."]
    turn(host)
    talk.wait(limits.IDLE_PAUSE - 0.1)
    assert sent(host) == []
    talk.wait(0.1)
    assert sent(host) == ["Look again."]
    turn(host)
    assert shell.shown().state == "completed"
    talk.wait(3600)
    assert sent(host) == []


def test_a_prompt_that_waits_for_the_idle_gives_way_to_the_person(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.write("/repo", prompt("idle"), allows=True)
    host.say(type="session.open", session={"id": "s1", "label": "", "cwd": "/repo"})
    turn(host)
    host.hear()
    host.event("s1", "assistant.turn_start")
    talk.wait(60)
    assert sent(host) == []
    assert shell.shown().why == "the session is busy"
    host.event("s1", "session.idle")
    talk.wait(limits.IDLE_PAUSE)
    assert sent(host) == ["Look again."]


@pytest.mark.parametrize("end", ["close", "replace"])
def test_a_prompt_that_waits_for_the_idle_finds_the_next_session_idle(
    talk: Conversation, shell: EmitterShell, host: Peer, end: str
) -> None:
    host.open("s1", cwd="/repo")
    host.event("s1", "assistant.turn_start")
    shell.write("/repo", prompt("idle"), allows=True)
    if end == "close":
        host.open("s2", cwd="/repo")
        host.say(type="session.close", sessionId="s1")
    else:
        host.open("s2", cwd="/repo", replaces="s1")
    host.hear()
    talk.wait(limits.IDLE_PAUSE)
    (message,) = host.hear_of("session.send")
    assert message["sessionId"] == "s2"


def test_a_prompt_that_led_to_no_turn_does_not_keep_the_next_one_back(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    host.open("s1", cwd="/repo")
    provider = talk.provider("s1")
    provider.push("of a provider", "inject")
    shell.write("/repo", prompt("idle"), allows=True)
    assert sent(host) == ["of a provider"]
    talk.wait(limits.TURN_TIMEOUT + limits.IDLE_PAUSE)
    assert sent(host) == ["Look again."]


def test_a_prompt_without_an_end_is_held_by_the_brake(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.write("/repo", prompt("idle"), allows=True)
    host.say(type="session.open", session={"id": "s1", "label": "", "cwd": "/repo"})
    count = 0
    for _ in range(limits.MAX_INJECT_CYCLES + 2):
        count += len(sent(host))
        turn(host)
        talk.wait(limits.IDLE_PAUSE)
    assert count == limits.MAX_INJECT_CYCLES
    assert shell.shown().braked
    host.event("s1", "user.message")
    assert sent(host) == ["Look again."]
    assert not shell.shown().braked


def test_a_prompt_that_the_host_cannot_send_has_failed(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, prompt("oneTime"))
    host.say(type="session.sent", sessionId="s1", ok=False, error="no")
    shown = shell.shown()
    assert (shown.state, shown.error) == ("error", "the session's host could not send the prompt")


def test_a_prompt_that_waits_is_not_sent_once_it_is_stopped(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, prompt("oneTime", auto_start=False))
    host.event("s1", "assistant.turn_start")
    tower.say(type="emitter.start", **of(talk))
    tower.say(type="emitter.stop", **of(talk))
    assert shell.shown().state == "stopped"
    host.event("s1", "session.idle")
    assert sent(host) == []


# Times of the calendar: the conversation begins at midnight, in UTC


def at(talk: Conversation, shell: EmitterShell) -> tuple[str, str]:
    """Return the state of the emitter, and the hour of its next run."""
    shown = shell.shown()
    return shown.state, (shown.next_run_at or "")[11:16]


def cron(expression: str, **plan: Any) -> Any:
    return entry(kind="timed", cron=expression, **plan)


def begin_at_midnight(talk: Conversation) -> None:
    talk.wait(-talk.now % DAY)


def test_a_cron_expression_waits_for_its_time_and_then_for_the_next(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin_at_midnight(talk)
    shell.opens(host, cron("*/15 9-17 * * *"))
    assert (shell.runs(), at(talk, shell)) == (0, ("waiting", "09:00"))
    assert shell.shown().cron == "*/15 9-17 * * *"
    talk.wait(9 * 3600 - 1)
    assert shell.runs() == 0
    talk.wait(1)
    shell.starts()
    talk.wait(20 * 60)
    assert shell.runs() == 1, "a time that comes during a run is left out"
    shell.ends(code=1)
    assert at(talk, shell) == ("waiting", "09:30")
    talk.wait(10 * 60)
    assert shell.runs() == 2, "a failure changes no time"
    assert lines(talk)[0][1].startswith("queued (every 15th minute from 09:00 through 17:59 (cron")


def test_it_is_asked_about_at_once_and_runs_at_its_time(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    begin_at_midnight(talk)
    shell.write("/repo", cron("0 9 * * *"))
    host.open("s1", cwd="/repo")
    decide(tower, asked(talk))
    assert (shell.runs(), at(talk, shell)) == (0, ("waiting", "09:00"))
    talk.wait(9 * 3600)
    assert shell.runs() == 1


def test_it_can_be_run_now_and_goes_on_with_its_times(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    begin_at_midnight(talk)
    shell.opens(host, cron("0 9 * * *", auto_start=False))
    tower.say(type="emitter.run", **of(talk))
    shell.starts()
    shell.ends()
    assert (shell.runs(), at(talk, shell)) == (1, ("waiting", "09:00"))
    tower.say(type="emitter.run", **of(talk))
    assert shell.runs() == 2
    shell.starts()
    shell.ends()
    tower.say(type="emitter.pause", **of(talk))
    tower.say(type="emitter.resume", **of(talk))
    assert (shell.runs(), at(talk, shell)) == (2, ("waiting", "09:00")), "not run by going on"


def test_a_calendar_that_is_set_moves_the_run(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin_at_midnight(talk)
    shell.opens(host, cron("0 9 * * *"))
    talk.ids.set_back = -9 * 3600.0  # the machine slept
    talk.wait(limits.CRON_LOOK)
    assert shell.runs() == 1
    shell.starts()
    shell.ends()
    assert at(talk, shell) == ("waiting", "09:00")
    talk.ids.set_back = 3600.0
    changes = len(talk.events("emitter.changed"))
    talk.wait(9 * 3600)
    assert shell.runs() == 1, "it is 8 o'clock again"
    assert len(talk.events("emitter.changed")) <= changes + 1, "to look is no event"
    talk.wait(3600)
    assert shell.runs() == 2


def test_a_prompt_whose_time_comes_while_the_session_is_busy_is_left_out(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin_at_midnight(talk)
    shell.opens(host, cron("0 * * * *", prompt="Look again."))
    host.event("s1", "assistant.turn_start")
    talk.wait(3600)
    assert (sent(host), at(talk, shell)) == ([], ("waiting", "02:00"))
    assert lines(talk)[-1] == ("keep", "deferred: the session is busy; next by cron 0 * * * *")
    host.event("s1", "session.idle")
    talk.wait(3599)
    assert sent(host) == []
    talk.wait(1)
    assert sent(host) == ["Look again."]


def test_one_that_never_comes_is_an_error(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, cron("0 0 30 2 *"))
    assert shell.shown().state == "error"
    assert shell.shown().why == "the time of its cron expression never comes: 0 0 30 2 *"
