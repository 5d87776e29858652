"""Which emitters are meant, and how one is printed."""

import argparse
import os
from collections.abc import Sequence
from typing import Any

import msgspec

from tapui import times
from tapui.cli import output
from tapui.cli.commands.steering import session_of
from tapui.cli.failure import Failure
from tapui.core.runs.schedules import span_in_words
from tapui.projection.summary import one_line
from tapui.wire.emitters import Emitter
from tapui.wire.subjects import Session

_COMMAND = 60
"""Characters of a command in the list."""
_TITLES = ("NAME", "STATE", "WHEN", "RUNS", "NEXT", "LINES", "KEPT", "SENT", "SESSION", "")


def folder_of(args: argparse.Namespace) -> str:
    """Return the folder that is meant, without links: this one unless another is named."""
    return os.path.realpath(args.folder or ".")


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
    said = _all(emitter)
    for own in ("isCut", "cuts"):
        del said[own]
    said["counts"] = _all(emitter.counts)
    said["rules"] = msgspec.to_builtins(emitter.rules)
    return said


def _all(struct: msgspec.Struct) -> dict[str, Any]:
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return {key: getattr(struct, name) for key, name in names}


def schedule(emitter: Emitter) -> str:
    """Return when an emitter runs, in a few words."""
    match emitter.kind:
        case "timed":
            return f"every {span_in_words(emitter.every or 1)}"
        case "oneTime":
            return "once"
        case "idle":
            return "when idle"
        case _:
            return "always"


def show(emitters: Sequence[Emitter], sessions: Sequence[Session]) -> None:
    """Print a table for each folder."""
    labels = {one.id: one.label for one in sessions}
    for folder in dict.fromkeys(one.folder for one in emitters):
        output.heading(output.path_text(folder))
        rows = [
            (
                one.name,
                one.state,
                schedule(one),
                str(one.runs),
                times.date_and_time(one.next_run_at) if one.next_run_at else "",
                f"{one.counts.lines:,}",
                f"{one.counts.kept + one.counts.surfaced + one.counts.held:,}",
                f"{one.counts.injected:,}",
                labels.get(one.session_id, one.session_id),
                one_line(" ".join((one.command or one.prompt or "", *one.args)))[:_COMMAND],
            )
            for one in emitters
            if one.folder == folder
        ]
        output.table(_TITLES, rows, numbers=(3, 5, 6, 7))
        for one in emitters:
            if one.folder == folder and (why := one.error or one.why):
                output.say(f"  {one.name}: {why}")
