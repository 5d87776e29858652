"""Changes as paragraphs: what is added green, what is removed red, by sign and by colour."""

import re
from collections.abc import Iterable

from tapui.projection.hunks import Edit, Hunk
from tapui.projection.paragraphs import Paragraph, title

MAX_LINES = 20_000
"""Lines of a diff that are shown."""
_MARGIN = "│ "
_PLAIN = re.compile(r"index [0-9a-f]+\.\.[0-9a-f]+(?: 100644)?|(?:new|create) file mode 100644")
"""Lines of a header that say nothing: an ordinary file."""
_MOST_COMPARED = 4000
"""Lines of one hunk whose old and new ones are compared; else all go and all come."""


def changes(diff: str) -> list[Paragraph]:
    """Return the lines of a diff, and how many of them are not shown.

    Of a file's header its line with the paths is shown, and what else says more than that.
    """
    lines = diff.rstrip("\n").split("\n", MAX_LINES)
    over = lines.pop().count("\n") + 1 if len(lines) > MAX_LINES else 0
    parts: list[Paragraph] = []
    is_header, said = True, frozenset[str]()
    for line in lines:
        is_header = line.startswith("diff --git ") or (is_header and not line.startswith("@@"))
        if line.startswith("diff --git "):
            said = _said_by(line)
        elif is_header and (line in said or _PLAIN.fullmatch(line)):
            continue
        parts.append(Paragraph(line, _tone(line, is_header=is_header), _MARGIN))
    if over:
        parts.append(Paragraph(f"{over:,} more lines are not shown", "warning"))
    return parts


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
            lines = [line for hunk in edit.hunks for line in _lines(hunk)]
            parts += [Paragraph(""), title(f"changed in {edit.path}"), *changes("\n".join(lines))]
    return parts


def _lines(hunk: Hunk) -> Iterable[str]:
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
