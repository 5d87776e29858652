"""The edits that tapui makes in the configuration file."""

import contextlib
import logging
import os
import tomllib
from pathlib import Path

_log = logging.getLogger(__name__)


def keep_theme(path: Path, name: str) -> str | None:
    """Remember a theme; return why it will not be there the next time, or None. It is logged."""
    try:
        remember_theme(path, name)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        _log.warning("the theme %s could not be written to %s: %s", name, path, why)
        return f"{path}: the theme cannot be remembered: {why}"
    return None


def remember_theme(path: Path, name: str) -> None:
    """Set `theme` in the configuration file; other settings, comments and their order stay.

    The file is created where there is none, and replaced in one step. Raises `OSError` when it
    cannot be read or written, and `ValueError` when it is not valid TOML (it is then left alone).
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    path = path.resolve()  # a link (to a folder of dot-files, say) stays a link
    text = path.read_bytes().decode() if path.exists() else ""
    before = tomllib.loads(text)
    if before.get("theme") == name:
        return
    try:
        document = tomlkit.parse(text)
        document["theme"] = name
        after = tomlkit.dumps(document)
    except TOMLKitError as error:
        raise ValueError(f"{path}: theme could not be set: {error}") from None
    if text.count("\n") == text.count("\r\n") > 0:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    if tomllib.loads(after) != {**before, "theme": name}:
        raise ValueError(f"{path}: theme could not be set without a change to other settings")
    _replace(path, after)


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    import tempfile  # only what writes needs it: every command reads the settings

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):  # it has its new name already
            Path(name).unlink()
        raise
