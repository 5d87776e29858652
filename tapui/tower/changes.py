"""A unified diff as paragraphs: what is added green, what is removed red, by sign and by colour."""

from tapui.tower.reader import Paragraph

MAX_LINES = 20_000
"""Lines of a diff that are shown."""
_MARGIN = "│ "


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
