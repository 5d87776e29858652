"""What the shell hands in about emitters: a folder's file, and what the person has allowed."""

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from tapui.wire.emitters import (
    Delivery,
    EmitterKind,
    FileProblem,
    Injector,
    Lifespan,
    Ownership,
)
from tapui.wire.provider import FilterRule


class EmitterPlan(Struct, frozen=True, kw_only=True):
    """What runs or is sent, when, and the outcome of its lines: all that the person allows.

    It has a command or a prompt. `every` is seconds: from the end of a run of a timed one to the
    next, and until the run of one that runs once. `cwd` is absolute and without
    links, `stream` a bare name. Of a `provider`, `command` is a program that gets `args`.
    """

    name: str
    stream: str
    kind: EmitterKind
    cwd: str
    command: str | None = None
    args: tuple[str, ...] = ()
    prompt: str | None = None
    shell: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    every: int | None = None
    max_runs: int | None = None
    auto_start: bool = True
    include_stderr: bool = True
    rules: tuple[FilterRule, ...] = ()
    injector: Injector = "unset"
    delivery: Delivery = "surface"


class EmitterEntryRead(Struct, frozen=True, kw_only=True):
    """An emitter of a folder's file, or a provider. They may have the same name."""

    plan: EmitterPlan
    ownership: Ownership = "userOwned"
    filter_ownership: Ownership = "userOwned"
    lifespan: Lifespan = "persistent"
    description: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FolderEmitters:
    """What a folder's file says. `cwd` is the folder as it was asked for, `folder` the same without
    links.

    With `is_readable` False the file is there and cannot be read: what was known of it holds.
    """

    cwd: str
    folder: str
    entries: tuple[EmitterEntryRead, ...] = ()
    is_readable: bool = True
    problems: tuple[FileProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class MayStart:
    """The person has allowed exactly this plan, and the files that it names are unchanged."""

    plan: EmitterPlan


@dataclass(frozen=True, slots=True)
class MustAsk:
    """It is not allowed, or not any more. `digest` names exactly what `detail` shows.

    `why` says in words what has changed since it was allowed; it is empty when it never was.
    """

    digest: str
    detail: dict[str, Any]
    why: str = ""


@dataclass(frozen=True, slots=True)
class CannotStart:
    """It cannot be started, for a reason in words."""

    why: str


EmitterStanding = MayStart | MustAsk | CannotStart


@dataclass(frozen=True, slots=True)
class SavedEmitter:
    """An emitter was written into its file, or, with `fault`, was not.

    `found` is what the file says then. The entries in `own` are as they were wanted, and as allowed
    as they were before: what runs goes on. `note` is what the person should know besides.
    """

    found: FolderEmitters | None = None
    path: str | None = None
    own: frozenset[str] = frozenset()
    fault: str | None = None
    note: str | None = None
