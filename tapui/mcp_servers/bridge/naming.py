"""The server's tools as sessions see them: legal and unique names, what is pinned, what is held
back."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from tapui.core.providers.tools import too_many
from tapui.mcp_servers.messages import MappedTool
from tapui.schemas.references import remote_reference
from tapui.wire import codec, limits

MAX_TOOL_BYTES = 256 * 1024
"""Description and schema of one tool."""
MAX_TOLD_BYTES = 8 * 1024 * 1024
"""Bytes of all tools in a message to tapui: half of what a line may have. A list that does not get
there cannot be pinned."""
_LONGEST_NAME = 256
_MAX_PLACE = 200
_RESERVE = 64 * 1024
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
_LOST = re.compile(r"[^A-Za-z0-9_.-]")
"""What a name is not the same without; a dot becomes `_` as such."""
_DRAFT = re.compile(
    r"http://json-schema\.org/draft-0[467]/schema#?\Z"
    r"|https://json-schema\.org/draft/20(19-09|20-12)/schema#?\Z"
)
_HASH = 8


@dataclass(frozen=True)
class ServerTool:
    """A tool as its server tells of it."""

    name: str
    description: str
    parameters: Raw
    annotations: Raw | None

    @property
    def digest(self) -> str:
        """What is pinned: all that the person saw when they allowed it."""
        told = {
            "name": self.name,
            "description": self.description,
            "schema": msgspec.json.decode(self.parameters),
            "annotations": msgspec.json.decode(self.annotations or b"null"),
        }
        text = msgspec.json.encode(told, order="sorted")
        return f"sha256:{hashlib.sha256(text).hexdigest()}"


class ToolNames:
    """Maps tools of one server. The order in which it lists them decides no name: what the person
    has allowed by a name does not come to hold for another tool."""

    def __init__(
        self, server: str, pinned: Mapping[str, str] | None, most: int = limits.MAX_TOOLS
    ) -> None:
        self._server = server
        self._most = most
        self._pinned = None if pinned is None else dict(pinned)
        self._clashes: set[str] = set()

    def allow(self, pins: Mapping[str, str]) -> None:
        """These digests take the place of all former ones."""
        self._pinned = dict(pins)

    def clash(self, offered_as: str, tools: Iterable[MappedTool]) -> bool:
        """A name is taken in a session: its tool is offered as `NAME_tool` from now on.

        Returns False where that cannot help: it has such a name already.
        """
        for tool in tools:
            if tool.offered_as == offered_as and tool.name not in self._clashes:
                self._clashes.add(tool.name)
                return True
        return False

    def map(self, tools: Iterable[ServerTool]) -> list[MappedTool]:
        offered: list[str] = []
        mapped = []
        left = limits.MAX_DECLARED_BYTES - _RESERVE
        told_left = MAX_TOLD_BYTES
        for tool in tools:
            digest = tool.digest
            is_changed = self._pinned is not None and self._pinned.get(tool.name) != digest
            problem = fault_of(tool)
            told = _told_size(tool)
            is_told = told <= told_left and not _is_too_large(tool)
            if is_told:
                told_left -= told
            elif problem is None:
                problem = "the definitions of all tools are too large together"
            size = len(tool.description) * 4 + len(memoryview(tool.parameters))
            if problem is None and len(offered) >= self._most:
                problem = too_many(self._most)
            elif problem is None and size > left:
                problem = "the definitions of all tools are too large together"
            if problem is None and not is_changed:
                offered.append(tool.name)
                left -= size
            mapped.append(
                MappedTool(
                    name=tool.name[:_LONGEST_NAME],
                    digest=digest,
                    description=tool.description if is_told else "",
                    parameters=tool.parameters if is_told else Raw(b"{}"),
                    annotations=tool.annotations if is_told else None,
                    is_changed=is_changed,
                    problem=problem,
                )
            )
        names = self._names(offered)
        return [replace(one, offered_as=names.get(one.name)) for one in mapped]

    def _names(self, offered: Iterable[str]) -> dict[str, str]:
        """Return under which names tools are offered: a legal name is its own tool's first."""
        found: dict[str, str] = {}
        taken: set[str] = set()
        for name in sorted(
            offered, key=lambda one: (one in self._clashes, legal_name(one) != one, one)
        ):
            found[name] = self._free_name(name, taken)
            taken.add(found[name])
        return found

    def _free_name(self, name: str, taken: set[str]) -> str:
        legal = legal_name(name)
        if legal not in taken and name not in self._clashes:
            return legal
        if name in self._clashes and (longer := legal_name(f"{self._server}_{name}")) not in taken:
            return longer
        while (marked := legal_name(name, is_marked=True)) in taken:
            name += " "  # another tool has that as its own name
        return marked


def legal_name(name: str, *, is_marked: bool = False) -> str:
    """Return a name of 1 to 64 letters, digits, `_` and `-`.

    It ends with a hash if it is long or has lost more than dots: what it is depends on no other.
    """
    legal = _ILLEGAL.sub("_", name).strip("_") or "tool"
    if len(legal) <= limits.MAX_NAME and not is_marked and not _LOST.search(name):
        return legal
    mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_HASH]
    return f"{legal[: limits.MAX_NAME - _HASH - 1]}_{mark}"


def _is_too_large(tool: ServerTool) -> bool:
    schemas = sum(len(memoryview(one)) for one in _schemas(tool))
    return len(tool.description) + schemas > MAX_TOOL_BYTES


def _schemas(tool: ServerTool) -> Iterator[Raw]:
    yield tool.parameters
    if tool.annotations is not None:
        yield tool.annotations


def _told_size(tool: ServerTool) -> int:
    """Return how many bytes of a line a tool takes at most: a character of a text takes six."""
    schemas = sum(len(memoryview(one)) for one in _schemas(tool))
    return 6 * len(tool.description) + schemas


def fault_of(tool: ServerTool) -> str | None:
    """Return why a tool cannot be offered to a model, or None."""
    if len(tool.name) > _LONGEST_NAME:
        return f"its name has more than {_LONGEST_NAME} characters"
    if _is_too_large(tool):
        return f"its description and schema have more than {MAX_TOOL_BYTES // 1024} KiB"
    if codec.depth_exceeds(tool.parameters, limits.MAX_SCHEMA_DEPTH):
        return f"its schema is nested deeper than {limits.MAX_SCHEMA_DEPTH} levels"
    schema: Any = msgspec.json.decode(tool.parameters)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "its schema is not one of an object"
    if remote_reference(schema) is not None:
        return "its schema refers to another document"
    return _unusable(schema)


def _unusable(schema: Any) -> str | None:
    """Models' services refuse all tools of a request for one schema that is none."""
    import jsonschema_rs

    if not _DRAFT.match(str(schema.get("$schema", ""))):
        # An unknown draft would be fetched.
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as error:
        place = "/".join(str(part) for part in error.instance_path)[:_MAX_PLACE]
        return f"its schema is not valid: {place or 'at its top'}"
    except (jsonschema_rs.ReferencingError, ValueError):
        return "its schema is not valid"
    return None
