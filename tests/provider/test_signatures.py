"""Signatures that cannot be a tool's are refused where they are declared, in words."""

from dataclasses import dataclass

import pytest

from tapui.provider import DeclarationError, Provider


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
