"""A commit of a folder's files, as git stores it, made without git."""

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path

_WHO = "demo <demo@localhost> 0 +0000"


def commit(folder: Path, files: Mapping[str, str]) -> None:
    """Make the files, which lie in the folder itself, the first commit of its branch `main`."""
    git = folder / ".git"
    tree = b"".join(
        b"100644 %b\0%b" % (name.encode(), bytes.fromhex(_store(git, "blob", text.encode())))
        for name, text in sorted(files.items())
    )
    head = f"tree {_store(git, 'tree', tree)}\nauthor {_WHO}\ncommitter {_WHO}\n\nPrices\n"
    (git / "refs" / "heads" / "main").write_text(f"{_store(git, 'commit', head.encode())}\n")


def _store(git: Path, kind: str, data: bytes) -> str:
    """Store an object; return its name."""
    whole = f"{kind} {len(data)}\0".encode() + data
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    file = git / "objects" / name[:2] / name[2:]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(zlib.compress(whole))
    return name
