"""What differs between what a provider declared before a save and after it."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from tapui.wire.message import Tool
from tapui.wire.provider import ContextUpdate, Hello, Hooks, HooksUpdate, ToolsUpdate, Transform

Update = ToolsUpdate | HooksUpdate | ContextUpdate


class ToolChanges(NamedTuple):
    """Names of tools."""

    added: list[str]
    removed: list[str]
    changed: list[str]


def is_same_provider(before: Hello, after: Hello, bound_to: str) -> bool:
    """Return whether updates lead from one to the other, for a provider that is bound to a session
    or to `"all"`; all else needs a hello of its own."""

    def identity(hello: Hello) -> bytes:
        kept = (hello.name, hello.instance, hello.metadata, hello.subscribe, hello.concurrency)
        return msgspec.json.encode(kept)

    return identity(before) == identity(after) and after.session in (None, bound_to)


def updates(before: Hello, after: Hello) -> list[Update]:
    """Return the updates that lead from what `before` declares to what `after` does."""
    found: list[Update] = []
    if before.tools != after.tools:
        found.append(ToolsUpdate(list(after.tools or ())))
    had, has = before.hooks or Hooks(), after.hooks or Hooks()
    rules = None
    if (had.on_pre_tool_use or []) != (has.on_pre_tool_use or []):
        rules = list(has.on_pre_tool_use or ())
    were, are = had.transforms or {}, has.transforms or {}
    transforms: dict[str, Transform | None] = dict.fromkeys(were.keys() - are.keys())
    transforms |= {name: one for name, one in are.items() if were.get(name) != one}
    if rules is not None or transforms:
        found.append(HooksUpdate(rules, transforms or None))
    if (before.context or None) != (after.context or None):
        found.append(ContextUpdate(after.context or ""))
    return found


def tool_changes(before: Sequence[Tool], after: Sequence[Tool]) -> ToolChanges:
    """Return which tools came, went and are others now."""
    had, has = ({tool.name: tool for tool in tools} for tools in (before, after))
    return ToolChanges(
        [name for name in has if name not in had],
        [name for name in had if name not in has],
        [name for name in has if name in had and had[name] != has[name]],
    )
