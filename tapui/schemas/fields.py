"""A tool's schema as fields to fill in, or why it is none for a form."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec
from msgspec import Raw

from tapui.schemas.references import references
from tapui.text import json_text, safe_text

MAX_SCHEMA = 64 * 1024
"""Bytes of a schema that a form is made of."""
MAX_FIELDS = 40
MAX_CHOICES = 200
MAX_REFERENCES = 24
"""Different references in a schema: each is followed to see whether it leads back to itself."""
_OTHER = "your own answer, in place of the choice"
_ABOUT = 400
"""Characters of what a schema says about a field."""
_LIMITS = (
    *("minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_MAX_DIGITS = 400
_COMBINING = ("oneOf", "anyOf", "allOf", "not", "if")

Kind = Literal["text", "integer", "number", "choice", "several", "json"]
_KINDS: dict[object, Kind] = {"string": "text", "integer": "integer", "number": "number"}


class NoForm(Exception):  # noqa: N818 - a state of the schema, not a fault of ours
    """The arguments are to be written as JSON; the text says why."""


class FieldError(ValueError):
    """What is in a field is not what it takes; the text says what it takes."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument: its name, what is said of it, and what may be typed.

    `choices` are JSON, `names` what the schema calls them ("" where it does not); of kind "several"
    the value is a list of them. `limits` are the schema's keywords that bound a value. `default` is
    what stands in the field at first. A secret is masked.
    """

    key: str
    kind: Kind = "json"
    title: str = ""
    about: str = ""
    choices: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    is_required: bool = False
    is_secret: bool = False
    default: str = ""
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    other_of: str = ""
    """The key of the choice to which this is another answer, in its place."""

    @property
    def takes(self) -> str:
        words = {"text": "text", "integer": "whole number", "number": "number", "json": "JSON"}
        return words.get(self.kind, "one of these")

    def read(self, text: str, *, is_bounded: bool = False) -> str:
        """Return what was typed as JSON, within its limits if `is_bounded`; raises `FieldError`."""
        written = self._read(text if self.kind == "text" else text.strip())
        if is_bounded and self.limits:
            self._check(msgspec.json.decode(written))
        return written

    def _read(self, text: str) -> str:
        if self.kind == "text":
            check_encodable(text)
            return json_text(text)
        if self.kind == "choice":
            if text not in self.choices:
                raise FieldError("choose one")
        elif self.kind == "several":
            self.chosen(text)
        elif self.kind == "json":
            check_json(text)
        elif not is_number(text, is_whole=self.kind == "integer"):
            raise FieldError("write a whole number" if self.kind == "integer" else "write a number")
        else:
            check_json(text)  # 1e999 is none that JSON readers take
        return text

    def chosen(self, text: str) -> list[str]:
        """Return the choices of which there may be several, as JSON. Raises `FieldError`."""
        values = check_json(text)
        found = [json_text(one) for one in values] if isinstance(values, list) else [""]
        if len(set(found)) < len(found) or not set(found) <= set(self.choices):
            raise FieldError("choose some of these, each once")
        return found

    def _check(self, value: object) -> None:
        """Raise `FieldError` where a value is outside of the limits."""
        from tapui.schemas import check  # takes time to load

        for name, limit in self.limits.items():  # one that is no limit costs itself alone
            for fault in check.answer({name: limit}, value, is_typed=True).get("faults", ()):
                raise FieldError(fault["text"])

    def written(self, value: object) -> str:
        """Return how a decoded value is typed here. Raises `FieldError` where it cannot be."""
        if self.kind == "text":
            if isinstance(value, str) and value and safe_text(value, newlines=True) == value:
                return value
            raise FieldError(f"{self.key} is no text that can be typed")
        text = json_text(value)
        if self.kind == "several":
            self.chosen(text)
        elif self.kind == "choice":
            if text not in self.choices:
                raise FieldError(f"{self.key} is none of the choices")
        elif self.kind != "json" and not is_number(text, is_whole=self.kind == "integer"):
            raise FieldError(f"{self.key} is no number")
        return text


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a tool's arguments, those that are required first."""

    fields: tuple[Argument, ...]

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset(one.key for one in self.fields if one.is_secret)

    def read(
        self, typed: Mapping[str, str], *, is_bounded: bool = False
    ) -> tuple[Raw, dict[str, str]]:
        """Return the arguments as JSON, without the fields that are empty, and what is wrong by
        the field's key; with `is_bounded`, also what is outside of the schema's limits."""
        members: dict[str, str] = {}
        wrong: dict[str, str] = {}
        others = {one.other_of for one in self.fields if one.other_of and typed.get(one.key)}
        for field in self.fields:
            text = "" if field.key in others else typed.get(field.key, "")
            if field.kind == "several" and text == "[]" and field.limits.get("minItems"):
                text = ""  # no choice that could be sent: not given
            if not text:
                if field.is_required and field.key not in others:
                    wrong[field.key] = "is required"
                continue
            try:
                members[field.other_of or field.key] = field.read(text, is_bounded=is_bounded)
            except FieldError as error:
                wrong[field.key] = str(error)
        written = ", ".join(f"{json_text(key)}: {text}" for key, text in members.items())
        return Raw(f"{{{written}}}".encode()), wrong

    def faults(self, given: Mapping[str, object]) -> dict[str, str]:
        """Return what is wrong with decoded values, by the field's key, as `read` has it. What no
        field takes is not looked at."""
        others = {one.other_of: one.key for one in self.fields if one.other_of}
        typed: dict[str, str] = {}
        wrong: dict[str, str] = {}
        for field in self.fields:
            value = given.get(field.key)
            if isinstance(value, str) and (
                field.kind == "text"
                or (field.key in others and json_text(value) not in field.choices)
            ):
                typed[others.get(field.key, field.key)] = value
            elif field.kind == "text" and value is not None:
                wrong[field.key] = "write a text"
            elif value is not None:
                typed[field.key] = json_text(value)
        return self.read(typed, is_bounded=True)[1] | wrong

    def typed(self, arguments: Raw) -> dict[str, str]:
        """Return what to type for these arguments. Raises `FieldError` where the form has no
        place for one of them."""
        value = msgspec.json.decode(arguments)
        fields = {one.key: one for one in self.fields}
        if other := [key for key in value if key not in fields]:
            raise FieldError(f"the form has no field for {other[0]}")
        return {key: fields[key].written(one) for key, one in value.items()}

    def with_other_answers(self) -> "Form":
        """Return the form with a line for another answer below each choice of texts."""
        fields: list[Argument] = []
        for field in self.fields:
            fields.append(field)
            values = [msgspec.json.decode(one) for one in field.choices]
            if (
                field.kind == "choice"
                and len(values) > 1
                and all(isinstance(one, str) for one in values)
            ):
                key = f"{field.key}, other"
                fields.append(Argument(key, "text", about=_OTHER, other_of=field.key))
        return Form(tuple(fields))

    @property
    def defaults(self) -> dict[str, str]:
        return {one.key: one.default for one in self.fields if one.default}


