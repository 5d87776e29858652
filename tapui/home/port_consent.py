"""The person's consent to Copilot's port, kept in the state folder: who had accounts then."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.files import private_file
from tapui.files.foreign_file import text_of
from tapui.files.private_file import private_folder

FILE = "copilot-port.json"


class _Kept(Struct):
    people: list[str]


@dataclass(frozen=True, slots=True)
class PortConsent:
    """That the person opens the port although `people` could reach it."""

    state: Path

    def covers(self, people: Iterable[str]) -> bool:
        """Return whether the person has agreed, with at least these people in mind."""
        try:
            kept = msgspec.json.decode(text_of(self.state / FILE), type=_Kept)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
            return False  # never asked, or nothing that can be read: asked again
        return set(people) <= set(kept.people)

    def keep(self, people: Iterable[str]) -> None:
        """Remember it; raises `OSError`."""
        folder = os.open(private_folder(self.state), os.O_RDONLY | os.O_DIRECTORY)
        try:
            private_file.write(folder, FILE, msgspec.json.encode(_Kept(list(people))))
        finally:
            os.close(folder)
