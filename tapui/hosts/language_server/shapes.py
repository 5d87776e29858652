"""Tools and answers in the shapes that the language server takes; any other fails there silently.

The server destructures the answer to `conversation/invokeClientTool` and to a confirmation as
`[result, error]`. These never go out: the bare result, a list of `{type, value}` parts, a content
that is a text, and a content without `value`. Its own tools take the list of parts instead.
"""

import re
from typing import Any

import msgspec

from tapui.hosts.for_models import description_for_model, text_for_model
from tapui.wire.errors import CallError
from tapui.wire.message import OfferedTool, ToolOutcome

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CANCELLED = frozenset({CallError.CANCELLED, CallError.STOPPED})
_MAX_REFERENCES = 8
Json = dict[str, Any]


class NotRegistrableError(ValueError):
    """A tool that the server would refuse, with all others of the list; the text says why."""


def registered(tool: OfferedTool) -> Json:
    """Return a tool as `conversation/registerTools` takes it. Raises `NotRegistrableError`.

    Each property needs a `type` that is one name, and a `description`; `required` is always there.
    A list of types, alternatives and references at the top of a property are written anew. A
    property that cannot be is left out, unless it is required; the description names it.
    """
    if not _NAME.fullmatch(tool.name):
        raise NotRegistrableError("its name has other characters than letters, digits, _ and -")
    try:
        schema = msgspec.json.decode(tool.parameters, type=Json)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotRegistrableError("its schema is no JSON object") from None
    given = schema.get("properties", {})
    if not isinstance(given, dict):
        raise NotRegistrableError("its properties are no object")
    required = schema.get("required", [])
    listed = required if isinstance(required, list) else []
    wanted = [name for name in listed if isinstance(name, str)]
    properties, left_out = {}, []
    for name, one in given.items():
        try:
            properties[name] = _property(name, one, schema)
        except NotRegistrableError:
            if name in wanted:
                raise
            left_out.append(name)
    about = description_for_model(tool) or tool.name
    if left_out:
        about = f"{about}\n\nNot to be given here: {', '.join(left_out)}."
    schema = {"type": "object", "properties": properties, "required": wanted}
    return {"name": tool.name, "description": about, "inputSchema": schema}


def _property(name: str, given: Any, schema: Json) -> Json:
    found = _resolved(name, given, schema)
    for key in ("anyOf", "oneOf"):
        if "type" not in found and isinstance(found.get(key), list):
            found = _one_of(name, found, key, schema)
    kind = found.get("type")
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        if len(kinds) != 1:
            raise NotRegistrableError(f"property {name} has {len(kinds)} types")
        kind = kinds[0]
    if kind is None and isinstance(found.get("enum"), list):
        kind = "string" if all(isinstance(one, str) for one in found["enum"]) else None
    if not isinstance(kind, str):
        raise NotRegistrableError(f"property {name} has no type")
    about = found.get("description")
    about = about if isinstance(about, str) and about else f"The argument {name}"
    return {**found, "type": kind, "description": about}


def _resolved(name: str, given: Any, schema: Json) -> Json:
    """Follow references within the schema. Raises `NotRegistrableError`."""
    for _ in range(_MAX_REFERENCES):
        if not isinstance(given, dict):
            break
        if "$ref" not in given:
            return given
        around = {key: value for key, value in given.items() if key != "$ref"}
        target: Any = schema
        reference = given["$ref"]
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise NotRegistrableError(f"property {name} refers out of its schema")
        for part in reference[2:].split("/"):
            step = part.replace("~1", "/").replace("~0", "~")
            target = target.get(step) if isinstance(target, dict) else None
        if not isinstance(target, dict):
            raise NotRegistrableError(f"property {name} refers to what is not there")
        given = {**target, **around}
    raise NotRegistrableError(f"property {name} has no schema that can be followed")


def _one_of(name: str, found: Json, key: str, schema: Json) -> Json:
    """Return a property with the one alternative that is not null."""
    rest = {name_: value for name_, value in found.items() if name_ != key}
    kinds = [_resolved(name, one, schema) for one in found[key]]
    others = [one for one in kinds if one.get("type") != "null"]
    if len(others) != 1:
        raise NotRegistrableError(f"property {name} has {len(others)} alternatives")
    return {**others[0], **rest}


def answer(outcome: ToolOutcome) -> list[Any]:
    """Return a call's outcome as the answer to `conversation/invokeClientTool`.

    An error is a result, too: the model reads its text.
    """
    text, is_ok = text_for_model(outcome)
    if outcome.error_code in _CANCELLED:
        return tool_answer(text, "cancelled")
    return tool_answer(text, "success" if is_ok else "error")


def tool_answer(text: str, status: str) -> list[Any]:
    return [{"content": [{"value": text}], "status": status}, None]


def built_in_answer(text: str) -> list[Any]:
    """Return the answer to a call of one of the server's own tools that is left to its client."""
    return [{"type": "text", "value": text}]


def confirmation(*, accepts: bool) -> list[Any]:
    """Return the answer to `conversation/invokeClientToolConfirmation`."""
    return [{"result": "accept" if accepts else "dismiss"}, None]
