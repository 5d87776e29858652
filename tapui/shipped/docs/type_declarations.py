"""What a `.d.ts` file exports: each declaration with the comment above it. Read line by line, as
text: a declaration that is written unusually is passed over."""

import re
from collections.abc import Iterator

from tapui.shipped.docs.python_api import ApiSection, first_sentence

_EXPORTED = re.compile(
    r"(?P<indent>[ \t]{0,8})(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?"
    r"(?P<kind>async function|function|class|interface|type|const enum|enum|const|let|namespace)"
    r"\s+(?P<name>[A-Za-z_$][\w$]{0,99})"
)
_EXPORT = re.compile(r"[ \t]{0,8}(?:export|declare)\b")
_STAR = re.compile(r"^\s*\* ?")
_MOST_LINES = 120
"""Lines of one declaration."""
_MOST_COMMENT = 100


def declarations(text: str) -> Iterator[ApiSection]:
    """Yield a section for each exported declaration."""
    lines = text.splitlines()
    comment: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.lstrip().startswith("/**"):
            at, comment = _comment(lines, at)
            continue
        found = _EXPORTED.match(line)
        if found and _EXPORT.match(line):
            end = at + 1 if found["kind"] == "namespace" else _end(lines, at)
            code = "\n".join(lines[at:end])
            doc = "\n".join(comment).strip()
            words = f"{doc}\n\n" if doc else ""
            yield ApiSection(
                found["name"], first_sentence(doc), f"{words}```ts\n{code.rstrip()}\n```"
            )
            comment, at = [], end
            continue
        if line.strip():
            comment = []
        at += 1


def _comment(lines: list[str], at: int) -> tuple[int, list[str]]:
    """Return the line behind a comment, and its text."""
    end = at
    while end < min(len(lines), at + _MOST_COMMENT) and "*/" not in lines[end]:
        end += 1
    texts = [one.replace("*/", "").replace("/**", "") for one in lines[at : end + 1]]
    return end + 1, [_STAR.sub("", one).rstrip() for one in texts]


def _end(lines: list[str], at: int) -> int:
    """Return the line behind a declaration: where its brackets are closed and it ends."""
    depth = 0
    for number in range(at, min(len(lines), at + _MOST_LINES)):
        line = lines[number].partition("//")[0].rstrip()
        depth += sum(line.count(one) for one in "{([") - sum(line.count(one) for one in "})]")
        if depth <= 0 and line.endswith((";", "}")):
            return number + 1
        if depth <= 0 and number > at and not line:
            return number
    return min(len(lines), at + _MOST_LINES)
