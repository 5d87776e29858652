"""Copilot's custom agents, as their files name and describe them, read without the CLI.

They lie in `agents` of Copilot's folder, and in `.github/agents` of a folder and of the repository
that it is in. A repository may hold anything there: links are not followed, only plain files are
read, and of each only its beginning.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tapui.files.foreign_file import decoded
from tapui.wire import limits
from tapui.wire.surrogates import without_surrogates

HEAD_BYTES = 16 * 1024
"""Of a file; its description stands at the beginning."""
MOST_ENTRIES = 1_000
"""Of a folder that are looked at."""
_ENDS = (".agent.md", ".md")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FIELD = re.compile(r"description:[ \t]*(.*)\Z")
_BLOCK = frozenset({"", "|", "|-", "|+", ">", ">-", ">+"})
_QUOTED = re.compile(r"""(["'])(.*)\1[ \t]*\Z""")
_MOST_PARENTS = 100


class CustomAgent(NamedTuple):
    """An agent by the name that it is chosen by. `is_own`: it is the person's, in all folders."""

    name: str
    description: str
    is_own: bool


def custom_agents(copilot_home: Path, folder: str) -> list[CustomAgent]:
    """Return the agents that can be chosen in a folder, by name: the folder's before the person's
    of the same name, `limits.MAX_AGENTS` at most. Blocks on files."""
    found: dict[str, CustomAgent] = {}
    for root in _roots(folder):
        for name, about in _of(root / ".github", os.O_NOFOLLOW):
            found.setdefault(name, CustomAgent(name, about, is_own=False))
    for name, about in _of(copilot_home, 0):
        found.setdefault(name, CustomAgent(name, about, is_own=True))
    return sorted(found.values(), key=lambda one: one.name.casefold())[: limits.MAX_AGENTS]


def _roots(folder: str) -> Iterator[Path]:
    """Yield a folder, and the root of the repository that it is in."""
    if not folder.startswith("/") or "\0" in folder:
        return
    place = Path(folder)
    yield place
    for one in [place, *place.parents][:_MOST_PARENTS]:
        if os.path.lexists(one / ".git"):
            if one != place:
                yield one
            return


def _of(base: Path, flags: int) -> Iterator[tuple[str, str]]:
    """Yield the agents of the folder `agents` in `base`, which is opened with these flags, too."""
    try:
        above = os.open(base, _DIRECTORY | flags)
    except (OSError, ValueError):
        return  # there are none
    try:
        fd = os.open("agents", _DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except OSError:
        return
    finally:
        os.close(above)
    try:
        for entry in _entries(fd):
            end = next((one for one in _ENDS if entry.endswith(one)), None)
            named = entry[: -len(end)] if end is not None else ""
            head = _head(fd, entry) if named and len(named) <= limits.MAX_ID else None
            if head is not None:
                yield without_surrogates(named), _description(head)
    finally:
        os.close(fd)


def _entries(fd: int) -> list[str]:
    names = []
    try:
        with os.scandir(fd) as entries:
            for _, entry in zip(range(MOST_ENTRIES), entries, strict=False):
                names.append(entry.name)
    except OSError:
        return []
    return sorted(names)


def _head(folder: int, name: str) -> str | None:
    """Return the beginning of a plain file; None where it cannot be read."""
    try:
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return decoded(file.read(HEAD_BYTES), "replace")
    except OSError:
        return None


def _description(head: str) -> str:
    """Return what a file says of its agent between its first two lines `---`; "" for nothing.

    It is YAML, of which no more is read than a text, in quotes or as a block: a reader of all of it
    takes seconds for what a hostile file may hold.
    """
    first, *lines = head.splitlines() or [""]
    if first.strip() != "---":
        return ""
    for at, line in enumerate(lines):
        if line.strip() == "---":
            return ""
        found = _FIELD.match(line)
        if found is None:
            continue
        text = found[1].strip()
        if text in _BLOCK:
            inner = []
            for below in lines[at + 1 :]:
                if below.strip() and not below[0].isspace():
                    break
                inner.append(below.strip())
            text = " ".join(filter(None, inner))
        elif quoted := _QUOTED.match(text):
            text = quoted[2]
        return " ".join(text.split())[: limits.MAX_SUMMARY]
    return ""
