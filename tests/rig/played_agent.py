"""A played agent: a process that runs what a test writes into its folder, as its own children.

Run as a script it is the process: it writes its id into `pid`, and runs `order.1`, `order.2` … with
`sh` as they appear, until there is a file `stop`. It knows nothing of tapui.
"""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

OBEYS = """\
n=1; while ! [ -e stop ]; do
  if [ -e order.$n ]; then sh order.$n & n=$((n + 1)); else sleep 0.05; fi
done"""
"""The same as a shell's command, for programs that tapui starts in the folder."""


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
            if (folder / "stop").exists():
                return
            time.sleep(0.02)
        subprocess.Popen(["sh", str(wanted)])


if __name__ == "__main__":
    own = Path(sys.argv[1])
    (own / "pid.new").write_text(str(os.getpid()))
    (own / "pid.new").rename(own / "pid")
    _obey(own)
