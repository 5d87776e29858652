"""How the provider `docs` stands on this machine, for `tapui status` and `tapui doctor`."""

import contextlib
from pathlib import Path

from msgspec import Struct

from tapui.files import private_file
from tapui.settings.settings import LibraryDocs
from tapui.shipped.docs.package_index import FOLDER

ADDRESS = "https://context7.com"
"""Of the service, where the setting has no other."""
_ASKED = "asked"
"""A file beside the indexes: its time is when an agent last asked for what is not here, while the
person had not decided whether the service may be asked."""


class DocsStanding(Struct, frozen=True, rename="camel"):
    """`asked_at` is when the service was needed last and the person had not decided, in seconds
    since the epoch; None where they have, or it was not. `fault` says why nothing can be
    indexed."""

    folder: str
    indexes: int
    """Packages that are indexed, of any folder."""
    context7: str
    address: str
    asked_at: float | None = None
    fault: str | None = None


def docs_standing(state: Path, settings: LibraryDocs) -> DocsStanding:
    """Look at the files in the state folder; nothing is changed."""
    folder = state / FOLDER
    asked_at = None
    if settings.context7 == "ask":
        with contextlib.suppress(OSError):  # it was not asked
            asked_at = (folder / _ASKED).lstat().st_mtime
    return DocsStanding(
        str(folder),
        sum(1 for _ in folder.glob("*/*.sqlite")),
        settings.context7,
        settings.address or ADDRESS,
        asked_at,
        private_file.unwritable(folder),
    )


def note_asked(state: Path) -> None:
    """Keep that the service was needed now, and is not allowed yet."""
    with contextlib.suppress(OSError):  # the doctor tells why nothing can be kept there
        folder = private_file.private_folder(state, FOLDER)
        private_file.write_in(folder, _ASKED, b"", is_lasting=False)
