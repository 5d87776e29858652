"""`python -m tests.corpus.write` brings `data/` up to date; `git diff` shows what that changed."""

import shutil
import tempfile
from pathlib import Path

from tests.corpus import disk, wire


def write_wire() -> None:
    """Add examples of what is new; those that are there stay."""
    wire.DATA.mkdir(parents=True, exist_ok=True)
    known: wire.Covered = set()
    for table in wire.TABLES:
        for line in wire.lines_of(table):
            known |= wire.covered(table, line)
    for table in wire.TABLES:
        new = b"".join(line + b"\n" for line in wire.added(table, known))
        with wire.file_of(table).open("ab") as file:
            file.write(new)


def write_disk() -> None:
    """Make all other files anew."""
    with tempfile.TemporaryDirectory() as scratch:
        found = disk.made(Path(scratch).resolve())
    for path in disk.DATA.iterdir():
        if path == wire.DATA:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, data in found.items():
        path = disk.DATA / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    write_wire()
    write_disk()
