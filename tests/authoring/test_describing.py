"""Tools in words."""

from typing import Annotated, Literal

import pytest
from msgspec import Raw, Struct

from tapui.authoring.description import as_markdown, as_text, signature_of
from tapui.provider import Provider
from tapui.provider.program import try_line
from tapui.wire.message import Tool


class Place(Struct):
    """A place."""

    street: str


provider = Provider("weather")


@provider.tool(timeout=5)
def forecast(
    name: str,
    days: list[int],
    place: Place,
    unit: Annotated[Literal["C", "F"], "A | or b."] = "C",
    limit: int | None = None,
) -> str:
    """Tell the weather.

    In a sentence.
    """
    return f"{name} {days} {place} {unit} {limit}"


TOOLS = provider.tools


def test_a_tool_has_a_signature_and_a_line_that_tries_it() -> None:
    assert signature_of(TOOLS[0]) == 'forecast(name, days, place, unit="C", limit=null)'
    assert try_line(TOOLS[0], 9400).endswith("call forecast name=Ada 'days=[]' 'place={}'")
    assert try_line(TOOLS[0], 9401).endswith(" --port 9401")


def test_people_read_types_and_meanings() -> None:
    text = "\n".join(as_text("weather", TOOLS))
    assert "weather: 1 tool\n" in text
    assert "    Tell the weather.\n" in text
    assert "- days: list of integer\n" in text
    assert '- unit: "C" | "F"  A | or b.\n' in text
    assert "- limit: integer | null\n" in text
    assert "may take 5 s" in text


def test_a_document_is_markdown_whatever_stands_in_it() -> None:
    lines = list(as_markdown("weather", TOOLS))
    assert lines[0] == "# weather"
    (row,) = [line for line in lines if line.startswith("| `unit`")]
    assert row == '| `unit` | `"C" \\| "F"` |  | `"C"` | A \\| or b. |'


@pytest.mark.parametrize(
    "schema", [b"{", b"3", b'{"properties":3}', b'{"properties":{"x":3,"y":{"$ref":"#/no"}}}']
)
def test_a_schema_that_says_nothing_is_no_fault(schema: bytes) -> None:
    tool = Tool("t", "d", Raw(schema))
    assert signature_of(tool).startswith("t(")
    assert list(as_text("p", [tool]))
