"""What a built-in tool is: its definition for the model, what it asks, and what it answers.

No result is longer than `MAX_TOOL_RESULT` bytes of JSON, so that none fills a model's context.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from tapui.settings.settings import Timeouts
from tapui.text import cut
from tapui.wire import limits
from tapui.wire.codec import decode_object, given_object, raw
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.limits import MAX_TOOL_RESULT
from tapui.wire.message import Message, Tool
from tapui.wire.provider import ToolCall

Schema = dict[str, Any]
"""A JSON Schema."""
TEXT: Schema = {"type": "string"}
MARGIN = 15.0
"""Seconds beyond those that the person has: gates are asked before, and decisions recorded."""
_ROOM = 1024
"""Bytes of a result that are kept for what says that it is not whole."""
_CUTS = (
    *((characters, 1000) for characters in (16_384, 4096, 2048, 1024, 512, 256, 128, 64, 32)),
    *((32, entries) for entries in (512, 256, 128, 64, 32, 16, 8, 4, 2)),
)
"""The characters of texts and the entries of lists and objects to which a result is cut: the first
that suffice. Texts go first: of a hundred checks each one's outcome stays."""


class RefusedError(Exception):
    """A request that was not granted: by the person, by their rules, by a gate."""


@dataclass(frozen=True)
class Pages:
    """A list that is given in parts. A result has as many `entries` as fit, and a `cursor`: the
    `key` of the last of them. A call with this cursor gets the entries after it; where the newest
    are last, those before it."""

    entries: str
    key: str
    is_newest_last: bool = False


@dataclass(frozen=True)
class BuiltinTool:
    """A tool. `properties` are those of its arguments, by name.

    `ask` returns what is asked of the gateway; it raises `ValueError` or `WireError` for arguments
    that cannot be. `tell` makes the result of the answer, as JSON, or a further message to ask;
    it raises `RefusedError`. `patience` returns how long the person has to decide, in seconds,
    and `withdraw` what takes the question back when the call is given up. With `pages` the result
    is a list, or an object with one.
    """

    name: str
    description: str
    ask: Callable[[ToolCall], Message]
    tell: Callable[[ToolCall, Any], Any]
    properties: dict[str, Schema]
    required: tuple[str, ...] = ()
    patience: Callable[[Timeouts], float] | None = None
    withdraw: Callable[[str], Message] | None = None
    pages: Pages | None = None
    former: frozenset[str] = frozenset()
    """Names of the earlier extension, as paths, that are served without being in the schema:
    `claims.claim`. `checks.*`: the reader of these refuses unknown names."""

    def definition(self, timeouts: Timeouts) -> Tool:
        parameters = self._schema()
        if self.required:
            parameters["required"] = list(self.required)
        timeout = None
        if self.patience is not None:
            timeout = (self.patience(timeouts) + MARGIN) * 1000
        return Tool(self.name, self.description, raw(parameters), timeout)

    def _schema(self) -> Schema:
        properties = self.properties | (_CURSOR if self.pages is not None else {})
        schema: Schema = _closed({"type": "object", "properties": properties})
        return schema

    def check(self, call: ToolCall) -> None:
        """Refuse arguments that neither the schema nor the earlier extension has. Raises
        `WireError` with the path of the first."""
        _check_names(self._schema(), object_of(call), "", "", self.former)

    def result(self, call: ToolCall, told: Any) -> Raw:
        """Return what `tell` made as the call's result: with `truncated` where it was too long.

        Raises `ValueError` for a cursor that names nothing.
        """
        cursor = object_of(call).get("cursor") if self.pages is not None else None
        whole = raw(told)
        if self.pages is not None and (cursor is not None or len(whole) > MAX_TOOL_RESULT):
            return raw(_page(told, self.pages, cursor))
        return whole if len(whole) <= MAX_TOOL_RESULT else raw(_cut_to(MAX_TOOL_RESULT, whole))


def object_of(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call. Raises `WireError` for what is no object."""
    return decode_object(given_object(call.args, "arguments"), "arguments")


def _closed(schema: Any) -> Any:
    """Return a schema whose objects with named fields have no others."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _closed(one) for name, one in schema.items()}
    return made | {"additionalProperties": False} if "properties" in schema else made


def _check_names(schema: Schema, given: Any, path: str, plain: str, former: frozenset[str]) -> None:
    """Raise `WireError` for a name that an object has and its schema has not. `plain` is the path
    without the places in lists."""
    if isinstance(given, list):
        for at, one in enumerate(given):
            _check_names(schema.get("items", {}), one, f"{path}[{at}]", plain, former)
        return
    known = schema.get("properties")
    if known is None or not isinstance(given, dict) or f"{plain}*" in former:
        return
    for name, value in given.items():
        if name in known:
            inner = f"{plain}{name}."
            _check_names(known[name], value, f"{path}.{name}".lstrip("."), inner, former)
        elif f"{plain}{name}" not in former:
            where = f"{path}.{name}".lstrip(".")
            names = ", ".join(known) or "nothing"
            text = f"{where[: limits.MAX_ID]}: not known here; known: {names}"
            raise WireError(ErrorCode.INVALID_JSON, text)


_CURSOR: dict[str, Schema] = {
    "cursor": TEXT | {"description": "That of a truncated result of the same call: its rest"}
}


def _page(told: Any, pages: Pages, cursor: Any) -> dict[str, Any]:
    """Return the entries that follow the cursor, at least one, and the others of the object."""
    around, entries = ({}, told) if isinstance(told, list) else (told, told[pages.entries])
    order = entries[::-1] if pages.is_newest_last else entries
    keys = [str(one[pages.key] if isinstance(one, dict) else getattr(one, pages.key))
            for one in order]  # fmt: skip
    if cursor is not None and cursor not in keys:
        raise ValueError("cursor: not in this list, or no more; ask without it")
    begin = keys.index(cursor) + 1 if cursor is not None else 0
    room, page, is_cut = MAX_TOOL_RESULT - _ROOM, list[Raw](), False
    for one in order[begin:]:
        data = raw(one)
        if not page and len(data) >= room:
            data, is_cut = raw(_cut_to(room - 1, data)), True
        room -= len(data) + 1
        if room < 0:
            break
        page.append(data)
    end = begin + len(page)
    made = {**around, pages.entries: page[::-1] if pages.is_newest_last else page}
    if is_cut or end < len(order):
        made["truncated"] = True
    if end < len(order):
        made["cursor"] = keys[end - 1]
    return made


def _cut_to(most: int, whole: Raw) -> dict[str, Any]:
    """Return an object in so many bytes: its texts cut, then its lists; or its JSON's beginning."""
    told = msgspec.json.decode(whole)

    def made(cuts: tuple[int, int]) -> dict[str, Any]:
        return {name: _smaller(one, *cuts) for name, one in told.items()} | {"truncated": True}

    # Found by halves: a hundred checks take 0.6 ms each time, and the loop waits.
    at = bisect_left(_CUTS, True, key=lambda cuts: len(raw(made(cuts))) <= most)
    if at < len(_CUTS):
        return made(_CUTS[at])
    head = bytes(whole)[: most // 4].decode(errors="ignore")  # as a text it may be twice as long
    return {"truncated": True, "head": head}


def _smaller(value: Any, characters: int, entries: int) -> Any:
    if isinstance(value, str):
        return cut(value, characters)
    if isinstance(value, list):
        return [_smaller(one, characters, entries) for one in value[:entries]]
    if isinstance(value, dict):
        kept = list(value.items())[:entries]
        return {cut(key, characters): _smaller(one, characters, entries) for key, one in kept}
    return value
