"""Whether arguments fit a tool's schema, found out in a process that may be ended at any time.

A schema comes from outside. A few lines of references suffice to keep any validator busy for hours,
or to fill the memory; a process of its own, with limits, costs nobody else anything.
"""

import subprocess
import sys
from typing import Any

import msgspec
from msgspec import Raw, Struct

SECONDS = 3.0
"""How long a check may take, the start of its process (50 ms) included."""
_CHECK = ("-I", "-m", "tapui.schemas.check")


class Unfit(Struct, frozen=True):
    """One thing in the arguments that does not fit the schema.

    `path` leads to it, `keyword` is the schema's that is not fulfilled, `text` says how, without
    the value. For a missing argument `path` ends with its name and `keyword` is `required`.
    """

    path: list[str | int]
    keyword: str
    text: str

    @property
    def name(self) -> str:
        """The place, as people write it: `files[2].path`; empty for the arguments as a whole."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return "".join(parts).removeprefix(".")


class SchemaUnusable(Exception):  # noqa: N818 - a state of the schema, not a fault of ours
    """The schema cannot be applied; the text says why, and may hold words of the schema's."""


class SchemaVerdict(Struct, frozen=True):
    """What the process answers: why the schema is unusable, or the faults."""

    unusable: str = ""
    faults: list[Unfit] = []


def faults(schema: Raw, arguments: Raw, *, seconds: float = SECONDS) -> list[Unfit]:
    """Return where `arguments` do not fit `schema`, the first `check.MAX_FAULTS` of them.

    Both are JSON. Blocks for up to `seconds`. Nothing is fetched: a schema that refers to anything
    outside of itself is not applied. Raises `SchemaUnusable`.
    """
    question = b'{"schema":%b,"arguments":%b,"seconds":%d}' % (
        bytes(schema),
        bytes(arguments),
        int(seconds) + 1,
    )
    try:
        done = subprocess.run(
            [sys.executable, *_CHECK],
            input=question,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SchemaUnusable(f"checking it took longer than {seconds:g} s") from None
    except OSError as error:
        raise SchemaUnusable(f"it could not be checked: {error.strerror}") from None
    try:
        verdict = msgspec.json.decode(done.stdout, type=SchemaVerdict)
    except msgspec.DecodeError:
        raise SchemaUnusable("the check of it failed") from None
    if verdict.unusable:
        raise SchemaUnusable(verdict.unusable)
    return verdict.faults


def described(schema: Any, name: str) -> str:
    """Return the type that a decoded schema gives an argument, such as `string`; empty for none."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    about = properties.get(name) if isinstance(properties, dict) else None
    kind = about.get("type") if isinstance(about, dict) else None
    if isinstance(kind, list):
        return " or ".join(one for one in kind if isinstance(one, str))
    return kind if isinstance(kind, str) else ""
