"""Arguments typed as `key=value`, read by a schema."""

from typing import Any

import pytest

from tapui.schemas.key_values import NotReadable, read_key_values

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "place": {"$ref": "#/$defs/Place"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "either": {"type": ["string", "integer"]},
        "level": {"enum": ["low", "high"]},
        "any": {},
        "self": {"$ref": "#/properties/self"},
    },
    "additionalProperties": False,
    "$defs": {"Place": {"type": "object"}},
}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("name=Ada", "Ada"),
        ("name=42", "42"),
        ("name=a=b", "a=b"),
        ("name=", ""),
        ("count=42", 42),
        ("ratio=2", 2),
        ("ratio=2.5", 2.5),
        ("loud=true", True),
        ("tags=a", ["a"]),
        ('tags=["a", "b"]', ["a", "b"]),
        ("sizes=3", [3]),
        ('place={"x": 1}', {"x": 1}),
        ("limit=null", None),
        ("limit=7", 7),
        ("either=7", 7),
        ("either=seven", "seven"),
        ("either=true", "true"),
        ("level=low", "low"),
        ("any=7", 7),
        ("any=seven", "seven"),
        ("self=x", "x"),
    ],
)
def test_a_value_has_the_type_that_the_schema_wants(word: str, value: object) -> None:
    (found,) = read_key_values([word], SCHEMA).values()
    assert found == value
    assert type(found) is type(value)


def test_a_list_is_given_by_repeating_its_key() -> None:
    assert read_key_values(["tags=a", "tags=b"], SCHEMA) == {"tags": ["a", "b"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Ada"], "Ada is no argument; write key=value"),
        (["=Ada"], "=Ada is no argument"),
        (["nmae=Ada"], "there is no argument nmae; did you mean name?"),
        (["count=many"], "count takes integer, and many is none"),
        (["count=2.5"], "count takes integer, and 2.5 is none"),
        (["loud=yes"], "loud takes boolean, and yes is none"),
        (["limit=x"], "limit takes integer or null, and x is none"),
        (["name=a", "name=b"], "name is given twice"),
        (["sizes=x"], "sizes takes integer, and x is none"),
        (["place=" + "[" * 5000], "place takes object"),
    ],
)
def test_what_cannot_be_read_is_told(words: list[str], said: str) -> None:
    with pytest.raises(NotReadable) as error:
        read_key_values(words, SCHEMA)
    assert said in str(error.value)


@pytest.mark.parametrize("schema", [None, True, [], {}, {"properties": 3}])
def test_without_a_usable_schema_json_is_json_and_all_else_is_text(schema: object) -> None:
    given = ["a=1", "b=x", "c=[1]", 'd="x"']
    assert read_key_values(given, schema) == {"a": 1, "b": "x", "c": [1], "d": '"x"'}
