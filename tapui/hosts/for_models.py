"""What a model reads of a tool and of a call's outcome, whichever host hands it over."""

import os
import stat

import msgspec
from msgspec import UNSET

from tapui.wire.codec import compact
from tapui.wire.message import FileResult, OfferedTool, ToolOutcome

MEDIA_BYTES = 5 * 1024 * 1024
"""A larger image or sound is named by its path only, as every other file is."""
IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The kinds of image that models take."""


def description_for_model(tool: OfferedTool) -> str:
    """Return what the model reads of a tool, with what its provider says about itself."""
    if tool.metadata is None:
        return tool.description
    about = bytes(tool.metadata).decode()
    return f"{tool.description}\n\nProvider '{tool.provider}': {about}"


def text_for_model(outcome: ToolOutcome) -> tuple[str, bool]:
    """Return what the model reads as the result, and whether it is one (else an error).

    What rules and gates added follows the result.
    """
    text, is_ok = _result_text(outcome)
    return "\n\n".join([text, *(outcome.context or ())]), is_ok


def _result_text(outcome: ToolOutcome) -> tuple[str, bool]:
    if outcome.error is not None or outcome.error_code is not None:
        again = " It may work if it is called again." if outcome.retryable else ""
        return f"{outcome.error_code or 'INTERNAL'}: {outcome.error}{again}", False
    if outcome.file is not None:
        file = outcome.file
        place = f"The result is in the file {file.path} ({file.mime_type}, {file.size} bytes)"
        return "\n\n".join(filter(None, (place, file.note))), True
    if outcome.data is UNSET:
        return "", True
    data = bytes(outcome.data)
    if data.lstrip()[:1] == b'"':
        return msgspec.json.decode(data, type=str), True
    return bytes(compact(outcome.data)).decode(), True


def media_of(file: FileResult) -> bytes | None:
    """Return a file's content; None when it is too large, or cannot be read."""
    try:
        with open(file.path, "rb", opener=_opened) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                return None
            data = opened.read(MEDIA_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MEDIA_BYTES else None


def _opened(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
