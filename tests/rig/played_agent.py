"""A played agent: a process that runs what a test writes into its folder, as its own children.

Run as a script it is the process: it writes its id into `pid`, and runs `order.1`, `order.2` … with
`sh` as they appear, until there is a file `stop`. It knows nothing of tapui.
"""

import ctypes
import itertools
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

SIBLING = "# as a sibling\n"
"""Before an order: it runs as a child of the agent's own parent (`CLONE_PARENT`)."""
_CLONE_PARENT = 0x8000
_SYS_CLONE = {"x86_64": 56, "aarch64": 220}
OBEYS = """\
n=1; while [ -d "$PWD" ] && ! [ -e stop ]; do
  if [ -e order.$n ]; then sh order.$n & n=$((n + 1)); else sleep 0.05; fi
done"""
"""The same as a shell's command, for programs that tapui starts in the folder. It also ends when
the folder is gone: that may be sooner than the next look for `stop`."""


def order(folder: Path, command: str) -> None:
    """Have the agent of a folder run a shell command."""
    number = len(list(folder.glob("order.*"))) + 1
    written = folder / "written"
    written.write_text(command + "\n")
    written.rename(folder / f"order.{number}")


def stop(folder: Path) -> None:
    """Have the agent of a folder end."""
    (folder / "stop").touch()


def _obey(folder: Path) -> None:
    for number in itertools.count(1):
        wanted = folder / f"order.{number}"
        while not wanted.exists():
            if (folder / "stop").exists() or not folder.exists():
                return
            time.sleep(0.02)
        if wanted.read_text().startswith(SIBLING):
            run_as_sibling("sh", str(wanted))
        else:
            subprocess.Popen(["sh", str(wanted)])


def run_as_sibling(*command: str) -> None:
    """Run a command as a child of this process's parent."""
    clone = _SYS_CLONE[platform.machine()]
    flags = _CLONE_PARENT | signal.SIGCHLD
    if ctypes.CDLL(None).syscall(clone, flags, 0, 0, 0, 0) == 0:
        os.execvp(command[0], command)


if __name__ == "__main__":
    own = Path(sys.argv[1])
    (own / "pid.new").write_text(str(os.getpid()))
    (own / "pid.new").rename(own / "pid")
    _obey(own)
