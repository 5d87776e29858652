"""Tools whose schemas are the author's own, and text beside files."""

import asyncio
from typing import Any

import pytest

from tapui.provider import Context, DeclarationError, Provider
from tapui.provider.conversation import RETRY_SECONDS
from tapui.provider.tool import ToolFunction
from tests.provider.conftest import Bench
from tests.rig.waiting import HUNG

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


async def with_context(arguments: dict[str, Any], context: Context) -> str:
    context.progress(1, 2)
    return f"{arguments} in {context.session.id}"


def plain(arguments: dict[str, Any]) -> str:
    return f"{arguments}"


async def test_a_function_gets_the_arguments_and_its_context(bench: Bench) -> None:
    provider = Provider("own")
    provider.tool(name="told", parameters=SCHEMA)(with_context)
    provider.tool(name="plain", parameters=SCHEMA)(plain)
    await bench.serve(provider)
    assert (await bench.call("told", {"a": 1}))["data"] == f"{{'a': 1}} in {bench.session}"
    assert (await bench.call("plain", {"a": 1}))["data"] == "{'a': 1}"


async def test_tools_are_replaced_in_one_go(bench: Bench) -> None:
    provider = Provider("replaced")
    provider.tool(name="old", parameters=SCHEMA)(plain)
    await bench.serve(provider)
    provider.replace_tools(
        ToolFunction(plain, name=name, parameters=SCHEMA) for name in ("one", "two")
    )
    names: list[str] = []
    while names != ["one", "two"]:
        told = await bench.host.expect("tools.changed")
        names = [one["name"] for one in told["tools"] if one["provider"] == "replaced"]
    assert (await bench.call("two"))["data"] == "{}"
    assert (await bench.call("old"))["errorCode"] == "NOT_FOUND"


async def all_but_the_next_try(seconds: float) -> None:
    """Sleep, but never until what was refused is tried again by itself."""
    if seconds == RETRY_SECONDS:
        await asyncio.Event().wait()
    await asyncio.sleep(seconds)


async def test_a_name_that_was_taken_and_is_changed_is_offered_at_once(bench: Bench) -> None:
    first, second = Provider("first"), Provider("second")
    for provider in (first, second):
        provider.tool(name="same", parameters=SCHEMA)(plain)
    await bench.serve(first)
    served = await bench.serve(second, is_bound=False, sleep=all_but_the_next_try)
    await served.told.heard("waiting: Tool 'same' already registered")
    second.replace_tools([ToolFunction(plain, name="other", parameters=SCHEMA)])
    await served.told.heard("bound: ")
    assert (await bench.call("other"))["data"] == "{}"


async def test_tools_whose_names_are_taken_are_left_out_until_they_are_free(
    bench: Bench,
) -> None:
    first, second = Provider("first"), Provider("second")
    for name in ("a", "b"):
        first.tool(name=name, parameters=SCHEMA)(plain)
    for name in ("a", "b", "mine"):
        second.tool(name=name, parameters=SCHEMA)(with_context)
    await bench.serve(first)
    looks_again = asyncio.Event()

    async def until_looked(_seconds: float) -> None:
        await looks_again.wait()
        looks_again.clear()

    served = await bench.serve(second, sleep=until_looked)
    await served.told.heard(
        "left out: a, b (Tool 'a' already registered by provider 'first'); --prefix TEXT offers"
    )
    its_own = f"{{}} in {bench.session}"
    assert (await bench.call("mine"))["data"] == its_own
    second.tool(name="later", parameters=SCHEMA)(with_context)
    first.remove_tool("a")
    offered = {"a"}
    while "a" in offered:
        told = await bench.host.expect("tools.changed")
        offered = {one["name"] for one in told["tools"] if one["provider"] == "first"}
    looks_again.set()
    await served.told.heard("left out: b (")
    async with asyncio.timeout(HUNG):
        while (await bench.call("a")).get("data") != its_own:
            pass
    assert (await bench.call("later"))["data"] == its_own
    assert (await bench.call("b"))["data"] == "{}"


async def test_a_prefix_keeps_names_apart(bench: Bench) -> None:
    first, second = Provider("first"), Provider("second")
    for provider in (first, second):
        provider.tool(name="same", parameters=SCHEMA)(plain)
    await bench.serve(first)
    second.put_in_front("my_")
    await bench.serve(second)
    assert [tool.name for tool in second.tools] == ["my_same"]
    assert (await bench.call("my_same"))["data"] == "{}"
    assert (await second.call("my_same", {})) == "{}"
    with pytest.raises(DeclarationError, match="'! same' cannot be a tool's name"):
        second.put_in_front("! ")
