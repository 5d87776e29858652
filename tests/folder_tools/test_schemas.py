"""What is wrong with a `SCHEMA`: each row costs its own tool, a hint costs nothing."""

from pathlib import Path
from typing import Any

import pytest

from tapui.folder_tools.reading import DeclaredTools, read_folder
from tapui.folder_tools.schema import schema_faults
from tests.folder_tools.folder import SAMPLES, folder_with, source

TEXT = {"type": "string", "description": "What it is about."}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": []}


def faults(more: dict[str, Any]) -> list[str]:
    given = {
        "name": "one",
        "description": "Does what a test wants to have done.",
        "inputSchema": schema(),
        **more,
    }
    kept = {key: value for key, value in given.items() if value is not None}
    return [
        ("" if one.is_error else "hint: ") + one.text for one in schema_faults("f", 1, "one", kept)
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, []),
        ({"name": "two"}, ["SCHEMA[\"name\"] is 'two', but the file is one.py: they are the same"]),
        ({"name": "o n e"}, ['SCHEMA["name"] is letters, digits, _ and -, at most 64']),
        ({"name": None}, ['SCHEMA["name"] is letters, digits, _ and -, at most 64']),
        ({"description": None}, ['SCHEMA["description"] is missing: the model decides by it']),
        (
            {"description": "Helps."},
            ['hint: SCHEMA["description"] says little: tell what the tool does, and when'],
        ),
        ({"timeout": 0}, ['SCHEMA["timeout"] is milliseconds, up to 86,400,000']),
        ({"timeout": "1"}, ['SCHEMA["timeout"] is milliseconds, up to 86,400,000']),
        ({"timeout": 500}, []),
        ({"inputSchema": None}, ['SCHEMA["inputSchema"] is missing: {"type": "object", …}']),
        (
            {"inputSchema": {"type": "object", "properties": {}}},
            ['inputSchema["required"] is missing: write it, even as []'],
        ),
        (
            {"inputSchema": {"type": "object", "properties": {}, "required": ["a"]}},
            ["inputSchema requires 'a', which is not among its properties"],
        ),
        ({"inputSchema": schema(a=TEXT)}, []),
        (
            {"inputSchema": schema(a={"description": "What."})},
            ['property \'a\' has no "type" that is a text, such as "string"'],
        ),
        (
            {"inputSchema": schema(a={**TEXT, "type": ["string", "null"]})},
            ['property \'a\' has no "type" that is a text, such as "string"'],
        ),
        ({"inputSchema": schema(a={"type": "string"})}, ["property 'a' has no \"description\""]),
        (
            {"inputSchema": schema(a={**TEXT, "description": "One of 'all', 'staged'."})},
            ["hint: property 'a' names its values in the text: write them as \"enum\", too"],
        ),
    ],
)
def test_a_row_of_the_rules(given: dict[str, Any], told: list[str]) -> None:
    assert faults(given) == told


@pytest.mark.parametrize("value", [None, [], "x", {"a": {1, 2}}, {"a": b"x"}])
def test_what_is_no_schema_is_told(value: Any) -> None:
    (fault,) = schema_faults("f", 1, "one", value)
    assert fault.is_error


def read(folder: str) -> DeclaredTools:
    found = read_folder(folder)
    assert found is not None
    return found


def errors(found: DeclaredTools) -> list[str]:
    return [str(one) for one in found.faults if one.is_error]


def test_one_bad_file_costs_itself_alone(tmp_path: Path) -> None:
    folder = folder_with(
        tmp_path,
        good=source("good"),
        other=source("another"),
        broken="SCHEMA = {}\ndef execute(:\n",
        bare=source("bare", inputSchema={"type": "object", "properties": {}}),
    )
    found = read(folder)
    assert [one.name for one in found.tools] == ["good"]
    assert errors(found) == [
        'tools/bare.py:2: inputSchema["required"] is missing: write it, even as []',
        "tools/broken.py:2: it is no Python: invalid syntax",
        (
            "tools/other.py:2: SCHEMA[\"name\"] is 'another', but the file is other.py: they are"
            " the same"
        ),
    ]


def test_of_a_name_twice_neither_is_a_tool(tmp_path: Path) -> None:
    found = read(folder_with(tmp_path, one=source("one"), two=source("one")))
    assert found.tools == ()
    assert "tools/one.py:2: 'one' is also the name in tools/two.py:2" in errors(found)


def test_one_that_is_too_large_is_told_also_where_it_is_the_only_one(tmp_path: Path) -> None:
    large = source("big") + "#" * 50_000_000
    assert errors(read(folder_with(tmp_path / "a", big=large))) == [
        "tools/big.py:1: it has more than 262,144 bytes"
    ]
    # A large file that is no tool is none of a folder that has no tools.
    assert read_folder(folder_with(tmp_path / "b", data="X = 1\n" + "#" * 300_000)) is None


def test_a_computed_schema_is_known_once_it_is_imported(tmp_path: Path) -> None:
    text = "SCHEMA = dict(name='one')\n\ndef execute(given, ctx):\n    return 'x'\n"
    (tool,) = read(folder_with(tmp_path, one=text)).tools
    assert (tool.name, tool.schema) == ("one", None)


def test_nothing_of_a_file_is_run(tmp_path: Path) -> None:
    text = source("one", f"open({str(tmp_path / 'ran')!r}, 'w')")
    read(folder_with(tmp_path, one=text))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["(" * 5_000, "-" * 100_000 + "1", "x = " + "[" * 900 + "]" * 900])
def test_a_source_that_breaks_the_parser_costs_a_child(tmp_path: Path, text: str) -> None:
    hostile = f"SCHEMA = {text}\ndef execute(a, b):\n    pass\n"
    found = read(folder_with(tmp_path, bad=hostile, good=source("good")))
    assert all(one.name != "bad" or one.schema is None for one in found.tools)


def test_the_documents_samples_have_hints_alone(tmp_path: Path) -> None:
    samples = {one.name.partition(".")[0]: one.read_text() for one in SAMPLES.iterdir()}
    found = read(folder_with(tmp_path, **samples))
    assert [one.name for one in found.tools] == ["get_changed_files", "memory", "your_tool_name"]
    assert errors(found) == []
    assert [str(one).partition(": ")[2] for one in found.faults] == [
        "property 'sourceControlState' names its values in the text: write them as \"enum\", too"
    ]
