"""What a session changed, in words: the same on the screen, in a table and in Markdown.

Nothing is made safe for a terminal here; Markdown is.
"""

from collections.abc import Sequence

from tapui.projection.proof_report import plain
from tapui.projection.summary import one_line, within
from tapui.wire.changes import ChangedFile, ChangeNote, FileWriter

NOT_WATCHED = "not watched"
"""By whom, where tapui did not see it happen."""
AFTER_CHECK = "after the last check"
OUTSIDE_SINCE = "edited outside since"
"""Of a file that another program changed after the session had."""
_COMMAND = 40


def file_name(file: ChangedFile, folder: str) -> str:
    """Return where a file is, from the session's folder: `src/app.py`, `a.py → b.py`."""
    names = [file.old_path, file.path] if file.old_path else [file.path]
    root = file.root.rstrip("/")
    return " → ".join(within(f"{root}/{name}", folder) for name in names)


def line_counts(file: ChangedFile) -> tuple[str, str]:
    """Return `+41` and `−2`; "" where lines were not counted, or none came or went."""
    added = f"+{file.added:,}" if file.added else ""
    return added, f"−{file.removed:,}" if file.removed else ""


def writer_words(writer: FileWriter) -> str:
    """Return who changed a file: `edit`, `sed -i s/a/b/ x.md`, `session Fix the test`."""
    what = one_line(writer.what)
    what = what if len(what) <= _COMMAND else what[: _COMMAND - 1] + "…"
    words = {
        "tool": what or "a tool",
        "shell": what or "a command",
        "person": f"you: {what}" if what else "you",
        "session": f"session {what}",
        "unknown": "another program",
    }[writer.kind]
    return f"{words} (probably)" if writer.is_probable else words


def writers_words(file: ChangedFile) -> str:
    """Return all writers of a file, the newest first."""
    return ", ".join(dict.fromkeys(map(writer_words, file.by))) or NOT_WATCHED


def file_notes(file: ChangedFile) -> list[str]:
    """Return what is to be said of a file beside its lines."""
    kinds = ["binary"] if file.is_binary else []
    if file.old_mode and file.mode and file.old_mode != file.mode:
        kinds.append(f"mode {file.old_mode} → {file.mode}")
    after = [AFTER_CHECK] if file.is_after_check else []
    kinds_by = [one.kind for one in file.by]
    is_outside = kinds_by[:1] == ["unknown"] and set(kinds_by) > {"unknown"}
    outside = [OUTSIDE_SINCE] if is_outside else []
    return [*after, *outside, *kinds, *([file.note] if file.note else [])]


def no_patch_words(file: ChangedFile, root: str) -> str:
    """Return why a file is left out of a patch of the repository at `root`; "" where it is not."""
    if file.root != root:
        return f"{file.root}/{file.path}: it is in another repository"
    if file.state == "submodule":
        return f"{file.path}: it is a submodule ({file.note})"
    return ""


def note_place(note: ChangeNote, folder: str) -> str:
    """Return what a note is on, from the session's folder: `src/app.py:42`, `src/app.py:7-9`."""
    name = one_line(within(f"{note.root.rstrip('/')}/{note.path}", folder))
    if note.lines is None:
        return name
    first, last = note.lines.first, note.lines.last
    return f"{name}:{first}" if first == last else f"{name}:{first}-{last}"


def notes_prompt(notes: Sequence[ChangeNote], folder: str, text: str = "") -> str:
    """Return notes as one prompt for the agent, which begins with `text`: each with its place and
    the lines it is on."""
    parts = [text.strip() or "Notes on your changes:"]
    for note in notes:
        lines = [f"`{note_place(note, folder)}`" + (" (removed)" if note.side == "old" else "")]
        lines += [f"> {line}" for line in note.quote.splitlines()]
        parts.append("\n".join([*lines, note.body.strip()]))
    return "\n\n".join(parts)


def as_markdown(files: Sequence[ChangedFile], more: int, folder: str) -> list[str]:
    """Return a table in Markdown. No text of an agent's formats it."""
    lines = ["| file | change | lines | by | |", "|---|---|---|---|---|"]
    for file in files:
        counts = " ".join(filter(None, line_counts(file)))
        cells = (
            file_name(file, folder),
            file.state,
            counts,
            writers_words(file),
            "; ".join(file_notes(file)),
        )
        lines.append(f"| {' | '.join(map(plain, cells))} |")
    if more:
        lines.append(f"| … | {more:,} more files | | | |")
    return lines
