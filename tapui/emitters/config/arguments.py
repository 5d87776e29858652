"""Reads the arguments of the `tap_...` tools about emitters into messages to the gateway.

Arguments have the spellings of a file's keys, and those of the earlier extension's tools.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from tapui.emitters.config.entries import EmitterEntry, IntervalError, schedule_of
from tapui.emitters.config.entry_keys import (
    FILTER_KEYS,
    INTERVAL_KEYS,
    PATTERN_KEYS,
    STREAM_KEYS,
    PatternCheck,
    delivery_of,
    emitter_name,
    emitter_of,
    filter_of,
    stream_name,
)
from tapui.emitters.config.fields import EntryRefusedError, Fields, Problems, key_text, quoted
from tapui.wire.builtin import EmitterWanted
from tapui.wire.emitters import Delivery, Rules
from tapui.wire.message import BUILTIN_PROVIDER

DELAY_KEYS = ("in", "delay", *INTERVAL_KEYS)
LATER = "later"
"""The name of a prompt that is scheduled without one."""


class FilterGiven(Struct, frozen=True):
    """The filter that an emitter is to have. With `patterns`, only those of the three are given:
    the others stay as they are."""

    name: str
    rules: Rules
    patterns: dict[str, str | None] | None = None


class ToolArguments:
    """The arguments of one call. Methods raise `ValueError`, which names the key and says what is
    expected."""

    def __init__(self, given: dict[str, Any]) -> None:
        # Arguments have no lines, which are what `Problems` reports faults by.
        self._problems = Problems("arguments", lambda _path: (1, 1))
        self._fields = Fields({**given, **_bare_streams(given)}, (), self._problems)

    @property
    def notes(self) -> list[str]:
        """What of the arguments is not used, and why."""
        return [f"{one.key}: {one.text}" for one in self._problems.all()]

    def emitter(self) -> EmitterWanted:
        with _refusals():
            return self._emitter()

    def _emitter(self) -> EmitterWanted:
        fields = self._fields
        entry = emitter_of(fields, PatternCheck(), ownership="modelOwned", is_file=False)
        if entry.env:
            raise fields.refuse("env", "set variables in the command itself, as in A=1 ./run")
        self._tell_unused(entry)
        return EmitterWanted(
            name=entry.name,
            stream=entry.stream,
            kind=entry.schedule.kind,
            command=entry.command,
            prompt=entry.prompt,
            shell=entry.shell,
            cwd=entry.cwd,
            every=entry.schedule.seconds,
            cron=entry.schedule.cron or None,
            max_runs=entry.max_runs,
            include_stderr=entry.include_stderr,
            rules=list(entry.rules),
            injector="enabled" if fields.flag("subscribe") else "disabled",
            delivery=delivery_of(fields),
            description=entry.description,
        )

    def _tell_unused(self, entry: EmitterEntry) -> None:
        """Say what the model cannot have by itself: it is the person's to keep an emitter."""
        fields = self._fields
        if entry.lifespan == "persistent":
            key = fields.key("lifespan", "scope") or "lifespan"
            fields.warn(key, "temporary: only the person can keep an emitter")
        if entry.ownership == "userOwned":
            key = fields.key("ownership", "managedBy") or "ownership"
            fields.warn(key, "modelOwned: only the person can make it theirs")
        if not entry.auto_start:
            fields.warn("autoStart", "not used: it is started now, and not kept")
        if entry.metadata is not None:
            fields.warn("metadata", "not used: only a file's entry has metadata")

    def prompt(self) -> EmitterWanted:
        """Return a prompt that is to be sent once, after a delay."""
        with _refusals():
            fields = self._fields
            key = fields.key(*DELAY_KEYS)
            if key is None:
                raise fields.refuse("in", "missing: in how long, such as 10m")
            delay = fields.values[key]
            given = {name: fields.values.get(name) for name in ("prompt", "description")}
            given["name"] = fields.value("name") or LATER
            if (stream := fields.key(*STREAM_KEYS)) is not None:
                given[stream] = fields.values[stream]
            inner = Fields(given, (), self._problems)
            entry = emitter_of(inner, PatternCheck(), ownership="modelOwned", is_file=False)
            return EmitterWanted(
                name=entry.name,
                stream=entry.stream,
                kind="oneTime",
                prompt=entry.prompt,
                every=self._seconds(key, delay),
                description=entry.description,
            )

    def _seconds(self, key: str, delay: Any) -> int:
        if not isinstance(delay, str) or not delay.strip():
            text = f"a delay is a text such as 30s or 10m, not {quoted(delay)}"
            raise self._fields.refuse(key, text)
        try:
            schedule = schedule_of(delay, is_prompt=True)
        except IntervalError as error:
            raise self._fields.refuse(key, str(error)) from None
        if schedule.seconds is None:
            text = "a delay is a text such as 30s or 10m: tap_start_emitter has prompts when idle"
            raise self._fields.refuse(key, text)
        return schedule.seconds

    def name(self) -> str:
        with _refusals():
            return emitter_name(self._fields)

    def filter(self) -> FilterGiven:
        with _refusals():
            fields = self._fields
            name = emitter_name(fields)
            is_whole = fields.key(*FILTER_KEYS, "rules") is not None
            given = {key: fields.value(key) for key in PATTERN_KEYS}
            if not is_whole and all(value is None for value in given.values()):
                text = "missing: its rules [{match, outcome}]; [] keeps every line"
                raise fields.refuse(FILTER_KEYS[0], text)
            rules, _ownership = filter_of(fields, PatternCheck())
            return FilterGiven(name, list(rules), None if is_whole else given)

    def injector(self) -> tuple[str, Delivery | None]:
        """Return a stream, and what its injector sends; None where nothing is said."""
        with _refusals():
            fields = self._fields
            if fields.key(*STREAM_KEYS) is None:
                raise fields.refuse(STREAM_KEYS[0], "missing: the name of a stream")
            stream = stream_name(fields, "")
            return stream, None if fields.value("delivery") is None else delivery_of(fields)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn the refusal of an entry into a `ValueError` with its key."""
    try:
        yield
    except EntryRefusedError as error:
        key = key_text(error.path)
        raise ValueError(f"{key}: {error}" if key else str(error)) from None


def _bare_streams(given: dict[str, Any]) -> dict[str, Any]:
    """Return streams' names without the provider that tapui's own have in listings."""
    return {
        key: value.removesuffix(f"@{BUILTIN_PROVIDER}")
        for key in STREAM_KEYS
        if isinstance(value := given.get(key), str)
    }
