"""Tokens on the disk: those of a running gateway, and the one for tools alone.

`<COPILOT_HOME>/extensions/tap/.provider-token` is one file for all gateways of a person, so a
gateway owns it only while it holds the lock of that folder; the system lets go of the lock when the
process ends. Clients of other gateways find theirs by `gateway.json`. The token for tools alone is
a private file of the state folder: every gateway of that folder takes it for as long as the file is
there.
"""

import contextlib
import os
import re
import secrets
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tapui import DEFAULT_PORT
from tapui.files import private_file
from tapui.files.locked_folder import FolderHeldError, LockedFolder
from tapui.files.private_file import private_folder
from tapui.home.paths import Home
from tapui.secret import Secret

PROVIDER_TOKEN_NAME = ".provider-token"  # noqa: S105 - a file's name
_FOLDER = ("extensions", "tap")
_PROBE_TIMEOUT = 0.2
TOOLS_TOKEN_NAME = "tools-token"  # noqa: S105 - a file's name
_TOKEN = re.compile(r"ttk-[A-Za-z0-9_-]{43}\Z")
_MAX_BYTES = 1024


def fresh_token(prefix: Literal["ptk-", "itk-", "ext-", "ttk-"]) -> Secret:
    """Return a new token of 256 random bits: `ptk-` gateway, `itk-` internal, `ext-` paired,
    `ttk-` for tools alone."""
    return Secret(prefix + secrets.token_urlsafe(32))


def default_token_file(copilot: Path) -> Path:
    """Return where the interface says that providers find their token, in a `COPILOT_HOME`."""
    return copilot.joinpath(*_FOLDER, PROVIDER_TOKEN_NAME)


def _answers(port: int) -> bool:
    """Return whether something listens on a loopback port (the other implementation, say)."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=_PROBE_TIMEOUT):
            return True
    except OSError:
        return False


class TokenFileUnavailable(Exception):  # noqa: N818 - a state of the world, not a fault
    """The well-known token file is not ours to write. The text says why and what follows."""


class ProviderTokenFile:
    """The well-known token file, ours until `remove()`."""

    def __init__(self, folder: LockedFolder, token: Secret) -> None:
        self._folder = folder
        self._token = token
        self.path = folder.path / PROVIDER_TOKEN_NAME

    @classmethod
    def write(
        cls,
        home: Home,
        token: Secret,
        port: int,
        *,
        answers: Callable[[int], bool] = _answers,
    ) -> "ProviderTokenFile":
        """Write the token of the gateway that listens on `port` (0600, its folder 0700).

        `answers` says whether something listens on a loopback port.

        Raises `TokenFileUnavailable` when the file belongs to another gateway that lives, when a
        link or another user's folder is in the way, or when it cannot be written.
        """
        folder = LockedFolder(home.copilot, *_FOLDER, makes_base=True)
        path = folder.path / PROVIDER_TOKEN_NAME
        try:
            folder.open()
            if os.fstat(folder.fd).st_uid != os.geteuid():
                raise PermissionError(0, "the folder belongs to another user")
            if port != DEFAULT_PORT and path.exists() and answers(DEFAULT_PORT):
                raise TokenFileUnavailable(
                    f"{path} is left to the gateway on port {DEFAULT_PORT};"
                    " providers of this one need their token by environment or from its run folder"
                )
            private_file.write(folder.fd, PROVIDER_TOKEN_NAME, token.reveal().encode())
        except FolderHeldError as error:  # only `open` raises it, and then leaves nothing open
            raise TokenFileUnavailable(
                f"{path} belongs to another running gateway ({error.strerror});"
                " providers of this one need their token by environment or from its run folder"
            ) from None
        except OSError as error:
            folder.close()
            raise TokenFileUnavailable(
                f"{path} cannot be written ({error.strerror or error}); providers need their"
                " token by environment or from the gateway's run folder"
            ) from None
        except TokenFileUnavailable:
            folder.close()
            raise
        return cls(folder, token)

    def remove(self) -> None:
        """Remove the file if it still holds our token, and let go of the folder.

        Calling it again does nothing. Raises `OSError` when the file cannot be read or removed.
        """
        if self._folder.fd < 0:
            return
        try:
            text = self._token.reveal().encode()
            private_file.remove_if_holds(self._folder.fd, PROVIDER_TOKEN_NAME, text)
        finally:
            self._folder.close()


@dataclass(frozen=True, slots=True)
class ToolsTokenFile:
    """The tools-token of a state folder."""

    state: Path

    @property
    def path(self) -> Path:
        return self.state / TOOLS_TOKEN_NAME

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
            private_file.write(folder, TOOLS_TOKEN_NAME, fresh_token("ttk-").reveal().encode())
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
