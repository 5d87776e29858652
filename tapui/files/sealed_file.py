"""A file that tapui puts into `COPILOT_HOME`: installed, removed, and what has become of it.

Its last line has a digest of what was written before it. So a file that a person has changed is
known, and left alone.
"""

import contextlib
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Literal

from tapui import __version__
from tapui.files import private_file
from tapui.files.private_file import private_folder

_MAX_BYTES = 1024 * 1024

SealedState = Literal["missing", "installed", "outdated", "edited"]


class EditedError(Exception):
    """The file is not as tapui wrote it, so it is left alone. The text says what to do."""


class SealedFile:
    """One such file. `comment` is how its language begins and ends a comment on one line."""

    def __init__(
        self, copilot_home: Path, folder: tuple[str, ...], name: str, comment: tuple[str, str]
    ) -> None:
        self.copilot_home = copilot_home
        self._folder = folder
        self._name = name
        self._comment = tuple(one.encode() for one in comment)

    def body(self) -> bytes:
        """Return what is in it above its last line."""
        raise NotImplementedError

    @property
    def path(self) -> Path:
        """Where Copilot CLI looks for it."""
        return self.copilot_home.joinpath(*self._folder, self._name)

    def content(self) -> bytes:
        """Return the file as this tapui writes it."""
        body = self.body()
        return body + self._seal(__version__.encode(), _digest(body))

    def state(self) -> SealedState:
        """Return what there is; `edited` is also a file that tapui did not write."""
        try:
            found = self._read()
        except FileNotFoundError:
            return "missing"
        except OSError:
            return "edited"
        if found == self.content():
            return "installed"
        above, _, last = found.removesuffix(b"\n").rpartition(b"\n")
        seal = re.search(rb"written by tapui (\S{1,40}), sha256 ([0-9a-f]{64})", last)
        if seal is None or above + b"\n" + self._seal(seal[1], _digest(above + b"\n")) != found:
            return "edited"
        return "outdated"

    def check(self) -> None:
        """Raise `EditedError` if the file is not ours to write or remove."""
        if self.state() == "edited":
            raise EditedError(
                f"{self.path} was not written by tapui, or was changed since; "
                "move it away first, as it is left alone"
            )

    def install(self) -> None:
        """Put it in its place; raises `EditedError` and `OSError`."""
        self.check()
        folder = os.open(private_folder(self.copilot_home, *self._folder), _FOLDER)
        try:
            private_file.write(folder, self._name, self.content())
        finally:
            os.close(folder)

    def uninstall(self) -> None:
        """Take it away, and its folders unless something is in them.

        Raises `EditedError` and `OSError`.
        """
        self.check()
        self.path.unlink(missing_ok=True)
        for folder in self.folders():
            with contextlib.suppress(OSError):  # something is in it, or it was not there
                folder.rmdir()

    def folders(self) -> tuple[Path, ...]:
        """Return the folders that are this file's, the inner ones first."""
        return (self.path.parent,)

    def _seal(self, version: bytes, digest: bytes) -> bytes:
        begin, end = self._comment
        return begin + b"written by tapui " + version + b", sha256 " + digest + end + b"\n"

    def _read(self) -> bytes:
        fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(0, "it is not a file")
            return file.read(_MAX_BYTES)


_FOLDER = os.O_RDONLY | os.O_DIRECTORY


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
