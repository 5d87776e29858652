"""What `execute` of a tool file returns, as a provider's result."""

import base64
import binascii
import os
from pathlib import Path
from typing import Any

from tapui.provider.errors import ToolError
from tapui.provider.results import Image
from tapui.wire.errors import CallError

_SHOWN = 80


def result_of(returned: object, root: str) -> str | Image:
    """Return the text that the agent reads, or a picture with it as its note.

    Raises `ToolError` for an error of the tool's, and for what is no result.
    """
    if isinstance(returned, str):
        return returned
    if isinstance(returned, dict):
        return _of_write(returned)
    if not isinstance(returned, list):
        raise _unfit(f"returned {_kind(returned)}")
    texts: list[str] = []
    images: list[Image] = []
    for at, part in enumerate(returned):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("value"), str):
            texts.append(part["value"])
        elif kind == "image":
            images.append(_image(part, root, at))
        else:
            raise _unfit(f"returned as part {at} {_shown(part)}")
    if not images:
        return "\n".join(texts)
    if more := len(images) - 1:
        texts.append(f"({more} more {'image' if more == 1 else 'images'}: a result has one)")
    first = images[0]
    return Image(first.data, first.mime_type, "\n".join(texts) or None)


def _of_write(returned: dict[Any, Any]) -> str:
    match returned.get("result"):
        case "success":
            return "success"
        case "error":
            text = returned.get("message")
            raise ToolError(CallError.INTERNAL, text if isinstance(text, str) and text else "error")
        case _:
            raise _unfit(f"returned {_shown(returned)}")


def _image(part: dict[str, Any], root: str, at: int) -> Image:
    kind, path, data = part.get("mimeType"), part.get("path"), part.get("data")
    mime_type = kind if isinstance(kind, str) else None
    if isinstance(path, str):
        return Image(Path(os.path.join(root, path)), mime_type)  # noqa: PTH118 - may be absolute
    if isinstance(data, bytes):
        return Image(data, mime_type)
    if isinstance(data, str):
        try:
            return Image(base64.b64decode(data.rpartition(",")[2], validate=True), mime_type)
        except (binascii.Error, ValueError):
            raise _unfit(f"returned as part {at} an image whose data is no base64") from None
    raise _unfit(f'returned as part {at} an image without "path" or "data"')


def _unfit(what: str) -> ToolError:
    return ToolError(
        CallError.INTERNAL,
        f'the tool {what}; it returns [{{"type": "text", "value": "…"}}], a text,'
        ' {"result": "success"} or {"result": "error", "message": "…"}',
    )


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - it is the tool's own code
        text = _kind(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__}"
