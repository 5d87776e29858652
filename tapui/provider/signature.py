"""A function's signature as a JSON Schema, and a call's arguments as the function takes them."""

import copy
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from functools import partial
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Raw, Struct

from tapui.provider.errors import INVALID_ARGS, DeclarationError, ToolError
from tapui.wire import codec
from tapui.wire.limits import MAX_SCHEMA_DEPTH
from tapui.wire.normalize import normalized

_REFERENCE = "#/$defs/{name}"
_OF_METHODS = ("self", "cls")
_NOT_PASSED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Signature:
    """The parameters of a function, but for those that the kit fills in.

    `schema` is their JSON Schema, an object; `read` makes of a call's arguments what the function
    takes, checked.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        described: Mapping[str, str],
        given: type | None = None,
    ) -> None:
        """Read the signature of `function`; `described` says what its parameters mean.

        The parameter that is annotated with the type `given` is left out, and is `given_name`.
        Raises `DeclarationError` for what has no JSON Schema.
        """
        self.given_name: str | None = None
        self._positional: list[str] = []
        self._by_name: list[str] = []
        self._late: dict[str, Any] = {}
        self._type = self._read_parameters(function, described, given)
        self._decoder = self._new_decoder(function)
        self.schema = self._schema_of(function)

    def _read_parameters(
        self, function: Callable[..., Any], described: Mapping[str, str], given: type | None
    ) -> type[Struct]:
        hints = _hints(function)
        fields: list[tuple[str, Any, Any]] = []
        for name, parameter in inspect.signature(function).parameters.items():
            kind = hints.get(name, Any)
            if not fields and name in _OF_METHODS and _is_in_class(function):
                raise DeclarationError(
                    f"{_named(function)}: it is a method without its object; "
                    f"make the tool of an object's method: provider.tool(object.{_named(function)})"
                )
            if given is not None and _is_or_may_be(kind, given):
                self.given_name = name
                continue
            if parameter.kind in _NOT_PASSED:
                raise DeclarationError(
                    f"{_named(function)}: *{name} cannot be described to a model; "
                    "name each parameter, or take a dict"
                )
            is_positional = self.given_name is None and parameter.kind is not parameter.KEYWORD_ONLY
            if not is_positional and parameter.kind is parameter.POSITIONAL_ONLY:
                raise DeclarationError(
                    f"{_named(function)}: put the parameter of type {given.__name__} "  # type: ignore[union-attr]  # it is what was found
                    f"behind {name}, which is positional-only"
                )
            (self._positional if is_positional else self._by_name).append(name)
            if _has_bounds_of_pydantic(kind):
                raise DeclarationError(
                    f"{_named(function)}: {name} has bounds of pydantic's Field, which count in a "
                    "model only; write Meta(ge=…) of msgspec"
                )
            fields.append((name, _described(kind, described.get(name)), self._default(parameter)))
        try:
            return msgspec.defstruct(
                f"{_named(function)}_arguments", fields, kw_only=True, forbid_unknown_fields=True
            )
        except (TypeError, ValueError) as error:
            raise DeclarationError(f"{_named(function)}: {error}") from None

    def _default(self, parameter: inspect.Parameter) -> Any:
        if parameter.default is parameter.empty:
            return NODEFAULT
        if isinstance(parameter.default, list | dict | set | bytearray) and parameter.default:
            value = parameter.default
            self._late[parameter.name] = value
            return msgspec.field(default_factory=lambda: copy.copy(value))
        return parameter.default

    def _new_decoder(self, function: Callable[..., Any]) -> "msgspec.json.Decoder[Struct]":
        try:
            return msgspec.json.Decoder(self._type, dec_hook=_read_model)
        except (TypeError, ValueError, RecursionError) as error:
            raise DeclarationError(f"{_named(function)}: {str(error).splitlines()[0]}") from None

    def _schema_of(self, function: Callable[..., Any]) -> Raw:
        name = _named(function)
        models: dict[str, Any] = {}
        try:
            (reference,), parts = msgspec.json.schema_components(
                [self._type], ref_template=_REFERENCE, schema_hook=partial(_schema_of_model, models)
            )
        except (TypeError, ValueError, RecursionError) as error:
            raise DeclarationError(f"{name}: {str(error).splitlines()[0]}") from None
        whole = parts.pop(reference["$ref"].rpartition("/")[2])
        whole.pop("title", None)
        for field, value in self._late.items():
            whole["properties"][field]["default"] = msgspec.to_builtins(value)
        if parts or models:
            whole["$defs"] = {**models, **parts}
        schema = codec.raw(whole)
        if codec.depth_exceeds(schema, MAX_SCHEMA_DEPTH):
            raise DeclarationError(
                f"{name}: its parameters nest deeper than {MAX_SCHEMA_DEPTH} levels"
            )
        return schema

    def read(self, arguments: Raw) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments by position and by name.

        Raises `ToolError` (`INVALID_ARGS`), which names the path of what does not fit.
        """
        try:
            read = self._decoder.decode(arguments)
        except msgspec.ValidationError as error:
            read = self._read_again(arguments, error)
        except RecursionError:
            raise ToolError(INVALID_ARGS, "nested too deep") from None
        except msgspec.DecodeError as error:
            raise ToolError(INVALID_ARGS, codec.explain(error)) from None
        return (
            [getattr(read, name) for name in self._positional],
            {name: getattr(read, name) for name in self._by_name},
        )

    def _read_again(self, arguments: Raw, error: msgspec.ValidationError) -> Struct:
        """Read what other languages write otherwise: null for an absent field, 2.0 for 2."""
        again = normalized(arguments, self._type)
        try:
            if again is not None:
                return self._decoder.decode(again)
        except msgspec.ValidationError as second:
            arguments, error = Raw(again or bytes(arguments)), second
        raise ToolError(INVALID_ARGS, self._explained(arguments, error)) from None

    def _explained(self, arguments: Raw, error: msgspec.ValidationError) -> str:
        """Say what does not fit, as `tapui call` says it to the person."""
        from tapui.schemas import check  # only where something is wrong: it takes time to load
        from tapui.schemas.arguments import Unfit

        try:
            found = check.answer(*map(msgspec.json.decode, (self.schema, arguments)))
        except (msgspec.DecodeError, RecursionError):  # such as a number out of range
            return codec.explain(error)
        faults = [Unfit(**one) for one in found.get("faults", ())]
        told = "; ".join(f"{one.name}: {one.text}".removeprefix(": ") for one in faults)
        return told or codec.explain(error)


