"""tapui's extension of Copilot CLI as a file, and whether the CLI loads it."""

from importlib import resources
from pathlib import Path

import msgspec

from tapui.files.private_file import SealedFile
from tapui.hosts.copilot.finding import doors

_FOLDER = ("extensions", "tapui")
_NAME = "extension.mjs"


class ExtensionFile(SealedFile):
    """The extension in one `COPILOT_HOME`."""

    def __init__(self, copilot_home: Path) -> None:
        super().__init__(copilot_home, _FOLDER, _NAME, comment=("// ", ""))

    def body(self) -> bytes:
        """Return the program."""
        return resources.files("tapui.hosts.copilot").joinpath(_NAME).read_bytes()

    def folders(self) -> tuple[Path, ...]:
        """Return its folder, and those of the files by which it is found."""
        found = self.copilot_home.joinpath(*doors.FOLDER)
        return *super().folders(), found, found.parent


def is_experimental(copilot_home: Path) -> bool:
    """Return whether the CLI loads extensions: its experimental features are switched on."""
    try:
        found = msgspec.json.decode((copilot_home / "settings.json").read_bytes())
    except (OSError, msgspec.DecodeError, RecursionError):
        return False  # it was never started here, or says nothing that can be read
    return isinstance(found, dict) and found.get("experimental") is True
