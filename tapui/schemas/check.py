"""The process that checks arguments: one question on stdin, one answer on stdout (`arguments`)."""

import resource
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tapui.schemas.descriptions import type_words
from tapui.schemas.key_values import near_words, type_of
from tapui.schemas.references import remote_reference

MAX_FAULTS = 20
"""Faults that are reported."""

_MEMORY = 1024**3
_TEXT = 300
"""Characters of a fault's text, which may quote the schema."""
_BACKTRACKS = 100_000
"""Steps back that a pattern may take before it counts as one that does not match."""
_BACKTRACKS_OF_ONE_FIELD = 1_000
"""Likewise, for what a person types: it is checked on the loops of the tower and the gateway."""
_OF_TYPES = ("type", "anyOf", "oneOf")
_SLOW = "its pattern would take too long to apply"
_PATTERN_BYTES = 1024 * 1024
"""Size of a compiled pattern."""
_PATTERN_BYTES_OF_ONE_FIELD = 32 * 1024
"""Likewise: one of 1 MiB takes a millisecond a character, one of this size a thousandth of it."""


def main() -> int:
    import msgspec

    question = msgspec.json.decode(sys.stdin.buffer.read())
    limit(question["seconds"])
    sys.stdout.buffer.write(msgspec.json.encode(answer(question["schema"], question["arguments"])))
    return 0


def limit(seconds: int) -> None:
    """Bound this process: processor time, memory, and no file of its memory when it is ended."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # elsewhere the system does not keep to it, or refuses
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def answer(schema: Any, arguments: Any, *, is_typed: bool = False) -> dict[str, Any]:
    """Return what is wrong with arguments, or why the schema cannot be applied. With `is_typed`
    formats count, and a pattern that takes long does not."""
    import jsonschema_rs

    pattern_bytes = _PATTERN_BYTES_OF_ONE_FIELD if is_typed else _PATTERN_BYTES
    if (target := remote_reference(schema)) is not None:
        return {"unusable": f"it refers to {target[:_TEXT]}, which is outside of it"}
    try:
        validator = jsonschema_rs.validator_for(
            schema,
            mask="the value",
            offline=True,
            validate_formats=is_typed or None,
            pattern_options=jsonschema_rs.FancyRegexOptions(
                backtrack_limit=_BACKTRACKS_OF_ONE_FIELD if is_typed else _BACKTRACKS,
                size_limit=pattern_bytes,
                dfa_size_limit=pattern_bytes,
            ),
        )
        faults = islice(validator.iter_errors(arguments), MAX_FAULTS)
        found = [one for error in faults for one in _told(schema, error)][:MAX_FAULTS]
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        message = getattr(error, "message", None) or str(error)
        return {"unusable": message.partition("\n")[0][:_TEXT]}
    return {"faults": [one for one in found if not (is_typed and one["text"] == _SLOW)]}


def _told(schema: Any, error: Any) -> Iterator[dict[str, Any]]:
    """Yield what is wrong, in words for models and for people alike: what is taken there."""
    import jsonschema_rs

    kind, path = error.kind, list(error.instance_path)
    about = _part(schema, list(error.schema_path)[:-1])
    if kind.name == "required":
        yield {"path": [*path, kind.property], "keyword": kind.name, "text": "is missing"}
    elif kind.name == "additionalProperties" and isinstance(about, dict):
        for name in kind.unexpected:
            text = f"is not known; {near_words(name, about.get('properties'))}"
            yield {"path": [*path, name], "keyword": kind.name, "text": text[:_TEXT]}
    elif kind.name in _OF_TYPES:
        text = f"takes {type_words(about, schema)}, got {type_of(error.instance)}"
        yield {"path": path, "keyword": kind.name, "text": text[:_TEXT]}
    elif kind.name in ("enum", "const"):
        text = f"takes {type_words(about, schema)}"
        yield {"path": path, "keyword": kind.name, "text": text[:_TEXT]}
    else:
        is_slow = isinstance(kind, jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded)
        text = _SLOW if is_slow else error.message
        yield {"path": path, "keyword": kind.name, "text": text[:_TEXT]}


def _part(schema: Any, path: list[str | int]) -> Any:
    for step in path:
        is_there = isinstance(schema, dict | list) and (
            step in schema if isinstance(schema, dict) else isinstance(step, int)
        )
        schema = schema[step] if is_there else None
    return schema


if __name__ == "__main__":
    sys.exit(main())
