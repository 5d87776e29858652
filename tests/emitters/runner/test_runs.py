"""Runs with real processes: what they put out, how they end, and that nothing is left of them."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tapui.core.runs.reports import RunCounted, RunFiltered, RunLines, RunStarted
from tapui.emitters.runner.line_reader import LINE_BYTES
from tapui.emitters.runner.line_sender import RUN_BURST, RUN_RATE
from tapui.wire.provider import FilterRule
from tests.emitters.runner.runs import Rig, until_dead
from tests.rig.processes import has_ended
from tests.rig.waiting import until_async


async def test_lines_of_both_outputs_come_with_what_the_rules_make_of_them(rig: Rig) -> None:
    ended = await rig.run(
        "echo Starting; echo up; echo 2 warnings; echo; echo oops >&2",
        ("starting", "drop"),
        ("WARN", "inject"),
        ("oops", "surface"),
    )
    lines = {line.text: (line.outcome, line.source, line.rule) for line in rig.told.lines("r")}
    assert lines == {
        "up": ("keep", "stdout", None),
        "2 warnings": ("inject", "stdout", 1),
        "oops": ("surface", "stderr", 2),
    }
    counts = ended.counts
    assert (counts.lines, counts.dropped, counts.kept) == (4, 1, 1)
    assert (counts.surfaced, counts.injected) == (1, 1)
    assert (ended.code, ended.signal, ended.error) == (0, None, None)
    assert sorted(ended.last_words) == sorted(["Starting", "up", "2 warnings", "oops"])


async def test_stderr_that_is_not_included_is_last_words_alone(rig: Rig) -> None:
    ended = await rig.run("echo out; echo why >&2; exit 3", include_stderr=False)
    assert rig.told.texts("r") == ["out"]
    assert ended.code == 3
    assert ended.counts.lines == 1
    assert sorted(ended.last_words) == ["out", "why"]
    assert ended.last_error == "why"


async def test_the_last_line_on_stderr_is_known(rig: Rig) -> None:
    for command, error in (
        ("echo one >&2; echo two >&2; echo out", "two"),
        ("echo out", ""),
        ("printf half >&2", "half"),
    ):
        rig.told.events.clear()
        assert (await rig.run(command)).last_error == error


async def test_command_is_run_by_a_login_bash_in_its_folder_with_its_environment(
    rig: Rig, tmp_path: Path
) -> None:
    await rig.run(
        'shopt -q login_shell && echo "login $BASH_VERSION"; pwd; env; ps -o pgid=,sid= -p $$',
        shell=None,
        HOME=str(tmp_path),
        MINE="1",
    )
    texts = rig.told.texts("r")
    assert texts[0].startswith("login")
    assert str(tmp_path) in texts
    assert "MINE=1" in texts
    pid = rig.told.of("r", RunStarted)[0].pid
    assert texts[-1].split() == [str(pid), str(pid)]
    own = [text for text in texts if text.startswith(("TAPUI_", "TAP_P", "PYTHONP"))]
    assert own == ["TAPUI_INSIDE=1"]


async def test_a_program_gets_its_arguments_and_no_shell(rig: Rig) -> None:
    (rig.folder / "say").write_text('#!/bin/sh\nprintf "%s\\n" "$@" "$WIKI"\n')
    (rig.folder / "say").chmod(0o755)
    await rig.run("./say", args=["a b", "$HOME", ""], WIKI="x")
    assert rig.told.texts("r") == ["a b", "$HOME", "x"]
    rig.start("no-such-program", "n", args=[])
    ended = await rig.told.ended("n")
    assert ended.error == "there is no program no-such-program"


async def test_input_is_closed(rig: Rig) -> None:
    assert (await rig.run("cat; read line || echo none")).code == 0
    assert rig.told.texts("r") == ["none"]


async def test_what_cannot_be_started_says_why(rig: Rig) -> None:
    (rig.folder / "data").touch(0o600)
    for options, error in (
        ({"cwd": "/nowhere/at/all"}, "the folder /nowhere/at/all is not there"),
        ({"cwd": "/etc/hostname"}, "the folder /etc/hostname is not a folder"),
        ({"cwd": "a\0b"}, "the folder a\0b is not there"),
        ({"shell": "no-such-shell"}, "there is no shell no-such-shell"),
        ({"shell": "./data"}, "the shell ./data may not be run"),
    ):
        rig.told.events.clear()
        ended = await rig.run("echo never", **options)
        assert (ended.error, ended.code, ended.signal) == (error, None, None)
        assert rig.told.of("r", RunStarted) == []
    rig.told.events.clear()
    assert "null byte" in str((await rig.run("echo a\0b")).error)
    rig.told.events.clear()
    assert "Argument list too long" in str((await rig.run("#" * 200_000)).error)
    rig.told.events.clear()
    assert "rule 1: bad pattern" in str((await rig.run("echo", ("a", "keep"), ("(", "drop"))).error)
    rig.told.events.clear()
    assert "cannot be encoded" in str((await rig.run("echo \ud800")).error)


async def test_death_by_a_signal_is_named(rig: Rig) -> None:
    ended = await rig.run("echo bye; kill -SEGV $$")
    assert (ended.code, ended.signal) == (None, "SIGSEGV")
    assert ended.last_words == ["bye"]


async def test_stop_keeps_what_is_said_last(rig: Rig) -> None:
    rig.start("trap 'echo cleaning up; exit 4' TERM; echo ready; while :; do sleep 0.05; done")
    await rig.told.line("r", "ready")
    rig.runner.stop("r", 10.0)
    assert (await rig.told.ended("r")).code == 4
    assert rig.told.texts("r")[-1] == "cleaning up"


async def test_who_ignores_term_is_killed_with_all_that_it_started(rig: Rig) -> None:
    rig.start(
        "trap '' TERM; sleep 1001 & echo child $!; (setsid sleep 1002 & echo far $!);"
        " sleep 1003 | cat & echo pipe $!; echo ready; while :; do sleep 0.05; done"
    )
    await rig.told.line("r", "ready")
    pids = [await rig.told.line("r", word) for word in ("child", "far", "pipe")]
    assert not any(has_ended(int(pid)) for pid in pids)
    rig.runner.stop("r", 0.1)
    ended = await rig.told.ended("r")
    assert (ended.signal, ended.left) == ("SIGKILL", [])
    await until_dead(rig.told.of("r", RunStarted)[0].pid, *pids)


DOUBLE_FORK = """
import os, signal, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getpid(), flush=True)
        if "quiet" in sys.argv:
            os.closerange(0, 3)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pause()
    os._exit(0)
