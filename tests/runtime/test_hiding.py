"""No other process of the same user gets at a process of tapui's: as an ordinary user, for root may
do all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tapui import invocation
from tests.conftest import missing

NOBODY = "65534"
ATTACK = """
import ctypes, os, subprocess, sys

victim = subprocess.Popen(
    [sys.executable, "-I", "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
)
victim.stdout.readline()
process = os.pidfd_open(victim.pid)
print("socket", ctypes.CDLL(None).syscall(438, process, 0, 0) >= 0)  # pidfd_getfd
for file in ("mem", "environ"):
    try:
        open(f"/proc/{victim.pid}/{file}", "rb").close()
        print(file, True)
    except PermissionError:
        print(file, False)
victim.communicate(b"x")
"""


def as_ordinary_user() -> list[str]:
    """Return what runs Python as a user without rights."""
    if os.getuid() != 0:
        return [sys.executable]
    python = "/usr/bin/python3"
    if shutil.which("setpriv") is None or not Path(python).exists():
        missing("setpriv, or a Python that every user may run")
    user = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
    return [*user, "--bounding-set", "-all", python]


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_DUMPABLE")
@pytest.mark.parametrize("hides", [True, False])
def test_a_hidden_process_keeps_its_sockets_memory_and_environment(hides: bool) -> None:
    source = Path(invocation.__file__).read_text()
    victim = f"{source}\nif {hides}:\n    hide()\nprint('x', flush=True)\ninput()"
    done = subprocess.run(
        [*as_ordinary_user(), "-I", "-c", ATTACK, victim],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    got = dict(line.split() for line in done.stdout.splitlines())
    assert got == dict.fromkeys(("socket", "mem", "environ"), str(not hides)), done.stderr
