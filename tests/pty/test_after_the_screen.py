"""Signals that arrive when the screen has gone already."""

import subprocess
import sys

import pytest

from tests.pty.test_vanished_quietly import QuietTerminal
from tests.rig.gateway import Home
from tests.rig.waiting import HUNG

PROGRAM = """
import os, signal, sys
from tapui.cli.main import main
from tapui.station.terminal import Screen

show = Screen.show

async def shows(self):
    code = await show(self)
    os.kill(os.getpid(), signal.SIGCONT)
    return code

Screen.show = shows
sys.exit(main(["--no-attach", "--port", "0"]))
"""


@pytest.mark.parametrize("vanishes", [False, True])
def test_a_continuation_after_its_end_leaves_the_terminal_alone(home: Home, vanishes: bool) -> None:
    """The system continues whom it hangs up; the signal may come late."""
    terminal = QuietTerminal()
    home.tapui.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=home.env(),
        stdin=terminal.theirs,
        stdout=terminal.theirs,
        stderr=terminal.theirs,
        start_new_session=True,
    )
    try:
        terminal.wait_for(b"Sessions")
        if vanishes:
            terminal.vanish()
        else:
            process.terminate()
        assert process.wait(HUNG) == 0
    finally:
        process.kill()
        process.wait()
        if not vanishes:
            terminal.vanish()
