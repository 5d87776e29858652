"""Edits of a JSON text that keep its comments and order, and entries spelled as the file does.

A member owns its key, its value and one comma, and never a comment. Only what an entry means
otherwise than before is written anew; keys that are not ours stay.
"""

import copy
import json
import re
from typing import Any

import msgspec

from tapui.core.emitters.plans import interval_text
from tapui.emitters.config.document import JsonDocument, UnreadableError
from tapui.emitters.config.entries import EmitterEntry, ProviderEntry, StreamEntry, normalised_name
from tapui.emitters.config.entry_keys import (
    CRON_KEY,
    FILTER_KEYS,
    FLAT_KEYS,
    INJECTOR_KEYS,
    INTERVAL_KEYS,
    STREAM_KEYS,
)
from tapui.emitters.config.fields import JsonPath, key_text
from tapui.wire.emitters import Ownership
from tapui.wire.provider import FilterRule

_BLANKS = b" \t\r\n"
_LINE_START = re.compile(rb"[ \t]*")
_SHORT = 72
"""Characters up to which a value without others within stands on one line."""


class EditError(Exception):
    """A change that would have changed something else as well."""


def with_value(document: JsonDocument, path: JsonPath, value: Any) -> JsonDocument:
    """Return the document with a value set: replaced, or added to its object or list at the end."""
    expected = copy.deepcopy(document.value)
    inner = _at(expected, path[:-1])
    span = document.span(path)
    if span is not None:
        inner[path[-1]] = value
        text = _replaced(document, span[0], span[1], _rendered(document, value, span[0]))
    else:
        if isinstance(inner, list):
            inner.append(value)
        else:
            inner[path[-1]] = value
        text = _added(document, path, value)
    return _checked(document, text, path, expected)


def without(document: JsonDocument, path: JsonPath) -> JsonDocument:
    """Return the document without a member, or an element of a list. One must be there."""
    expected = copy.deepcopy(document.value)
    del _at(expected, path[:-1])[path[-1]]
    changed = document
    while spans := changed.member_spans(path):
        changed = _parsed(document, _removed(changed, path, spans[-1]), path)
        if isinstance(path[-1], int):
            break
    return _checked(document, changed.text, path, expected)


def renamed(document: JsonDocument, key: str, new: str) -> JsonDocument:
    expected = {new if name == key else name: value for name, value in document.value.items()}
    changed = document
    while spans := changed.member_spans((key,)):
        start = spans[-1][0]
        end = start + len(_KEY_TEXT.match(changed.text, start)[0])  # type: ignore[index]
        name = json.dumps(new).encode()
        changed = _parsed(document, changed.text[:start] + name + changed.text[end:], (key,))
    return _checked(document, changed.text, (key,), expected)


_KEY_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')


def _at(value: Any, path: JsonPath) -> Any:
    for step in path:
        value = value[step]
    return value


def _parsed(document: JsonDocument, text: bytes, path: JsonPath) -> JsonDocument:
    try:
        return JsonDocument(document.mark + text)
    except UnreadableError:
        raise EditError(f"{key_text(path)} cannot be changed where it stands") from None


def _checked(document: JsonDocument, text: bytes, path: JsonPath, expected: Any) -> JsonDocument:
    changed = _parsed(document, text, path)
    if changed.value != expected:
        raise EditError(f"{key_text(path)} cannot be changed without a change to something else")
    return changed


def _replaced(document: JsonDocument, start: int, end: int, new: bytes) -> bytes:
    return document.text[:start] + new + document.text[end:]


def _added(document: JsonDocument, path: JsonPath, value: Any) -> bytes:
    """Return the text with a new last member, in the way in which the others are written."""
    span = document.span(path[:-1])
    assert span is not None
    start, end = span[0] + 1, span[1] - 1
    others = document.children(path[:-1])
    text = document.text
    prefix = b"" if isinstance(path[-1], int) else json.dumps(path[-1], ensure_ascii=False).encode()
    prefix += b": " if prefix else b""
    comma, has_comma = _comma_behind(document, others[-1][1]) if others else (start, False)
    gap = text[comma:end]
    head = comma + len(gap.rstrip(_BLANKS))
    tail = text[head:end]
    is_open = b"\n" in (text[start : others[0][0]] if others else document.text)
    if not is_open and b"\n" not in tail:
        parts = [text[:comma], b"," if others and not has_comma else b"", text[comma:head]]
        parts += [b" " if others else b"", prefix, _rendered(document, value, span[0])]
        return b"".join([*parts, b"," if has_comma else b"", text[head:]])
    newline = _newline(document)
    outer = _indent(document, span[0])
    indent = _indent(document, others[-1][0]) if others else outer + _unit(document)
    closing = tail if b"\n" in tail else newline + outer
    new = _rendered(document, value, span[0], indent)
    parts = [text[:comma], b"," if others and not has_comma else b"", text[comma:head]]
    parts += [newline, indent, prefix, new, b"," if has_comma else b"", closing, text[end:]]
    return b"".join(parts)


