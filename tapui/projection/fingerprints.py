"""Fingerprints: by what a finding is known again after its file was changed elsewhere.

A fingerprint has three digests: of rule, path's tail and line; of the line above; of the line
below. Two are of the same finding when the first agrees and one of the others does: a change next
to the line costs one neighbour, and a second place with the same line has others.
"""

import hashlib
import re
from collections.abc import Sequence

_TAIL = 2
"""Parts of a path that count: a folder that is renamed above them changes nothing."""
_BLANK = re.compile(r"\s+")
_NO_LETTER = re.compile(r"[\W_]+")
_VERSION = "f1"


def normalised(line: str) -> str:
    """Return a line without blanks and a closing comma or semicolon: a formatter moves these."""
    return _BLANK.sub("", line).rstrip(",;")


def fingerprint(rule: str, title: str, path: str, lines: Sequence[str] = (), first: int = 1) -> str:
    """Return the fingerprint of a finding at line `first` (from 1) of the `lines` around it.

    Without a rule its title counts, so that two findings at one line are two. It counts as well
    where the line was not read: else all findings of a rule in one file would be the same.
    """
    tail = "/".join(path.replace("\\", "/").split("/")[-_TAIL:])
    name = rule or _NO_LETTER.sub(" ", title.casefold()).strip()
    at = next((n for n in range(max(first - 1, 0), len(lines)) if normalised(lines[n])), None)
    if at is None:
        line = _NO_LETTER.sub(" ", title.casefold()).strip()
        return f"{_VERSION}-{_digest(name, tail, line, size=16)}"
    above = next((one for n in range(at - 1, -1, -1) if (one := normalised(lines[n]))), "")
    below = next((one for n in range(at + 1, len(lines)) if (one := normalised(lines[n]))), "")
    base = _digest(name, tail, normalised(lines[at]), size=16)
    return f"{_VERSION}-{base}-{_digest(above, size=8)}-{_digest(below, size=8)}"


def base(print_: str) -> str:
    """Return the part of a fingerprint that all forms of one finding have in common."""
    return "-".join(print_.split("-")[:2])


def is_same(one: str, other: str) -> bool:
    """Return whether two fingerprints are of the same finding."""
    if one == other:
        return True
    mine, theirs = one.split("-"), other.split("-")
    if mine[:2] != theirs[:2]:
        return False
    return any(a == b for a, b in zip(mine[2:], theirs[2:], strict=False))


def _digest(*parts: str, size: int) -> str:
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:size]