def _is_model(kind: Any) -> bool:
    """Return whether it is a model of pydantic, which is known by what it has: only authors import
    pydantic."""
    return isinstance(kind, type) and all(
        hasattr(kind, name) for name in ("model_json_schema", "model_validate", "model_dump")
    )


def _schema_of_model(parts: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Return a model's own schema; what that refers to goes into `parts`."""
    if not _is_model(kind):
        name = getattr(kind, "__name__", str(kind))
        raise TypeError(
            f"{name} has no JSON Schema; use a dataclass, a TypedDict or a model of pydantic"
        )
    begin = f"{kind.__name__}."
    schema: dict[str, Any] = kind.model_json_schema(ref_template=f"#/$defs/{begin}{{model}}")
    inner = schema.pop("$defs", {})
    parts.update({f"{begin}{name}": about for name, about in inner.items()})
    return schema


def _read_model(kind: Any, value: Any) -> Any:
    if not _is_model(kind):
        raise NotImplementedError
    try:
        return kind.model_validate(value)
    except ValueError as error:
        if not hasattr(error, "errors"):
            raise
        raise ValueError("; ".join(map(_of_model, error.errors()))) from None


def _of_model(fault: Mapping[str, Any]) -> str:
    place = ".".join(map(str, fault.get("loc", ())))
    return f"{place}: {fault.get('msg')}" if place else str(fault.get("msg"))


def name_of_given(function: Callable[..., Any], given: type) -> str | None:
    """Return the name of the parameter that is annotated with the type `given`, if there is one."""
    return next(
        (name for name, kind in _hints(function).items() if _is_or_may_be(kind, given)), None
    )


def _named(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _is_in_class(function: Callable[..., Any]) -> bool:
    """Return whether a plain function was written in the body of a class."""
    place, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    return inspect.isfunction(function) and bool(place) and not place.endswith("<locals>")


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target = function
    while hasattr(target, "func"):  # a partial
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError) as error:
        raise DeclarationError(
            f"{_named(function)}: an annotation cannot be read ({error}); types of a tool's "
            "parameters must be known where the module can see them"
        ) from None


def _is_or_may_be(kind: Any, given: type) -> bool:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        return given in get_args(kind)
    return kind is given


def _has_bounds_of_pydantic(kind: Any) -> bool:
    notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return any(type(one).__name__ == "FieldInfo" and one.metadata for one in notes)


def _described(kind: Any, description: str | None) -> Any:
    """Return a type with its description where msgspec looks for it: in a `Meta`."""
    texts: list[str] = []
    if get_origin(kind) is Annotated:
        inner, *notes = get_args(kind)
        fields = [one.description for one in notes if type(one).__name__ == "FieldInfo"]
        texts = [note for note in (*notes, *fields) if isinstance(note, str)]
        metas = [note for note in notes if isinstance(note, Meta)]
        if any(meta.description for meta in metas):
            description, texts = None, []
        kind = inner
        for meta in metas:
            kind = Annotated[kind, meta]
    told = " ".join(texts) or description
    return Annotated[kind, Meta(description=told)] if told else kind


_SECTION = re.compile(
    r"(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|attributes|todo)"
    r":\s*\Z",
    re.IGNORECASE,
)
_OF_PARAMETERS = frozenset({"args", "arguments", "parameters", "params"})
_GOOGLE = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)\Z")
_SPHINX = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<name>\w+)\s*:"
    r"\s*(?P<text>.*)\Z"
)
_FIELD = re.compile(r":\w+[^:]*:")


class Docstring(NamedTuple):
    """The text without its sections, and a text for each parameter that has one."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Read a docstring; what is in no known form stays in the description."""
    described: list[str] = []
    parameters: dict[str, list[str]] = {}
    section, entry_indent = "", None
    current: list[str] | None = None
    for line in inspect.cleandoc(text or "").splitlines():
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        if indent == 0 and (begun := _SECTION.match(stripped)):
            section, entry_indent, current = begun[1].lower(), None, None
        elif indent == 0 and (found := _SPHINX.match(stripped)):
            section, current = "sphinx", parameters.setdefault(found["name"], [])
            current.append(found["text"])
        elif indent == 0 and _FIELD.match(stripped):
            section, current = "sphinx", None  # `:returns:`, `:raises X:` …
        elif section in _OF_PARAMETERS and indent:
            entry_indent = indent if entry_indent is None else entry_indent
            entry = _GOOGLE.match(stripped) if indent <= entry_indent else None
            if entry is not None:
                current = parameters.setdefault(entry["name"], [])
                current.append(entry["text"])
            elif current is not None:
                current.append(stripped)
        elif section and (indent or not stripped):
            if section == "sphinx" and indent and current is not None:
                current.append(stripped)
        else:
            section, current = "", None
            described.append(line)
    return Docstring(
        "\n".join(described).strip(),
        {name: " ".join(filter(None, lines)) for name, lines in parameters.items()},
    )
