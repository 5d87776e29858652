"""Masking: secrets of well-known forms, and the person's own patterns, are not recorded.

Works on the JSON of whole records. What the agent, the providers and the tower get is not changed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from tapui.wire.events import EVENTS

MASK = "[masked]"
"""Stands in the records for what was masked."""
_MASK = MASK.encode()

_TOKEN = rb"(?:[A-Za-z0-9._~+/=-]|\\+/)"
_BLANKS = rb"(?:\\+t|[ \t])+"
_BETWEEN = rb"(?:\\+t|[\\\"':=>,(\[ \t]){1,24}"
"""What stands between a name and its value: in headers, settings, JSON (within JSON), XML."""
_AWS_SECRET = rb"(?:[A-Za-z0-9/+]|\\+/){40}"
_PASSWORD = rb"(?!\$[A-Z({]|[{<*])[^\s\"'`\\/<>]{1,256}(?=@(?!sha[0-9]))"
"""Up to the last `@` before the host; no place that a variable fills, no digest of an image."""

_BREAK = rb"\\+[nr]|[\n\r]|\xe2\x8f\x8e"
"""A line's end: within JSON text, also within JSON that is text in JSON; in text; in a summary."""
_KEY_BODY = rb"(?:" + _BREAK + rb"|\\+[/t]|(?!-----)[A-Za-z0-9+/=:,.>| \t-])"
"""Of a key without its beginning: its lines, and what viewers put before them."""
_KEY_BEGIN = rb"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = rb"-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_LINE = rb"(?:[A-Za-z0-9+/=]|\\+/){16,}"


def _key(inner: bytes) -> bytes:
    """Return what follows the first line of a key: all up to the last one, else what looks like it.

    `inner` is anything within one text: the lines may be quoted, joined or commented. Code that
    only names the first and the last line has no such line of base64 behind the first.
    """
    inner = rb"(?:(?!-----BEGIN )%b)" % inner
    whole = rb"(?=%b{0,400}?%b)%b{16,16384}?" % (inner, _LINE, inner) + _KEY_END
    return rb"(?:%b|%b{0,200}?%b(?:%b{0,48}?%b)*)" % (whole, inner, _LINE, inner, _LINE)


