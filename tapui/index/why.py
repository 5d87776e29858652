"""Why a file looks as it does: its changes, and the last one that touched a line."""

import errno
import os
import sqlite3
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.files.foreign_file import decoded
from tapui.index.numbering import id_at, time_of
from tapui.index.rows import hunks_of, unpacked
from tapui.index.search import Search
from tapui.projection.changes import Hunk, changed_lines

MAX_CHANGES = 2_000
"""Changes of one file that are looked at, the newest first."""


MAX_FILE = 16 * 1024 * 1024
"""Bytes of a file in which a line is looked for."""


class Change(Struct, rename="camel", frozen=True):
    """A change of a file by a call. `is_probable`: a command seems to have made it.

    `prompt` is what the turn was asked to do, "" where it is not known. `is_whole`: the new lines
    are the whole file.
    """

    ts: str
    session_id: str | None
    session: str
    turn: int | None
    prompt: str
    title: str
    call_id: str | None
    path: str
    added: int | None
    removed: int | None
    is_probable: bool
    is_whole: bool
    hunks: list[Hunk]


@dataclass(frozen=True, slots=True)
class Blame:
    """The change that a line comes from. `is_sure`: traced through every later change."""

    change: Change
    is_sure: bool


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file as it stands. Raises `OSError`, also where it is larger than
    `MAX_FILE`."""
    if path.stat().st_size > MAX_FILE:
        raise OSError(errno.EFBIG, "it is too large to look for a line in it")
    text = decoded(path.read_bytes(), "replace").replace("\r\n", "\n")
    if "\n" not in text:
        text = text.replace("\r", "\n")
    return text.removesuffix("\n").split("\n")


def changes_of(search: Search, path: Path, *, since: float | None = None) -> list[Change]:
    """Return at most `MAX_CHANGES` changes of a file, newest first. Raises `IndexUnusable`."""
    lowest = 0 if since is None else id_at(since)
    try:
        connection = search.opened()
        rows = connection.execute(
            "SELECT r.id, r.session, s.name, s.label, r.turn, r.title, r.call, c.path,"
            " c.added, c.removed, c.is_probable, c.is_whole, c.hunks, r.file"
            " FROM changes c JOIN rows r ON r.id = c.row LEFT JOIN sessions s ON s.id = r.session"
            " WHERE c.name = ? AND c.path = ? AND r.id >= ? ORDER BY r.id DESC LIMIT ?",
            (path.name, os.path.normpath(path), lowest, MAX_CHANGES),
        ).fetchall()
        return [
            Change(
                time_of(number), session_id, str(label or session_id or ""), turn,
                _prompt_of(connection, number, session, turn), title, call, where, added, removed,
                bool(is_probable), bool(is_whole), [_plain(hunk) for hunk in hunks_of(hunks)],
            )
            for (
                number, session, session_id, label, turn, title, call, where, added, removed,
                is_probable, is_whole, hunks, file,
            ) in rows
            if search.is_there(file)
        ]  # fmt: skip
    except (sqlite3.Error, zlib.error, msgspec.DecodeError) as error:
        raise search.unusable(error) from None


def _plain(hunk: Hunk) -> Hunk:
    """Return a hunk as `lines_of` has lines: a call may tell a file's line ends and its mark."""
    old, new = (
        [line.removeprefix("\ufeff").removesuffix("\r") for line in lines]
        for lines in (hunk.old, hunk.new)
    )
    return Hunk(old, new, hunk.line)


def _prompt_of(
    connection: sqlite3.Connection, number: int, session: int | None, turn: int | None
) -> str:
    found = connection.execute(
        "SELECT text FROM rows WHERE id < ? AND session IS ? AND turn IS ? AND kind = 'prompt'"
        " ORDER BY id DESC LIMIT 1",
        (number, session, turn),
    ).fetchone()
    return unpacked(found[0]) if found else ""


def blamed(changes: Iterable[Change], content: list[str], line: int) -> Blame | None:
    """Return the last change, newest first, whose diff touches `line` (from 1) of `content`.

    The changes are taken back one by one, as far as they are found in the file: what others did to
    it in between makes the answer unsure. None when no change touches the line.
    """
    lines = list(content)
    at = line - 1
    if not 0 <= at < len(lines):
        return None
    text, is_sure = lines[at], True
    fallback: Change | None = None
    for change in changes:
        if not change.hunks:
            if not change.is_probable:
                is_sure = False
            continue
        if fallback is None and _adds(change, text):
            fallback = change
        if change.is_whole:
            if lines == change.hunks[0].new:
                return Blame(change, is_sure)
            is_sure = False
            continue
        for hunk in reversed(change.hunks):
            start = _place(lines, hunk)
            if start is None:
                is_sure = False
                continue
            end = start + len(hunk.new)
            if start <= at < end:
                inside = _origin(hunk, at - start)
                if inside is None:
                    return Blame(change, is_sure)
                at = start + inside
            elif at >= end:
                at += len(hunk.old) - len(hunk.new)
            lines[start:end] = hunk.old
    return Blame(fallback, is_sure=False) if fallback is not None else None


def _adds(change: Change, text: str) -> bool:
    return any(
        text in hunk.new[start:end]
        for hunk in change.hunks
        for start, end in changed_lines(hunk.old, hunk.new)
    )


def _place(lines: list[str], hunk: Hunk) -> int | None:
    """Return where the new lines of a hunk stand: where it says, else the only place they fit."""
    new = hunk.new
    if not new:
        return None
    if hunk.line is not None and lines[hunk.line - 1 : hunk.line - 1 + len(new)] == new:
        return hunk.line - 1
    found = [at for at in _beginnings(lines, new[0]) if lines[at : at + len(new)] == new]
    return found[0] if len(found) == 1 else None


def _beginnings(lines: list[str], first: str) -> list[int]:
    return [at for at, line in enumerate(lines) if line == first]


def _origin(hunk: Hunk, at: int) -> int | None:
    """Return where a new line of a hunk stood in its old ones, None for one that is new."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, hunk.old, hunk.new, autojunk=False)
    for block in matcher.get_matching_blocks():
        if block.b <= at < block.b + block.size:
            return block.a + at - block.b
    return None
