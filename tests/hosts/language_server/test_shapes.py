"""The shapes that the language server takes, and tools that it would refuse."""

import json
from typing import Any

import pytest
from msgspec import Raw

from tapui.hosts.language_server.shapes import (
    NotRegistrableError,
    answer,
    built_in_answer,
    confirmation,
    registered,
)
from tapui.wire.codec import raw
from tapui.wire.message import OfferedTool, ToolOutcome


def tool(properties: Any, name: str = "greet", **schema: Any) -> OfferedTool:
    given = {"type": "object", "properties": properties, **schema}
    return OfferedTool(name, "Greets.", Raw(json.dumps(given).encode()), "greeter")


def test_a_tool_has_required_always() -> None:
    found = registered(tool({"name": {"type": "string", "description": "Whom"}}))
    assert found == {
        "name": "greet",
        "description": "Greets.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Whom"}},
            "required": [],
        },
    }
    assert registered(tool({}, required=["a", 5]))["inputSchema"]["required"] == ["a"]


@pytest.mark.parametrize(
    ("given", "kind", "about"),
    [
        ({"type": "string"}, "string", "The argument x"),
        ({"type": ["null", "integer"], "description": "d"}, "integer", "d"),
        ({"anyOf": [{"type": "null"}, {"type": "array", "items": {}}]}, "array", "The argument x"),
        ({"$ref": "#/$defs/a~1b", "description": "d"}, "boolean", "d"),
        ({"oneOf": [{"$ref": "#/$defs/a~1b"}]}, "boolean", "from there"),
        ({"enum": ["a", "b"]}, "string", "The argument x"),
    ],
)
def test_properties_are_written_anew(given: Any, kind: str, about: str) -> None:
    more: dict[str, Any] = {
        "$defs": {"a/b": {"type": "boolean", "description": "from there"}},
    }
    found = registered(tool({"x": given}, **more))
    one = found["inputSchema"]["properties"]["x"]
    assert (one["type"], one["description"]) == (kind, about)
    assert not one.keys() & {"$ref", "anyOf", "oneOf"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "property x has no type"),
        ({"type": ["string", "integer"]}, "property x has 2 types"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "property x has 2 alternatives"),
        ({"$ref": "https://example.com/a"}, "property x refers out of its schema"),
        ({"$ref": "#/$defs/gone"}, "property x refers to what is not there"),
        ({"$ref": "#/properties/x"}, "property x has no schema that can be followed"),
        (True, "property x has no schema that can be followed"),
    ],
)
def test_a_tool_that_would_cost_all_others_is_left_out(given: Any, why: str) -> None:
    with pytest.raises(NotRegistrableError, match=why):
        registered(tool({"x": given}, required=["x"]))
    found = registered(tool({"x": given, "y": {"type": "string"}}))
    assert list(found["inputSchema"]["properties"]) == ["y"]
    assert found["description"] == "Greets.\n\nNot to be given here: x."


def test_a_name_that_the_server_would_change_is_left_out() -> None:
    with pytest.raises(NotRegistrableError, match="its name"):
        registered(tool({}, name="a.b"))
    with pytest.raises(NotRegistrableError, match="no JSON object"):
        registered(OfferedTool("a", "", Raw(b"[]"), "p"))


def test_answers_are_two_elements() -> None:
    assert answer(ToolOutcome("c", data=raw("hi"))) == [
        {"content": [{"value": "hi"}], "status": "success"},
        None,
    ]
    assert answer(ToolOutcome("c", error="no", error_code="NOT_FOUND")) == [
        {"content": [{"value": "NOT_FOUND: no"}], "status": "error"},
        None,
    ]
    assert answer(ToolOutcome("c", error="no", error_code="CANCELLED"))[0]["status"] == "cancelled"
    assert built_in_answer("hi") == [{"type": "text", "value": "hi"}]
    assert confirmation(accepts=True) == [{"result": "accept"}, None]
    assert confirmation(accepts=False) == [{"result": "dismiss"}, None]
