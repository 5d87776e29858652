"""What a server says, taken apart: JSON-RPC and the results that the bridge asks for.

The package refuses a whole message for one odd part of it, and leaves the request waiting that the
message answers. So a message is mended before the package reads it: an odd part becomes what it
clearly means, or is left out and named; what cannot be mended fails its request at once. A mend
never widens: a hint that cannot be read is not there, and a failure that cannot be read is one.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

import mcp_types as types
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS as VERSIONS
from pydantic import ValidationError

from tapui.text import safe_text
from tapui.wire import codec
from tapui.wire.surrogates import without_surrogates

UNREAD = "the server's answer is not what the protocol says"
"""How the error of a request begins whose answer cannot be read."""
SCHEMA = "tapui/inputSchema"
"""In a tool's `_meta`: its schema. The package refuses a list for one schema that is none."""
_MAX_DEPTH = 150
"""Levels of a message: the package's own parser takes 200."""
_MOST_NUMBER = 1e300

_VERSION = rb'"jsonrpc"\s*:\s*"[^"]{0,9}"'
_FIRST_ID = re.compile(
    rb"[^{]*\{\s*(?:" + _VERSION + rb'\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,(?!\s*"method")'
)
_LAST_ID = re.compile(rb'"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*' + _VERSION + rb")?\s*\}\s*$")
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)  # NaN is null, as before

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_KINDS = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif"}
"""How the base64 of an image begins."""
_SAME_KIND = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


class _UnreadError(Exception):
    """An answer that cannot be used. The text says why."""