os.wait()
print("forked", flush=True)
if "stay" in sys.argv:
    signal.pause()
"""


async def test_daemon_of_a_run_that_is_stopped_is_found_and_killed(rig: Rig) -> None:
    (rig.folder / "fork.py").write_text(DOUBLE_FORK)
    rig.start("exec python3 fork.py stay")
    daemon = await rig.told.line("r", "daemon")
    await rig.told.line("r", "forked")
    rig.runner.stop("r", 0.1)
    assert (await rig.told.ended("r")).left == []
    await until_dead(daemon)


@pytest.mark.parametrize("how", ["quiet", "loud"])
async def test_daemon_of_a_run_that_ended_by_itself_is_left_and_named(rig: Rig, how: str) -> None:
    (rig.folder / "fork.py").write_text(DOUBLE_FORK)
    ended = await rig.run(f"exec python3 fork.py {how}")
    daemon = int(await rig.told.line("r", "daemon"))
    try:
        assert ended.code == 0
        assert ended.left == [f"python3 {daemon}"]
        assert ended.is_held == (how == "loud")
        assert not has_ended(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


async def test_what_a_command_leaves_in_its_session_ends_with_it(rig: Rig) -> None:
    ended = await rig.run("sleep 1001 & echo held $!; sleep 1002 >/dev/null 2>&1 & echo free $!")
    assert (ended.code, ended.left, ended.is_held) == (0, [], False)
    await until_dead(*[await rig.told.line("r", word) for word in ("held", "free")])


async def test_child_that_ignores_term_does_not_outlive_its_command(rig: Rig) -> None:
    ended = await rig.run(
        "(trap '' TERM; echo ready; touch there; while :; do sleep 0.05; done) &"
        " until [ -e there ]; do sleep 0.02; done"
    )
    assert (ended.code, ended.is_held) == (0, False)
    assert rig.told.texts("r") == ["ready"]


async def test_command_that_is_stopped_by_a_signal_is_ended_all_the_same(rig: Rig) -> None:
    rig.start("echo ready; kill -STOP $$; echo never")
    await rig.told.line("r", "ready")
    rig.runner.stop("r", 0.1)
    assert (await rig.told.ended("r")).signal == "SIGKILL"
    assert rig.told.texts("r") == ["ready"]


async def test_command_that_closed_its_output_is_waited_for(rig: Rig) -> None:
    ended = await rig.run("echo bye; exec >&- 2>&-; sleep 0.3; exit 5")
    assert (ended.code, rig.told.texts("r")) == (5, ["bye"])


async def test_fork_bomb_ends_with_its_stop(rig: Rig) -> None:
    rig.start(
        'f() { [ "$1" -gt 5 ] || { f $(($1 + 1)) & f $(($1 + 1)) & }; echo "pid $$"; }; '
        "f 0; echo ready; while :; do (sleep 0.01 &); done"
    )
    await rig.told.line("r", "ready")
    rig.runner.stop("r", 0.05)
    assert (await rig.told.ended("r")).left == []


async def test_binary_terminal_codes_and_long_lines_are_text_of_bounded_length(rig: Rig) -> None:
    (rig.folder / "out.py").write_text(
        r"""
