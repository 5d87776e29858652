"""`tapui why`: which turn, prompt and diff changed a file or a line of it."""

import argparse
import re
import shlex
from pathlib import Path

from tapui import invocation, times
from tapui.cli import output
from tapui.cli.context import home
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.journals import search_of
from tapui.index.store import IndexUnusable
from tapui.index.why import Blame, Change, blamed, changes_of
from tapui.projection.hunks import Hunk, changed_lines

LAST = 5
"""Changes that are printed when `--last` does not say how many."""
MAX_FILE = 16 * 1024 * 1024
_PROMPT = 200
_DIFF_LINES = 60
_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d{0,8})\Z")


def run(args: argparse.Namespace) -> int:
    """Print the changes, the newest first; 1 when none is known."""
    path, line = _meant(args.file)
    search = search_of(home().state)
    try:
        changes = changes_of(search, path, since=args.since)
    except IndexUnusable as error:
        raise Failure(f"the index cannot be read: {error}") from None
    finally:
        search.close()
    if not changes:
        output.note(f"no recorded call changed {path}")
        return FAILED
    if line is None:
        for change in changes[: args.last or LAST]:
            _say(change, None, as_json=args.json)
        return 0
    blame = blamed(changes, _content(path, line), line)
    if blame is None:
        every = invocation.command(f"why {shlex.quote(args.file.rpartition(':')[0])}")
        output.note(f"no recorded change touches line {line}; all of the file: {every}")
        return FAILED
    _say(blame.change, blame, as_json=args.json)
    return 0


def _meant(text: str) -> tuple[Path, int | None]:
    found = _LINE.match(text)
    if found is None or Path(text).exists():
        return Path(text).absolute(), None
    return Path(found["file"]).absolute(), int(found["line"])


def _content(path: Path, line: int) -> list[str]:
    """Return the lines of the file as it is now. Raises `Failure` where there is no such line."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise Failure(f"{path} is too large to look for a line in it")
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    lines = text.removesuffix("\n").split("\n")
    if line > len(lines):
        raise Failure(f"{path} has {len(lines)} lines", WRONG_USE)
    return lines


def _say(change: Change, blame: Blame | None, *, as_json: bool) -> None:
    if as_json:
        output.say_json(
            {"change": change, "isSure": blame.is_sure if blame else not change.is_probable}
        )
        return
    sizes = f"  +{change.added or 0} -{change.removed or 0}"
    known = sizes if change.added is not None or change.removed is not None else ""
    probably = "probably " if change.is_probable or (blame and not blame.is_sure) else ""
    turn = f", turn {change.turn}" if change.turn is not None else ""
    output.say(f"{times.date_and_time(change.ts)}  {change.session}{turn}")
    if change.prompt:
        output.say(f"  asked: {_head(change.prompt)}")
    output.say(f"  {probably}by {change.title}{known}")
    left = _DIFF_LINES
    for hunk in change.hunks:
        left = _say_hunk(hunk, left)
        if left <= 0:
            output.say("    …")
            break
    output.say("")


def _head(prompt: str) -> str:
    text = " ".join(prompt.split())
    return text if len(text) <= _PROMPT else text[: _PROMPT - 1] + "…"


def _say_hunk(hunk: Hunk, left: int) -> int:
    """Print the lines that went and those that came; return how many more may be printed."""
    went = [
        line for start, end in changed_lines(hunk.new, hunk.old) for line in hunk.old[start:end]
    ]
    came = [
        line for start, end in changed_lines(hunk.old, hunk.new) for line in hunk.new[start:end]
    ]
    for sign, lines in (("-", went), ("+", came)):
        for line in lines[: max(left, 0)]:
            output.say(f"    {sign} {line}")
        left -= len(lines)
    return left
