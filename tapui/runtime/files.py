"""Results that providers leave in files (Provider Interface v2 "Payload limits")."""

import os
import stat
from pathlib import Path


def look_for(path: str, folder: str) -> tuple[str | None, int]:
    """Look for a file inside a provider's folder, links followed.

    Returns why it may not be used (None if it may) and its size in bytes.
    """
    if "\0" in path or not Path(path).is_absolute():
        return "file.path: not an absolute path", 0
    try:
        real = os.path.realpath(path, strict=True)
        found = Path(real).stat()
    except OSError as error:
        return f"file.path: {error.strerror}", 0
    if os.path.commonpath([real, os.path.realpath(folder)]) != os.path.realpath(folder):
        return "file.path: not inside the provider's persistDir", 0
    if not stat.S_ISREG(found.st_mode):
        return "file.path: not a regular file", 0
    return None, found.st_size
