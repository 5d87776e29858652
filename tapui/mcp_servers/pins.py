"""What a server's tools said of themselves when the person allowed them: one file a server.

A tool that says something else later, and one that is new, is not offered until the person allows
it. What was said is kept, so that both can be shown.
"""

import difflib
import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.consents.mcp_servers import Allowable
from tapui.files import private_file
from tapui.files.foreign_file import read_up_to, reason
from tapui.files.locked_folder import locked
from tapui.files.private_file import private_folder
from tapui.mcp_servers.messages import MappedTool
from tapui.text import safe_text

_PLACE = ("mcp", "pins")
_VERSION = 1
MAX_TOOLS = 1_000
"""Tools that are pinned of a server: of one with more, the others always wait."""
MAX_SAID = 8 * 1024
"""Characters that are kept of what a tool says; its digest is over all of it."""
_MAX_BYTES = 16 * 1024 * 1024
_MAX_NAME = 128
_NOT_KEPT = "(what it said is not known any more: all of its tools together said too much)"
_MARK = 12
"""Characters of a digest that stands for what is not shown of a text."""
_AROUND = 3
"""Lines that are shown around a change where all are too many."""
_MAX_DIFF = 400
"""Lines that are shown of a change."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class PinnedTool(Struct, frozen=True):
    """A tool as it was allowed: the digest over it, and what it said."""

    digest: str
    said: str


class _File(Struct, forbid_unknown_fields=True):
    version: int
    entry: str
    """The digest of what was started: pins hold for exactly that."""
    tools: dict[str, PinnedTool]


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A tool that waits for a yes; `before` is None for one that is new."""

    name: str
    digest: str
    before: str | None
    after: str

    def diff(self) -> list[str]:
        """Return the lines of both, each behind `-`, `+` or a blank: all of them, or those around
        each change."""
        old = [] if self.before is None else self.before.split("\n")
        new = self.after.split("\n")
        if old == new:
            return [f"  {line}" for line in new[:_MAX_DIFF]] + [f"+ {_UNSEEN}"]
        lines = _changed_lines(old, new, len(old) + len(new))
        if len(lines) > _MAX_DIFF and old:
            lines = _changed_lines(old, new, _AROUND)
        rest = lines[_MAX_DIFF:]
        if not rest:
            return lines
        changed = sum(not line.startswith(" ") for line in rest)
        return [*lines[:_MAX_DIFF], f"  … {len(rest):,} more lines, {changed:,} of them changed"]


_UNSEEN = "(it has changed in what cannot be shown)"


def _changed_lines(old: list[str], new: list[str], around: int) -> list[str]:
    whole = difflib.unified_diff(old, new, n=around, lineterm="")
    lines = list(whole)[3:]  # behind two lines with names of files, and one with places
    return ["  …" if line.startswith("@@") else f"{line[:1]} {line[1:]}" for line in lines]


class ToolPins:
    """The pins of one server. Several processes may use them; not on a loop: files are read."""

    def __init__(self, state: Path, entry: Allowable, folder: str | None) -> None:
        self._state = state
        self._entry = entry.digest
        self._name = pins_file(entry.name, folder)
        self.damage = ""
        """Why what was kept holds no more, "" while it does."""

    def read(self) -> dict[str, PinnedTool] | None:
        """Return what is pinned, by the tools' own names; None where nothing is, or what is kept is
        of another entry.

        Of pins that are damaged none holds: each tool is asked about as a new one.
        """
        path = self._state.joinpath(*_PLACE, self._name)
        self.damage = ""
        try:
            fd = os.open(path, _OPEN)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._damaged(path, reason(error))
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
                return self._damaged(path, "it is no file of yours")
            file = msgspec.json.decode(read_up_to(fd, _MAX_BYTES), type=_File)
        except OSError as error:
            return self._damaged(path, reason(error))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self._damaged(path, str(error))
        finally:
            os.close(fd)
        if file.version != _VERSION:
            return self._damaged(path, f"it is of another version of tapui ({file.version})")
        return file.tools if file.entry == self._entry else None

    def _damaged(self, path: Path, why: str) -> dict[str, PinnedTool]:
        self.damage = f"what you allowed of its tools cannot be read ({path}: {why})"
        return {}

    def keep(self, tools: Mapping[str, PinnedTool]) -> None:
        """Pin tools, in the place of all former pins. Raises `OSError`: nothing is kept then.

        Where it would be more than can be read again, only their digests are kept.
        """
        data = msgspec.json.encode(_File(_VERSION, self._entry, dict(tools)))
        if len(data) > _MAX_BYTES:
            bare = {name: PinnedTool(one.digest, _NOT_KEPT) for name, one in tools.items()}
            data = msgspec.json.encode(_File(_VERSION, self._entry, bare))
        with locked(private_folder(self._state, *_PLACE)) as fd:
            private_file.write(fd, self._name, data)


def forget_pins(state: Path, name: str, folder: str | None) -> None:
    """Forget the pins of a server. Raises `OSError`."""
    state.joinpath(*_PLACE, pins_file(name, folder)).unlink(missing_ok=True)


def pins_file(name: str, folder: str | None) -> str:
    said = f"{folder or ''}\0{name}".encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(said).hexdigest()[:32]}.json"


def pinned(tools: Sequence[MappedTool]) -> dict[str, PinnedTool]:
    """Return the pins of tools that can be offered, which are reported whole."""
    given = [one for one in tools if one.problem is None][:MAX_TOOLS]
    return {one.name: PinnedTool(one.digest, said_by(one)) for one in given}


def said_by(tool: MappedTool) -> str:
    """Return what a tool says of itself: its description, schema and annotations, on lines."""
    parts = [safe_text(tool.description, newlines=True)]
    for label, raw in (("parameters", tool.parameters), ("annotations", tool.annotations)):
        if raw is None:
            continue
        try:
            text = msgspec.json.format(bytes(raw), indent=2).decode()
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            text = bytes(raw).decode("utf-8", "replace")
        parts.append(f"{label}: {safe_text(text, newlines=True)}")
    text = "\n".join(parts)
    rest = text[MAX_SAID:]
    if not rest:
        return text
    # With its digest, so that a change there is seen.
    mark = hashlib.sha256(rest.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{text[:MAX_SAID]}\n… {len(rest):,} more characters ({mark})"


def tool_changes(
    before: Mapping[str, PinnedTool], tools: Sequence[MappedTool]
) -> tuple[ToolChange, ...]:
    """Return what tools say that is not what was pinned, in their order; not those that can never
    be offered as they are."""
    found = []
    for tool in tools:
        if tool.problem is not None:
            continue
        former = before.get(tool.name)
        if former is None or former.digest != tool.digest:
            said = None if former is None else former.said
            found.append(ToolChange(tool.name, tool.digest, said, said_by(tool)))
    return tuple(found)


def tools_detail(name: str, changes: Sequence[ToolChange]) -> dict[str, object]:
    """Return what is shown of tools that wait, for the approval's sheet."""
    return {
        "purpose": "tools",
        "name": name,
        "tools": [
            {
                "name": safe_text(one.name, limit=_MAX_NAME),
                "isNew": one.before is None,
                "diff": one.diff(),
            }
            for one in changes
        ],
    }
