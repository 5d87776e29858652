"""What a configuration says: emitters, streams, providers and goals, in one form for all spellings.

It comes from a repository: everything in it is bounded.
"""

import re

from msgspec import Struct

from tapui.core.emitters.plans import Schedule
from tapui.wire import limits
from tapui.wire.emitters import Delivery, Injector, Lifespan, Ownership
from tapui.wire.goals import CriterionGiven
from tapui.wire.limits import MAX_INTERVAL
from tapui.wire.provider import FilterRule

MAIN_STREAM = "main"
_OUTSIDE = re.compile(r"[^a-z0-9._-]+")


def normalised_name(text: str) -> str:
    """Return the name of an emitter or a stream: lower case, `-` for all but `[a-z0-9._-]`.

    It may be empty. Two spellings with the same result mean the same thing.
    """
    return _OUTSIDE.sub("-", text.strip().lower()).strip("-")


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
    is_folder_tools: bool = False
    """Whether it is tapui's own, of the folder's `tools/`."""


class GoalEntry(Struct, frozen=True, kw_only=True):
    """A goal of each session of the folder. Its name is its title."""

    name: str
    criteria: tuple[CriterionGiven, ...]
    agent: str | None = None
    deadline: str | None = None
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
    goals: tuple[GoalEntry, ...] = ()
    problems: tuple[ConfigProblem, ...] = ()
    digest: str = ""
    """Of the file's bytes; empty without one that can be read."""
    is_readable: bool = True
    """Whether the file could be taken apart at all; entries of it may still be refused."""

    def emitter(self, name: str) -> EmitterEntry | None:
        return next((one for one in self.emitters if one.name == name), None)

    def stream(self, name: str) -> StreamEntry:
        """Return the stream of this (normalised) name; one that is not listed has no settings."""
        return next((one for one in self.streams if one.name == name), StreamEntry(name=name))

    def provider(self, name: str) -> ProviderEntry | None:
        return next((one for one in self.providers if one.name == name), None)

    def entry(self, name: str, *, is_provider: bool) -> EmitterEntry | ProviderEntry | None:
        return self.provider(name) if is_provider else self.emitter(name)


MAX_FILE = 1024 * 1024
"""Bytes of a configuration file."""
MAX_EMITTERS = limits.MAX_FOLDER_EMITTERS
MAX_STREAMS = 64
MAX_PROVIDERS = 20
MAX_FILE_GOALS = 20
MAX_PATTERN_CHARACTERS = 128 * 1024
"""Characters of all patterns of a file, each counted as 32 at least: compiling takes 4 µs for each
character, and 0.1 ms for a short pattern."""
MAX_PROMPT = 64 * 1024
MAX_DESCRIPTION = 500
MAX_METADATA = 64 * 1024
"""Characters of an entry's metadata as compact JSON."""
MAX_VARIABLES = 64
MAX_VALUE = 4 * 1024
"""Characters of a variable's value, and of an argument."""
MAX_ARGUMENTS = 64
MAX_PROBLEMS = 100
"""Problems that are listed of a file; the others are counted."""


_INTERVAL = re.compile(r"(?:every)?\s*([0-9]+)\s*([a-z]+)")
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
}
_MOST_DIGITS = 9
_EXAMPLES = "write it as 30s, 5m, 2h, 1d or every 10 minutes, or idle for a prompt"


class IntervalError(ValueError):
    """A text that is no interval; the message says why."""


def schedule_of(interval: str, *, is_prompt: bool) -> Schedule:
    """Return the schedule that an interval's text means; a blank one is none.

    Raises `IntervalError`.
    """
    text = interval.strip().lower()
    if not text:
        return Schedule("oneTime") if is_prompt else Schedule("continuous")
    if text == "idle":
        if not is_prompt:
            raise IntervalError("idle is for prompts only: a command has no rest to wait for")
        return Schedule("idle")
    found = _INTERVAL.fullmatch(text)
    size = _UNITS.get(found[2]) if found else None
    if found is None or size is None:
        raise IntervalError(f"it is no interval: {_EXAMPLES}")
    if len(found[1].lstrip("0")) > _MOST_DIGITS or int(found[1]) * size > MAX_INTERVAL:
        raise IntervalError(f"an interval is at most {MAX_INTERVAL // 86400} days")
    if int(found[1]) == 0:
        raise IntervalError("an interval must be 1 or greater")
    return Schedule("timed", int(found[1]) * size)
