"""Child processes: real ones that fork, flood and ignore TERM.

Each test runs on a loop in a thread that is not the main one, as the gateway's does.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tapui.runtime.children.child import LINE_BYTES, LINES_A_SECOND, Child, Command
from tests.rig.processes import has_ended
from tests.rig.waiting import until, until_async
from tests.runtime.children import ON_BOTH_LOOPS, READY, WAITS, Lines, Test, python

IGNORES_TERM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
FORKS = """
import os, signal
if os.fork():
    print("parent", flush=True)
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("child", os.getpid(), flush=True)
signal.pause()
"""
LEAVES = """
import os, signal
left, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    print(os.getpid(), flush=True)
    os.write(tell, b".")
    signal.pause()
os.read(left, 1)
"""


@ON_BOTH_LOOPS
def test_lines_of_both_outputs_come_and_then_the_end(run: Callable[[Test], None]) -> None:
    async def test() -> None:
        lines = Lines()
        program = "import sys; print('one\\ntwo\\r'); sys.stderr.write('no end'); sys.exit(7)"
        ended = await (await Child.start(python(program), lines)).wait()
        assert (ended.code, ended.signal, str(ended)) == (7, None, "exit code 7")
        assert [text for source, text in lines if source == "stdout"] == ["one", "two"]
        assert [text for source, text in lines if source == "stderr"] == ["no end"]

    run(test)


def test_child_gets_the_environment_that_is_listed_and_nothing_else(
    run: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SECRET", "s")

    async def test() -> None:
        lines = Lines()
        program = "import os; print(sorted(os.environ)); print(os.getcwd(), os.getsid(0))"
        command = Command((sys.executable, "-c", program), {"A": "1"}, cwd=tmp_path)
        child = await Child.start(command, lines)
        await child.wait()
        names = lines[0][1]
        assert "'A'" in names
        assert "SECRET" not in names
        assert "PATH" not in names
        assert lines[1][1] == f"{tmp_path} {child.pid}"

    run(test)


def test_child_has_the_open_files_that_are_named_and_no_others(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        lines = Lines()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            command = replace(
                python("import os, sys; os.write(int(sys.argv[1]), b'hi')", str(theirs.fileno())),
                inherited=(theirs.fileno(),),
            )
            ended = await (await Child.start(command, lines)).wait()
            assert (ended.code, ours.recv(10)) == (0, b"hi")
            command = replace(command, inherited=())
            assert (await (await Child.start(command, lines)).wait()).code == 1

    run(test)


@ON_BOTH_LOOPS
def test_program_that_does_not_exist_is_an_error_and_leaves_nothing(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        with pytest.raises(FileNotFoundError):
            await Child.start(Command(("/nowhere/program",), {}), Lines())
        with pytest.raises(ValueError, match="null"):
            await Child.start(Command(("a\0b",), {}), Lines())

    run(test)


@ON_BOTH_LOOPS
def test_stop_asks_with_term_and_with_the_end_of_input(run: Callable[[Test], None]) -> None:
    async def test() -> None:
        lines = Lines()
        by_term = await Child.start(python(READY + WAITS), lines)
        await lines.until("ready")
        assert (await by_term.stop()).signal == signal.SIGTERM
        program = IGNORES_TERM + READY + "import sys; sys.stdin.read(); sys.exit(3)"
        lines.clear()
        by_input = await Child.start(python(program), lines)
        await lines.until("ready")
        assert (await by_input.stop(20.0)).code == 3

    run(test)


@ON_BOTH_LOOPS
def test_who_ignores_term_is_killed_after_the_deadline_with_all_its_descendants(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        lines = Lines()
        child = await Child.start(python(IGNORES_TERM + FORKS), lines)
        grandchild = int(await lines.until("child"))
        await lines.until("parent")
        ended = await child.stop(0.1)
        assert (ended.signal, str(ended)) == (signal.SIGKILL, "SIGKILL")
        await until_async(lambda: has_ended(grandchild), what="the grandchild is dead")

    run(test)


def test_what_a_dead_child_left_running_is_killed_and_holds_nothing_up(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        lines = Lines()
        child = await Child.start(python(FORKS), lines)
        grandchild = int(await lines.until("child"))
        await lines.until("parent")
        os.kill(child.pid, signal.SIGKILL)
        assert (await child.wait()).signal == signal.SIGKILL
        await until_async(lambda: has_ended(grandchild), what="the grandchild is dead")

    run(test)


@ON_BOTH_LOOPS
def test_process_that_left_the_group_and_holds_the_pipes_does_not_hold_the_end_up(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        lines = Lines()
        child = await Child.start(python(LEAVES), lines)
        assert (await child.wait()).code == 0
        os.kill(int(lines[0][1]), signal.SIGKILL)

    run(test)


def test_flood_is_read_at_a_bounded_rate_and_nothing_of_it_is_lost(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        lines = Lines()
        began = time.monotonic()
        child = await Child.start(python("for n in range(10**9): print(n)"), lines)
        await until_async(lambda: len(lines) > 2 * LINES_A_SECOND, what="the third second")
        took = time.monotonic() - began
        assert took > 1.0
        assert len(lines) <= (took + 1.0) * LINES_A_SECOND
        assert [int(text) for _, text in lines] == list(range(len(lines)))
        assert (await child.stop()).signal == signal.SIGTERM

    run(test)


def test_endless_line_is_cut_and_takes_no_more_memory_than_a_line(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        lines = Lines()
        program = (
            "import os\nfor _ in range(10): os.write(1, b'x' * 65536)\nprint()\nprint('after')"
        )
        await (await Child.start(python(program), lines)).wait()
        assert [text for _, text in lines] == ["x" * LINE_BYTES + "…", "after"]

    run(test)


@ON_BOTH_LOOPS
@pytest.mark.expects_error_log("a line of a child's stdout was not taken")
def test_a_line_that_its_taker_fails_at_costs_neither_the_next_line_nor_the_end(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        taken: list[str] = []

        def take(_source: str, text: str) -> None:
            if text == "bad":
                raise LookupError("not foreseen")
            taken.append(text)

        child = await Child.start(python("print('bad\\ngood\\nbad', end='')"), take)
        assert (await child.wait()).code == 0
        assert taken == ["good"]

    run(test)


def test_output_that_is_no_utf8_comes_as_text(run: Callable[[Test], None]) -> None:
    async def test() -> None:
        lines = Lines()
        await (
            await Child.start(python(r"import os; os.write(1, b'a\xff\xed\xa0\xbdz\n')"), lines)
        ).wait()
        text = lines[0][1]
        assert text.startswith("a")
        assert text.endswith("z")
        text.encode()

    run(test)


def test_child_ends_with_a_parent_that_is_killed() -> None:
    parent = (
        "import asyncio, sys\n"
        "from tapui.runtime.children.child import Child, Command\n"
        "child = 'import sys; sys.stdin.read()'\n"
        "async def main():\n"
        "    one = await Child.start(Command((sys.executable, '-c', child), {}), print)\n"
        "    print(one.pid, flush=True)\n"
        "    await one.wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert not has_ended(pid)
        process.kill()
    until(lambda: has_ended(pid), what="the child ended, too")


@ON_BOTH_LOOPS
def test_cancelled_stop_kills_at_once(run: Callable[[Test], None]) -> None:
    async def test() -> None:
        lines = Lines()
        child = await Child.start(python(IGNORES_TERM + READY + WAITS), lines)
        await lines.until("ready")
        stopping = asyncio.create_task(child.stop(60.0))
        await asyncio.wait([stopping], timeout=0.01)
        stopping.cancel()
        assert (await child.wait()).signal == signal.SIGKILL

    run(test)


@ON_BOTH_LOOPS
def test_cancelled_start_leaves_no_child(run: Callable[[Test], None]) -> None:
    async def test() -> None:
        starting = asyncio.create_task(Child.start(python(WAITS), Lines()))
        await asyncio.wait([starting], timeout=0)
        starting.cancel()
        await asyncio.wait([starting])

    run(test)
