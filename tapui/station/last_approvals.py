"""The settings `approvals.*` of the last run: a program that writes the file of settings changes
them for the next one, unseen."""

import os
from pathlib import Path

import msgspec

from tapui.files import private_file
from tapui.files.foreign_file import text_of
from tapui.settings.settings import Answering
from tapui.text import safe_name

FILE = "last-approvals.json"


def changed_approvals(state: Path, now: Answering) -> list[str]:
    """Keep the settings of this run; return what has changed since the last one, in words.

    Where the file is spoiled, those of before are the ones that hold without settings.
    """
    try:
        before = msgspec.json.decode(text_of(state / FILE, os.getuid()), type=Answering)
    except FileNotFoundError:
        before = now  # the first run
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
        before = Answering()
    told, values = [], msgspec.to_builtins(before)
    for name, value in msgspec.to_builtins(now).items():
        if values[name] != value:
            was = safe_name(values[name])
            told.append(f"since the last run approvals.{name} has changed: {was} → {value}")
    try:
        folder = private_file.private_folder(state)
        private_file.write_in(folder, FILE, msgspec.json.encode(now), is_lasting=False)
    except OSError as error:
        told.append(f"{state / FILE} cannot be written: {error}")
    return told
