"""What the shell tells of emitters, through `Gateway.tell`: files, and the status of runs."""

from collections.abc import Callable
from dataclasses import dataclass

from tapui.core.emitters.plans import FolderEmitters
from tapui.core.runs.reports import RunReport


@dataclass(frozen=True, slots=True)
class EmitterInputs:
    """Methods of the parts."""

    begin: Callable[[], None]
    """The shell can run emitters from now on: files are read, and what is allowed starts."""
    folder_changed: Callable[[FolderEmitters], None]
    """A folder's file was changed."""
    files_changed: Callable[[str], None]
    """Files that commands of a folder's emitters name may have changed."""
    reported: Callable[[RunReport], None]
    """A runner's report of a run."""
