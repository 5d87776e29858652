"""The workbench on screen: a tool is chosen, its arguments are written, the call is followed."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw
from msgspec import json as fast_json

from tapui.projection.feed import Link
from tapui.tower.workbench.workbench import WorkbenchDetail
from tapui.wire.message import (
    FileResult,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)
from tapui.wire.tower import ToolsList, ToolsRead
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import world

GREET = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Whom to greet", "minLength": 2},
        "times": {"type": "integer", "minimum": 1},
        "loud": {"type": "boolean"},
        "key": {"type": "string", "format": "password"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
}


def tool(name: str, schema: Any = GREET, provider: str = "ci-watcher") -> OfferedTool:
    return OfferedTool(name, f"About {name}.", Raw(json.dumps(schema).encode()), provider)


async def done(rig: Running, *groups: str) -> None:
    """Wait until the work of these groups is done."""
    while waiting := [one for one in rig.app.workers if one.group in groups]:
        await rig.app.workers.wait_for_complete(waiting)
    await rig.settle()


async def checked(rig: Running) -> None:
    """Wait until what is written was checked."""
    await done(rig, "schema", "form")


async def offer(rig: Running, *tools: OfferedTool) -> None:
    """Let the tools come that the tower has asked for."""
    asked = rig.feed.sent[-1]
    assert isinstance(asked, ToolsRead)
    rig.feed.put(ToolsList(asked.id, list(tools)))
    await rig.settle()


@asynccontextmanager
async def bench(
    schema: Any = GREET, *, size: tuple[int, int] = (120, 36), **wiring: object
) -> AsyncIterator[Running]:
    """Run the app with the workbench open for the only tool of a provider."""
    async with running(world(), size=size, **wiring) as rig:
        await rig.press("4", "full_stop", "c")
        await offer(rig, tool("greet", schema))
        assert isinstance(on_top(rig.app), WorkbenchDetail)
        yield rig


def sent(rig: Running) -> tuple[str, Any]:
    """The last call: its id, its arguments."""
    message = rig.feed.sent[-1]
    assert isinstance(message, ToolInvoke)
    return message.id, fast_json.decode(message.args)


async def test_a_tool_of_several_is_chosen_in_a_list_with_a_filter() -> None:
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("4", "full_stop", "c")
        assert "Reading the tools" in rig.text
        others = [tool("job_log"), tool("rerun_job"), tool("search", provider="docs-search")]
        await offer(rig, *others)
        assert "search" not in rig.text  # of another provider
        assert "2 tools" in rig.text
        await rig.press(*"rerun")
        assert "1 of 2" in rig.text
        assert "job_log" not in rig.text
        await rig.press("enter")
        assert isinstance(on_top(rig.app), WorkbenchDetail)
        assert "rerun_job" in rig.text


async def test_from_anywhere_the_session_is_chosen_first() -> None:
    async with running(world()) as rig:
        await rig.press("1", "r")
        assert "Call a tool in" in rig.text
        await rig.press("down", "enter")
        assert rig.feed.sent[-1] == ToolsRead("tools-1", "s2")
        await offer(rig, tool("a", provider="x"), tool("b", provider="y"))
        await rig.press("down", "enter")
        assert "b" in rig.text.partition("not called yet")[0]


async def test_a_session_without_tools_says_so() -> None:
    async with running(world()) as rig:
        await rig.press("4", "full_stop", "c")
        await offer(rig)
        assert "This session has no tool." in rig.text


async def test_without_a_gateway_nothing_can_be_called() -> None:
    async with running(world()) as rig:
        rig.feed.put(Link("down", "gone"))
        await rig.press("4")
        assert not [one for one in rig.pane(4).row_actions() if one.letter == "c"]
        assert not rig.app.check_action("workbench", ())


async def test_a_call_is_made_from_the_form_and_followed_to_its_end() -> None:
    async with bench() as rig:
        await rig.press(*"Ada", "enter", "3", "enter", "space", "enter", *"s3cret", "enter")
        await rig.press(*'["x"]', "enter")
        await checked(rig)
        assert "the arguments fit" in rig.text
        assert "s3cret" not in rig.text
        assert "tapui call greet --session s1 --port 9400 --args" in rig.text.replace("\n", " ")
        await rig.press("enter")
        made, arguments = sent(rig)
        assert arguments == {
            "name": "Ada",
            "times": 3,
            "loud": True,
            "key": "s3cret",
            "tags": ["x"],
        }
        rig.feed.put(ToolProgress(made, "half of it"))
        await rig.turn(3)
        assert "running, 3s" in rig.text
        assert "half of it" in rig.text
        rig.feed.put(ToolOutcome(made, data=Raw(b'{"said":["Hi","Ho"]}'), context=["Be kind"]))
        await rig.settle()
        assert "done, 3.0s" in rig.text
        for shown in ('"said": [', '"Hi",', "added by rules and gates", "Be kind"):
            assert shown in rig.text
        assert "s3cret" not in rig.text


async def test_what_does_not_fit_is_told_at_its_field_and_calls_only_when_insisted_on() -> None:
    async with bench() as rig:
        await rig.press("ctrl+r")
        assert "name: is required" in rig.text
        await rig.press("A", "tab", "x")
        assert "times: write a whole number" in rig.text
        await rig.press("ctrl+r")
        await rig.press("backspace", "0")
        await checked(rig)
        assert "name: " in rig.text
        assert "(and 1 more)" in rig.text
        assert "less than the minimum of 1" in rig.text
        await rig.press("ctrl+r")
        assert "again calls it all the same" in rig.text
        assert not any(isinstance(one, ToolInvoke) for one in rig.feed.sent)
        await rig.press("ctrl+r")
        assert sent(rig)[1] == {"name": "A", "times": 0}


async def test_a_running_call_is_cancelled_after_a_question() -> None:
    async with bench() as rig:
        await rig.press(*"Ada", "ctrl+r")
        made, _ = sent(rig)
        await rig.press("x")
        assert "Cancel greet?" in rig.text
        await rig.press("n", "x", "y")
        assert rig.feed.sent[-1] == ToolAbort(made, "cancelled by the person")
        rig.feed.put(ToolOutcome(made, error="cancelled by the person", error_code="CANCELLED"))
        await rig.settle()
        assert "⊘ cancelled" in rig.text
        assert not on_top(rig.app).check_action("stop", ())


async def test_calls_made_here_are_listed_and_their_arguments_written_again() -> None:
    async with bench() as rig:
        await rig.press(*"Ada", "ctrl+r")
        first, _ = sent(rig)
        rig.feed.put(ToolOutcome(first, error="no such person", error_code="NOT_FOUND"))
        await rig.press("shift+tab", "shift+tab", "escape")
        await rig.press("escape")
        assert len(rig.app.screen_stack) == 1
        await rig.press("full_stop", "c")
        await offer(rig, tool("greet"))
        assert "error NOT_FOUND" in rig.text
        await rig.press("end", *"line", "ctrl+r")
        second, arguments = sent(rig)
        assert arguments == {"name": "Adaline"}  # the draft was kept
        file = FileResult("/tmp/out.png", "image/png", 1234)
        rig.feed.put(ToolOutcome(second, file=file))
        await rig.settle()
        assert "image/png, 1,234 bytes" in rig.text
        await rig.press("tab", "down")
        assert "no such person" in rig.text
        await rig.press("enter")
        await checked(rig)
        await rig.press("ctrl+r")
        assert sent(rig)[1] == {"name": "Ada"}


async def test_a_call_in_the_list_of_calls_is_made_again_with_its_arguments() -> None:
    schema = {"type": "object", "properties": {"build": {"type": "integer"}, "branch": {}}}
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("5", "z", "home", "down", "down", "up", "up", "full_stop", "r")
        await offer(rig, tool("wait_for_build", schema), tool("rerun_job"))
        assert "4711" in rig.text
        await rig.press("ctrl+r")
        assert sent(rig)[1] == {"build": 4711, "branch": "main"}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "recursive"),
        ({"properties": {str(at): {} for at in range(60)}}, "60 arguments, too many"),
        ({"properties": {"a": {"pattern": "("}}}, "the schema cannot be used"),
        ({"$ref": "http://127.0.0.1:1/x", "properties": {}}, "outside of it"),
    ],
)
async def test_a_schema_that_is_none_for_a_form_is_written_as_json(schema: Any, why: str) -> None:
    async with bench(schema) as rig:
        await checked(rig)
        await checked(rig)
        assert "As JSON, because" in rig.text
        assert why in " ".join(rig.text.split())
        await rig.press("ctrl+a", *"x")
        assert "no JSON yet" in rig.text
        await rig.press("backspace", "ctrl+r")
        assert sent(rig)[1] == {}


async def test_the_form_and_its_json_are_two_views_of_the_same_arguments() -> None:
    async with bench() as rig:
        await rig.press(*"Ada", "ctrl+t")
        assert '"name": "Ada"' in rig.text
        assert "Secrets are readable here." in rig.text
        await rig.press("ctrl+t")
        assert "Whom to greet" in rig.text
        await rig.press("ctrl+t", "down", "end", *',"other": 1', "ctrl+t")
        assert "the form has no field for other" in str(rig.app.screen.query_one(".why").render())
        await rig.press("ctrl+r")
        assert sent(rig)[1] == {"name": "Ada", "other": 1}


async def test_the_line_for_the_shell_is_copied_with_its_secrets_and_says_so() -> None:
    async with bench() as rig:
        copied: list[str] = []
        rig.app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        await rig.press("ctrl+l")
        assert rig.notices[-1] == "There is no such line: the arguments are not complete."
        await rig.press(*"Ada", "tab", "tab", "tab", *"s3cret", "ctrl+l")
        await done(rig, "copy")
        arguments = '{"name": "Ada", "key": "s3cret"}'
        line = f"tapui call greet --session s1 --port 9400 --args '{arguments}'"
        assert copied == [line]
        assert any("with its secrets" in one for one in rig.notices)


async def test_a_link_that_breaks_is_what_came_of_the_call() -> None:
    async with bench() as rig:
        await rig.press(*"Ada", "ctrl+r")
        rig.feed.put(Link("down", "gone"))
        await rig.settle()
        assert "✗ lost" in rig.text
        assert "broke before the answer came" in rig.text


async def test_a_long_result_is_bounded() -> None:
    async with bench() as rig:
        await rig.press(*"Ada", "ctrl+r")
        made, _ = sent(rig)
        rig.feed.put(ToolOutcome(made, data=Raw(b'["%b"]' % (b"x" * 3_000_000))))
        await rig.settle()
        await rig.press("end")
        assert "more characters; the record has them" in rig.text