def is_number(text: str, *, is_whole: bool = False) -> bool:
    """Return whether a text is a JSON number, a whole one if need be."""
    number = _NUMBER.match(text) if len(text) <= _MAX_DIGITS else None
    return number is not None and not (is_whole and (number[2] or number[3]))


def check_encodable(text: str) -> bytes:
    """Return a text as UTF-8. Raises `FieldError`."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise FieldError("half of a surrogate pair is no text") from None


def check_json(text: str) -> Any:
    """Return a decoded JSON text. Raises `FieldError`, which says what is wrong with it."""
    try:
        return msgspec.json.decode(check_encodable(text))
    except RecursionError:
        raise FieldError("nested too deeply") from None
    except msgspec.DecodeError as error:
        why = str(error).removeprefix("JSON is malformed: ")
        raise FieldError(f"no JSON yet: {why}") from None


def form_of(schema: Raw) -> Form:
    """Return the form for a tool's schema. Raises `NoForm`."""
    size = len(memoryview(schema))
    if size > MAX_SCHEMA:
        raise NoForm(f"the schema is huge ({size:,} bytes)")
    try:
        root = msgspec.json.decode(schema)
    except (msgspec.DecodeError, RecursionError):
        raise NoForm("the schema is no JSON") from None
    if not isinstance(root, dict) or root.get("type", "object") != "object":
        raise NoForm("the schema describes no object")
    _check_references(root)
    for name in _COMBINING:
        if name in root:
            raise NoForm(f"the schema combines others ({name})")
    properties = root.get("properties")
    if properties is None:
        raise NoForm("the schema names no arguments")
    required = root.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise NoForm("the schema is wrong: its properties are no object, or `required` is no list")
    if len(properties) > MAX_FIELDS:
        raise NoForm(f"it has {len(properties):,} arguments, too many for a form")
    if missing := [one for one in required if not isinstance(one, str) or one not in properties]:
        raise NoForm(f"it requires {str(missing[0])[:_ABOUT]}, and says nothing of it")
    fields = [_field(root, key, one, key in required) for key, one in properties.items()]
    return Form(tuple(sorted(fields, key=lambda one: not one.is_required)))


