"""Rules that the person's recorded answers suggest, and which are not to be shown again."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tapui.files import private_file
from tapui.files.foreign_file import text_of
from tapui.index.search import Search, permissions_answered
from tapui.policies.suggestions import SuggestedRules, answered, suggested
from tapui.projection.requests.request_kind import detail_of
from tapui.settings.rule_files import RuleFiles

if TYPE_CHECKING:
    from collections.abc import Collection

FILE = "refused-suggestions.json"
DAYS = 60
DAY = 86_400.0
"""Seconds."""
_MOST_REFUSED = 1_000


def suggestions(search: Search, state: Path, config: Path, since: float) -> list[SuggestedRules]:
    """Return the rules that answers suggest, of those since then (seconds since the epoch). Raises
    `IndexUnusable`."""
    found = permissions_answered(search, since)
    requests = answered((detail_of(one), folder, allowed) for one, folder, allowed in found)
    return suggested(requests, RuleFiles(config).read().rules, _refused(state))


def _refused(state: Path) -> "Collection[str]":
    try:
        return msgspec.json.decode(text_of(state / FILE, os.getuid()), type=list[str])
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError):
        return ()  # there is none, or it is spoiled: a suggestion is seen once more


def refuse(state: Path, key: str) -> None:
    """Keep that a suggestion is not to be shown again. Raises `OSError`."""
    kept = [*(one for one in _refused(state) if one != key), key][-_MOST_REFUSED:]
    folder = os.open(private_file.private_folder(state), os.O_RDONLY | os.O_DIRECTORY)
    try:
        private_file.write(folder, FILE, msgspec.json.encode(kept), is_lasting=False)
    finally:
        os.close(folder)
