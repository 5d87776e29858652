"""What a gateway leaves on the disk for others to find it by: all of it, or nothing."""

import errno
import logging
import socket
from pathlib import Path
from typing import Any

from tapui import __version__
from tapui.home.local_socket import SOCKET_FILE
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, RunFolder
from tapui.home.tokens import ProviderTokenFile, TokenFileUnavailable
from tapui.secret import Secret

_log = logging.getLogger(__name__)


class GatewayFiles:
    """The run folder and the provider's token file of one gateway, ours until `remove`."""

    def __init__(self, run_folder: RunFolder) -> None:
        self._run_folder = run_folder
        self._is_private = False
        self._token_file: ProviderTokenFile | None = None
        self.announced: GatewayFile
        self.listening: socket.socket | None = None
        """The run folder's socket, for the server to accept from; None: there is none."""
        self.problems: list[str] = []
        """Why the token or the socket is not where the interface says."""

    @classmethod
    def leave(
        cls,
        home: Home,
        port: int,
        provider_token: Secret,
        internal_token: Secret,
        *,
        is_private: bool = False,
        settings: dict[str, Any] | None = None,
    ) -> "GatewayFiles":
        """Claim the port's run folder and write all files; blocks for up to a second.

        Of one that `is_private` nobody is told: its tokens are written for its own processes.
        Raises `PortClaimedError` and `OSError`; nothing is left behind then.
        """
        files = cls(RunFolder.claim(home, port))
        files._is_private = is_private
        try:
            files._write(home, port, provider_token, internal_token, settings)
        except UnicodeEncodeError:
            files.remove()
            raise OSError(
                errno.EILSEQ, "the path is not UTF-8: clients could not be told of it", home.state
            ) from None
        except OSError as error:
            files.remove()
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, files._run_folder.path) from error
        except BaseException:
            files.remove()
            raise
        return files

    def _write(
        self,
        home: Home,
        port: int,
        provider_token: Secret,
        internal_token: Secret,
        settings: dict[str, Any] | None,
    ) -> None:
        run_folder = self._run_folder
        run_folder.write_internal_token(internal_token)
        token_path = run_folder.write_provider_token(provider_token)
        url = f"ws://localhost:{port}"
        end = self._listen()
        if self._is_private:
            self.announced = run_folder.describe(url, __version__, token_path, end)
            return
        try:
            self._token_file = ProviderTokenFile.write(home, provider_token, port)
            token_path = self._token_file.path
        except TokenFileUnavailable as error:
            self.problems.append(str(error))
        self.announced = run_folder.announce(url, __version__, token_path, end, settings)

    def _listen(self) -> Path | None:
        """Open the run folder's socket; where that fails, clients come by TCP alone."""
        try:
            self.listening = self._run_folder.listen()
        except OSError as error:
            _log.warning("no socket in %s: %s", self._run_folder.path, error)
            self.problems.append(
                f"no socket in {self._run_folder.path}: {error.strerror or error}; "
                "commands come over TCP"
            )
            return None
        return self._run_folder.path / SOCKET_FILE

    def remove(self) -> list[str]:
        """Remove what is still ours; return what could not be removed. Never raises `OSError`."""
        problems = []
        if self.listening is not None:
            self.listening.close()
        if self._token_file is not None:
            try:
                self._token_file.remove()
            except OSError as error:
                _log.exception("the token file was not removed")
                problems.append(f"{self._token_file.path} was not removed: {error.strerror}")
        try:
            self._run_folder.release()
        except OSError as error:
            _log.exception("the run folder was not removed")
            problems.append(f"{self._run_folder.path} was not removed: {error.strerror}")
        return problems
