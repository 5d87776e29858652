"""Whether arguments fit a tool's schema, found out in a process that may be ended at any time.

A schema comes from outside. A few lines of references suffice to keep any validator busy for hours,
or to fill the memory; a process of its own, with limits, keeps that away from all others.
"""

import asyncio
import subprocess
import sys
import threading
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


class NotChecked(SchemaUnusable):
    """The schema may be fine; it could not be found out in time."""


class SchemaVerdict(Struct, frozen=True):
    """What the process answers: why the schema is unusable, or the faults."""

    unusable: str = ""
    faults: list[Unfit] = []


async def faults(schema: Raw, arguments: Raw, *, seconds: float = SECONDS) -> list[Unfit]:
    """Return where `arguments` do not fit `schema`, the first `check.MAX_FAULTS` of them.

    Both are JSON. Takes up to `seconds`; cancelling it ends the process. Nothing is fetched: a
    schema that refers to anything outside of itself is not applied. Raises `SchemaUnusable`.
    """
    question = b'{"schema":%b,"arguments":%b,"seconds":%d}' % (
        bytes(schema),
        bytes(arguments),
        int(seconds) + 1,
    )
    process = _Process()
    try:
        said = await asyncio.to_thread(process.answer, question, seconds)
    except OSError as error:
        raise NotChecked(f"it could not be checked: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise NotChecked(f"checking it took longer than {seconds:g} s") from None
    finally:
        process.end()
    try:
        verdict = msgspec.json.decode(said, type=SchemaVerdict)
    except msgspec.DecodeError:
        raise SchemaUnusable("the check of it failed") from None
    if verdict.unusable:
        raise SchemaUnusable(verdict.unusable)
    return verdict.faults


class _Process:
    """The process of one check. A thread waits for its answer; any other may end it at any time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def answer(self, question: bytes, seconds: float) -> bytes:
        """Start it and return its answer, nothing if it is ended meanwhile.

        Raises `OSError` and `subprocess.TimeoutExpired`.
        """
        with self._lock:
            if self._is_over:
                return b""
            self._process = process = subprocess.Popen(
                [sys.executable, *_CHECK],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        with process:
            try:
                return process.communicate(question, timeout=seconds)[0]
            finally:
                process.kill()

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._process is not None:
                self._process.kill()


def described(schema: Any, name: str) -> str:
    """Return the type that a decoded schema gives an argument, such as `string`; empty for none."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    about = properties.get(name) if isinstance(properties, dict) else None
    kind = about.get("type") if isinstance(about, dict) else None
    if isinstance(kind, list):
        return " or ".join(one for one in kind if isinstance(one, str))
    return kind if isinstance(kind, str) else ""
