"""Commands that run a known check again, and the files that decide what such a command does."""

import json
import posixpath
import shlex
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple

from tapui.core.proof.checks import check
from tapui.core.proof.deciding import ShellPart, read
from tapui.core.proof.folder_states import UNREAD, FolderState, place_of
from tapui.core.proof.history import FactHistory, RecordedCommand
from tapui.core.proof.statements import (
    UNKNOWN,
    SimpleCommand,
    Statement,
    UnreadTextError,
    statement,
)
from tapui.core.proof.surfaces import surface_files
from tapui.core.proof.wrappers import activates

_OUTSIDE = "it is not in a repository: changes of its files are not known"


class CheckCommand(NamedTuple):
    """A command in its whole text, and where it runs."""

    text: str
    cwd: str


def known_check(
    history: FactHistory, folder: str, named: Sequence[str] = ()
) -> CheckCommand | None:
    """Return the newest check that ran and that can be run by a text, tests before others and
    whole ones before parts; else the first that the settings name."""
    best: tuple[tuple[bool, bool], CheckCommand] | None = None
    for command in history.newest():
        for at, part in reversed(list(enumerate(command.reading.parts))):
            what = check(part.words)
            if what is None:
                continue
            rank = (not what.part, what.kind == "tests")
            if best is not None and rank <= best[0]:
                continue
            again = _again(command, at)
            if again is not None:
                best = rank, again
        if best is not None and best[0] == (True, True):
            break
    if best is not None:
        return best[1]
    return CheckCommand(named[0], folder) if named else None


def named_fault(text: str) -> str | None:
    """Say why no turn is checked by a command that the settings name; None where one can be."""
    reading = read(text)
    if len(reading.parts) > 1:
        return "it is several commands, and checks no turn: write each as a text of its own"
    outcome = reading.outcome(0, 0)
    if outcome.state == "passed":
        return None
    why = reading.doubt or (outcome.reason if reading.parts else "it runs no program")
    return f"it checks no turn: {why}"


def _again(command: RecordedCommand, at: int) -> CheckCommand | None:
    """Return a text of which the exit code is the part's alone, in the words of the call."""
    part = command.reading.parts[at]
    if command.reading.doubt_of(at):
        return None
    texts = [command.text] if len(command.reading.parts) == 1 else []
    texts += _texts(command.text, part)
    for text in texts:
        reading = read(text)
        if (
            len(reading.parts) == 1
            and reading.parts[0].is_same(part)
            and reading.parts[0].folder == part.folder
            and reading.outcome(0, 0).state == "passed"
        ):
            return CheckCommand(text, command.cwd)
    return None


def _texts(text: str, part: ShellPart) -> Iterator[str]:
    """Yield texts that may run one part of a text: its simple commands, in their words, and the
    part without its wrappers."""
    before = [f". {shlex.quote(one)}" for one in part.files if activates(one)]
    if part.folder:
        before.append(f"cd {_folder(part.folder)}")
    sets = [_setting(one) for one in part.sets]
    try:
        found = list(_commands(statement(text)))
    except UnreadTextError:
        found = []
    for one in found:
        if not any(UNKNOWN in word for word in one.words):
            given = [f"{name}={shlex.quote(value)}" for name, value in one.sets]
            yield " && ".join([*before, " ".join([*given, shlex.join(one.words)])])
            yield " && ".join([*before, " ".join([*sets, *given, shlex.join(one.words)])])
    yield " && ".join([*before, " ".join([*sets, shlex.join(part.words)])])


def _commands(one: Statement) -> Iterator[SimpleCommand]:
    if one.kind == "command" and one.command.words:
        yield one.command
    for inner in one.within:
        yield from _commands(inner)


def _folder(folder: str) -> str:
    """Return a folder as a word of a shell; a leading `~` stays the person's home."""
    home, slash, rest = folder.partition("/")
    if home.startswith("~") and home[1:].isalnum() | (home == "~"):
        return home + slash + (shlex.quote(rest) if rest else "")
    return shlex.quote(folder)


def _setting(given: str) -> str:
    name, _, value = given.partition("=")
    return f"{name}={shlex.quote(value)}"


# What of it changed


class CheckSurface(NamedTuple):
    """The files that decide what a check does, as far as they differ from the tree of the
    repository, and those that changed since the session began. `doubt` says why that is not all."""

    contents: dict[str, str]
    changed: tuple[str, ...] = ()
    doubt: str = ""


def surface_of(
    command: CheckCommand,
    first: Sequence[FolderState],
    now: Sequence[FolderState] | None,
) -> CheckSurface:
    """Return what of a command's surface differs. `first` are the first looks of the session."""
    reading = read(command.text)
    doubts = [reading.doubt]
    contents: dict[str, str] = {}
    changed: list[str] = []
    old = {state.root: state for state in first}
    states = {state.root: state for state in now or ()}
    for part in reading.parts:
        folder = posixpath.normpath(posixpath.join(command.cwd, part.folder))
        place = place_of(folder, now or ())
        if place is None:
            doubts.append(_OUTSIDE if now is not None else "the folder was not looked at")
            continue
        state, before = states[place.root], old.get(place.root)
        found = surface_files(part, folder, state.root, state.files)
        contents |= {posixpath.join(state.root, path): state.files[path] for path in found}
        doubts += [f"{path} was not read" for path in found if state.files[path][:1] == UNREAD]
        doubts += [state.why] * (not state.is_whole)
        if before is None or before.head != state.head:
            doubts.append("how it was when the session began is not known")
            continue
        paths = {*before.files, *state.files}
        differing = [one for one in paths if before.files.get(one) != state.files.get(one)]
        changed += surface_files(part, folder, state.root, differing)
    told = "; ".join(filter(None, dict.fromkeys(doubts)))
    return CheckSurface(contents, tuple(dict.fromkeys(changed)), told)


def digest_of(command: CheckCommand, surface: CheckSurface) -> str:
    """Return what names exactly this command over exactly these files."""
    shown = [command.text, command.cwd, sorted(surface.contents.items()), surface.doubt]
    return sha256(json.dumps(shown).encode("utf-8", "surrogatepass")).hexdigest()
