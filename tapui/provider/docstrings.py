"""What a docstring says of a function and of its parameters, in Google's and in Sphinx's form."""

import inspect
import re
from typing import NamedTuple

_SECTION = re.compile(
    r"(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|attributes|todo)"
    r":\s*\Z",
    re.IGNORECASE,
)
_OF_PARAMETERS = frozenset({"args", "arguments", "parameters", "params"})
_GOOGLE = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)\Z")
_SPHINX = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<name>\w+)\s*:"
    r"\s*(?P<text>.*)\Z"
)
_FIELD = re.compile(r":\w+[^:]*:")


class Docstring(NamedTuple):
    """The text without its sections, and a text for each parameter that has one."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Read a docstring; what is in no known form stays in the description."""
    described: list[str] = []
    parameters: dict[str, list[str]] = {}
    section, entry_indent = "", None
    current: list[str] | None = None
    for line in inspect.cleandoc(text or "").splitlines():
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        if indent == 0 and (begun := _SECTION.match(stripped)):
            section, entry_indent, current = begun[1].lower(), None, None
        elif indent == 0 and (found := _SPHINX.match(stripped)):
            section, current = "sphinx", parameters.setdefault(found["name"], [])
            current.append(found["text"])
        elif indent == 0 and _FIELD.match(stripped):
            section, current = "sphinx", None  # `:returns:`, `:raises X:` …
        elif section in _OF_PARAMETERS and indent:
            entry_indent = indent if entry_indent is None else entry_indent
            entry = _GOOGLE.match(stripped) if indent <= entry_indent else None
            if entry is not None:
                current = parameters.setdefault(entry["name"], [])
                current.append(entry["text"])
            elif current is not None:
                current.append(stripped)
        elif section and (indent or not stripped):
            if section == "sphinx" and indent and current is not None:
                current.append(stripped)
        else:
            section, current = "", None
            described.append(line)
    return Docstring(
        "\n".join(described).strip(),
        {name: " ".join(filter(None, lines)) for name, lines in parameters.items()},
    )