def _comma_behind(document: JsonDocument, end: int) -> tuple[int, bool]:
    """Return the place behind a member and its comma, and whether it has one."""
    rest = document.uncommented[end:].lstrip(_BLANKS)
    if not rest.startswith(b","):
        return end, False
    return len(document.text) - len(rest) + 1, True


def _removed(document: JsonDocument, path: JsonPath, span: tuple[int, int]) -> bytes:
    text = document.text
    start, end = span
    behind, has_comma = _comma_behind(document, end)
    before = [one for one in document.children(path[:-1]) if one[1] <= start]
    if has_comma:
        between = text[end : behind - 1]
        text = text[:end] + between + text[behind:]
    elif before:
        comma = _comma_behind(document, before[-1][1])[0] - 1
        text = text[:comma] + text[comma + 1 :]
        start, end = start - 1, end - 1
    return _without_blank_line(text[:start], text[end:])


def _without_blank_line(before: bytes, after: bytes) -> bytes:
    """Return both joined, without the line between them when nothing else stands on it."""
    indent = len(before) - len(before.rstrip(b" \t"))
    blanks = len(after) - len(after.lstrip(b" \t"))
    is_first = before[: len(before) - indent].endswith(b"\n")
    rest = after[blanks:]
    if is_first and rest.startswith((b"\n", b"\r\n")):
        return before[: len(before) - indent] + rest[rest.index(b"\n") + 1 :]
    if is_first:
        return before + after
    if rest.startswith((b"}", b"]")):
        return before[: len(before) - indent] + after
    return before + (rest if indent else after)


def _newline(document: JsonDocument) -> bytes:
    lines = document.text.count(b"\n")
    return b"\r\n" if lines and lines == document.text.count(b"\r\n") else b"\n"


def _indent(document: JsonDocument, at: int) -> bytes:
    """Return the blanks with which the line of a place begins."""
    begin = document.text.rfind(b"\n", 0, at) + 1
    found = _LINE_START.match(document.text, begin, at)
    return found[0] if found else b""


def _unit(document: JsonDocument) -> bytes:
    """Return by how much this file indents."""
    for start, _end in document.children(()):
        if unit := _indent(document, start):
            return unit
    return b"  "


def _rendered(document: JsonDocument, value: Any, at: int, indent: bytes | None = None) -> bytes:
    """Return a value's text: on one line in a file of one line, else indented like the file."""
    if b"\n" not in document.text:
        return json.dumps(value, ensure_ascii=False).encode()
    before = _indent(document, at) if indent is None else indent
    lines = _lines(value, _unit(document).decode())
    return (_newline(document) + before).join(line.encode() for line in lines)


def _lines(value: Any, unit: str) -> list[str]:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return [flat]
    inner = list(value.values()) if isinstance(value, dict) else value
    if len(flat) <= _SHORT and not any(isinstance(one, dict | list) for one in inner):
        return [flat]
    lines = []
    for at, one in enumerate(inner):
        name = ""
        if isinstance(value, dict):
            name = f"{json.dumps(list(value)[at], ensure_ascii=False)}: "
        first, *others = _lines(one, unit)
        lines += [f"{unit}{name}{first}", *(f"{unit}{line}" for line in others)]
        if at < len(inner) - 1:
            lines[-1] += ","
    return ["{", *lines, "}"] if isinstance(value, dict) else ["[", *lines, "]"]


_OWNER_KEYS = ("ownership", "managedBy")
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "stream": STREAM_KEYS,
    "schedule": (*INTERVAL_KEYS, CRON_KEY, "runSchedule"),
    "filter": (*FILTER_KEYS, *FLAT_KEYS),
    "ownership": _OWNER_KEYS,
    "sessionInjector": INJECTOR_KEYS,
}
_ABSENT = object()


def emitter_values(entry: EmitterEntry) -> dict[str, Any]:
    """Return what an emitter's keys mean, in the order in which a new one is written.

    A value of None is not written.
    """
    return {
        "name": entry.name,
        "description": entry.description or None,
        "command": entry.command,
        "prompt": entry.prompt,
        "stream": entry.stream if entry.stream != entry.name else None,
        "schedule": _schedule_values(entry) or None,
        "maxRuns": entry.max_runs,
        "cwd": entry.cwd,
        "shell": entry.shell,
        "env": entry.env or None,
        "autoStart": None if entry.auto_start else False,
        "includeStderr": None if entry.include_stderr else False,
        "ownership": None if entry.ownership == "userOwned" else entry.ownership,
        "filter": filter_value(entry.rules, entry.filter_ownership),
        "metadata": None if entry.metadata is None else msgspec.json.decode(entry.metadata),
    }


