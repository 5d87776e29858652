"""Arguments are held against any schema, in bounded time, with nothing fetched."""

import asyncio
import json
import socket
from typing import Any

import psutil
import pytest
from msgspec import Raw

from tapui.schemas import arguments
from tapui.schemas.arguments import SchemaUnusable, described
from tests.rig.processes import has_ended
from tests.rig.waiting import until_async

GREET = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z]"},
        "times": {"type": "integer", "minimum": 1},
        "files": {"type": "array", "items": {"type": "object", "required": ["path"]}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


async def told(schema: Any, value: Any) -> list[tuple[str, str]]:
    found = await arguments.faults(
        Raw(json.dumps(schema).encode()), Raw(json.dumps(value).encode())
    )
    return [(one.name, one.text) for one in found]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"name": "Ada"}, []),
        ({"name": "Ada", "times": 10**30, "files": [{"path": "x"}]}, []),
        ({}, [("name", "is missing")]),
        ({"name": 1}, [("name", "takes string, got integer")]),
        ({"name": "ada"}, [("name", 'the value does not match "^[A-Z]"')]),
        ({"name": "Ada", "times": 0}, [("times", "the value is less than the minimum of 1")]),
        ({"name": "Ada", "files": [{"path": 1}, {}]}, [("files[1].path", "is missing")]),
        (
            {"name": "Ada", "nmae": "x"},
            [("nmae", "is not known; did you mean name?")],
        ),
    ],
)
async def test_every_place_that_does_not_fit_is_named(
    value: Any, wrong: list[tuple[str, str]]
) -> None:
    assert await told(GREET, value) == wrong


async def test_a_recursive_schema_is_applied() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}}, "required": ["value"]}
    assert await told(tree, {"value": 1, "left": {"left": {"value": 1}}}) == [
        ("left.value", "is missing")
    ]


def doubling(levels: int) -> dict[str, Any]:
    """Return a small schema that takes 2**levels steps to apply."""
    parts: dict[str, Any] = {
        f"p{at}": {"allOf": [{"$ref": f"#/$defs/p{at + 1}"}] * 2} for at in range(levels)
    }
    return {"$defs": {**parts, f"p{levels}": {"type": "object"}}, "$ref": "#/$defs/p0"}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "nonsense"}, "is not valid"),
        ({"properties": [1]}, "is not of type"),
        ({"properties": {"a": {"pattern": "("}}}, "is not a"),
        ({"properties": {"a": {"pattern": "((a{1,999}){1,999}){1,999}"}}}, "is not a"),
        ({"$ref": "#/$defs/none"}, "none"),
        ({"$ref": "http://localhost/x"}, "it refers to http://localhost/x, which is outside of it"),
        ({"items": [{"$dynamicRef": "file:///etc/passwd"}]}, "it refers to file:///etc/passwd"),
        ({"$ref": "other.json"}, "it refers to other.json, which is outside of it"),
        ({"$schema": "http://localhost/x"}, "localhost"),
        (doubling(60), "checking it took longer than"),
    ],
)
async def test_a_schema_that_cannot_be_applied_says_why(schema: Any, why: str) -> None:
    with pytest.raises(SchemaUnusable, match=why):
        await arguments.faults(Raw(json.dumps(schema).encode()), Raw(b'{"a": "x"}'), seconds=1)


@pytest.mark.parametrize(
    "schema", [True, {"$ref": "#"}, {"properties": {"$ref": {"type": "string"}}}]
)
async def test_an_odd_schema_lets_everything_through(schema: Any) -> None:
    assert await told(schema, {"a": 1, "$ref": "http://x/"}) == []


async def test_a_schema_nested_too_deeply_is_unusable() -> None:
    schema = b'{"not":' * 5000 + b"{}" + b"}" * 5000
    with pytest.raises(SchemaUnusable):
        await arguments.faults(Raw(schema), Raw(b"{}"))


async def test_a_pattern_that_would_take_for_ever_counts_as_not_matching() -> None:
    schema = {"properties": {"a": {"pattern": r"^(?=(a+)+$)((a|aa)+)+\1b$"}}}
    assert await told(schema, {"a": "a" * 200}) == [
        ("a", "its pattern would take too long to apply")
    ]


async def test_nothing_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        for schema in ({"$ref": url}, {"$schema": url}, {"$id": url, "$ref": "#/a"}):
            with pytest.raises(SchemaUnusable):
                await told(schema, {})
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (GREET, "string"),
        ({"properties": {"name": {"type": ["string", "null"]}}}, "string or null"),
        ({"properties": {"name": {"type": [1]}}}, ""),
        ({"properties": {"name": True}}, ""),
        ({"properties": [1]}, ""),
        (True, ""),
    ],
)
def test_the_type_of_an_argument_where_the_schema_gives_one(schema: Any, kind: str) -> None:
    assert described(schema, "name") == kind


async def test_a_check_that_is_given_up_leaves_no_process() -> None:
    before = set(psutil.Process().children())
    asking = asyncio.create_task(told(doubling(60), {}))
    begun = await until_async(lambda: set(psutil.Process().children()) - before, what="a process")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until_async(lambda: all(has_ended(one.pid) for one in begun), what="the end of it")
