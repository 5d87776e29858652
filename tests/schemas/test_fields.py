"""A schema becomes a form, or says why it cannot; what is typed becomes the arguments."""

import json
from typing import Any

import pytest
from msgspec import Raw

from tapui.schemas.fields import MAX_FIELDS, MAX_SCHEMA, FieldError, Form, NoForm, form_of

GREET = {
    "type": "object",
    "properties": {
        "loud": {"type": "boolean"},
        "times": {"type": ["integer", "null"], "default": 2},
        "name": {"type": "string", "title": "Name", "description": "Whom to\n greet"},
        "lang": {"$ref": "#/$defs/lang", "default": "en"},
        "size": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "key": {"type": "string", "format": "password"},
        "login": {"type": "object", "properties": {"word": {"writeOnly": True}}},
        "either": {"type": ["string", "integer"]},
        "none": {},
    },
    "required": ["name"],
    "$defs": {"lang": {"enum": ["en", "de", None, 3]}},
}


def form(schema: Any) -> Form:
    return form_of(Raw(json.dumps(schema).encode()))


def test_flat_fields_have_their_kinds_and_the_required_ones_come_first() -> None:
    made = form(GREET)
    assert {one.key: one.kind for one in made.fields} == {
        "name": "text",
        "loud": "choice",
        "times": "integer",
        "lang": "choice",
        "size": "number",
        "tags": "json",
        "key": "text",
        "login": "json",
        "either": "json",
        "none": "json",
    }
    name = made.fields[0]
    assert (name.key, name.title, name.about) == ("name", "Name", "Whom to greet")
    assert made.secrets == {"key", "login"}
    assert made.defaults == {"times": "2", "lang": '"en"'}


def test_what_is_typed_becomes_the_arguments_to_the_letter() -> None:
    big = "123456789012345678901234567890"
    typed = {
        "name": 'A "quoted" ü\\',
        "times": big,
        "lang": "null",
        "size": "1.50",
        "loud": "true",
        "tags": ' ["x", 1.0] ',
        "key": "",
    }
    arguments, wrong = form(GREET).read(typed)
    assert wrong == {}
    assert bytes(arguments).decode() == (
        '{"name": "A \\"quoted\\" ü\\\\", "loud": true, '
        f'"times": {big}, "lang": null, "size": 1.50, "tags": ["x", 1.0]}}'
    )


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("times", "1.5", "write a whole number"),
        ("times", "٣", "write a whole number"),
        ("times", "1_000", "write a whole number"),
        ("times", "9" * 500, "write a whole number"),
        ("size", "nan", "write a number"),
        ("size", "0x1", "write a number"),
        ("tags", "[1", "no JSON yet"),
        ("tags", "[" * 100_000, "nested too deeply|no JSON yet"),
        ("tags", '"\ud800"', "half of a surrogate pair"),
        ("name", "\ud800", "half of a surrogate pair"),
        ("lang", '"fr"', "choose one"),
    ],
)
def test_what_is_no_value_of_its_field_says_what_is(key: str, text: str, said: str) -> None:
    _, wrong = form(GREET).read({"name": "Ada", key: text})
    assert list(wrong) == [key]
    assert any(one in wrong[key] for one in said.split("|"))


def test_a_required_field_that_is_empty_is_told() -> None:
    assert form(GREET).read({})[1] == {"name": "is required"}


def test_arguments_go_back_into_the_fields() -> None:
    made = form(GREET)
    typed = {"name": "Ada\nLovelace", "times": "3", "lang": '"de"', "tags": '["x", {"a": null}]'}
    assert made.typed(made.read(typed)[0]) == typed


@pytest.mark.parametrize(
    "arguments",
    [
        {"other": 1},
        {"name": "two\rlines"},
        {"name": ""},
        {"name": "\u202e"},
        {"name": 1},
        {"times": "1"},
        {"times": True},
        {"lang": "fr"},
    ],
)
def test_arguments_without_a_place_in_the_form_are_refused(arguments: Any) -> None:
    with pytest.raises(FieldError):
        form(GREET).typed(Raw(json.dumps(arguments).encode()))


