"""What JavaScript does otherwise: forms of its patterns, and how it writes numbers.

Rules and filters are written for the regexes and the `JSON.stringify` of JavaScript.
"""

import re
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw

_FORM = re.compile(
    r"""
      \\u\{(?P<code>[0-9A-Fa-f]{1,6})\}     # \u{1F600}
    | \\c(?P<control>[A-Za-z])              # \cJ
    | \\.                                   # any other escape
    | (?P<any>\[\^\])                       # [^] any character, outside of a class
    | (?P<none>\[\])                        # [] no character, likewise
    | (?P<open>\[\^?)
    | (?P<close>\])
    """,
    re.VERBOSE | re.DOTALL,
)
_ANY, _NONE = r"[\s\S]", r"(?!)"
_LAST_CODE = 0x10FFFF
_NUMBER = re.compile(rb"\d[.eE]|\d{16}")
_MOST_EXACT = 2**53
_FIXED_DIGITS = 21
"""Numbers with more digits before the point are written with an exponent."""
_FIXED_ZEROS = -6
"""So are those with as many zeros after it."""


def translated(pattern: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a pattern without the forms that only JavaScript has, and where they stood.

    The list pairs positions right behind each replaced form: in the result, and in `pattern`.
    """
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    end = length = 0
    is_class = False
    for found in _FORM.finditer(pattern):
        new = None
        if found["code"] is not None and int(found["code"], 16) <= _LAST_CODE:
            new = f"\\U{int(found['code'], 16):08x}"
        elif found["control"] is not None:
            new = f"\\x{ord(found['control']) % 32:02x}"
        elif (found["any"] or found["none"]) and not is_class:
            new = _ANY if found["any"] else _NONE
        elif found["open"] is not None and not is_class:
            is_class = True
        elif found["close"] is not None or found["any"] or found["none"]:
            is_class = False
        if new is None:
            continue
        parts += (pattern[end : found.start()], new)
        length += found.start() - end + len(new)
        end = found.end()
        places.append((length, end))
    return "".join((*parts, pattern[end:])), places


def original_position(position: int, places: list[tuple[int, int]]) -> int:
    """Return where in the original pattern a position of the translated one is."""
    shift = 0
    for after, before in places:
        if after <= position:
            shift = before - after
    return position + shift


def stringified(given: Raw) -> str:
    """Return JSON as `JSON.stringify` writes it: compact, without escapes, numbers in one form.

    Raises `msgspec.DecodeError` for a number that no program holds.
    """
    value = msgspec.json.decode(given)
    text = msgspec.json.encode(value)
    if _NUMBER.search(text):
        text = msgspec.json.encode(_with_numbers(value))
    return text.decode()


def _with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_numbers(inner) for inner in value]
    if isinstance(value, float) or (type(value) is int and abs(value) > _MOST_EXACT):
        try:
            return Raw(number_text(float(value)).encode())
        except OverflowError:
            return None  # Infinity there, which has no JSON
    return value


def number_text(number: float) -> str:
    """Return a finite number as JavaScript writes it: `1`, `0.1`, `1e+21`."""
    sign, digits_of, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, digits_of))
    if digits == "0":
        return "0"
    assert isinstance(exponent, int)
    point = len(digits) + exponent
    minus = "-" if sign else ""
    if len(digits) <= point <= _FIXED_DIGITS:
        return f"{minus}{digits}{'0' * exponent}"
    if 0 < point <= _FIXED_DIGITS:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if _FIXED_ZEROS < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{rest}e{point - 1:+d}"
