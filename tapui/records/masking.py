"""Masking: secrets of well-known forms, and the person's own patterns, are not recorded.

Works on the JSON of whole records. What the agent, the providers and the tower get is not changed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from tapui.wire.events import EVENTS

MASK = "[masked]"
"""Stands in the records for what was masked."""
_MASK = MASK.encode()

_BREAK = rb"\\+[nr]|[\n\r]|\xe2\x8f\x8e"
"""A line's end: within JSON text, also within JSON that is text in JSON; in text; in a summary."""
_KEY_BODY = rb"(?:" + _BREAK + rb"|\\+/|(?!-----)[A-Za-z0-9+/=:,. \-])"
_KEY_END = rb"-----END [A-Z ]{0,30}PRIVATE KEY-----"

_SECRET = re.compile(
    rb"(?P<kept>gh[pousr]_)[A-Za-z0-9_]{20,}"
    rb"|(?P<pat>github_pat_)[A-Za-z0-9_]{20,}"
    rb"|(?P<npm>npm_)[A-Za-z0-9]{20,}"
    rb"|(?P<aws>(?<![A-Z0-9])AKIA)[A-Z0-9]{16}(?![A-Z0-9])"
    rb"|(?P<google>AIza)[A-Za-z0-9_-]{35}"
    rb"|(?P<slack>xox[abeoprs]-)[A-Za-z0-9-]{10,}"
    # Words such as sk-estimator-of-something have no digit.
    rb"|(?P<sk>(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))sk-)(?=[A-Za-z0-9_-]{0,32}[0-9])"
    rb"[A-Za-z0-9_-]{20,}"
    rb"|(?P<jwt>eyJ)[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
    rb"|(?P<bearer>Bearer +)[A-Za-z0-9._~+/=-]{16,}"
    rb"|(?P<key>-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)"
    rb"(?:" + _KEY_BODY + rb"){16,16384}(?:" + _KEY_END + rb")?"
    # The rest of a key, where a text was cut before it.
    rb"|(?P<rest>(?:\A|\")(?:\xe2\x80\xa6)?)(?![A-Z -]{0,50}-----BEGIN )"
    rb"(?:[A-Z -]{0,50}-----)?(?:" + _KEY_BODY + rb"){1,16384}" + _KEY_END
)
"""The known forms. Each keeps its beginning, which says what it was. None begins or ends within an
escape: what is left of a record is JSON. `tapui.secret` sees to the halves of the others."""

_SIGNS = (
    (b"_", re.compile(rb"_(?:(?<=gh[pousr]_)|(?<=npm_)|(?<=_pat_))(?=[A-Za-z0-9_]{20})").search),
    (b"K", re.compile(rb"K(?:(?<=AK)(?=IA[A-Z0-9]{16})|(?<=PRIVATE K)(?=EY-----))").search),
    (b"z", re.compile(rb"z(?<=AIz)(?=a[A-Za-z0-9_-]{35})").search),
    (b"J", re.compile(rb"J(?<=eyJ)(?=[A-Za-z0-9_-]{8,}\.eyJ)").search),
    (b"B", re.compile(rb"B(?:(?=earer )|(?<=-----B)(?=EGIN ))").search),
    (b"-", re.compile(rb"-(?:(?<=sk-)|(?<=xox[abeoprs]-))(?=[A-Za-z0-9_-]{10})").search),
)
"""For each form the rarest character of its beginning, which is looked for first (many times faster
than any pattern), and a pattern that says whether it may be one."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"(?P<colon>\s*:)?')
"""A string in JSON; with a colon it is a key."""
_MASKS = re.compile(r"(?:\[masked\]){2,}")
_SLOW = 3
"""Texts of one record on which a pattern may hit its time limit; the rest is masked untried."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)\Z")
_HEAD = re.compile(rb'(\{"v":\d+,"run":"(?:[^"\\]|\\.)*","seq":\d+,"ts":"[^"]*",)(.*)', re.DOTALL)


