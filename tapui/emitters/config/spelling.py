"""An entry as it is written into a file: with the documented keys, or those that stand there.

Only what an entry means otherwise than before is written anew; keys that are not ours stay.
"""

from typing import Any

import msgspec

from tapui.emitters.config.document import JsonDocument
from tapui.emitters.config.edits import with_value, without
from tapui.emitters.config.entries import (
    EmitterEntry,
    StreamEntry,
    interval_text,
    normalised_name,
)
from tapui.emitters.config.filters import FILTER_KEYS, FLAT_KEYS
from tapui.emitters.config.normalising import INJECTOR_KEYS, INTERVAL_KEYS, STREAM_KEYS
from tapui.emitters.config.problems import JsonPath
from tapui.wire.emitters import Ownership
from tapui.wire.provider import FilterRule

_OWNER_KEYS = ("ownership", "managedBy")
_SPELLINGS: dict[str, tuple[str, ...]] = {
    "stream": STREAM_KEYS,
    "schedule": (*INTERVAL_KEYS, "runSchedule"),
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


def _schedule_values(entry: EmitterEntry) -> dict[str, str]:
    schedule = entry.schedule
    if schedule.kind == "timed":
        return {"runInterval": interval_text(schedule.seconds or 0)}
    if schedule.kind == "idle":
        return {"runInterval": "idle"}
    if schedule.kind == "oneTime" and entry.command is not None:
        return {"runSchedule": "oneTime"}
    return {}


def filter_value(rules: tuple[FilterRule, ...], ownership: Ownership) -> Any:
    """Return a filter as it is written: a list, or an object when its owner is the model."""
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
