"""Changes as paragraphs: what is added green, what is removed red, by sign and by colour."""

from collections.abc import Iterable

from tapui.projection.hunks import Edit, Hunk
from tapui.tower.reader import Paragraph, title

MAX_LINES = 20_000
"""Lines of a diff that are shown."""
_MARGIN = "│ "
_MOST_COMPARED = 4000
"""Lines of one hunk whose old and new ones are compared; else all go and all come."""


def changes(diff: str) -> list[Paragraph]:
    """Return the lines of a diff, and how many of them are not shown."""
    lines = diff.rstrip("\n").split("\n", MAX_LINES)
    over = lines.pop().count("\n") + 1 if len(lines) > MAX_LINES else 0
    parts: list[Paragraph] = []
    is_header = True
    for line in lines:
        is_header = line.startswith("diff --git ") or (is_header and not line.startswith("@@"))
        parts.append(Paragraph(line, _tone(line, is_header=is_header), _MARGIN))
    if over:
        parts.append(Paragraph(f"{over:,} more lines are not shown", "warning"))
    return parts


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
