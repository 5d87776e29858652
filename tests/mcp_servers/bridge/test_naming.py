"""Names, pins and what is held back."""

import msgspec
import pytest

from tapui.mcp_servers.bridge.naming import ServerTool, ToolNames, legal_name
from tapui.mcp_servers.messages import AT_BRIDGE, ServerTools
from tapui.runtime.children.lines import MAX_LINE_BYTES
from tapui.wire.codec import raw

OBJECT = raw({"type": "object", "properties": {}})


def tool(name: str, description: str = "", schema: object = None) -> ServerTool:
    return ServerTool(name, description, OBJECT if schema is None else raw(schema), None)


def offered(*names: str) -> dict[str, str | None]:
    mapped = ToolNames("git", None).map([tool(name) for name in names])
    return {one.name: one.offered_as for one in mapped}


def test_a_name_that_two_tools_come_to_is_no_other_tools_later() -> None:
    """Else a server could have `read_file` become another of its tools."""
    told = ("read.file", "read_file", "read file", "read/file")
    assert offered(*told) == offered(*told[::-1])
    assert offered(*told) == {
        "read_file": "read_file",
        "read.file": "read_file_dd32cdf5",
        "read file": "read_file_1214148e",
        "read/file": "read_file_9cc468c6",
    }
    assert offered("read.file") == {"read.file": "read_file"}


def test_a_name_without_latin_letters_depends_on_no_other_tool() -> None:
    told = ("検索", "削除", "更新", "читать", "find ü", "find ö", "read all", "read:all")
    names = offered(*told)
    assert len(set(names.values())) == len(told)
    for name in told:
        assert offered(name) == {name: names[name]}
        assert legal_name(name) == names[name]


def test_a_name_with_the_mark_of_another_is_its_own() -> None:
    taken = legal_name("read all")
    names = offered(taken, "read all")
    assert names[taken] == taken
    assert names["read all"] not in (taken, None)


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("a.b", "a_b"),
        ("", "tool"),
        ("日本", "tool_cf2abf0c"),
        ("a b", "a_b_c8687a08"),
        ("x" * 64, "x" * 64),
        ("-a-", "-a-"),
    ],
)
def test_names_become_legal(name: str, legal: str) -> None:
    assert legal_name(name) == legal


def test_long_names_stay_apart() -> None:
    one, two = legal_name("x" * 70 + "1"), legal_name("x" * 70 + "2")
    assert one != two
    assert (len(one), len(two)) == (64, 64)


def test_a_clash_changes_the_name_once_and_for_good() -> None:
    names = ToolNames("git", None)
    tools = [tool("log"), tool("diff")]
    mapped = names.map(tools)
    assert names.clash("log", mapped)
    mapped = names.map(tools)
    assert [one.offered_as for one in mapped] == ["git_log", "diff"]
    assert not names.clash("git_log", mapped)
    assert not names.clash("nothing", mapped)


def test_the_digest_covers_all_that_is_shown() -> None:
    told = tool("a", "b", {"type": "object", "title": "c"})
    same = ServerTool("a", "b", msgspec.Raw(b'{ "title": "c", "type":"object" }'), None)
    assert told.digest == same.digest
    others = [
        tool("x", "b", {"type": "object", "title": "c"}),
        tool("a", "x", {"type": "object", "title": "c"}),
        tool("a", "b", {"type": "object", "title": "x"}),
        ServerTool("a", "b", told.parameters, raw({"readOnlyHint": True})),
    ]
    assert told.digest not in [one.digest for one in others]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "array"}, "its schema is not one of an object"),
        ({}, "its schema is not one of an object"),
        ({"type": "object", "properties": []}, "its schema is not valid: properties"),
        ({"type": "object", "required": ["a", "a"]}, "its schema is not valid: required"),
        (
            {"type": "object", "properties": {"a": {"$ref": "https://example.org/a"}}},
            "its schema refers to another document",
        ),
        ({"type": "object", "x": "y" * 300_000}, "its description and schema have more than"),
        ({"type": "object", "$schema": "http://127.0.0.1:9/never-fetched"}, None),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {"a": {"items": [{"type": "string"}]}},
            },
            None,
        ),
    ],
)
def test_a_schema_that_a_model_cannot_have_keeps_one_tool_back(
    schema: object, problem: str | None
) -> None:
    bad, good = ToolNames("git", None).map([tool("bad", schema=schema), tool("good")])
    assert good.offered_as == "good"
    if problem is None:
        assert bad.offered_as == "bad"
    else:
        assert bad.offered_as is None
        assert (bad.problem or "").startswith(problem)


def test_a_schema_that_is_too_deep_is_kept_back() -> None:
    schema: dict[str, object] = {"type": "object"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}
    (mapped,) = ToolNames("git", None).map([tool("deep", schema=schema)])
    assert mapped.problem == "its schema is nested deeper than 32 levels"


def test_no_more_tools_are_offered_than_a_provider_may_have() -> None:
    mapped = ToolNames("many", None, 100).map([tool(f"t{number}") for number in range(120)])
    assert len([one for one in mapped if one.offered_as]) == 100
    assert mapped[119].problem == "a provider may have at most 100 (setting provider-tools)"
    large = [tool(f"t{number}", "x" * 200_000) for number in range(12)]
    mapped = ToolNames("large", None).map(large)
    assert 0 < len([one for one in mapped if one.offered_as]) < 12
    assert mapped[11].problem == "the definitions of all tools are too large together"


def test_what_is_not_as_it_was_pinned_waits() -> None:
    told = [tool("a", "one"), tool("b", "two"), tool("c", "three")]
    names = ToolNames("git", {"a": told[0].digest, "b": "sha256:other"})
    mapped = names.map(told)
    assert [one.offered_as for one in mapped] == ["a", None, None]
    assert [one.is_changed for one in mapped] == [False, True, True]
    names.allow({one.name: one.digest for one in told})
    assert [one.offered_as for one in names.map(told)] == ["a", "b", "c"]


def test_a_list_of_any_size_fits_into_the_line_in_which_it_is_pinned() -> None:
    """What tapui is not told it cannot pin, and all would be offered however it changes."""
    huge = 17 * 1024 * 1024
    hostile = [
        tool("one", "x" * huge),
        ServerTool("two", "", OBJECT, raw({"title": "x" * huge})),
        tool("x" * huge),
        *(tool(f"t{number}", "\x01" * 200_000) for number in range(100)),
    ]
    mapped = ToolNames("large", None).map(hostile)
    assert len(AT_BRIDGE.encode(ServerTools(mapped))) < MAX_LINE_BYTES
    for one in mapped:
        assert one.offered_as is None or one.problem is None
    assert all(one.problem is not None for one in mapped[:3])