FORMS = (
    ("GitHub", "`gh?_…`, `github_pat_…`", rb"g(?:h[pousr]|ithub_pat)_", rb"[A-Za-z0-9_]{20,}"),
    ("GitLab", "`glpat-…`", rb"glpat-", rb"[A-Za-z0-9_.-]{20,}"),
    ("npm", "`npm_…`", rb"npm_", rb"[A-Za-z0-9]{20,}"),
    ("PyPI", "`pypi-…`", rb"pypi-", rb"AgE[A-Za-z0-9_-]{20,}"),
    ("Hugging Face", "`hf_…`", rb"hf_", rb"[A-Za-z0-9]{30,}"),
    ("AWS", "`AKIA…`, `ASIA…`, with a secret behind it", rb"A(?<![A-Z0-9]A)[KS]IA",
     rb"[A-Z0-9]{16}(?![A-Z0-9])(?:" + _BETWEEN + _AWS_SECRET + rb"(?![A-Za-z0-9/+=]))?"),
    ("AWS", "`aws_secret_access_key`, `AWS_SESSION_TOKEN`, `SecretAccessKey`, `SessionToken`",
     rb"[Ss](?i:ecret[_ ]?access[_ ]?key|ession_?token)(?: \[[^\]\"\\]{0,40}\])?" + _BETWEEN,
     _AWS_SECRET + rb"(?:[A-Za-z0-9/+=]|\\+/)*"),
    ("Google", "`AIza…`", rb"AIza", rb"[A-Za-z0-9_-]{35}"),
    ("Google", "`ya29.…`", rb"ya29\.", rb"[A-Za-z0-9._-]{16,}"),
    ("Google", "`GOCSPX-…`", rb"GOCSPX-", rb"[A-Za-z0-9_-]{20,}"),
    ("Google", "`1//0…`", rb"1(?<![0-9]1)//0", rb"[A-Za-z0-9_-]{30,}"),
    ("Slack", "`xox?-…`", rb"xox[abcdeoprs]-", rb"[A-Za-z0-9%-]{10,}"),
    ("Slack", "`xapp-…`", rb"xapp-", rb"[0-9]-[A-Za-z0-9-]{10,}"),
    ("Slack", "`hooks.slack.com/services/…`", rb"hooks\.slack\.com\\*/services\\*/",
     rb"(?:[A-Za-z0-9]{6,}\\*/){2}[A-Za-z0-9]{6,}"),
    ("Stripe", "`sk_live_…`, `rk_live_…`", rb"[sr]k_live_", rb"[A-Za-z0-9]{16,}"),
    # Words such as sk-estimator-of-something have no digit.
    ("OpenAI, Anthropic", "`sk-…`", rb"s(?:(?<![A-Za-z0-9_-]s)|(?<=\\[nrt]s))k-",
     rb"(?=[A-Za-z0-9_-]{0,32}[0-9])[A-Za-z0-9_-]{20,}"),
    ("HashiCorp Vault", "`hvs.…`", rb"hvs\.", rb"(?=[A-Za-z0-9_-]{0,32}[0-9])[A-Za-z0-9_-]{20,}"),
    ("JSON web tokens", "`eyJ….eyJ…`", rb"eyJ",
     rb"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    ("headers", "`Authorization:` with `Bearer`, `Basic` or `token`, in any case",
     rb"[Aa](?:uthorization|UTHORIZATION)" + _BETWEEN + rb"(?i:bearer|basic|token)" + _BLANKS,
     # A word of prose is shorter, and has small letters only.
     rb"(?:" + _TOKEN + rb"{16,}|(?=[a-z]*[A-Z0-9+/=])" + _TOKEN + rb"{6,})"),
    ("headers", "`Bearer …`", rb"B(?:earer|EARER)" + _BLANKS, _TOKEN + rb"{16,}"),
    ("passwords in addresses", "`https://user:password@host`",
     rb"://[A-Za-z0-9._~%!$&*+;=-]{0,128}:", _PASSWORD),
    ("private keys", "PEM and PGP, also indented, numbered, quoted, or joined in code",
     _KEY_BEGIN, _key(rb"(?:[^\"\\]|\\.)")),
)  # fmt: skip
"""The known forms: of whom, as the documents have it, what stays in the record, the secret.

None begins or ends within an escape: what is left of a record is JSON. Each has a letter or a set
of letters first, by which most are ruled out at once. `tapui.secret` sees to their halves."""

_SECRET = re.compile(b"|".join(rb"%b(%b)" % form[2:] for form in FORMS), re.DOTALL)
_KEY_REST = re.compile(
    rb"(?:\A|\")(?:\xe2\x80\xa6)?(?![A-Z -]{0,50}-----BEGIN )"
    rb"((?:[A-Z -]{0,50}-----)?" + _KEY_BODY + rb"{1,16384}" + _KEY_END + rb")"
)
"""The rest of a key, where a text was cut before it."""
_QUOTED_KEY = re.compile(_KEY_BEGIN + b"(" + _key(b".") + b")", re.DOTALL)
"""A key in a text that is no JSON, where its lines may have quotes around them."""