class MaskPattern(Protocol):
    """A pattern of the person's, compiled by an engine with a time limit."""

    def replaced(self, text: str, by: str) -> tuple[str, int] | None:
        """Return the text with `by` in place of each match, and how many there were.

        None when the time limit was hit.
        """


@dataclass(slots=True)
class Masks:
    """Masks records before they are written. `patterns` are tried on every text in them.

    A text that a pattern could not be tried on in time is masked whole.
    """

    patterns: Sequence[MaskPattern] = ()
    count: int = 0
    """How many secrets were masked so far."""

    def masked(self, data: bytes) -> bytes:
        """Return whole lines of records, each with `"masked": n` in its head where it had `n`."""
        if not self.patterns:
            for sign, is_begun in _SIGNS:
                if sign in data and is_begun(data):
                    break
            else:
                return data
        return b"".join(self._line(line) for line in _lines(data))

    def masked_text(self, text: str) -> str:
        """Return any text without secrets, for the eye: what was JSON need not be JSON then."""
        data = text.encode()
        if any(sign in data and is_begun(data) for sign, is_begun in _SIGNS):
            text = _SECRET.sub(_without_secret, data).decode()
        for pattern in self.patterns:
            made = pattern.replaced(text, MASK)
            text = MASK if made is None else made[0]
        return text

    def _line(self, line: bytes) -> bytes:
        head = _HEAD.match(line)
        if head is None:
            return line
        body, count = _SECRET.subn(_without_secret, head[2])
        if self.patterns:
            own = _OwnPatterns(self.patterns, body)
            body = _STRING.sub(own.replaced, body)
            count += own.count
        self.count += count
        return head[1] + b'"masked":%d,' % count + body if count else line


def _lines(data: bytes) -> Iterator[bytes]:
    for line in data.split(b"\n")[:-1]:
        yield line + b"\n"


def _without_secret(found: re.Match[bytes]) -> bytes:
    return found[cast("str", found.lastgroup)] + _MASK


class _OwnPatterns:
    """Tries the person's patterns on the texts of one record, but not on what gives it its form."""

    def __init__(self, patterns: Sequence[MaskPattern], body: bytes) -> None:
        self._patterns = patterns
        self._form = _WORDS | set(_ids(b"{" + body))
        self._slow = 0
        self.count = 0

    def replaced(self, found: re.Match[bytes]) -> bytes:
        if found["colon"]:
            return found[0]
        text: str = msgspec.json.decode(found[0])
        if text in self._form or _TIME.match(text):
            return found[0]
        kept = text
        for pattern in self._patterns:
            made = None if self._slow >= _SLOW else pattern.replaced(kept, MASK)
            if made is None:
                self._slow += 1
                made = MASK, 1
            kept = made[0]
            self.count += made[1]
        return found[0] if kept == text else msgspec.json.encode(_MASKS.sub(MASK, kept))


def _ids(record: bytes) -> Iterator[str]:
    fields = _fields.decode(record)
    subjects = [_fields.decode(one) for one in fields.values() if bytes(one)[:1] == b"{"]
    for subject in (fields, *subjects):
        for name, value in subject.items():
            if (name == "id" or name.endswith("Id")) and bytes(value)[:1] == b'"':
                yield msgspec.json.decode(value)


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _words(kind: Any, within: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Yield every word that a field of this type may hold where it holds only certain words.

    `within` are the types around it: one may hold others of its own kind.
    """
    if isinstance(kind, type) and issubclass(kind, Struct):
        for inner in get_type_hints(kind).values() if kind not in within else ():
            yield from _words(inner, within | {kind})
    elif get_args(kind):
        is_literal = str(get_origin(kind)) == "typing.Literal"
        for inner in get_args(kind):
            if not is_literal:
                yield from _words(inner, within)
            elif isinstance(inner, str):
                yield inner


_WORDS = frozenset(
    word for kind in EVENTS for word in (str(kind.__struct_config__.tag), *_words(kind))
)
"""The closed words of all events: kinds, states, modes. A record without them is damaged."""
