"""The person's own program is run as a list of arguments, and costs nobody anything."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tapui.station.notify_command import AT_ONCE, NotifyCommand, arguments
from tapui.tower.app.notifier import PersonCall
from tests.rig.waiting import until_async

DUMP = "import json, sys, pathlib; pathlib.Path(sys.argv[1]).write_text(json.dumps(sys.argv[2:]))"


def test_the_text_takes_its_place_in_every_argument_but_the_program() -> None:
    call = PersonCall("a {kind} b", "alarm", "s1")
    command = ["{text}", "-x", "say: {text}", "{kind}/{session}", "{other}"]
    assert arguments(command, call) == [*("{text}", "-x", "say: a {kind} b", "alarm/s1", "{other}")]


@pytest.mark.parametrize("program", ["notify-send", "/usr/bin/notify-send"])
def test_markup_is_escaped_for_notify_send(program: str) -> None:
    told = arguments([program, "--", "tapui", "{text}"], PersonCall("<b>&'"))
    assert told == [program, "--", "tapui", "&lt;b&gt;&amp;'"]
    assert arguments(["other", "{text}"], PersonCall("<b>&")) == ["other", "<b>&"]


async def test_no_shell_reads_the_text(tmp_path: Path) -> None:
    out = tmp_path / "out"
    faults: list[str] = []
    text = "Waiting for you: $(touch x); `y` \"z' asks"
    notify = NotifyCommand([sys.executable, "-c", DUMP, str(out), "--", "{text}"], faults.append)
    notify(PersonCall(text))
    await until_async(lambda: out.exists() and out.read_text(), what="the program's output")
    assert json.loads(out.read_text()) == ["--", text]
    assert faults == []


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (["/nowhere/at/all"], "notify.command cannot be run: "),
        ([sys.executable, "-c", "raise SystemExit(3)"], "notify.command ended with exit code 3"),
        (["a\0b"], "notify.command cannot be run: "),
    ],
)
async def test_a_fault_is_told_once(command: list[str], fault: str) -> None:
    faults: list[str] = []
    notify = NotifyCommand(command, faults.append)
    for _ in range(2):
        notify(PersonCall("text"))
        await asyncio.gather(*notify.running)
    (told,) = faults
    assert told.startswith(fault)


async def test_a_program_that_hangs_does_not_add_up() -> None:
    notify = NotifyCommand(["sleep", "1000"], print)
    for _ in range(AT_ONCE + 5):
        notify(PersonCall("text"))
    assert len(notify.running) == AT_ONCE
    for task in notify.running:
        task.cancel()
    await asyncio.gather(*notify.running, return_exceptions=True)
    assert not notify.running


async def test_without_a_command_nothing_is_run() -> None:
    notify = NotifyCommand([], print)
    notify(PersonCall("text"))
    assert not notify.running
