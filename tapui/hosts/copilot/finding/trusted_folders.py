"""The folders that the person trusted in the CLI, read from its configuration."""

import json
import os
from pathlib import Path

from tapui.emitters.config.document import plain_json
from tapui.files.foreign_file import decoded
from tapui.policies.rules import is_within

_FILE = "config.json"
_KEYS = ("trustedFolders", "trusted_folders")
"""The name of the list, and the one that older CLIs gave it."""
_MAX_CONFIG_BYTES = 4 * 1024 * 1024


def is_trusted(copilot_home: Path, folder: str) -> bool:
    """Return whether the CLI's list has a folder, or one above it; links in them are followed.

    A list that cannot be read trusts nothing. Raises no error.
    """
    real = os.path.realpath(folder)
    return any(is_within(real, one) for one in _listed(copilot_home))


def _listed(copilot_home: Path) -> list[str]:
    try:
        with (copilot_home / _FILE).open("rb") as file:
            text = decoded(file.read(_MAX_CONFIG_BYTES), "replace")
        config = json.loads(plain_json(text))
    except (OSError, ValueError, RecursionError):
        return []
    if not isinstance(config, dict):
        return []
    lists = [config[key] for key in _KEYS if isinstance(config.get(key), list)]
    folders = [one for listed in lists for one in listed if isinstance(one, str)]
    return [os.path.realpath(one) for one in folders if one.startswith("/") and "\0" not in one]
