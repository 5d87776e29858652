"""`tapui memory`: the notes that agents keep with the provider `memory`."""

import argparse
import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.arguments import CommandParser, Commands
from tapui.cli.failure import FAILED, WRONG_USE, Failure

if TYPE_CHECKING:
    from tapui.shipped.memory import Memories, Note

_EDITOR = "vi"


def arguments(memory: CommandParser) -> None:
    memory.runs(
        run_list,
        "The notes of the provider `memory` (tapui provider add memory), and who wrote\n"
        "each last. What is in them is data: an agent reads one only with its tool.",
    )
    memory.set_defaults(json=False)
    actions = Commands(memory)
    listing = actions.add("list", "list the notes (also without an action)", run_list)
    showing = actions.add("show", "print one", run_show)
    editing = actions.add("edit", "change one, or write a new one, with your editor", run_edit)
    deleting = actions.add("delete", "delete one", run_delete)
    listing.add_argument("--json", action="store_true", help="print a JSON object a line")
    for parser in (showing, editing, deleting):
        parser.add_argument("name", metavar="NAME", help="its name")
    deleting.add_argument("--yes", action="store_true", help="do not ask")


def _memories(args: argparse.Namespace) -> "Memories":
    from tapui.cli.context import loaded
    from tapui.shipped.memory import memories_of

    return memories_of(loaded(args).settings.memory)


def _name(args: argparse.Namespace) -> str:
    from tapui.shipped.memory import MemoryFault, name_of

    try:
        return name_of(args.name)
    except MemoryFault as error:
        raise Failure(str(error), WRONG_USE) from None


def run_list(args: argparse.Namespace) -> int:
    """Print the notes, and who wrote them."""
    from tapui.shipped.memory import MemoryFault

    memories = _memories(args)
    try:
        notes = memories.notes()
    except MemoryFault as error:
        raise Failure(str(error)) from None
    if args.json:
        for one in notes:
            output.say_json(
                {"name": one.name, "size": one.size, "changed": one.changed, "writer": one.writer}
            )
    elif notes:
        rows = [(one.name, f"{one.size:,}", _when(one), _writer(one)) for one in notes]
        output.table(("NAME", "BYTES", "CHANGED", "BY"), rows, margin="", numbers=(1,))
    else:
        output.note(f"no notes are in {memories.folder}")
    return 0


def _when(note: "Note") -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(note.changed))


def _writer(note: "Note") -> str:
    writer = note.writer
    if writer is None:
        return "another program"
    if writer.by == "person":
        return "you"
    return f"the agent of {writer.label or writer.session or 'a session'}"


def run_show(args: argparse.Namespace) -> int:
    """Print a note."""
    text = _text(_memories(args), _name(args))
    if text is None:
        raise Failure(f"there is no note {_name(args)}")
    output.say_exactly(text if text.endswith("\n") or not text else f"{text}\n")
    return 0


def _text(memories: "Memories", name: str) -> str | None:
    from tapui.shipped.memory import MemoryFault

    try:
        return memories.read(name)
    except MemoryFault as error:
        raise Failure(str(error)) from None


def run_edit(args: argparse.Namespace) -> int:
    """Open a note in the person's editor, and keep what they save."""
    from tapui.shipped.memory import MemoryFault

    memories, name = _memories(args), _name(args)
    before = _text(memories, name)
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR
    with tempfile.TemporaryDirectory(prefix="tapui-memory-") as folder:
        file = Path(folder, name)
        file.write_text(before or "")
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise Failure(f"{editor} cannot be started: {error}") from None
        if done.returncode:
            raise Failure(f"{editor} ended with exit code {done.returncode}: nothing was changed")
        try:
            after = file.read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise Failure(f"what was edited cannot be read: {error.strerror}") from None
    if after == (before or "") and before is not None:
        output.note("nothing was changed")
        return 0
    try:
        memories.save(name, after, by="person")
    except MemoryFault as error:
        raise Failure(str(error)) from None
    output.note(f"saved {name}")
    return 0


def run_delete(args: argparse.Namespace) -> int:
    """Delete a note; 1 where there is none."""
    from tapui.shipped.memory import MemoryFault

    memories, name = _memories(args), _name(args)
    if not args.yes and not output.is_agreed(f"delete {name}?"):
        return FAILED
    try:
        if not memories.delete(name):
            raise Failure(f"there is no note {name}")
    except MemoryFault as error:
        raise Failure(str(error)) from None
    output.note(f"deleted {name}")
    return 0
