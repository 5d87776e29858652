"""What a tool may return, and the `tool.result` that it becomes."""

import contextlib
import math
import mimetypes
import re
import secrets
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from tapui.provider.errors import ToolError
from tapui.wire import codec
from tapui.wire.errors import CallError
from tapui.wire.limits import MAX_DEPTH, MAX_FILE_BYTES, MAX_ID, MAX_NOTE, MAX_RESULT_BYTES
from tapui.wire.message import FileResult
from tapui.wire.provider import ToolResult
from tapui.wire.surrogates import without_surrogates

FILE_SECONDS = 300
"""How long a file that the kit writes for a result is there for the gateway to copy."""
MAX_ERROR = 64 * 1024
"""Characters of an error for the model."""
_ENVELOPE = 1024
"""Bytes of a `tool.result` beside its data: its type and its id."""
_CLEARING_SECONDS = 60
"""Between two looks for files whose time is over."""
_FOLDER = "results"
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}\Z")
_UNKNOWN = "application/octet-stream"
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


@dataclass(frozen=True)
class File:
    """A result in a file, of up to 20 MiB; the agent gets a copy of it, by path.

    `mime_type` is guessed from the name where it is not given. A `Path` as a result is the same.
    `note` is a text that goes with it.
    """

    path: Path | str
    mime_type: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Image:
    """A picture that the model sees: the bytes of a PNG, JPEG, GIF or WebP, or a file's path.

    `note` is a text that goes with it.
    """

    data: bytes | Path | str
    mime_type: str | None = None
    note: str | None = None


class ResultFolder:
    """Where files of results are put: the provider's own folder, which the gateway reads.

    Without a gateway it is a temporary one.
    """

    def __init__(self, persist_dir: str | None) -> None:
        self._own = None if persist_dir is None else Path(persist_dir) / _FOLDER
        self._cleared = float("-inf")

    @property
    def path(self) -> Path:
        """The folder, made when it is needed first. Raises `OSError`."""
        if self._own is None:
            self._own = Path(tempfile.mkdtemp(prefix="tapui-results-"))
        self._own.mkdir(mode=0o700, exist_ok=True)
        return self._own

    def place(self, extension: str) -> Path:
        """Return a path for a new file; those whose time is over are removed. Raises `OSError`."""
        folder, now = self.path, time.time()
        if now > self._cleared + _CLEARING_SECONDS:
            self._cleared = now
            for file in folder.iterdir():
                with contextlib.suppress(FileNotFoundError):  # another process has removed it
                    if file.stat().st_mtime < now - 2 * FILE_SECONDS:
                        file.unlink()
        return folder / f"{secrets.token_hex(8)}{extension}"


def result_of(call_id: str, value: Any, folder: ResultFolder) -> ToolResult:
    """Return the answer to a call whose function returned `value`.

    What cannot be sent becomes an error that says why. May write a file.
    """
    try:
        if isinstance(value, File | Image | Path | bytes | bytearray | memoryview):
            return ToolResult(call_id, file=_file(value, folder))
        return ToolResult(call_id, data=_data(value))
    except ToolError as error:
        return error_of(call_id, error)


def error_of(call_id: str, error: ToolError) -> ToolResult:
    text = without_surrogates(error.text)
    return ToolResult(
        call_id,
        error=text if len(text) <= MAX_ERROR else text[:MAX_ERROR] + "…",
        error_code=without_surrogates(error.code)[:MAX_ID],
        retryable=error.retryable,
    )


def needs_file(value: Any) -> bool:
    """Return whether a result is put into a file, which takes time."""
    return isinstance(value, File | Image | Path | bytes | bytearray | memoryview)


def _data(value: Any) -> Raw:
    try:
        try:
            data = codec.raw(value)
        except TypeError:  # there may be models of pydantic in it
            value = msgspec.to_builtins(value, enc_hook=_dumped)
            data = codec.raw(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise _unfit(f"the tool returned what JSON cannot hold: {error}") from None
    except RecursionError:
        raise _unfit(
            "the tool returned something that contains itself, or nests too deep"
        ) from None
    size = len(memoryview(data))
    if size > MAX_RESULT_BYTES - _ENVELOPE:
        raise ToolError(
            CallError.PAYLOAD_TOO_LARGE,
            f"the tool returned {size / 2**20:.1f} MiB; a result has at most "
            f"{MAX_RESULT_BYTES // 2**20} MiB. Ask for less of it.",
        )
    if codec.depth_exceeds(data, MAX_DEPTH):
        raise _unfit(f"the tool returned something that nests deeper than {MAX_DEPTH} levels")
    if b"null" in bytes(data) and _has_no_number(msgspec.to_builtins(value)):
        raise _unfit("the tool returned NaN or an infinite number, which JSON cannot hold")
    return data


def _dumped(value: Any) -> Any:
    """Return what a model of pydantic holds; the kit does not import pydantic."""
    if not hasattr(value, "model_dump"):
        raise TypeError(f"Encoding objects of type {type(value).__name__} is unsupported")
    return value.model_dump(mode="json")


def _unfit(text: str) -> ToolError:
    return ToolError(CallError.INTERNAL, text)


def _has_no_number(value: Any) -> bool:
    """Return whether a float in it is not finite; JSON would have it as null."""
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_no_number, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_no_number, value))


def _file(value: Any, folder: ResultFolder) -> FileResult:
    given, kind, note, is_image = value, None, None, isinstance(value, Image)
    if isinstance(value, File):
        given, kind, note = Path(value.path), value.mime_type, value.note
    elif isinstance(value, Image):
        given = Path(value.data) if isinstance(value.data, str) else value.data
        kind, note = value.mime_type, value.note
    try:
        if isinstance(given, Path):
            path, size, head = _copied(given, folder)
        else:
            path, size, head = _written(bytes(given), kind, folder)
    except OSError as error:
        raise _unfit(f"the file of the result cannot be used: {error}") from None
    kind = kind or _sniffed(head) or mimetypes.guess_type(path.name)[0] or _UNKNOWN
    if is_image and not kind.startswith("image/"):
        raise _unfit("the tool returned an Image that is no PNG, JPEG, GIF or WebP")
    return FileResult(
        path=str(path),
        mime_type=without_surrogates(kind)[:MAX_ID],
        size=size,
        ttl=FILE_SECONDS,
        note=None if note is None else without_surrogates(note)[:MAX_NOTE],
    )


def _copied(given: Path, folder: ResultFolder) -> tuple[Path, int, bytes]:
    if not given.is_file():
        raise FileNotFoundError(f"{given} is not there, or is no file")
    _check_size(given.stat().st_size)
    place = folder.place(given.suffix if _SUFFIX.match(given.suffix) else "")
    shutil.copyfile(given, place)
    with place.open("rb") as opened:
        return place, place.stat().st_size, opened.read(16)


def _written(data: bytes, kind: str | None, folder: ResultFolder) -> tuple[Path, int, bytes]:
    _check_size(len(data))
    kind = kind or _sniffed(data[:16]) or _UNKNOWN
    place = folder.place(mimetypes.guess_extension(kind) or ".bin")
    place.write_bytes(data)
    return place, len(data), data[:16]


def _check_size(size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise ToolError(
            CallError.PAYLOAD_TOO_LARGE,
            f"the result's file has {size / 2**20:.1f} MiB; "
            f"at most {MAX_FILE_BYTES // 2**20} MiB are taken",
        )


def _sniffed(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
