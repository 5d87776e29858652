"""What a server answers to a call, as a provider's result: JSON, text, or a file with a note.

A result holds one file. Of several images or sounds the first image (else the first of them) is
the result; the others are written beside it and named in the note, with all text.
"""

import base64
import binascii
import mimetypes
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as types
import msgspec

from tapui.provider import File, Image, ToolError
from tapui.provider.results import MAX_ERROR
from tapui.wire.errors import CallError
from tapui.wire.limits import MAX_FILE_BYTES, MAX_NOTE, MAX_RESULT_BYTES

FAILED = "TOOL_FAILED"
"""The code of a call that the server's tool says has failed."""
MAX_DATA = MAX_RESULT_BYTES - 64 * 1024
"""Bytes of JSON that go into a message; a longer text is put into a file."""
MAX_KEPT = 100
"""Files beside results that are kept, the newest."""
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SEPARATOR = "\n\n"


@dataclass
class _Media:
    data: bytes
    mime_type: str
    name: str = ""


class ResultFiles:
    """The folder of files that are beside results: the oldest go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: list[Path] = []

    def write(self, data: bytes, mime_type: str) -> Path:
        """Write a file; return its path. Raises `OSError`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        extension = mimetypes.guess_extension(mime_type.partition(";")[0]) or ".bin"
        path = self._folder / f"{secrets.token_hex(8)}{extension}"
        path.touch(mode=0o600)
        path.write_bytes(data)
        self._written.append(path)
        if len(self._written) > MAX_KEPT:
            self._written.pop(0).unlink(missing_ok=True)
        return path

    def clear(self) -> None:
        for path in self._written:
            path.unlink(missing_ok=True)
        self._written.clear()


def result_of(answer: types.CallToolResult, files: ResultFiles) -> Any:
    """Return what a tool of the provider returns for this answer.

    Raises `ToolError` where the server says that the call failed, or for what cannot be taken.
    """
    texts, media = _parts(answer.content)
    text = _SEPARATOR.join(texts)
    if answer.is_error:
        raise ToolError(FAILED, text[:MAX_ERROR] or "the server says that it failed, and not why")
    structured = answer.structured_content
    if _wraps(structured, texts):
        value, structured = structured["result"], None
        if not media and not isinstance(value, str):
            return _bounded(value, text, files)
    if media:
        shown = text if _says(texts, structured) else _both(text, structured)
        return _with_media(media, shown, files)
    if structured is not None and _is_json_of(texts, structured):
        return _bounded(structured, text, files)
    if structured is None or _says(texts, structured):
        return _bounded(text, text, files)
    if not text:
        return _bounded(structured, "", files)
    return _bounded(_both(text, structured), text, files)


def _parts(content: list[types.ContentBlock]) -> tuple[list[str], list[_Media]]:
    texts: list[str] = []
    media: list[_Media] = []
    for block in content:
        match block:
            case types.TextContent():
                texts.append(block.text)
            case types.ImageContent() | types.AudioContent():
                _add(block.data, block.mime_type, "", texts, media)
            case types.ResourceLink():
                texts.append(_link(block))
            case types.EmbeddedResource(resource=types.TextResourceContents() as inner):
                texts.append(f"[{inner.uri}]\n{inner.text}")
            case types.EmbeddedResource(resource=types.BlobResourceContents() as inner):
                kind = inner.mime_type or "application/octet-stream"
                _add(inner.blob, kind, inner.uri, texts, media)
    return texts, media


def _add(data: str, kind: str, name: str, texts: list[str], media: list[_Media]) -> None:
    try:
        found = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        texts.append(f"[left out: {kind} that is no base64]")
        return
    if len(found) > MAX_FILE_BYTES:
        raise _too_large(len(found))
    media.append(_Media(found, kind, name))


def _link(link: types.ResourceLink) -> str:
    about = ", ".join(
        filter(None, (link.mime_type, None if link.size is None else f"{link.size} bytes"))
    )
    lines = [f"{link.title or link.name}: {link.uri}" + (f" ({about})" if about else "")]
    return "\n".join([*lines, *filter(None, [link.description])])


def _is_json_of(texts: list[str], structured: Any) -> bool:
    """Return whether the text is the structured content once more, as the protocol advises."""
    if len(texts) != 1 or texts[0].lstrip()[:1] not in ("{", "["):
        return False
    try:
        found: Any = msgspec.json.decode(texts[0])
    except (msgspec.DecodeError, RecursionError):
        return False
    return bool(found == structured)


def _wraps(structured: Any, texts: list[str]) -> bool:
    """Return whether it is what the text has, in `{"result": …}` since the protocol wants an
    object: a text for the value, or one for each of a list."""
    if not isinstance(structured, dict) or structured.keys() != {"result"}:
        return False
    value = structured["result"]
    several = isinstance(value, list) and len(value) == len(texts)
    return (len(texts) == 1 and _is_text_of(texts[0], value)) or (
        several and all(map(_is_text_of, texts, value))
    )


def _is_text_of(text: str, value: Any) -> bool:
    if isinstance(value, str) and text == value:
        return True
    try:
        return bool(msgspec.json.decode(text) == value)
    except (msgspec.DecodeError, RecursionError):
        return text == str(value)


def _says(texts: list[str], structured: Any) -> bool:
    """Return whether the text has all that the structured content has: it wraps that text."""
    if structured is None or _is_json_of(texts, structured):
        return True
    text = _SEPARATOR.join(texts)
    return isinstance(structured, dict) and all(
        isinstance(value, str) and value in text for value in _leaves(structured)
    )


def _leaves(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        else:
            yield one


def _both(text: str, structured: Any) -> str:
    told = msgspec.json.encode(structured).decode()
    return _SEPARATOR.join(filter(None, (text, told)))


def _bounded(value: Any, text: str, files: ResultFiles) -> Any:
    # No character takes more than six bytes of JSON: only long texts have to be encoded to know.
    if isinstance(value, str) and len(value) * 6 <= MAX_DATA:
        return value
    encoded = msgspec.json.encode(value)
    if len(encoded) <= MAX_DATA:
        return value
    is_text = isinstance(value, str)
    data = value.encode("utf-8", "replace") if is_text else encoded
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(len(data))
    kind = "text/plain" if is_text else "application/json"
    note = f"It is too long to be shown here. It begins: {text[:500]}…" if text else None
    return File(files.write(data, kind), kind, note=note)


def _with_media(media: list[_Media], text: str, files: ResultFiles) -> Image | File:
    first = next((one for one in media if one.mime_type in _IMAGES), media[0])
    notes = [] if not first.name else [f"[{first.name}]"]
    for one in media:
        if one is not first:
            path = files.write(one.data, one.mime_type)
            notes.append(f"{one.name or 'Also'}: {path} ({one.mime_type}, {len(one.data)} bytes)")
    room = MAX_NOTE - sum(map(len, notes)) - 200
    if len(text) > room:
        place = files.write(text.encode("utf-8", "replace"), "text/plain")
        text = f"{text[: max(0, room)]}…\n\nThe whole text: {place}"
    note = _SEPARATOR.join(filter(None, [text, *notes])) or None
    if first.mime_type in _IMAGES:
        return Image(first.data, first.mime_type, note)
    return File(files.write(first.data, first.mime_type), first.mime_type, note)


def _too_large(size: int) -> ToolError:
    return ToolError(
        CallError.PAYLOAD_TOO_LARGE,
        f"the server answered {size / 2**20:.1f} MiB; at most {MAX_FILE_BYTES // 2**20} MiB are "
        "taken. Ask for less of it.",
    )
