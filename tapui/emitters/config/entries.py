"""What a configuration says: emitters, streams and providers, in one form for all spellings."""

import re

from msgspec import Struct

from tapui.wire.emitters import Delivery, Injector, Lifespan, Ownership, ScheduleKind
from tapui.wire.provider import FilterRule

MAIN_STREAM = "main"
_OUTSIDE = re.compile(r"[^a-z0-9._-]+")


def normalised_name(text: str) -> str:
    """Return the name of an emitter or a stream: lower case, `-` for all but `[a-z0-9._-]`.

    It may be empty. Two spellings with the same result mean the same thing.
    """
    return _OUTSIDE.sub("-", text.strip().lower()).strip("-")


class Schedule(Struct, frozen=True):
    """When an emitter runs. `seconds` are those from a run's end to the next; only of `timed`."""

    kind: ScheduleKind
    seconds: int | None = None

    def __str__(self) -> str:
        match self.kind:
            case "timed":
                return f"every {interval_text(self.seconds or 0)}"
            case "idle":
                return "when idle"
            case "oneTime":
                return "once"
            case "continuous":
                return "all the time"


def interval_text(seconds: int) -> str:
    """Return an interval as a configuration spells it: `30s`, `5m`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


class EmitterEntry(Struct, frozen=True, kw_only=True):
    """An emitter. One of `command` and `prompt` is there.

    `line` and `index` say where it stands: its line in the file, from 1, and its place in the list,
    from 0. They are None for one that comes from elsewhere.
    """

    name: str
    command: str | None = None
    prompt: str | None = None
    schedule: Schedule
    stream: str
    cwd: str | None = None
    """As it was written: absolute, or relative to the session's folder."""
    shell: str | None = None
    env: dict[str, str] = {}
    auto_start: bool = True
    include_stderr: bool = True
    ownership: Ownership = "userOwned"
    lifespan: Lifespan = "persistent"
    max_runs: int | None = None
    rules: tuple[FilterRule, ...] = ()
    filter_ownership: Ownership = "userOwned"
    description: str = ""
    metadata: str | None = None
    """Compact JSON: carried along, and used for nothing."""
    line: int | None = None
    index: int | None = None


class StreamEntry(Struct, frozen=True, kw_only=True):
    """A stream and its injector."""

    name: str
    description: str = ""
    injector: Injector = "unset"
    delivery: Delivery = "surface"
    ownership: Ownership = "userOwned"
    """The owner of the injector."""
    line: int | None = None
    index: int | None = None


class ProviderEntry(Struct, frozen=True, kw_only=True):
    """A provider of the project: a program that is started without a shell."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    auto_start: bool = True
    description: str = ""
    line: int | None = None
    index: int | None = None


class ConfigProblem(Struct, frozen=True):
    """What is wrong, and where: line and column from 1, the key as `emitters[0].command`.

    An error costs the entry it is in, or the whole file when `key` is empty; else the rest of the
    entry holds.
    """

    file: str
    line: int
    column: int
    key: str
    text: str
    is_error: bool = True
    name: str = ""
    """Of the entry it is in, safe to show."""

    def __str__(self) -> str:
        key = f" {self.key}:" if self.key else ""
        return f"{self.file}:{self.line}:{self.column}:{key} {self.text}"


class Configuration(Struct, frozen=True):
    """What the file of a folder says. Without a file everything is empty."""

    folder: str
    """The folder, without links."""
    path: str | None = None
    is_old: bool = False
    """It is an old `copilot-channels.config.json`, which is never written."""
    streams: tuple[StreamEntry, ...] = ()
    emitters: tuple[EmitterEntry, ...] = ()
    providers: tuple[ProviderEntry, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    digest: str = ""
    """Of the file's bytes; empty without one that can be read."""
    is_readable: bool = True
    """Whether the file could be taken apart at all; entries of it may still be refused."""

    def emitter(self, name: str) -> EmitterEntry | None:
        """Return the emitter of this (normalised) name."""
        return next((one for one in self.emitters if one.name == name), None)

    def stream(self, name: str) -> StreamEntry:
        """Return the stream of this (normalised) name; one that is not listed has no settings."""
        return next((one for one in self.streams if one.name == name), StreamEntry(name=name))

    def provider(self, name: str) -> ProviderEntry | None:
        """Return the provider of this name."""
        return next((one for one in self.providers if one.name == name), None)
