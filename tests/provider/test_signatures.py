"""Signatures that cannot be a tool's are refused where they are declared, in words."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field, field_validator

from tapui.provider import DeclarationError, Provider, ToolError
from tapui.provider.tool import ToolFunction


@dataclass
class Square:
    side: int


@dataclass
class Circle:
    radius: int


def test_a_type_that_cannot_be_read_is_refused_with_the_tools_name() -> None:
    def draw(shape: Square | Circle) -> None:
        pass

    with pytest.raises(DeclarationError, match=r"^draw: .*more than one dataclass"):
        Provider("p").tool(draw)


def test_a_method_without_its_object_is_refused_and_one_with_it_is_a_tool() -> None:
    class Drawing:
        def draw(self, side: int) -> int:
            return side

    provider = Provider("p")
    with pytest.raises(DeclarationError, match=r"provider\.tool\(object\.draw\)"):
        provider.tool(Drawing.draw)
    provider.tool(Drawing().draw)
    (tool,) = provider.tools
    assert b"self" not in bytes(tool.parameters)


def test_a_plain_function_may_have_a_parameter_of_any_name() -> None:
    def draw(self: int) -> int:
        return self

    provider = Provider("p")
    provider.tool(draw)
    (tool,) = provider.tools
    assert b'"self"' in bytes(tool.parameters)


class Part(BaseModel):
    """A part of an order."""

    count: int = Field(ge=1, description="how many")

    @field_validator("count")
    @classmethod
    def even(cls, count: int) -> int:
        if count % 2:
            raise ValueError("they come in pairs")
        return count


class Order(BaseModel):
    """What is ordered."""

    parts: list[Part]
    speed: Literal["slow", "fast"] = "slow"


async def test_models_of_pydantic_have_their_own_schema_and_checks() -> None:
    provider = Provider("shop")

    @provider.tool
    def order(
        order: Order, before: Order | None = None, more: tuple[Part, ...] = ()
    ) -> list[Order]:
        assert all(isinstance(part, Part) for part in (*order.parts, *more))
        return [order] if before is None else [before, order]

    schema = msgspec.json.decode(provider.tools[0].parameters)
    assert schema["properties"]["order"]["description"] == "What is ordered."
    assert schema["$defs"]["Order.Part"]["properties"]["count"]["minimum"] == 1
    first = {"parts": [{"count": 2}], "speed": "fast"}
    given = {"order": first, "before": {"parts": []}, "more": [{"count": 4}]}
    assert await provider.call("order", given) == [{"parts": [], "speed": "slow"}, first]
    for wrong, told in (
        ({"parts": [{"count": "x"}]}, r"order\.parts\[0\]\.count: takes integer, got string"),
        ({"parts": [], "speed": "now"}, 'order\\.speed: takes "slow" | "fast"'),
        ({"parts": [{"count": 3}]}, "order: parts.0.count: Value error, they come in pairs"),
    ):
        with pytest.raises(ToolError, match=f"INVALID_ARGS: {told}"):
            await provider.call("order", {"order": wrong})


def test_what_pydantic_has_beside_models_is_refused_in_a_sentence() -> None:
    class Odd: ...

    def bounded(count: Annotated[int, Field(ge=1)]) -> None: ...
    def odd(one: Odd) -> None: ...
    def told(count: Annotated[int, Field(description="how many")]) -> None: ...

    with pytest.raises(DeclarationError, match=r"^bounded: count has bounds .* Meta\(ge=…\)"):
        ToolFunction(bounded)
    with pytest.raises(DeclarationError, match=r"^odd: Odd has no JSON Schema; use a dataclass"):
        ToolFunction(odd)
    about = msgspec.json.decode(ToolFunction(told).definition.parameters)["properties"]["count"]
    assert about["description"] == "how many"


def test_the_kit_does_not_import_pydantic() -> None:
    code = (
        "import sys\nfrom tapui.provider import Provider\n"
        "@Provider('x').tool\ndef add(n: int) -> int: return n\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
