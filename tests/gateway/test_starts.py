"""`tapui serve` starts anywhere, and a signal during its start leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig.gateway import Home, tapui_argv

SIGNALLED = """
import os, signal, sys
from tapui.home.run_folder import RunFolder
write = RunFolder.write_internal_token
def signalled(self, token):
    path = write(self, token)
    os.kill(os.getpid(), signal.SIGTERM)
    return path
RunFolder.write_internal_token = signalled
from tapui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def left_behind(home: Home) -> list[Path]:
    return [*home.tapui.glob("run/*/*"), *home.copilot.rglob(".provider-token")]


def test_a_signal_during_the_start_leaves_nothing_behind(home: Home) -> None:
    home.root.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, "serve", "--port", "0", "--no-attach"],
        env=home.env(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert left_behind(home) == []


@pytest.mark.parametrize("kind", ["removed", "not UTF-8"])
def test_it_can_be_started_in_any_folder(home: Home, kind: str) -> None:
    folder = os.fsencode(home.root) + (b"/gone" if kind == "removed" else b"/caf\xe9")
    Path(os.fsdecode(folder)).mkdir(parents=True)
    enter = 'cd "$0"; [ "$1" = removed ] && rmdir "$0"; shift; exec "$@"'
    serve = tapui_argv("serve", "--port", "0", "--no-attach", "--detach")
    try:
        done = subprocess.run(
            [b"sh", b"-c", enter, folder, kind.encode(), *map(os.fsencode, serve)],
            env=home.env(),
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        status = home.run("status")
        assert status.returncode == 0
        assert "local" in status.stdout
    finally:
        stopped = home.run("stop")
    assert stopped.returncode == 0
    assert left_behind(home) == []
