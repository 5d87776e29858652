"""A call given on a command line: its arguments, and how its outcome is printed."""

import asyncio
import contextlib
import difflib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import UNSET, Raw

from tapui.cli import output
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.schemas import arguments as schemas
from tapui.schemas.arguments import SchemaUnusable, Unfit
from tapui.schemas.key_values import NotReadable, read_key_values
from tapui.text import few
from tapui.wire.limits import MAX_MESSAGE_BYTES
from tapui.wire.message import ToolOutcome

if TYPE_CHECKING:
    from tapui.provider.provider import Provider


class GivenArguments(NamedTuple):
    """The arguments as they were typed: an object, and words such as `name=Ada` that go over it."""

    object: Raw
    words: tuple[str, ...] = ()

    def read(self, parameters: Raw) -> Raw:
        """Return the arguments for a tool with these parameters. Raises `Failure`."""
        if not self.words:
            return self.object
        try:
            typed = read_key_values(self.words, _decoded(parameters))
        except NotReadable as error:
            raise Failure(str(error), WRONG_USE) from None
        try:
            return Raw(msgspec.json.encode(msgspec.json.decode(self.object) | typed))
        except UnicodeEncodeError:
            raise Failure("the arguments are not valid UTF-8", WRONG_USE) from None


def _decoded(parameters: Raw) -> object:
    try:
        return msgspec.json.decode(parameters)
    except (msgspec.DecodeError, RecursionError):
        return None  # the words are read as without a schema


def object_of(text: str) -> Raw:
    """Return what `--args` has. Raises `Failure`."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Failure(f"--args is not valid JSON: {error}", WRONG_USE) from None
    except UnicodeEncodeError:
        raise Failure("--args is not valid UTF-8", WRONG_USE) from None
    if not isinstance(value, dict):
        raise Failure('--args must be a JSON object, such as \'{"name": "Ada"}\'', WRONG_USE)
    data = text.encode()
    if len(data) > MAX_MESSAGE_BYTES:
        raise Failure(f"--args is larger than {MAX_MESSAGE_BYTES} bytes", WRONG_USE)
    return Raw(data)


class Described(Protocol):
    """What is known of a tool."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def parameters(self) -> Raw:
        """The schema of its arguments."""


T = TypeVar("T", bound=Described)


def find_tool(name: str, tools: Sequence[T]) -> T:
    """Return the tool of a name. Raises `Failure`, which names those that there are."""
    tool = next((one for one in tools if one.name == name), None)
    if tool is None:
        raise Failure(f"there is no tool {name}; {_there_are(name, [one.name for one in tools])}")
    return tool


async def check_arguments(name: str, arguments: Raw, parameters: Raw) -> None:
    """Raise `Failure` for arguments that do not fit the schema of the tool `name`.

    A schema that cannot be applied is for the tool to answer for: the call is sent, with a note.
    """
    try:
        found = await schemas.faults(parameters, arguments)
    except SchemaUnusable as error:
        output.note(f"the arguments are not checked: the schema of {name} cannot be used: {error}")
        return
    if found:
        raise Failure("\n".join(_told(name, found, parameters)), WRONG_USE)


def _there_are(wanted: str, names: list[str]) -> str:
    if not names:
        return "there are none"
    near = difflib.get_close_matches(wanted, names, n=1)
    shown, rest = few(names)
    return f"{f'did you mean {near[0]}? ' if near else ''}there are: {', '.join([*shown, *rest])}"


def _told(name: str, found: list[Unfit], parameters: Raw) -> Iterator[str]:
    """Yield a line a fault; what is missing at the top is one line, with types."""
    missing = [one for one in found if one.keyword == "required" and len(one.path) == 1]
    if missing:
        schema = msgspec.json.decode(parameters)
        kinds = ((one.name, schemas.described(schema, one.name)) for one in missing)
        listed = ", ".join(f"{about} ({kind})" if kind else about for about, kind in kinds)
        them = "it" if len(missing) == 1 else "them"
        first = missing[0].name
        yield f"{name} requires {listed}; give {them} as {first}=…, or with --args".replace(
            "\n", " "
        )
    for one in found:
        if one not in missing:
            where = f"{one.name}: " if one.path else ""
            yield f"{name}: {where}{one.text}".replace("\n", " ")


def call_here(provider: "Provider", name: str, given: GivenArguments) -> int:
    """Call a provider's tool in this process; its result goes to stdout, all else to stderr."""
    from tapui.provider.calls import outcome_of

    tool = find_tool(name, provider.tools)
    arguments = given.read(tool.parameters)

    async def call() -> int:
        await check_arguments(tool.name, arguments, tool.parameters)
        with contextlib.redirect_stdout(sys.stderr):
            values = msgspec.json.decode(arguments, type=dict[str, object])
            outcome = await outcome_of(provider, tool.name, values)
        return print_outcome(outcome)

    return asyncio.run(call())


def print_outcome(outcome: ToolOutcome) -> int:
    for text in outcome.context or ():
        output.note(text)
    if outcome.error is not None or outcome.error_code is not None:
        code = outcome.error_code or "INTERNAL"
        output.fail(f"{code}: {outcome.error or code}".replace("\n", " "))
        return FAILED
    if outcome.file is not None:
        output.say_json(outcome.file, indent=2)
    else:
        output.say_json(None if outcome.data is UNSET else outcome.data, indent=2)
    return 0
