"""Processes that a test has left behind: those whose environment names its scratch home."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.rig.waiting import HUNG, until

WITHIN = HUNG
"""Seconds that a process may take to end after its test: a host ends when its gateway is gone."""

_homes: set[Path] = set()


def look_after(home: Path) -> None:
    """Look for processes of `home` at the end of the test that runs."""
    _homes.add(home)


def left_behind() -> list[str]:
    """Return the processes that do not end, by id and command line, and end them.

    Empty where the system has no `/proc`.
    """
    homes = {os.fsencode(home) for home in _homes}
    _homes.clear()
    if not homes or not Path("/proc/self/environ").exists():
        return []
    try:
        until(lambda: not _processes(homes), within=WITHIN, what="they end")
    except AssertionError:
        left = _processes(homes)
    else:
        return []
    for pid in left:
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(pid, signal.SIGKILL)
    return [f"{pid} {command}" for pid, command in left.items()]


def _processes(homes: set[bytes]) -> dict[int, str]:
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or folder.name == str(os.getpid()):
            continue
        try:
            environ = (folder / "environ").read_bytes()
            if any(b"TAPUI_HOME=" + home in environ for home in homes):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                if (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    found[int(folder.name)] = command.decode(errors="replace").strip()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # it has ended, or is another person's
    return found