import os
os.write(1, b"\x1b[31mERROR\x1b[0m: \xff\xed\xa0\xbd\x00.\x1b]0;title\x07\r\n")
os.write(1, "é".encode() * 500_000 + b"\nafter\n")
os.write(1, bytes(range(256)))
"""
    )
    ended = await rig.run("python3 out.py", ("^error", "inject"))
    first, long, after, *_ = rig.told.lines("r")
    assert first.text == "ERROR: " + "\ufffd" * 4 + "."
    assert first.outcome == "inject"
    assert len(long.text.encode()) == LINE_BYTES
    assert after.text == "after"
    assert ended.counts.truncated == 1
    for line in rig.told.texts("r"):
        line.encode()


async def test_prompt_and_progress_are_lines_without_their_end(rig: Rig) -> None:
    rig.start("printf '10%%\\r20%%\\r30%%\\r'; sleep 5; printf 'Name? '; sleep 1000")
    await rig.told.line("r", "30%")
    rig.runner.stop("r", 0.0)
    await rig.told.ended("r")
    assert rig.told.texts("r")[-1] == "30%"
    assert "10%" not in rig.told.texts("r")


async def test_filter_is_changed_at_the_edge_of_a_line_and_answered(rig: Rig) -> None:
    (rig.folder / "go").mkdir()
    rig.start(
        "echo old; until [ -e go/1 ]; do sleep 0.02; done; echo new; exec sleep 1000",
        "r",
        ("old", "keep"),
        version=1,
    )
    await rig.told.line("r", "old")
    rig.runner.set_filter("r", 2, (FilterRule("(", "drop"),))
    rig.runner.set_filter("r", 3, (FilterRule("NEW", "surface"),))
    answers = await until_async(
        lambda: len(rig.told.of("r", RunFiltered)) == 2 and rig.told.of("r", RunFiltered),
        what="answers",
    )
    assert [one.version for one in answers] == [2, 3]
    assert "rule 0: bad pattern" in str(answers[0].error)
    assert answers[1].error is None
    (rig.folder / "go" / "1").touch()
    await rig.told.line("r", "new")
    assert rig.told.lines("r")[-1].outcome == "surface"


async def test_pattern_that_takes_too_long_matches_nothing_and_is_told(rig: Rig) -> None:
    bad = "a" * 50 + "!"
    rig.start(
        f"echo {bad}; echo {bad}; sleep 1000", "r", (r"^(a|aa|a?a)+$", "drop"), ("!", "inject")
    )
    await until_async(lambda: len(rig.told.lines("r")) == 2, what="both lines")
    assert [line.rule for line in rig.told.lines("r")] == [1, 1]

    def undecided() -> list[int]:
        return [one.counts.undecided for one in rig.told.of("r", RunCounted)]

    await until_async(lambda: undecided()[-1:] == [2], what=lambda: f"two of {undecided()}")


async def test_rules_are_tried_on_lines_without_a_run(rig: Rig) -> None:
    bad = "a" * 50 + "!"
    tried = await rig.runner.try_rules(
        (
            FilterRule(r"^(a|aa|a?a)+$", "drop"),
            FilterRule("Warn", "inject"),
        ),
        ["aaa", "no warning", "nothing", bad],
    )
    assert [(one.outcome, one.rule, one.is_undecided) for one in tried.lines] == [
        ("drop", 0, False),
        ("inject", 1, False),
        ("keep", None, False),
        ("keep", None, True),
    ]


async def test_two_hundred_emitters_at_once_and_a_flood_starves_none(rig: Rig) -> None:
    rig.start("yes flood", "flood", ("flood", "drop"))
    await until_async(lambda: rig.told.of("flood", RunCounted), what="the flood")
    for number in range(200):
        rig.start(f"echo up {number}; sleep 1000", f"e{number}")
    await until_async(
        lambda: all(rig.told.texts(f"e{number}") for number in range(200)),
        within=120,
        what="all have spoken",
    )
    for number in range(200):
        rig.runner.stop(f"e{number}")
    for number in range(200):
        assert (await rig.told.ended(f"e{number}", 60)).signal == "SIGTERM"
    rig.runner.stop("flood")
    ended = await rig.told.ended("flood")
    assert ended.counts.lines == ended.counts.dropped > 1_000
    assert rig.told.faults == []


@pytest.mark.parametrize("flood", ["cat /dev/zero", "yes", "yes | tr y '\\r'"])
async def test_flood_of_which_nothing_is_a_line_starves_nobody(rig: Rig, flood: str) -> None:
    rig.start(f"{flood} | head -c 1000000; touch read; {flood}", "flood", ("y", "drop"))
    await until_async((rig.folder / "read").exists, what="much of the flood is read")
    rig.start("echo up; exec sleep 1000")
    await rig.told.line("r", "up")
    rig.runner.stop("flood")
    assert (await rig.told.ended("flood")).signal == "SIGTERM"


async def test_flood_that_is_kept_goes_on_at_a_bounded_rate_and_nothing_of_it_is_lost(
    rig: Rig,
) -> None:
    began = time.monotonic()
    rig.start("seq 1000000")
    await rig.told.line("r", f"{RUN_BURST + 2_000:.0f}")
    count = len(rig.told.texts("r"))
    assert count <= RUN_BURST + RUN_RATE * (time.monotonic() - began) + 128
    assert rig.told.texts("r") == [str(number) for number in range(1, count + 1)]
    assert max(len(batch.lines) for batch in rig.told.of("r", RunLines)) < 256


async def test_what_ended_runs_have_sent_leaves_room_to_the_next_and_waiting_runs_go_on(
    rig: Rig,
) -> None:
    """More characters than all runs together may have sent, of runs of which most are held."""
    line = "x" * 4_000
    for number in range(24):
        rig.start(f"for i in $(seq 120); do echo {line}; done", f"e{number}")
        if number < 20:
            rig.runner.hold(f"e{number}")
    held = 8 * 1024 * 1024 // len(line) // 2
    await until_async(
        lambda: sum(len(rig.told.lines(f"e{number}")) for number in range(24)) > held,
        what="a half of what may be sent",
    )
    for number in range(20):
        rig.runner.release(f"e{number}")
    for number in range(24):
        ended = await rig.told.ended(f"e{number}", 60)
        assert (ended.code, len(rig.told.lines(f"e{number}"))) == (0, 120)


async def test_run_that_is_there_is_not_started_again(rig: Rig) -> None:
    rig.start("exec sleep 1000")
    with pytest.raises(ValueError, match="is there already"):
        rig.start("exec sleep 1000")


async def test_held_run_is_read_no_further_and_nothing_is_lost(rig: Rig) -> None:
    rig.start("i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); echo line $i; done")
    rig.runner.hold("r")
    await rig.told.line("r", "line 400")
    await rig.told.line("r", "line 1")
    count = -1
    while count != len(rig.told.texts("r")):
        count = len(rig.told.texts("r"))
        await asyncio.gather(rig.runner.try_rules((), ["x"]), rig.runner.try_rules((), ["y"]))
    assert count <= 400 + 128
    rig.start("echo not held", "s")
    assert (await rig.told.ended("s")).code == 0
    rig.runner.release("r")
    await rig.told.ended("r", 30)
    assert rig.told.texts("r") == [f"line {number}" for number in range(1, 3001)]
