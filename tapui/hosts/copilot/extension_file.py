"""tapui's extension of Copilot CLI as a file: installed, removed, and what has become of it.

Its last line has a digest of what was written before it. So a file that a person has changed is
known, and left alone.
"""

import contextlib
import hashlib
import os
import re
import stat
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from tapui import __version__
from tapui.home import private_file
from tapui.home.paths import private_folder
from tapui.hosts.copilot import doors as doors_module

FOLDER = ("extensions", "tapui")
NAME = "extension.mjs"
_SEAL = re.compile(rb"// written by tapui (\S{1,40}), sha256 ([0-9a-f]{64})\n\Z")
_MAX_BYTES = 1024 * 1024

ExtensionState = Literal["missing", "installed", "outdated", "edited"]


class EditedError(Exception):
    """The file is not as tapui wrote it, so it is left alone. The text says what to do."""


@dataclass(frozen=True, slots=True)
class ExtensionFile:
    """The extension in one `COPILOT_HOME`."""

    copilot_home: Path

    @property
    def path(self) -> Path:
        """Where Copilot CLI looks for it."""
        return self.copilot_home.joinpath(*FOLDER, NAME)

    def state(self) -> ExtensionState:
        """Return what there is; `edited` is also a file that tapui did not write."""
        try:
            found = self._read()
        except FileNotFoundError:
            return "missing"
        except OSError:
            return "edited"
        if found == content():
            return "installed"
        seal = _SEAL.search(found)
        if seal is None or _digest(found[: seal.start()]) != seal[2]:
            return "edited"
        return "outdated"

    def _read(self) -> bytes:
        fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(0, "it is not a file")
            return file.read(_MAX_BYTES)

    def install(self) -> None:
        """Put it in its place; raises `EditedError` and `OSError`."""
        self.check()
        folder = os.open(private_folder(self.copilot_home, *FOLDER), os.O_RDONLY | os.O_DIRECTORY)
        try:
            private_file.write(folder, NAME, content())
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
        """Return the folders that are the extension's, the inner ones first."""
        doors = self.copilot_home.joinpath(*doors_module.FOLDER)
        return self.path.parent, doors, doors.parent

    def check(self) -> None:
        """Raise `EditedError` if the file is not ours to write or remove."""
        if self.state() == "edited":
            raise EditedError(
                f"{self.path} was not written by tapui, or was changed since; "
                "move it away first, as it is left alone"
            )


def content() -> bytes:
    """Return the file as this tapui writes it."""
    body = resources.files("tapui.hosts.copilot").joinpath(NAME).read_bytes()
    seal = f"// written by tapui {__version__}, sha256 ".encode()
    return body + seal + _digest(body) + b"\n"


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def is_experimental(copilot_home: Path) -> bool:
    """Return whether the CLI loads extensions: its experimental features are switched on."""
    try:
        found = msgspec.json.decode((copilot_home / "settings.json").read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return False  # it was never started here, or says nothing that can be read
    return isinstance(found, dict) and found.get("experimental") is True