TREE = {"type": "object", "properties": {"left": {"$ref": "#/$defs/a"}}}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "recursive"),
        (
            {
                **TREE,
                "$defs": {
                    "a": {"items": {"$ref": "#/$defs/b"}},
                    "b": {"not": {"$ref": "#/$defs/a"}},
                },
            },
            "recursive",
        ),
        (TREE, "/a, which is not in it"),
        ({**TREE, "properties": {"a": {"$ref": "http://h/x"}}}, "which is outside of it"),
        ({**TREE, "properties": {"a": {"$dynamicRef": "file:///etc/passwd"}}}, "outside of it"),
        ({"properties": {"a": {"$ref": "#anchor"}}}, "which is not in it"),
        (
            {"properties": {f"a{at}": {"$ref": f"#/$defs/{at}"} for at in range(30)}},
            "30 references",
        ),
        ({"properties": {"a": {"description": "x" * MAX_SCHEMA}}}, "huge"),
        ({"properties": {str(at): {} for at in range(MAX_FIELDS + 1)}}, "too many"),
        ({"properties": [1]}, "wrong"),
        ({"properties": {}, "required": "a"}, "wrong"),
        ({"properties": {}, "required": [["a"]]}, "says nothing of it"),
        ({"properties": {}, "required": ["a"]}, "says nothing of it"),
        ({"properties": {}, "oneOf": []}, "combines others"),
        ({"properties": {"a": {"type": "string", "default": "a\rb"}}}, "default"),
        ({"properties": {"a": {"type": "integer", "default": "x"}}}, "default"),
        ({"type": "object"}, "names no arguments"),
        ({}, "names no arguments"),
        ({"type": "array"}, "no object"),
        ({"type": 5}, "no object"),
        (True, "no object"),
        ([1], "no object"),
    ],
)
def test_a_schema_that_is_none_for_a_form_says_why(schema: Any, why: str) -> None:
    with pytest.raises(NoForm, match=why):
        form(schema)


def test_a_schema_that_is_no_json_or_too_deep_is_none_for_a_form() -> None:
    for text in (b"{", b'{"a":' * 10_000 + b"1" + b"}" * 10_000):
        with pytest.raises(NoForm, match="no JSON"):
            form_of(Raw(text))


@pytest.mark.parametrize(
    "about",
    [
        1,
        {"type": 5},
        {"type": [5, {}]},
        {"enum": []},
        {"enum": 5},
        {"title": 5},
        {"anyOf": 3},
        None,
    ],
)
def test_an_odd_property_is_written_as_json(about: Any) -> None:
    assert [one.kind for one in form({"properties": {"a": about}}).fields] == ["json"]


def test_no_properties_are_a_form_without_fields() -> None:
    made = form({"type": "object", "properties": {}})
    assert made.fields == ()
    assert bytes(made.read({})[0]) == b"{}"


def test_a_choice_that_takes_another_answer_has_a_line_for_it() -> None:
    schema = {
        "properties": {
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "loud": {"type": "boolean"},
            "only": {"const": "one"},
        },
        "required": ["colour"],
    }
    made = form(schema).with_other_answers()
    assert [one.key for one in made.fields] == ["colour", "colour, other", "loud", "only"]
    own = {"colour, other": "green", "loud": "true"}
    assert made.read(own) == (Raw(b'{"colour": "green", "loud": true}'), {})
    both = made.read({"colour": '"red"', "colour, other": "green"})[0]
    assert both == Raw(b'{"colour": "green"}')
    assert made.read({"colour": '"red"'}) == (Raw(b'{"colour": "red"}'), {})
    assert made.read({})[1] == {"colour": "is required"}
