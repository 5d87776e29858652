"""The token for tools alone, in a private file of the state folder: made, read and revoked.

It outlives gateways: every gateway of this state folder takes it for as long as the file is there.
"""

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from tapui.files import private_file
from tapui.files.private_file import private_folder
from tapui.home.tokens import fresh_token
from tapui.secret import Secret

FILE = "tools-token"
_TOKEN = re.compile(r"ttk-[A-Za-z0-9_-]{43}\Z")
_MAX_BYTES = 1024


@dataclass(frozen=True, slots=True)
class ToolsTokenFile:
    """The file in one state folder."""

    state: Path

    @property
    def path(self) -> Path:
        return self.state / FILE

    def read(self) -> Secret | None:
        """Return the token; None where there is no file.

        Raises `OSError` where the file is not private to this user, or holds no token.
        """
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
            info = os.fstat(fd)
            is_own = stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid()
            if not is_own or info.st_mode & 0o077:
                raise OSError(0, "others can read or write it, so it is no token", str(self.path))
            text = file.read(_MAX_BYTES).decode("ascii", "replace").strip()
        if not _TOKEN.fullmatch(text):
            raise OSError(0, "it holds no token", str(self.path))
        return Secret(text)

    def make(self) -> bool:
        """Make a token unless there is a good one; return whether it was made. Raises `OSError`."""
        with contextlib.suppress(OSError):  # what is there is no token: it is replaced
            if self.read() is not None:
                return False
        folder = os.open(private_folder(self.state), os.O_RDONLY | os.O_DIRECTORY)
        try:
            private_file.write(folder, FILE, fresh_token("ttk-").reveal().encode())
        finally:
            os.close(folder)
        return True

    def remove(self) -> bool:
        """Revoke it; return whether there was a file. Raises `OSError`."""
        try:
            self.path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True
