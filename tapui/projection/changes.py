"""What a call changed in files: hunks of old and new lines, and paragraphs of them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from tapui.projection.paragraphs import DiffMark, Paragraph, title
from tapui.wire import subjects
from tapui.wire.changes import DiffHunk

MAX_HUNK_BYTES = 256 * 1024
"""Hunks that are larger are kept by their number of lines only."""
_PATHS = ("path", "file_path", "filePath", "fileName", "filename", "file")
_OLD = ("old_str", "old_string", "oldString", "oldText", "old_text")
_NEW = ("new_str", "new_string", "newString", "newText", "new_text")
_WHOLE = ("file_text", "content", "contents", "text", "newFileContents")
_PATCHES = ("patch", "input", "diff", "command")
_PATCHING = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$")
_MOVED = "*** Move to: "
_UNIFIED = re.compile(r"^@@ -(?P<old>\d{1,9})(?:,\d+)? \+(?P<line>\d{1,9})(?:,\d+)? @@")
_NEW_ALONE = re.compile(r"^@@ line (?P<line>\d{1,9})\Z")
"""As `_hunk_lines` writes it where the old numbers are not known."""


class Hunk(Struct, array_like=True, frozen=True):
    """Old lines that gave way to new ones. `line` is where the new ones begin, from 1, if known."""

    old: list[str]
    new: list[str]
    line: int | None = None


class Edit(Struct, frozen=True):
    """What happened to one file. `is_probable`: a command seems to have changed it.

    `hunks` is empty where only the file is known; `is_whole`: the new lines are all of the file.
    """

    path: str
    hunks: list[Hunk] = []
    added: int | None = None
    removed: int | None = None
    is_probable: bool = False
    is_whole: bool = False


def edits_of(began: subjects.Call | None, ended: subjects.Call) -> list[Edit]:
    """Return what a call that went well changed.

    `began` is the call as it was started, with its arguments. What the host tells of the files
    that changed goes before what the arguments say.
    """
    if ended.state != "done":
        return []
    told = ended.changes or []
    asked = list(_asked(began.tool, began.args)) if began is not None else []
    if not told:
        return [_counted(one) for one in asked]
    by_path = {one.path: one for one in asked}
    edits = []
    for change in told:
        known = by_path.get(change.path) or (asked[0] if len(asked) == len(told) == 1 else None)
        edits.append(
            Edit(
                change.path,
                known.hunks if known else [],
                change.added,
                change.removed,
                change.is_probable,
                known.is_whole if known else False,
            )
        )
    return edits


def _counted(edit: Edit) -> Edit:
    added = sum(_new_lines(hunk.old, hunk.new) for hunk in edit.hunks)
    removed = sum(_new_lines(hunk.new, hunk.old) for hunk in edit.hunks)
    return msgspec.structs.replace(edit, added=added, removed=removed)


def _new_lines(before: list[str], after: list[str]) -> int:
    return sum(end - start for start, end in changed_lines(before, after))


def changed_lines(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the ranges of the new lines that are not taken over from the old ones."""
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [(c, d) for tag, _, _, c, d in matcher.get_opcodes() if tag in ("insert", "replace")]


def _asked(tool: str, raw: Any) -> Iterator[Edit]:
    try:
        args = msgspec.json.decode(raw) if raw is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if isinstance(args, str):
        yield from _patched(args)
    if not isinstance(args, dict):
        return
    for name in _PATCHES:
        text = args.get(name)
        if isinstance(text, str) and "*** Begin Patch" in text:
            yield from _patched(text)
            return
    path = _first(args, _PATHS)
    if path is None:
        return
    old, new, whole = _first(args, _OLD), _first(args, _NEW), _first(args, _WHOLE)
    edits = args.get("edits")
    if isinstance(edits, list):
        hunks = [hunk for one in edits if (hunk := _replacing(one)) is not None]
        if hunks:
            yield Edit(path, hunks)
    elif old is not None or (new is not None and tool in ("edit", "str_replace_editor", "insert")):
        after = args.get("insert_line")
        line = after + 1 if isinstance(after, int) and not isinstance(after, bool) else None
        yield Edit(path, [Hunk(_lines(old or ""), _lines(new or ""), line)])
    elif whole is not None and tool in ("create", "write", "write_file", "create_file"):
        yield Edit(path, [Hunk([], _lines(whole), 1)], is_whole=True)


