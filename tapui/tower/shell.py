"""A shell on the tower's terminal, while the gateway of the same process goes on."""

import contextlib
import os
import signal
import subprocess
import sys
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals to this process that end the shell too: whoever sent them waits for our end."""


def run_shell() -> None:
    """Run the person's shell until it ends, and take the terminal back.

    Blocks the main thread. The terminal must be in its normal state. Raises `OSError` where the
    shell cannot be started.
    """
    sys.stderr.write("tapui: the gateway goes on; `exit` brings the tower back\n")
    sys.stderr.flush()
    shell = os.environ.get("SHELL") or "/bin/sh"
    with subprocess.Popen([shell, "-i"], stdin=0, stdout=1, stderr=2) as process:

        def end(_number: int, _frame: FrameType | None) -> None:
            process.send_signal(signal.SIGHUP)

        before = {number: signal.signal(number, end) for number in ENDING}
        # Who sets the terminal from the background is stopped, and the gateway with us.
        before[signal.SIGTTOU] = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            process.wait()
        finally:
            with contextlib.suppress(OSError):  # there is no terminal any more
                os.tcsetpgrp(0, os.getpgrp())
            for number, handler in before.items():
                signal.signal(number, handler)
