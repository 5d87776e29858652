"""`tapui emitters list`: which emitters there are, of a gateway or a folder's file; and which one a
name means."""

import argparse
import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tapui import times
from tapui.cli import output
from tapui.cli.context import folder_of, gateway, home, session_of
from tapui.cli.failure import FAILED, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, NoGateway
from tapui.consents.consents import Consented
from tapui.consents.emitters import EmitterConsents, files_of, plan_of
from tapui.core.emitters import registry
from tapui.core.emitters.plans import interval_text
from tapui.emitters.config.entries import Configuration, EmitterEntry, ProviderEntry
from tapui.emitters.config.reading import read
from tapui.emitters.shell.plans import asking, file_problem, folder_emitters
from tapui.files.foreign_file import reason
from tapui.projection.summary import one_line
from tapui.wire.emitters import Emitter
from tapui.wire.subjects import Session

_COMMAND = 60
"""Characters of a command in the list."""
_TITLES = (
    "NAME", "STATE", "WHEN", "RUNS", "NEXT", "LINES", "KEPT", "SENT", "WAITING",
    "DROPPED", "SESSION", "",
)  # fmt: skip


def run(args: argparse.Namespace) -> int:
    try:
        found = gateway(args)
    except NoGateway:
        if args.session:
            raise
        return _list_file(args)
    return asyncio.run(_list_running(found, args))


async def _list_running(found: FoundGateway, args: argparse.Namespace) -> int:
    async with await GatewayConnection.open(found, name="tapui emitters") as connection:
        state = connection.snapshot.state
        listed = chosen(state.emitters, state.sessions, args)
    if args.folder:
        note_problems(await asyncio.to_thread(read, folder_of(args)))
    else:
        for one in state.folder_problems:
            for problem in one.problems:
                output.note(str(problem))
    return await asyncio.to_thread(_print, listed, args, lambda: _show(listed, state.sessions))


def _list_file(args: argparse.Namespace) -> int:
    folder = folder_of(args)
    configuration = read(folder)
    note_problems(configuration)
    output.note(f"no gateway runs: this is what the file of {output.path_text(folder)} says")
    listed = [
        one for one in _configured(configuration, home().state) if args.name in (None, one.name)
    ]
    return _print(listed, args, lambda: _show(listed, ()))


def _print(listed: list[Emitter], args: argparse.Namespace, show_all: Callable[[], None]) -> int:
    uncovered = _not_covered(listed)
    if args.json:
        for one, lines in zip(listed, uncovered, strict=True):
            output.say_json({**as_json(one), "uncovered": lines})
    elif listed:
        show_all()
        for one, lines in zip(listed, uncovered, strict=True):
            for line in lines:
                output.say(f"  {one.name}: not covered: {line}")
    if not listed:
        output.note("there are no such emitters" if args.name else "there are no emitters")
    return FAILED if args.name and not listed else 0


def _schedule(emitter: Emitter) -> str:
    match emitter.kind:
        case "timed" if emitter.cron:
            return f"cron {emitter.cron}"
        case "timed":
            return f"every {interval_text(emitter.every or 1)}"
        case "oneTime":
            return "once"
        case "idle":
            return "when idle"
        case _:
            return "always"


def _show(emitters: Sequence[Emitter], sessions: Sequence[Session]) -> None:
    labels = {one.id: one.label for one in sessions}
    for folder in dict.fromkeys(one.folder for one in emitters):
        output.heading(output.path_text(folder))
        rows = [
            (
                one.name,
                one.state,
                _schedule(one),
                str(one.runs),
                times.date_and_time(one.next_run_at) if one.next_run_at else "",
                f"{one.counts.lines:,}",
                f"{one.counts.kept + one.counts.surfaced + one.counts.held:,}",
                f"{one.counts.sent:,}",
                f"{one.waiting:,}",
                f"{one.counts.dropped + one.counts.left_out:,}",
                labels.get(one.session_id, one.session_id),
                one_line(" ".join((one.command or one.prompt or "", *one.args)))[:_COMMAND],
            )
            for one in emitters
            if one.folder == folder
        ]
        output.table(_TITLES, rows, numbers=(3, 5, 6, 7, 8, 9))
        for one in emitters:
            if one.folder == folder and (why := one.error or one.why):
                output.say(f"  {one.name}: {why}")


# Which emitters an argument means


def chosen(
    emitters: Sequence[Emitter], sessions: Sequence[Session], args: argparse.Namespace
) -> list[Emitter]:
    """Return those that the arguments mean. Raises `Failure` for a session that is not there."""
    session = session_of(sessions, args.session).id if args.session else None
    folder = folder_of(args) if args.folder else None
    return [
        one
        for one in emitters
        if session in (None, one.session_id)
        and folder in (None, one.folder)
        and args.name in (None, one.name)
    ]


def the_one(emitters: Sequence[Emitter], found: list[Emitter], args: argparse.Namespace) -> Emitter:
    """Return the one that is meant; of several, that of this folder. Raises `Failure`."""
    here = [one for one in found if one.folder == folder_of(args)]
    for few in (found, here):
        if len(few) == 1:
            return few[0]
    if not found:
        names = ", ".join(sorted({one.name for one in emitters})) or "none"
        raise Failure(f"there is no emitter {args.name}; there are: {names}")
    listed = ", ".join(f"session {one.session_id} in {one.folder}" for one in found)
    raise Failure(f"{args.name} could be several; name one's --session or --folder: {listed}")


def as_json(emitter: Emitter) -> dict[str, Any]:
    """Return an emitter with every field, those that are empty too."""
    said = output.all_fields(emitter)
    del said["isCut"]
    counts, rules = output.all_fields(emitter.counts), msgspec.to_builtins(emitter.rules)
    return {**said, "counts": counts, "rules": rules}


# A folder's file, where no gateway runs


def note_problems(configuration: Configuration) -> None:
    for problem in configuration.problems:
        output.note(str(file_problem(configuration.folder, problem)))


def _configured(configuration: Configuration, state: Path) -> list[Emitter]:
    """Return the emitters and providers of a file, each with whether it is allowed in `why`."""
    consents = EmitterConsents(state)
    found = []
    for one in folder_emitters(configuration.folder, configuration).entries:
        is_provider = one.plan.is_provider
        entry = configuration.entry(one.plan.name, is_provider=is_provider)
        emitter = registry.configured(one, configuration.folder)
        found.append(replace(emitter, why=_standing(consents, configuration, entry)))
    if consents.damage:
        output.note(consents.damage)
    return found


def _not_covered(listed: Sequence[Emitter]) -> list[list[str]]:
    """Return what consent to each does not cover; nothing of what no file has. Files are read."""
    found: list[list[str]] = []
    files = {one.folder: read(one.folder) for one in listed if one.source == "file"}
    for one in listed:
        found.append([])
        if one.source != "file":
            continue
        file = files[one.folder]
        entry = file.entry(one.name, is_provider=one.kind == "provider")
        with contextlib.suppress(OSError):  # it cannot run in its folder, which its state tells
            if entry is not None:
                found[-1] += files_of(file.folder, plan_of(file, entry)).uncovered
    return found


def _standing(
    consents: EmitterConsents,
    configuration: Configuration,
    entry: EmitterEntry | ProviderEntry | None,
) -> str:
    assert entry is not None, "it was read from this configuration"
    try:
        standing = consents.standing(configuration, entry)
    except OSError as error:
        return f"it cannot run in its folder: {reason(error)}"
    if isinstance(standing, Consented):
        return "allowed"
    changed = asking(standing, entry, configuration.path).why
    return f"not allowed any more: {changed}" if changed else "not allowed yet"
