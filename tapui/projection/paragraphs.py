"""Paragraphs of long text: what a sheet shows, before it is wrapped and made safe."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import json

from tapui.text import revealed

_NAME_WIDTH = 13
_DEEPEST = 40
"""Levels of JSON that are set out; what is deeper is one line."""


class DiffMark(NamedTuple):
    """What a line of a diff is: of which file, in which of its hunks (from 0), and its sign.

    The sign stands at the beginning of its text, too; "@" begins a hunk. `old` and `new` are its
    numbers before and after, from 1; 0 where it has none, or none is known.
    """

    path: str
    hunk: int
    sign: str
    old: int = 0
    new: int = 0


class Paragraph(NamedTuple):
    """A paragraph: its text, a tone, and what stands before each of its lines.

    A margin keeps a value from passing itself off as a heading by a line feed.
    """

    text: str
    tone: str = ""
    margin: str = ""
    is_laid_out: bool = False
    """Whether runs of blanks in it are tapui's own."""
    diff: DiffMark | None = None
    hang: int = 0
    """Cells by which its further lines are set in: those of a fact stand under its value."""


def title(text: str) -> Paragraph:
    return Paragraph(text, "heading")


def value(text: str, tone: str = "", *, is_laid_out: bool = False) -> Paragraph:
    return Paragraph(text, tone, "│ ", is_laid_out)


def fact(name: str, found: str, tone: str = "") -> list[Paragraph]:
    """Return a fact behind its name, on one line; nothing where there is none."""
    if not found:
        return []
    text = f"{name:<{_NAME_WIDTH}}{revealed(' '.join(found.splitlines()))}"
    return [Paragraph(text, tone or "muted", hang=_NAME_WIDTH)]


def text_of(detail: Mapping[str, Any], key: str) -> str:
    """Return a text of a detail; "" where it has none."""
    text = detail.get(key)
    return text if isinstance(text, str) else ""


def list_of(detail: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of a detail; an empty one where it has none."""
    items = detail.get(key)
    return items if isinstance(items, list) else []


def origin(rest: dict[str, Any]) -> list[Paragraph]:
    """Take the place of an entry and its description out of a detail; return these."""
    file, line = text_of(rest, "file"), rest.pop("line", None)
    rest.pop("file", None)
    place = f"{file}:{line}" if file and line is not None else file
    parts = fact("from", place)
    return parts + fact("calls itself", str(rest.pop("description", "") or ""))


def covered(rest: dict[str, Any]) -> list[Paragraph]:
    """Take the files that are allowed by their contents, and the gaps, out of a detail; return
    these."""
    files, uncovered = list_of(rest, "files"), list_of(rest, "uncovered")
    doubts = list_of(rest, "doubts")
    for key in ("files", "uncovered", "doubts"):
        rest.pop(key, None)
    parts: list[Paragraph] = []
    if files:
        parts.append(Paragraph("files it names: you are asked again when one changes", "muted"))
        parts += [value(_word(one)) for one in files]
    if uncovered:
        parts.append(Paragraph("not covered: a change there is not noticed", "warning"))
        parts += [value(_word(one)) for one in uncovered]
    if doubts:
        parts.append(Paragraph("it may run more than its words name", "warning"))
        parts += [value(_word(one)) for one in doubts]
    return parts


def other_fields(rest: Mapping[str, Any]) -> list[Paragraph]:
    """Return the fields that are left, each under its name."""
    parts: list[Paragraph] = []
    for key in sorted(rest):
        if rest[key] not in (None, "", [], {}):
            parts += [title(key), value(str(rest[key]))]
    return parts


def _word(found: object) -> str:
    if isinstance(found, Sequence) and not isinstance(found, str) and found:
        return str(found[0])
    return str(found)


def readable(found: object) -> str:
    """Return a JSON value as text: `name: value` lines, `- ` before the items of a list, what is
    inside another value set in by two blanks. Nothing here is made safe yet."""
    return "\n".join(_lines(found, 0))


def _lines(found: object, depth: int) -> list[str]:
    if isinstance(found, str):
        return found.split("\n")
    if depth < _DEEPEST and isinstance(found, dict) and found:
        return [
            line
            for name, inner in found.items()
            for line in _named(f"{' '.join(str(name).split())}:", inner, depth)
        ]
    if depth < _DEEPEST and isinstance(found, list) and found:
        return [line for inner in found for line in _item(inner, depth)]
    return [json.encode(found).decode("utf-8", "replace")]


def _named(name: str, inner: object, depth: int) -> list[str]:
    lines = _lines(inner, depth + 1)
    if len(lines) == 1 and not (isinstance(inner, dict | list) and inner):
        return [f"{name} {lines[0]}"]
    return [name, *(f"  {line}" for line in lines)]


def _item(inner: object, depth: int) -> list[str]:
    first, *rest = _lines(inner, depth + 1)
    return [f"- {first}", *(f"  {line}" for line in rest)]
