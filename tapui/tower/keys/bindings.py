"""Textual's bindings, made from the table."""

from textual.binding import Binding, BindingType

from tapui.tower.keys.names import key_name
from tapui.tower.keys.table import BY_ID


def bindings(*ids: str) -> list[BindingType]:
    """Return the bindings of these actions, for a widget, screen or app that has their methods."""
    found: list[BindingType] = []
    for name in ids:
        one = BY_ID[name]
        first = one.keys.split(",")[0]
        found.append(
            Binding(
                one.keys,
                one.action,
                one.offer or one.does,
                show=bool(one.offer),
                key_display=key_name(first),
                tooltip=one.does,
                id=one.id,
            )
        )
    return found
