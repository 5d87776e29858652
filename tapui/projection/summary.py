"""What a call is about, on one line: the same in every pane, command and record.

Nothing here is made safe for a screen yet.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from tapui.secret import without_begun, without_rest
from tapui.wire import limits
from tapui.wire.subjects import Call

FIELDS = (
    ("fullCommandText", "command", "cmd"),
    ("path", "file_path", "filePath", "fileName", "file", "filename"),
    ("pattern", "regex"),
    ("url", "uri"),
    ("query", "question", "search"),
    ("description", "intention", "message", "prompt", "title", "name"),
)
"""Arguments that say what a call is about: the first that is there is shown."""
_PATTERN = frozenset({"grep", "rg", "glob", "search", "find"})
"""Tools whose pattern says more than the folder in which they look."""
_NAMES = tuple(name for names in FIELDS for name in names)
_PATTERN_FIRST = (*FIELDS[2], *(name for name in _NAMES if name not in FIELDS[2]))
_HEAD_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"?')
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_BREAKS = re.compile(r"\s*[\r\n]+\s*")


def summary(tool: str, args: Any) -> str:
    """Return what a call of `tool` is about, at most `limits.MAX_SUMMARY` characters on one line.

    `args` are its arguments, decoded or as JSON; "" where they say nothing.
    """
    if isinstance(args, Raw | bytes):
        try:
            args = msgspec.json.decode(args)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return ""
    if isinstance(args, str):
        return one_line(_of_patch(args))
    if not isinstance(args, Mapping):
        return ""
    return one_line(_of_fields(tool, args))


def summary_of(call: Call) -> str:
    """Return what a call is about, also one whose arguments are only known by their head."""
    if call.args is not None:
        return summary(call.tool, call.args)
    if call.args_cut is not None:
        return summary(call.tool, head_strings(call.args_cut.head))
    return ""


def one_line(text: str) -> str:
    """Return a text on one line, its breaks as `⏎`, cut at `limits.MAX_SUMMARY` characters."""
    kept = text[: 2 * limits.MAX_SUMMARY].strip()
    if "\n" in kept or "\r" in kept:
        kept = _BREAKS.sub(" ⏎ ", kept)
    if len(kept) <= limits.MAX_SUMMARY and len(text) <= 2 * limits.MAX_SUMMARY:
        return kept
    return without_begun(kept[: limits.MAX_SUMMARY - 1]) + "…"


def last_line(text: str) -> str:
    """Return the end of a text on one line, its breaks as `⏎`, of at most `limits.MAX_SUMMARY`
    characters."""
    kept = text[-2 * limits.MAX_SUMMARY :].strip()
    if "\n" in kept or "\r" in kept:
        kept = _BREAKS.sub(" ⏎ ", kept)
    if len(kept) <= limits.MAX_SUMMARY and len(text) <= 2 * limits.MAX_SUMMARY:
        return kept
    return "…" + without_rest(kept[1 - limits.MAX_SUMMARY :])


def within(text: str, folder: str) -> str:
    """Return a text that begins with a path in `folder` without the folder; others as they are."""
    rest = text.removeprefix(f"{folder.rstrip('/')}/")
    is_in = folder.startswith("/") and folder != "/" and rest != text
    return rest if is_in and rest[:1] not in ("", "/", " ") and "/../" not in f"/{rest}/" else text


def _of_fields(tool: str, args: Mapping[Any, Any]) -> str:
    for name in _PATTERN_FIRST if tool in _PATTERN else _NAMES:
        value = args.get(name)
        if value and isinstance(value, str) and value.strip():
            return value
    for value in args.values():
        if isinstance(value, str) and value.strip():
            return _of_patch(value)
    return ""


def _of_patch(text: str) -> str:
    """Return the files of a patch in the form of `apply_patch`, or the text unchanged."""
    files = _PATCHED.findall(text[: limits.DETAIL_BYTES]) if "*** " in text[:200] else []
    return ", ".join(files) if files else text


def head_strings(head: str) -> dict[str, str]:
    strings: dict[str, str] = {}
    for name, text in _HEAD_STRING.findall(head):
        strings.setdefault(_unescaped(name), _unescaped(text))
    return strings


def _unescaped(text: str) -> str:
    try:
        said: str = msgspec.json.decode(f'"{text}"')
    except msgspec.DecodeError:
        return text
    return said
