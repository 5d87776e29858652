"""Text that cannot be encoded: half of an emoji, or a path that is not UTF-8.

A string of this process may hold surrogate code points: `json.loads` makes one of the escape
`\\ud83d`, the file system one of each byte that is not UTF-8. No JSON carries them. Before such
text enters the gateway, pairs are joined to the character that they stand for and each one left
alone becomes U+FFFD, the replacement character.
"""

from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T")


def without_surrogates(value: T) -> T:
    """Return `value` (text, or structs, lists, tuples and dicts of it) with text made encodable."""
    mended: Any = _mended(value)
    found: T = mended
    return found


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else _joined(value)
    if isinstance(value, Struct):
        changes = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            new = _mended(old)
            if new is not old:
                changes[name] = new
        return replace(value, **changes) if changes else value
    if isinstance(value, dict):
        return {_mended(key): _mended(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mended(one) for one in value)
    return value


def _joined(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