def stream_values(entry: StreamEntry) -> dict[str, Any]:
    """Return what a stream's keys mean, as `emitter_values` does."""
    injector = None
    if entry.injector != "unset":
        injector = {
            "enabled": entry.injector == "enabled",
            "delivery": entry.delivery,
            "ownership": entry.ownership,
        }
    return {
        "name": entry.name,
        "description": entry.description or None,
        "sessionInjector": injector,
    }


def provider_values(entry: ProviderEntry) -> dict[str, Any]:
    """Return what a provider's keys mean, as `emitter_values` does."""
    return {
        "name": entry.name,
        "description": entry.description or None,
        "command": entry.command,
        "args": list(entry.args) or None,
        "cwd": entry.cwd,
        "env": entry.env or None,
        "autoStart": None if entry.auto_start else False,
    }


def _schedule_values(entry: EmitterEntry) -> dict[str, str]:
    schedule = entry.schedule
    if schedule.cron:
        return {CRON_KEY: schedule.cron}
    if schedule.kind == "timed":
        return {"runInterval": interval_text(schedule.seconds or 0)}
    if schedule.kind == "idle":
        return {"runInterval": "idle"}
    if schedule.kind == "oneTime" and entry.command is not None:
        return {"runSchedule": "oneTime"}
    return {}


def filter_value(rules: tuple[FilterRule, ...], ownership: Ownership) -> Any:
    """Return a filter's JSON: a list, or an object when its owner is the model."""
    listed = [{"match": rule.match, "outcome": rule.outcome} for rule in rules]
    if ownership == "userOwned":
        return listed or None
    return {"rules": listed, "ownership": ownership}


def new_entry(values: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of an entry that is not in the file yet."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        if name == "schedule":
            found.update(value)
        else:
            found["eventFilter" if name == "filter" else name] = value
    return found


def changed_entry(
    document: JsonDocument, path: JsonPath, before: dict[str, Any], after: dict[str, Any]
) -> JsonDocument:
    """Return the document with what `after` means otherwise than `before`.

    Raises `EditError`.
    """
    for name, value in after.items():
        if name != "name" and value != before[name]:
            document = _changed_key(document, path, name, value)
    return document


def _changed_key(document: JsonDocument, path: JsonPath, name: str, value: Any) -> JsonDocument:
    spellings = _SPELLINGS.get(name, (name,))
    if name in ("schedule", "filter"):
        wanted = new_entry({name: value})
        if "runInterval" in wanted and _is_given(document, path, "every"):
            wanted = {"every": wanted["runInterval"]}
        return _one_of(document, path, spellings, wanted)
    given = [one for one in spellings if _is_given(document, path, one)]
    if value is None and name in ("autoStart", "includeStderr"):
        value = True if given else None
    if value is None and name == "ownership":
        value = "userOwned" if given else None
    if value is None:
        return _one_of(document, path, spellings, {})
    key = given[0] if given else spellings[0]
    if name == "sessionInjector" and given:
        return _changed_injector(document, (*path, key), value)
    return with_value(document, (*path, key), value)


def _changed_injector(document: JsonDocument, path: JsonPath, wanted: Any) -> JsonDocument:
    """Set the three keys of an injector that is there."""
    inner = _get(document, path[:-1], path[-1])
    if not isinstance(inner, dict):
        return with_value(document, path, wanted)
    for name, value in wanted.items():
        keys = _SPELLINGS.get(name, (name,))
        key = next((one for one in keys if inner.get(one) is not None), keys[0])
        if inner.get(key) != value:
            document = with_value(document, (*path, key), value)
    return document


def _one_of(
    document: JsonDocument, path: JsonPath, spellings: tuple[str, ...], wanted: dict[str, Any]
) -> JsonDocument:
    """Take all spellings out but those that are wanted; the first that was there is kept so."""
    for name in spellings:
        if name not in wanted and _get(document, path, name) is not _ABSENT:
            document = without(document, (*path, name))
    for name, value in wanted.items():
        document = with_value(document, (*path, name), value)
    return document


def _get(document: JsonDocument, path: JsonPath, name: Any) -> Any:
    value = document.value
    for step in path:
        value = value[step]
    return value.get(name, _ABSENT)


def _is_given(document: JsonDocument, path: JsonPath, name: str) -> bool:
    return _get(document, path, name) not in (_ABSENT, None)


def index_of(document: JsonDocument, key: str, name: str) -> int | None:
    """Return where in a list of entries the one with this normalised name is, the first of them."""
    for at, one in enumerate(document.value[key]):
        spelled = one.get("name") if isinstance(one, dict) else None
        if isinstance(spelled, str) and normalised_name(spelled) == name:
            return at
    return None
