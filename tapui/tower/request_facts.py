"""Facts on the sheet of a request: where it is written, the files that a command names."""

from collections.abc import Mapping, Sequence
from typing import Any

from tapui.text import revealed
from tapui.tower.reader import Paragraph, value

_NAME_WIDTH = 13


def origin(rest: dict[str, Any]) -> list[Paragraph]:
    """Take out of a detail where it is written and what it says of itself; return that."""
    file, line = text_of(rest, "file"), rest.pop("line", None)
    rest.pop("file", None)
    place = f"{file}:{line}" if file and line is not None else file
    parts = fact("from", place)
    return parts + fact("calls itself", str(rest.pop("description", "") or ""))


def covered(rest: dict[str, Any]) -> list[Paragraph]:
    """Take out of a detail the files whose contents are allowed with it, and what is not seen;
    return that."""
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


def fact(name: str, found: str, tone: str = "") -> list[Paragraph]:
    """Return a fact behind its name, on one line; nothing where there is none."""
    if not found:
        return []
    return [
        Paragraph(f"{name:<{_NAME_WIDTH}}{revealed(' '.join(found.splitlines()))}", tone or "muted")
    ]


def text_of(detail: Mapping[str, Any], key: str) -> str:
    """Return a text of a detail; "" where it has none."""
    found = detail.get(key)
    return found if isinstance(found, str) else ""


def list_of(detail: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list of a detail; an empty one where it has none."""
    found = detail.get(key)
    return found if isinstance(found, list) else []


def _word(found: object) -> str:
    if isinstance(found, Sequence) and not isinstance(found, str) and found:
        return str(found[0])
    return str(found)
