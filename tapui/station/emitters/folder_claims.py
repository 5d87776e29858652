"""Which gateway runs a folder's emitters, where several have sessions in it: the first."""

import hashlib
import logging
from pathlib import Path

from tapui.emitters.consent.kept import FOLDER
from tapui.files.locked_folder import FolderHeldError, LockedFolder

_log = logging.getLogger(__name__)


class FolderClaims:
    """The folders whose emitters are this gateway's, by their paths without links. A claim ends
    with the process at the latest."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._held: dict[str, LockedFolder | None] = {}

    def claim(self, folder: str) -> str | None:
        """Claim a folder; return None, or who has it.

        Where no lock can be taken the folder is claimed without: then it may run twice.
        """
        if folder in self._held:
            return None
        name = hashlib.sha256(folder.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        lock = LockedFolder(self._state, FOLDER, "claimed", name, makes_base=True)
        try:
            lock.open()
        except FolderHeldError as error:
            return (error.strerror or "").removesuffix(" writes there")
        except OSError as error:
            _log.warning("the emitters of a folder run without a lock: %s", error)
            self._held[folder] = None
        else:
            self._held[folder] = lock
        return None

    def release(self, folder: str) -> None:
        """Let another gateway have a folder."""
        lock = self._held.pop(folder, None)
        if lock is not None:
            lock.close()

    def close(self) -> None:
        """Release all of them."""
        for folder in list(self._held):
            self.release(folder)
