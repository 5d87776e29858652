"""Collaborators are handed to the parts by name; the types have to agree as well."""

from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from tests.core.harness import Conversation


def wanted(part: Any) -> dict[str, Any]:
    """Return the type of each argument of a part's constructor; nothing of what is no part."""
    if not type(part).__module__.startswith("tapui.core."):
        return {}
    if is_dataclass(part):
        hints = get_type_hints(type(part))
        return {field.name: hints[field.name] for field in fields(part) if field.init}
    return get_type_hints(type(part).__init__)


def test_a_part_has_the_collaborators_that_its_constructor_names(talk: Conversation) -> None:
    parts = vars(talk.gateway.parts)
    compared = 0
    for part in parts.values():
        for name, kind in wanted(part).items():
            is_class = isinstance(kind, type) and not getattr(kind, "_is_protocol", False)
            if name in parts and is_class:
                assert isinstance(parts[name], kind), f"{type(part).__name__}: {name}"
                compared += 1
    assert compared > 150