_SIGNS = tuple((sign, re.compile(sign + b"(?:%b)" % after, re.DOTALL)) for sign, after in (
    (b"_", (rb"[A-Za-z0-9]{10}(?<=[pousrmtfe]_.{10})(?:(?<=gh[pousr]_.{10})|(?<=npm_.{10})"
            rb"|(?<=_pat_.{10})|(?<=hf_.{10})|(?<=k_live_.{10}))"
            rb"|(?:key(?<=ccess_key)|token(?<=ession_token))" + _BETWEEN + _AWS_SECRET)),
    (b"-", (rb"(?<=[sxapP][abcdeoprstkiX]-)(?:(?<=sk-)|(?<=xox[abcdeoprs]-)|(?<=xapp-)"
            rb"|(?<=glpat-)|(?<=pypi-)|(?<=GOCSPX-))[A-Za-z0-9_%-]{10}")),
    (b"K", (rb"(?<=AK)IA[A-Z0-9]{16}|(?<=PRIVATE K)EY(?: BLOCK)?-----"
            rb"|(?:EY(?<=ACCESS_KEY)|EN(?<=SESSION_TOKEN)|ey(?:(?<=ccessKey)|(?<=ccess Key)))"
            rb"(?: \[[^\]]{0,40}\])?" + _BETWEEN + _AWS_SECRET)),
    (b"S", rb"(?<=AS)IA[A-Z0-9]{16}|essionToken" + _BETWEEN + _AWS_SECRET),
    (b"z", rb"(?<=AIz)a[A-Za-z0-9_-]{35}|(?<=uthoriz)ation" + _BETWEEN + rb"(?i:bea|bas|tok)"),
    (b"U", rb"(?<=AU)THORIZATION" + _BETWEEN + rb"(?i:bea|bas|tok)"),
    (b"J", rb"(?<=eyJ)[A-Za-z0-9_-]{8,}\.eyJ"),
    (b"B", rb"(?:earer|EARER)" + _BLANKS + _TOKEN + rb"{16}|(?<=/B)[A-Z0-9]{8,}\\*/"),
    (b"/", rb"(?<=:/)/[^\s\"'/:@]{0,128}:" + _PASSWORD + rb"|(?<=1/)/0[A-Za-z0-9_-]{30}"),
    (b"9", rb"(?<=ya29)\.[A-Za-z0-9._-]{16}"),
    (b"v", rb"s\.(?<=hvs\.)[A-Za-z0-9_-]{20}"),
))  # fmt: skip
"""For each form the rarest character of its beginning, which is looked for first (many times faster
than any pattern), and a pattern that says whether it may be one."""
_SAMPLE = 4096
"""Bytes of a text that say whether a character is rare in it."""

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
        if not self.patterns and not _may_have_secrets(data):
            return data
        return b"".join(self._line(line) for line in _lines(data))

    def masked_text(self, text: str) -> str:
        """Return any text without secrets, for the eye: what was JSON need not be JSON then."""
        data = text.encode()
        if _may_have_secrets(data):
            text = _known_masked(_QUOTED_KEY.sub(_without_secret, data))[0].decode()
        for pattern in self.patterns:
            made = pattern.replaced(text, MASK)
            text = MASK if made is None else made[0]
        return text

    def _line(self, line: bytes) -> bytes:
        head = _HEAD.match(line)
        if head is None:
            return line
        body, count = _known_masked(head[2]) if _may_have_secrets(line) else (head[2], 0)
        if self.patterns:
            own = _OwnPatterns(self.patterns, body)
            body = _STRING.sub(own.replaced, body)
            count += own.count
        self.count += count
        return head[1] + b'"masked":%d,' % count + body if count else line


def _lines(data: bytes) -> Iterator[bytes]:
    for line in data.split(b"\n")[:-1]:
        yield line + b"\n"


def _may_have_secrets(data: bytes) -> bool:
    for sign, pattern in _SIGNS:
        if sign not in data:
            continue
        at = 0
        if sign not in b"_-Sv" and len(data) > _SAMPLE and data.count(sign, 0, _SAMPLE) < 3:
            # It is rare: `find` is then many times faster than the pattern's own search.
            at = data.find(sign)
            while at >= 0 and not pattern.match(data, at):
                at = data.find(sign, at + 1)
        if at >= 0 and pattern.search(data, at):
            return True
    return False


def _known_masked(data: bytes) -> tuple[bytes, int]:
    """Return a text without what has a known form, and how many secrets there were."""
    data, count = _SECRET.subn(_without_secret, data)
    if b"PRIVATE KEY" not in data:
        return data, count
    data, rests = _KEY_REST.subn(_without_secret, data)
    return data, count + rests


def _without_secret(found: re.Match[bytes]) -> bytes:
    begin = found.start(found.lastindex or 0) - found.start()
    return found[0][:begin] + _MASK


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
