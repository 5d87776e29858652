"""Sessions on disk, as Copilot leaves them there."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({})
ABOUT = """\
id: s1
cwd: /work/app
git_root: /work/app
branch: main
client_name: github/cli
name: {name}
user_named: false
created_at: 2026-11-22T17:27:52.476Z
"""


def store(
    home: Path,
    session: str,
    *,
    name: str = "fix the build",
    used: int = 0,
    about: bytes | None = None,
) -> Path:
    """Store a session under a name, which its `workspace.yaml` says, or what else `about` is.

    It was used last so many seconds after the epoch. Returns its folder.
    """
    folder = home / "session-state" / session
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(b"{}\n" * 10)
    (folder / "workspace.yaml").write_bytes(
        ABOUT.format(name=name).encode() if about is None else about
    )
    os.utime(folder / "events.jsonl", (used, used))
    return folder


@contextmanager
def held(folder: Path, environ: Mapping[str, str] = NOTHING) -> Iterator[int]:
    """Let a program with this environment have the session open; yield its number."""
    program = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=dict(environ),
    )
    try:
        assert program.stdout is not None
        program.stdout.readline()  # its environment can be read now
        (folder / f"inuse.{program.pid}.lock").write_text(str(program.pid))
        yield program.pid
    finally:
        program.communicate()
