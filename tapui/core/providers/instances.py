"""Several instances of one provider: shared tools with a `target`, and who is meant.

Provider Interface v2 "Multi-instance providers"; `tapui/wire/README.md`.
"""

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tapui.core.model import ConnectedProvider, OpenSession, RegisteredTool
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.message import InstanceMetadata, OfferedTool, Tool

_NOT_TOOL_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")
_TARGETS = ("target", "targetInstance")
_TITLE_LENGTH = 64


class UnknownTargetError(Exception):
    """No instance has the name that a call's `target` gives."""


def reserved_prefix(provider_name: str) -> str:
    """Return how the names begin that are reserved for tools about a provider."""
    return f"list_{_NOT_TOOL_CHARACTERS.sub('_', provider_name)}_"


def lister_name(provider_name: str) -> str:
    """Return the name of the tool that lists a provider's instances."""
    return f"{reserved_prefix(provider_name)}instances"[:64]


def instances_of(session: OpenSession, name: str) -> list[ConnectedProvider]:
    """Return the providers of that name in a session, in order of their coming."""
    return [provider for provider in session.providers.values() if provider.name == name]


def is_multiple(session: OpenSession, name: str) -> bool:
    """Return whether a provider of that name declares an instance in the session."""
    return any(one.view.instance is not None for one in instances_of(session, name))


def target_name(tools: Iterable[Tool]) -> str | None:
    """Return the argument by which calls of a shared tool name an instance.

    `tools` are the instances' definitions of it. Arguments of the tool itself stay its own; None
    where it has all of the names: the most recently active instance is called.
    """
    own = {name for tool in tools for name in _properties(msgspec.json.decode(tool.parameters))}
    return next((name for name in _TARGETS if name not in own), None)


def with_target(entry: RegisteredTool) -> Raw:
    """Return a shared tool's parameters, with the argument that names an instance."""
    if entry.target is None:
        return entry.tool.parameters
    schema = msgspec.json.decode(entry.tool.parameters)
    available = ", ".join(_described(provider) for provider, _ in entry.offers.values())
    schema["type"] = "object"
    schema["properties"] = _properties(schema) | {
        entry.target: {
            "type": "string",
            "description": (
                f"Instance to use; the one last active if absent. Available: {available}"
            ),
        }
    }
    return raw(schema)


def _properties(schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _described(provider: ConnectedProvider) -> str:
    name = provider.view.instance or provider.id
    title = metadata_of(provider).get("title")
    return f"{name} ({title[:_TITLE_LENGTH]})" if isinstance(title, str) and title else name


def metadata_of(provider: ConnectedProvider) -> dict[str, Any]:
    """Return what a provider says about itself."""
    if provider.view.metadata is None:
        return {}
    metadata: dict[str, Any] = msgspec.json.decode(provider.view.metadata)
    return metadata


def lister(name: str) -> OfferedTool:
    """Return the definition of the tool that lists a provider's instances."""
    return OfferedTool(
        name=lister_name(name),
        description=f"List the connected instances of '{name}', with what each says about itself.",
        parameters=Raw(b'{"type":"object","properties":{}}'),
        provider=name,
        read_only=True,
    )


def shown_metadata(provider: ConnectedProvider) -> Raw | None:
    """Return what a provider says about itself, unless it is too long for lists."""
    metadata = provider.view.metadata
    if metadata is None or len(memoryview(metadata)) > limits.MAX_SHOWN_METADATA:
        return None
    return metadata


def offered(session: OpenSession, entry: RegisteredTool) -> OfferedTool:
    """Return a registered tool as a session's host sees it."""
    if entry.lists:
        instances = [
            InstanceMetadata(one.view.instance or one.id, shown_metadata(one))
            for one in instances_of(session, entry.owner)
        ]
        return replace(lister(entry.owner), instances=instances)
    offering = [provider for provider, _ in entry.offers.values()]
    return OfferedTool(
        name=entry.tool.name,
        description=entry.tool.description,
        parameters=with_target(entry),
        provider=entry.owner,
        read_only=True if entry.is_read_only else None,
        metadata=shown_metadata(offering[0]) if len(offering) == 1 else None,
    )


def listing(session: OpenSession, name: str) -> Raw:
    """Return the answer of that tool."""
    return raw(
        [
            {"instance": one.view.instance or one.id, "metadata": metadata_of(one)}
            for one in instances_of(session, name)
        ]
    )


def split_target(args: Raw, name: str | None) -> tuple[str | None, Raw]:
    """Take the argument that names an instance out of a call's; return it and what is left.

    Raises `UnknownTargetError` when it is there but is no name.
    """
    if name is None or (f'"{name}"'.encode() not in bytes(args) and b"\\u" not in bytes(args)):
        return None, args
    fields = msgspec.json.decode(args, type=dict[str, Raw])
    target = fields.pop(name, None)
    if target is None or bytes(target) == b"null":
        return None, args if target is None else raw(fields)
    try:
        return msgspec.json.decode(target, type=str), raw(fields)
    except msgspec.DecodeError:
        raise UnknownTargetError(f"{name}: expected the name of an instance") from None


def choose(offering: list[ConnectedProvider], target: str | None) -> ConnectedProvider:
    """Return the instance that a call is for: the one named, else the most recently active.

    Raises `UnknownTargetError` for a name that none of them has.
    """
    if target is None:
        return max(offering, key=lambda one: one.last_active)
    for provider in offering:
        if target in (provider.view.instance, provider.id):
            return provider
    known = ", ".join(one.view.instance or one.id for one in offering)
    raise UnknownTargetError(f"no instance '{target}'; there are: {known}")
