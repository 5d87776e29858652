"""An administrator's file that cannot be read, in each way."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

TEXT = 'port = 1234\n[[rules]]\ndeny = "npm publish"\n'


def _written(path: Path, data: bytes, mode: int = 0o644) -> None:
    path.write_bytes(data)
    path.chmod(mode)


def _link(path: Path) -> None:
    real = path.with_name("real.toml")
    _written(real, TEXT.encode())
    path.symlink_to(real)


def _folder(path: Path) -> None:
    path.mkdir()


SPOILT: dict[str, Callable[[Path], None]] = {
    "a byte that is no UTF-8": lambda path: _written(path, b"# caf\xe9\n" + TEXT.encode()),
    "others can write it": lambda path: _written(path, TEXT.encode(), 0o646),
    "its group can write it": lambda path: _written(path, TEXT.encode(), 0o664),
    "a link": _link,
    "a folder": _folder,
    "a pipe": lambda path: os.mkfifo(path, 0o644),
    "a torn write": lambda path: _written(path, TEXT.encode()[:-5]),
    "too large": lambda path: _written(path, b"# " + b"x" * 1_100_000),
}


def remove(path: Path) -> None:
    """Remove what one of these made."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
