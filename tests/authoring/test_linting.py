"""What `tapui provider check` finds."""

from typing import Annotated, Any, TypedDict

import msgspec
import pytest
from msgspec import Raw

from tapui.authoring.lint import LARGE_SCHEMA, LONG_DESCRIPTION, findings
from tapui.provider import Context, Provider
from tapui.wire.message import Tool


class Place(TypedDict):
    """A place."""

    street: str


def tool(schema: Any = None, **fields: Any) -> Tool:
    made: dict[str, Any] = {
        "name": "get_weather",
        "description": "Tell the weather of a place.",
        "parameters": Raw(msgspec.json.encode({"type": "object"} if schema is None else schema)),
    }
    return Tool(**{**made, **fields})


async def test_a_good_tool_has_nothing_to_mend() -> None:
    provider = Provider("weather")

    @provider.tool
    def get_weather(
        place: Annotated[Place, "Where."],
        days: Annotated[list[int], "Which, from today."],
        unit: Annotated[str | None, "C or F."] = None,
        context: Context | None = None,
    ) -> str:
        """Tell the weather of a place. Returns a sentence — 🌦 👩‍🌾."""
        return ""

    assert await findings(provider.tools) == []


@pytest.mark.parametrize(
    ("found_in", "path", "problem"),
    [
        (tool(name="tap_weather"), "tap_weather", "names that begin with tap_"),
        (tool(name="get"), "get", "does not say of what"),
        (tool(description="get weather"), "get_weather", "there is no description"),
        (tool(description="Tells weather"), "get_weather", "has 2 words"),
        (tool(description="a " * LONG_DESCRIPTION), "get_weather", "characters, and goes along"),
        (tool(description="Tell it now.\u202e tell"), "get_weather", "not shown"),
        (tool(name="bad name"), "tools", "a gateway refuses them"),
        (tool({"type": "string"}), "get_weather.parameters", "describes no object"),
        (tool(parameters=Raw(b"{")), "get_weather.parameters", "no JSON"),
        (
            tool({"type": "object", "properties": {"x": {"$ref": "https://x.example/s"}}}),
            "get_weather.parameters",
            "refers to https://x.example/s, which is never fetched",
        ),
        (
            tool({"type": "object", "properties": {"x": {"pattern": "("}}}),
            "get_weather.parameters",
            "cannot be applied",
        ),
        (
            tool({"type": "object", "description": "x" * LARGE_SCHEMA}),
            "get_weather.parameters",
            "bytes, which go along",
        ),
        (tool({"type": "object", "required": ["x"]}), "get_weather.x", "says nothing of it"),
    ],
)
async def test_what_a_model_or_a_gateway_would_not_take_is_found(
    found_in: Tool, path: str, problem: str
) -> None:
    found = await findings([found_in])
    (one,) = [one for one in found if problem in one.problem]
    assert one.path == path
    assert one.fix


@pytest.mark.parametrize(
    ("about", "problem"),
    [
        ({"type": "string"}, "no description"),
        ({"description": "What."}, "no type"),
        ({"description": "What.", "default": None}, "no type"),
        ({"description": "What.", "type": "object"}, "takes any object"),
        ({"description": "What.", "type": "array"}, "a list of anything"),
        ({"description": "What\u2066.", "type": "string"}, "not shown"),
        ({"$ref": "#/$defs/Any", "description": "What."}, "takes any object"),
    ],
)
async def test_what_is_not_said_of_an_argument_is_found(
    about: dict[str, Any], problem: str
) -> None:
    schema = {"type": "object", "properties": {"x": about}, "$defs": {"Any": {"type": "object"}}}
    (one,) = await findings([tool(schema)])
    assert one.path == "get_weather.x"
    assert problem in one.problem


async def test_names_that_a_model_confuses_are_found() -> None:
    (one,) = await findings([tool(), tool(name="getWeather")])
    assert (one.path, "get_weather" in one.problem) == ("getWeather", True)


async def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}}
    assert {one.path for one in await findings([tool(schema)])} <= {
        "get_weather.parameters",
        "get_weather.x",
    }


async def test_an_argument_that_the_description_names_needs_no_line_of_its_own() -> None:
    schema = {"type": "object", "properties": {"due_date": {"type": "string"}}}
    assert await findings([tool(schema, description="List the bills up to a due date.")]) == []
    (one,) = await findings([tool(schema, description="List bills; overdue dates are red.")])
    assert one.path == "get_weather.due_date"