def _replacing(edit: Any) -> Hunk | None:
    if not isinstance(edit, dict):
        return None
    old, new = _first(edit, _OLD), _first(edit, _NEW)
    return None if old is None and new is None else Hunk(_lines(old or ""), _lines(new or ""))


def _first(args: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((args[name] for name in names if isinstance(args.get(name), str)), None)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _patched(text: str) -> Iterator[Edit]:
    """Yield the edits of a patch in the form of `apply_patch`."""
    path, is_whole = "", False
    hunks: list[Hunk] = []
    old: list[str] = []
    new: list[str] = []
    line: int | None = None

    def close() -> None:
        if old or new:
            hunks.append(Hunk(old.copy(), new.copy(), line))
        old.clear()
        new.clear()

    for text_line in (*_lines(text), "*** End Patch"):
        begins = _PATCHING.match(text_line)
        if begins or text_line.startswith("*** End Patch"):
            close()
            if path:
                yield Edit(path, hunks.copy(), is_whole=is_whole)
            hunks.clear()
            path = begins[2].strip() if begins else ""
            is_whole, line = bool(begins and begins[1] == "Add"), None
        elif text_line.startswith(_MOVED):
            path = text_line.removeprefix(_MOVED).strip()
        elif text_line.startswith("@@"):
            close()
            at = _UNIFIED.match(text_line)
            line = int(at["line"]) if at else None
        elif path and text_line[:1] in ("+", "-", " ", ""):
            if text_line[:1] != "+":
                old.append(text_line[1:])
            if text_line[:1] != "-":
                new.append(text_line[1:])


MAX_LINES = 20_000
"""Lines of a diff that are shown."""
_MARGIN = "│ "
_PLAIN = re.compile(r"index [0-9a-f]+\.\.[0-9a-f]+(?: 100644)?|(?:new|create) file mode 100644")
"""Lines of a header that say nothing: an ordinary file."""
_MOST_COMPARED = 4000
"""Lines of one hunk whose old and new ones are compared; else all go and all come."""


def changes(diff: str, path: str = "") -> list[Paragraph]:
    """Return the lines of a diff with their numbers, and how many of them are not shown.

    Of a file's header its line with the paths is shown, and what else says more than that. `path`
    is that of the file, where the diff has no header.
    """
    lines = diff.rstrip("\n").split("\n", MAX_LINES)
    over = lines.pop().count("\n") + 1 if len(lines) > MAX_LINES else 0
    return [*_numbered(_diff_lines(lines, path)), *_rest(over)]


def hunk_parts(hunks: Sequence[DiffHunk], path: str) -> list[Paragraph]:
    """Return the lines of hunks of one file, as `changes` does."""
    lines: list[str] = []
    over = 0
    for hunk in hunks:
        room = MAX_LINES - len(lines) - 1
        over += max(len(hunk.lines) - room, 0)
        if room > 0:
            lines += [f"@@ -{hunk.old} +{hunk.new} @@", *hunk.lines[:room]]
    return [*_numbered(_diff_lines(lines, path, is_header=False)), *_rest(over)]


def reversed_hunk(hunk: DiffHunk) -> DiffHunk:
    """Return the hunk that takes another one back."""
    lines: list[str] = []
    gone: list[str] = []
    come: list[str] = []
    newest = lines
    for line in hunk.lines:
        if line.startswith("\\"):
            newest.append(line)
            continue
        newest = {"-": come, "+": gone}.get(line[:1], lines)
        if newest is lines:
            lines += [*gone, *come]
            gone.clear()
            come.clear()
        newest.append({"-": "+", "+": "-"}.get(line[:1], " ") + line[1:])
    return DiffHunk(hunk.new, hunk.old, [*lines, *gone, *come])


def _rest(over: int) -> list[Paragraph]:
    return [Paragraph(f"{over:,} more lines are not shown", "warning")] if over else []


def _diff_lines(lines: Iterable[str], path: str, *, is_header: bool = True) -> Iterator[Paragraph]:
    said = frozenset[str]()
    hunk, old, new = -1, 0, 0
    for line in lines:
        is_header = line.startswith("diff --git ") or (is_header and not line.startswith("@@"))
        if line.startswith("diff --git "):
            said, hunk, path = _said_by(line), -1, line.rpartition(" b/")[2]
        elif is_header:
            if line.startswith("+++ ") and not line.endswith("/dev/null"):
                path = line[4:].removeprefix("b/")
            if line in said or _PLAIN.fullmatch(line):
                continue
        tone = _tone(line, is_header=is_header)
        mark = None
        if line.startswith("@@"):
            at = _UNIFIED.match(line) or _NEW_ALONE.match(line)
            new = int(at["line"]) if at else 0
            old = int(at["old"]) if at and "old" in at.groupdict() else 0
            hunk += 1
            mark = DiffMark(path, hunk, "@", old, new)
        elif not is_header:
            sign = line[:1] if line[:1] in ("+", "-", "\\") else " "
            is_old, is_new = sign in "- ", sign in "+ "
            mark = DiffMark(path, max(hunk, 0), sign, old * is_old, new * is_new)
            old += bool(old) and is_old
            new += bool(new) and is_new
        yield Paragraph(line, tone, _MARGIN, diff=mark)


def _numbered(parts: Iterable[Paragraph]) -> list[Paragraph]:
    """Put the numbers of the lines into their margins, all as wide as the widest needs."""
    made = list(parts)
    marks = [one.diff for one in made if one.diff is not None and one.diff.sign != "@"]
    olds = len(str(max((one.old for one in marks), default=0)))
    news = len(str(max((one.new for one in marks), default=0)))
    has_old, has_new = any(one.old for one in marks), any(one.new for one in marks)
    if not has_old and not has_new:
        return made

    def margin(mark: DiffMark | None) -> str:
        old, new = (mark.old, mark.new) if mark is not None and mark.sign != "@" else (0, 0)
        before = f"{old or '':>{olds}} " if has_old else ""
        return f"{before}{new or '':>{news}} {_MARGIN}" if has_new else f"{before}{_MARGIN}"

    return [one._replace(margin=margin(one.diff)) for one in made]


def _said_by(line: str) -> frozenset[str]:
    """Return the lines of a file's header that say no more than its first line."""
    paths = line.removeprefix("diff --git ")
    half = len(paths) // 2
    old, new = paths[:half], paths[half + 1 :]
    if not old.startswith("a/") or new != f"b/{old[2:]}":
        return frozenset()
    nothing = ("--- /dev/null", "--- a/dev/null", "+++ /dev/null", "+++ b/dev/null")
    return frozenset((f"--- {old}", f"+++ {new}", *nothing))


def _tone(line: str, *, is_header: bool) -> str:
    if line.startswith("@@"):
        return "accent"
    if is_header and line.startswith(("diff ", "index ", "--- ", "+++ ", "new file ", "deleted ")):
        return "muted"
    return {"+": "success", "-": "error"}.get(line[:1], "")


def edited(edits: Iterable[Edit]) -> list[Paragraph]:
    """Return what was changed in files, each under its path; nothing where no lines are known."""
    parts: list[Paragraph] = []
    for edit in edits:
        if edit.hunks:
            lines = [line for hunk in edit.hunks for line in _hunk_lines(hunk)]
            diff = changes("\n".join(lines), edit.path)
            parts += [Paragraph(""), title(f"changed in {edit.path}"), *diff]
    return parts


def _hunk_lines(hunk: Hunk) -> Iterable[str]:
    yield "@@" if hunk.line is None else f"@@ line {hunk.line}"
    if len(hunk.old) + len(hunk.new) > _MOST_COMPARED:
        yield from (f"-{line}" for line in hunk.old)
        yield from (f"+{line}" for line in hunk.new)
        return
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, hunk.old, hunk.new, autojunk=False)
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag == "equal":
            yield from (f" {line}" for line in hunk.old[first:last])
        else:
            yield from (f"-{line}" for line in hunk.old[first:last])
            yield from (f"+{line}" for line in hunk.new[start:end])