def _field(root: dict[str, Any], key: str, schema: object, is_required: bool) -> Argument:
    resolved = _resolved(root, schema)
    kind, choices, names = _kind_of(root, resolved)
    field = Argument(
        key,
        kind,
        title=_text(resolved, "title"),
        about=_text(resolved, "description"),
        choices=choices,
        names=names,
        limits={key: resolved[key] for key in _LIMITS if key in resolved},
        is_required=is_required,
        is_secret=any(
            one.get("writeOnly") is True or one.get("format") == "password"
            for one in _schemas(resolved)
        ),
    )
    default = resolved.get("const", resolved.get("default"))
    if default is None or (default == "" and kind == "text"):
        return field
    try:
        return replace(field, default=field.written(default))
    except FieldError as error:
        raise NoForm(f"a form cannot show its default: {error}") from None


def _kind_of(
    root: dict[str, Any], schema: Mapping[str, Any]
) -> tuple[Kind, tuple[str, ...], tuple[str, ...]]:
    """Return what a field takes; for one of a few values, these as JSON, and their names."""
    if named := _named(schema):
        return "choice", *_distinct(named)
    if any(name in schema for name in _COMBINING):
        return "json", (), ()
    type_ = schema.get("type")
    if type_ == "boolean" and "const" not in schema and "enum" not in schema:
        return "choice", ("true", "false"), ()
    if isinstance(type_, list):
        others = [one for one in type_ if one != "null"]
        type_ = others[0] if len(others) == 1 else None
    if not isinstance(type_, str):
        return "json", (), ()
    if type_ == "array" and (named := _named(_resolved(root, schema.get("items")))):
        return "several", *_distinct(named)
    return _KINDS.get(type_, "json"), (), ()


def _named(schema: Mapping[str, Any]) -> list[tuple[object, str]]:
    """Return the values of which a schema takes one, each with its name: `const`, `enum` (with
    `enumNames`), or `oneOf`/`anyOf` of constants with titles, as forms of MCP have them."""
    if "const" in schema:
        return [(schema["const"], "")]
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list) and 0 < len(values) <= MAX_CHOICES:
        known = names if isinstance(names, list) and len(names) == len(values) else []
        titles = [one if isinstance(one, str) else "" for one in known] or [""] * len(values)
        return list(zip(values, titles, strict=True))
    for combining in ("oneOf", "anyOf"):
        several = schema.get(combining)
        if isinstance(several, list) and 0 < len(several) <= MAX_CHOICES:
            constants = [one for one in several if isinstance(one, dict) and "const" in one]
            if len(constants) == len(several):
                return [(one["const"], _text(one, "title")) for one in constants]
    return []


def _distinct(named: list[tuple[object, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values as JSON, each once, and their names."""
    kept: dict[str, str] = {}
    for value, name in named:
        kept.setdefault(json_text(value), name)
    return tuple(kept), tuple(kept.values())


def _text(schema: Mapping[str, Any], name: str) -> str:
    text = schema.get(name)
    return " ".join(text.split())[:_ABOUT] if isinstance(text, str) else ""


# References


def _resolved(root: dict[str, Any], schema: object) -> dict[str, Any]:
    """Return a schema with what it refers to put in its place, its own words first."""
    resolved = schema if isinstance(schema, dict) else {}
    while isinstance(target := resolved.get("$ref"), str):
        rest = {key: one for key, one in resolved.items() if key != "$ref"}
        there = _target(root, target)
        resolved = {**(there if isinstance(there, dict) else {}), **rest}
    return resolved


def _check_references(root: dict[str, Any]) -> None:
    """Raise `NoForm` unless all references stay inside, lead somewhere and never in a circle."""
    ways: dict[str, set[str]] = {}
    waiting = sorted(set(references(root)))
    if len(waiting) > MAX_REFERENCES:
        raise NoForm(f"the schema has {len(waiting):,} references")
    for target in waiting:
        if not target.startswith("#"):
            raise NoForm(f"the schema refers to {target[:_ABOUT]}, which is outside of it")
        there = _target(root, target)
        if there is None:
            raise NoForm(f"the schema refers to {target[:_ABOUT]}, which is not in it")
        ways[target] = set(references(there))
    for start, first in ways.items():
        seen: set[str] = set()
        ahead = set(first)
        while ahead:
            seen |= ahead
            ahead = {one for there in ahead for one in ways[there]} - seen
        if start in seen:
            raise NoForm(f"the schema is recursive ({start[:_ABOUT]})")


def _target(root: dict[str, Any], target: str) -> object:
    """Return what a reference inside of the schema leads to, None for nothing."""
    there: object = root
    for part in target.removeprefix("#").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(there, dict):
            there = there.get(name)
        elif isinstance(there, list) and name.isascii() and name.isdigit():
            there = there[int(name)] if int(name) < len(there) else None
        else:
            return None
    return there if target == "#" or target.startswith("#/") else None


def _schemas(schema: object) -> Iterator[Mapping[str, Any]]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