class Answers:
    """Reads what one server says. `note` gets, in words, what was left out of it."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._methods: dict[types.RequestId, str] = {}
        """Of the requests that wait for an answer."""

    def asked(self, message: types.JSONRPCMessage) -> None:
        """A message goes to the server: a request is waited for, one that is cancelled no more."""
        if isinstance(message, types.JSONRPCRequest):
            if message.method == "initialize":
                self._methods.clear()  # a newer handshake is given up
            self._methods[message.id] = message.method
        elif isinstance(message, types.JSONRPCNotification) and message.params:
            self._methods.pop(message.params.get("requestId", ""), None)

    def read(
        self, data: bytes, request: types.RequestId | None = None
    ) -> list[types.JSONRPCMessage]:
        """Return the messages of a text. With `request` it is the answer to that one."""
        text = data.decode("utf-8", "replace")
        found = []
        try:
            for value, is_alone in _values(text):
                message = self._message(value, request)
                # Printed beside other words it may be a log of what was received.
                if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) or is_alone:
                    found.append(message)
        except (ValueError, RecursionError) as error:
            id_ = request if request is not None else self.id_in(data, data)
            if id_ is not None:
                why = safe_text(str(error), limit=80)
                return [self.refusal(id_, f"{UNREAD}: it is no JSON ({why})")]
        return [message for message in found if message is not None]

    def id_in(self, first: bytes, last: bytes) -> int | None:
        """Return which request is answered by a text of this beginning and end."""
        first, last = first.replace(b"\0", b""), last.replace(b"\0", b"")  # of UTF-16
        for found in (_FIRST_ID.match(first), _LAST_ID.search(last[-256:])):
            if found is not None and int(found[1]) in self._methods:
                return int(found[1])
        return None

    def refusal(self, id_: types.RequestId, why: str) -> types.JSONRPCError:
        """Return what fails a request whose answer cannot be used."""
        self._methods.pop(id_, None)
        fault = types.ErrorData(code=types.INTERNAL_ERROR, message=why)
        return types.JSONRPCError(jsonrpc="2.0", id=id_, error=fault)

    def _message(self, given: Any, request: types.RequestId | None) -> types.JSONRPCMessage | None:
        if not isinstance(given, dict):
            return None
        is_marked = "jsonrpc" in given  # else it may be a log that is printed as JSON
        method = given.get("method")
        if isinstance(method, str):
            return _asked_of_us(method, given) if is_marked else None
        id_ = self._answered(given.get("id"), is_marked) if request is None else request
        if id_ is None or not (
            is_marked or request is not None or given.keys() & {"result", "error"}
        ):
            return None
        if given.get("error") is not None:
            self._methods.pop(id_, None)
            return types.JSONRPCError(jsonrpc="2.0", id=id_, error=_error(given["error"]))
        result = given.get("result")
        if not isinstance(result, dict):
            return self.refusal(id_, f"{UNREAD}: its result is no object")
        mend = _MENDS.get(self._methods.pop(id_, ""))
        try:
            result = result if mend is None else mend(result, self._note)
        except _UnreadError as error:
            return self.refusal(id_, f"{UNREAD}: {error}")
        return types.JSONRPCResponse(jsonrpc="2.0", id=id_, result=result)

    def _answered(self, given: Any, is_marked: bool) -> types.RequestId | None:
        """Return the request of this id; of a message without one it is the only one that waits."""
        with contextlib.suppress(TypeError, ValueError, OverflowError):  # no number: as without one
            if not isinstance(given, bool):
                return number if (number := int(given)) in self._methods else None
        return next(iter(self._methods)) if is_marked and len(self._methods) == 1 else None


def _values(text: str) -> Iterator[tuple[Any, bool]]:
    """Yield the objects that stand in a text, also those of a batch, behind a byte order mark or a
    word, and whether nothing else stands there. Raises `ValueError` and `RecursionError`."""
    is_alone = text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    at = text.find("{")
    while at >= 0:
        value, end = _DECODER.raw_decode(text, at)
        if codec.depth_exceeds(text[at:end].encode("utf-8", "replace"), _MAX_DEPTH):
            raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
        yield without_surrogates(value), is_alone
        at = text.find("{", end)


def _asked_of_us(
    method: str, given: dict[str, Any]
) -> types.JSONRPCRequest | types.JSONRPCNotification | None:
    params = given.get("params")
    params = params if isinstance(params, dict) else None
    id_ = given.get("id")
    if isinstance(id_, int | str) and not isinstance(id_, bool):
        return types.JSONRPCRequest(jsonrpc="2.0", id=id_, method=method, params=params)
    if method == "notifications/progress" and not all(
        abs(value) < _MOST_NUMBER
        for value in (params or {}).values()
        if isinstance(value, int | float)
    ):
        return None  # the package makes floats of them
    return types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)


def _error(given: Any) -> types.ErrorData:
    known = given if isinstance(given, dict) else {"message": given}
    code = known.get("code")
    message = known.get("message")
    return types.ErrorData(
        code=code if _is_int(code) else types.INTERNAL_ERROR,
        message=message if isinstance(message, str) else json.dumps(given, ensure_ascii=False),
        data=known.get("data"),
    )


def _is_int(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


Note = Callable[[str], None]
_RESULT = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
"""What the newer protocol wants in a result; of no use here, and ignored by the older."""


def _texts(given: Any, *keys: str) -> dict[str, str]:
    """Return those of the keys that are texts."""
    known = given if isinstance(given, dict) else {}
    return {key: known[key] for key in keys if isinstance(known.get(key), str)}


def _capabilities(result: dict[str, Any]) -> dict[str, Any]:
    given = result.get("capabilities")
    tools = given.get("tools") if isinstance(given, dict) else None
    changes = isinstance(tools, dict) and tools.get("listChanged") is True
    return {"tools": {"listChanged": changes}}


def _initialized(result: dict[str, Any], note: Note) -> dict[str, Any]:  # noqa: ARG001
    version = result.get("protocolVersion")
    if version not in VERSIONS:
        named = safe_text(json.dumps(version), limit=40)
        known = f"tapui knows {VERSIONS[0]} to {VERSIONS[-1]}"
        raise _UnreadError(f"the version {named} of the protocol is not known; {known}")
    info = {"name": "", "version": "", **_texts(result.get("serverInfo"), "name", "version")}
    return {
        "protocolVersion": version,
        "capabilities": _capabilities(result),
        "serverInfo": info,
    }


def _discovered(result: dict[str, Any], note: Note) -> dict[str, Any]:  # noqa: ARG001
    versions = result.get("supportedVersions")
    if not isinstance(versions, list):
        return result  # the package tries the older handshake then
    meta = result.get("_meta")
    return _RESULT | {
        "supportedVersions": [version for version in versions if isinstance(version, str)],
        "capabilities": _capabilities(result),
        "_meta": meta if isinstance(meta, dict) else {},
    }


def _listed(result: dict[str, Any], note: Note) -> dict[str, Any]:
    given = result.get("tools")
    if not isinstance(given, list):
        note("its list of tools is no list: it has no tools")
        given = []
    tools = []
    names: set[str] = set()
    for number, tool in enumerate(given, 1):
        mended = _tool(tool, is_newer="resultType" in result)
        if mended is None:
            note(f"tool {number} of its list has no name and is left out")
        elif mended["name"] in names:
            note(f"its list has {mended['name']} twice: the first counts")
        else:
            names.add(mended["name"])
            tools.append(mended)
    cursor = result.get("nextCursor")
    if _is_int(cursor):
        cursor = str(cursor)
    return _RESULT | {"tools": tools} | _texts({"nextCursor": cursor}, "nextCursor")


def _tool(given: Any, *, is_newer: bool) -> dict[str, Any] | None:
    texts = _texts(given, "name", "title", "description")
    if "name" not in texts:
        return None
    schema = given.get("inputSchema")
    if schema is None:
        schema = {}
    if isinstance(schema, dict):
        kind = schema.get("type")
        if kind is None or (isinstance(kind, list) and "object" in kind):
            schema = {**schema, "type": "object"}
    is_object = isinstance(schema, dict) and schema.get("type") == "object"
    tool = {
        **texts,
        # Of the newer protocol the package wants it, for what goes into headers.
        "inputSchema": schema if is_object and is_newer else {"type": "object"},
        "_meta": {SCHEMA: schema},
    }
    if isinstance(hints := given.get("annotations"), dict):
        tool["annotations"] = _texts(hints, "title") | {
            key: hints[key] for key in _HINTS if isinstance(hints.get(key), bool)
        }
    checked = {**tool, "outputSchema": given.get("outputSchema")}
    try:
        methods.validate_server_result("tools/list", VERSIONS[-1], {"tools": [checked]})
    except ValidationError:
        return tool  # what it answers is not checked then
    return checked


def _called(result: dict[str, Any], note: Note) -> dict[str, Any]:
    kind = result.get("resultType")
    if kind == "input_required":
        return result
    if isinstance(kind, str) and kind != "complete":
        raise _UnreadError(f"a result of the kind {safe_text(kind, limit=40)} was not asked for")
    given = result.get("content")
    if given is None:
        given = []
    content = []
    structured = result.get("structuredContent")
    for part in given if isinstance(given, list) else [given]:
        block = _block(part)
        if block is None:
            named = part.get("type") if isinstance(part, dict) else part
            left_out = f"a part that cannot be read was left out: {json.dumps(named)}"
            note(f"of an answer, {left_out[:200]}")
            if structured is not None:
                continue  # which has all of it
            block = {"type": "text", "text": f"[{safe_text(left_out, limit=200)}]"}
        content.append(block)
    found = _RESULT | {"content": content}
    if structured is not None:
        is_json = isinstance(structured, dict) or kind is not None
        found["structuredContent"] = structured if is_json else {"result": structured}
    if result.get("isError") not in (None, False):
        found["isError"] = True
    return found


def _block(given: Any) -> dict[str, Any] | None:
    """Return a part of a result as the protocol has it, with what is used of it; None for one
    that cannot be read."""
    if isinstance(given, str):
        return {"type": "text", "text": given}
    if not isinstance(given, dict):
        return None
    match given.get("type", "text"), given:
        case "text", {"text": str(text)}:
            return {"type": "text", "text": text}
        case "text", {"text": (int() | float()) as number}:
            return {"type": "text", "text": json.dumps(number)}
        case ("image" | "audio") as kind, {"data": str(data)}:
            return {"type": kind, **_media(data, given)}
        case "resource_link", {"uri": str(uri)}:
            size = given.get("size")
            link = {"name": uri, **_texts(given, "name", "title", "uri", "description")}
            return {"type": "resource_link", **link, **_texts(given, "mimeType")} | (
                {"size": size} if _is_int(size) and size >= 0 else {}
            )
        case "resource", {"resource": {"text": str()} as inner}:
            found = {"uri": "", **_texts(inner, "uri", "text", "mimeType")}
            return {"type": "resource", "resource": found}
        case "resource", {"resource": {"blob": str(data)} as inner}:
            media = _media(data, inner)
            found = {"uri": "", **_texts(inner, "uri")}
            return {
                "type": "resource",
                "resource": found | {"blob": media["data"], "mimeType": media["mimeType"]},
            }
    return None


def _media(data: str, given: dict[str, Any]) -> dict[str, str]:
    """Return base64 as the standard has it, and its type: as given, as its `data:` address or its
    own beginning says."""
    kind = given.get("mimeType")
    if data.startswith("data:"):
        head, _, data = data[5:].partition(",")
        kind = kind or head.removesuffix(";base64")
    data = "".join(data.split()).rstrip("=").translate({0x2D: "+", 0x5F: "/"})
    if not isinstance(kind, str) or not kind:
        begins = (kind for start, kind in _KINDS.items() if data.startswith(start))
        kind = next(begins, "application/octet-stream")
    plain = kind.partition(";")[0].strip().lower()
    kind = _SAME_KIND.get(plain, plain) if plain.startswith("image/") else kind
    return {"data": data + "=" * (-len(data) % 4), "mimeType": kind}


_MENDS: dict[str, Callable[[dict[str, Any], Note], dict[str, Any]]] = {
    "initialize": _initialized,
    "server/discover": _discovered,
    "tools/list": _listed,
    "tools/call": _called,
}
