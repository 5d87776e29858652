"""Arguments of the built-in tools: each schema is closed, and what it does not have is refused."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tapui.settings.settings import Timeouts
from tapui.tools.builtin import TOOLS
from tapui.tools.definitions import BuiltinTool
from tests.core.harness import Conversation
from tests.tools.conftest import Caller

FREE = {"metadata"}
"""Objects that hold what the caller wants."""


def schema_of(tool: BuiltinTool) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(bytes(tool.definition(Timeouts()).parameters))
    return schema


def objects_in(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each schema of an object, with its path."""
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from objects_in(inner, f"{path}.{name}".lstrip("."))
    yield from objects_in(schema.get("items"), f"{path}[]")


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_its_schema_is_closed_at_the_top_and_within(tool: BuiltinTool) -> None:
    assert len(tool.description) <= 300
    found = dict(objects_in(schema_of(tool), ""))
    assert "" in found
    for path, schema in found.items():
        assert path in FREE or schema["additionalProperties"] is False, path
        assert set(schema.get("required", ())) <= set(schema.get("properties", ()))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_an_unknown_argument_is_refused_by_its_path(
    tool: BuiltinTool, talk: Conversation, caller: Caller
) -> None:
    caller.begins(tool.name, nowhere=1)
    outcome = caller.outcome()
    assert (outcome["errorCode"], talk.gateway.state.calls) == ("INVALID_JSON", {})
    assert outcome["error"].startswith("nowhere: not known here; known: ")


CHECK = {"kind": "file", "path": "a"}


@pytest.mark.parametrize(
    ("tool", "args", "path"),
    [
        ("tap_create_goal", {"title": "t", "criteria": [{"text": "a"}, {"text": "b", "x": 1}]},
         "criteria[1].x"),
        ("tap_create_goal", {"title": "t", "criteria": [{"text": "a", "check": {**CHECK, "x": 1}}]},
         "criteria[0].check.x"),
        ("tap_create_goal", {"title": "t", "criteria": [{"text": "a"}], "budget": {"x": 1}},
         "budget.x"),
        ("tap_update_goal", {"goalId": "g", "addCriteria": [{"text": "a", "x": 1}]},
         "addCriteria[0].x"),
        ("tap_update_goal", {"goalId": "g", "evidence": [{**CHECK, "x": 1}]}, "evidence[0].x"),
        ("tap_verify_goal_output", {"checks": [CHECK, {**CHECK, "x": 1}]}, "checks[1].x"),
        ("tap_audit_claims", {"claims": [{"text": "a", "evidence": [], "x": 1}]}, "claims[0].x"),
        ("tap_audit_claims", {"claims": [{"text": "a", "evidence": [{**CHECK, "x": 1}]}]},
         "claims[0].evidence[0].x"),
        ("tap_start_emitter", {"name": "n", "command": "c",
                               "eventFilter": [{"match": "a", "outcome": "keep", "x": 1}]},
         "eventFilter[0].x"),
        ("tap_set_event_filter", {"name": "n", "eventFilter": [
            {"match": "a", "outcome": "keep"}, {"match": "a", "outcome": "keep", "x": 1}]},
         "eventFilter[1].x"),
        ("tap_record_review", {"monitor": "m", "observed": "o", "decision": "note", "reason": "r",
                               "range": {"from": 1, "to": 2, "x": 1}}, "range.x"),
        ("tap_record_review", {"monitor": "m", "observed": "o", "decision": "note", "reason": "r",
                               "findings": [{"title": "t", "lines": {"first": 1, "last": 1,
                                                                     "x": 1}}]},
         "findings[0].lines.x"),
        ("tap_query_records", {"collection": "calls", "where": [
            {"field": "a", "op": "exists", "x": 1}]}, "where[0].x"),
    ],
)  # fmt: skip
def test_an_unknown_name_within_an_argument_is_refused_by_its_path(
    tool: str, args: dict[str, Any], path: str, caller: Caller
) -> None:
    caller.begins(tool, **args)
    outcome = caller.outcome()
    assert outcome["errorCode"] == "INVALID_JSON"
    assert f"{path}: not " in outcome["error"]


def test_what_holds_anything_is_open(caller: Caller) -> None:
    told = caller.calls("tap_post", stream="notes", message="m", metadata={"a": {"b": 1}})
    assert told["seq"] == 1


def test_names_of_the_earlier_extension_are_served(caller: Caller) -> None:
    caller.calls("tap_post", channel="notes", message="m", source="me", description="Notes")
    assert len(caller.calls("tap_stream_history", channel="notes", limit=5)) == 1
    former = {"type": "stream", "channel": "notes@tap", "pattern": "m", "minEntries": 1}
    told = caller.calls("tap_verify_goal_output", checks=[former])
    assert [one["kind"] for one in told["checks"]] == ["stream"]
    told = caller.calls("tap_audit_claims", claims=[{"claim": "posted", "evidence": [former]}])
    assert [one["text"] for one in told["claims"]] == ["posted"]
