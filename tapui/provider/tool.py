"""A function as a tool: its definition, and how it is run."""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from tapui.provider.context import Context
from tapui.provider.errors import INVALID_ARGS, DeclarationError, ToolError
from tapui.provider.signature import Signature, name_of_given, read_docstring
from tapui.wire import codec
from tapui.wire.limits import MAX_CALL_TIMEOUT, MAX_SCHEMA_DEPTH
from tapui.wire.message import Tool
from tapui.wire.surrogates import without_surrogates

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
LETTERS = "letters, digits, _ and -, at most 64"

Bound = Callable[[], Any]
"""A function with its arguments. Of a coroutine function it returns the coroutine."""


class ToolFunction:
    """A tool of a provider, from the function that was decorated."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        timeout: float | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """`timeout` is seconds. With `parameters`, a JSON Schema, the function is given the
        arguments as one dict, unchecked, before its `Context`. Raises `DeclarationError`."""
        found = name or getattr(function, "__name__", None)
        if found is None:
            raise DeclarationError("a tool of a callable object needs a name: tool(name=…)")
        if not NAME.match(found):
            raise DeclarationError(f"'{found}' cannot be a tool's name: {LETTERS}")
        if timeout is not None and not 0 < timeout <= MAX_CALL_TIMEOUT:
            raise DeclarationError(f"{found}: a timeout is seconds, up to {MAX_CALL_TIMEOUT:g}")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise DeclarationError(f"{found}: a generator cannot be a tool; return a list")
        self.function = function
        self.is_coroutine = is_coroutine(function)
        docstring = read_docstring(inspect.getdoc(_written(function)))
        self.place = _place(function)
        """The file and the line at which the function is written; "?" and 0 where it has none."""
        self._signature: Signature | None = None
        self._context_name: str | None = None
        if parameters is None:
            self._signature = Signature(function, docstring.parameters, Context)
            self._context_name = self._signature.given_name
            schema = self._signature.schema
        else:
            self._context_name = name_of_given(function, Context)
            schema = _schema(found, parameters)
        self.definition = Tool(
            name=found,
            description=_described(description, docstring.description, found),
            parameters=schema,
            timeout=None if timeout is None else timeout * 1000,
        )

    @property
    def name(self) -> str:
        return self.definition.name

    def bind(self, arguments: Raw, context: Context) -> Bound:
        """Return the function with a call's arguments; raises `ToolError` for what does not fit."""
        positional: list[Any]
        by_name: dict[str, Any]
        if self._signature is None:
            positional, by_name = [_decoded(arguments)], {}
        else:
            positional, by_name = self._signature.read(arguments)
        if self._context_name is not None:
            by_name[self._context_name] = context
        if not positional and not by_name:
            return self.function
        return functools.partial(self.function, *positional, **by_name)


def _described(given: str | None, docstring: str, name: str) -> str:
    """Return the first text there is, as JSON can carry it; in want of any, the name as words."""
    texts = (text.strip() for text in (given or "", docstring, name.replace("_", " "), name))
    return without_surrogates(next(filter(None, texts)))


def is_coroutine(function: Callable[..., Any]) -> bool:
    target = function
    while isinstance(target, functools.partial):
        target = target.func
    return inspect.iscoroutinefunction(target) or (
        not inspect.isroutine(target) and inspect.iscoroutinefunction(type(target).__call__)
    )


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _place(function: Callable[..., Any]) -> tuple[str, int]:
    code = getattr(inspect.unwrap(_written(function)), "__code__", None)
    return ("?", 0) if code is None else (code.co_filename, code.co_firstlineno)


def _schema(name: str, parameters: Mapping[str, Any]) -> Raw:
    try:
        schema = codec.raw(dict(parameters))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DeclarationError(f"{name}: its parameters are no JSON Schema: {error}") from None
    if codec.depth_exceeds(schema, MAX_SCHEMA_DEPTH):
        raise DeclarationError(f"{name}: its parameters nest deeper than {MAX_SCHEMA_DEPTH} levels")
    return schema


def _decoded(arguments: Raw) -> dict[str, Any]:
    try:
        return msgspec.json.decode(arguments, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ToolError(INVALID_ARGS, str(error)) from None
