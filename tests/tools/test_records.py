"""`tap_query_records`: its arguments, what it asks, and what it answers."""

import json
from typing import Any

import pytest

from tapui.core.effects import RecordsFound
from tapui.tools.records import RECORD_TOOLS, query_of
from tapui.wire.errors import WireError
from tests.core.harness import Conversation
from tests.tools.conftest import Caller

TOOL = "tap_query_records"


def test_its_description_and_schema() -> None:
    (tool,) = RECORD_TOOLS
    assert tool.name == TOOL
    assert len(tool.description) <= 300
    from tapui.settings.settings import Timeouts

    schema = json.loads(bytes(tool.definition(Timeouts()).parameters))
    assert schema["required"] == ["collection"]
    assert schema["additionalProperties"] is False
    assert "anyOf" not in json.dumps(schema)


def test_it_asks_the_records_of_the_calling_session(talk: Conversation, caller: Caller) -> None:
    talk.records_found = RecordsFound({"collection": "calls", "records": [], "matched": 0})
    told = caller.calls(TOOL, collection="calls", since="2h", limit=5)
    assert told == {"collection": "calls", "records": [], "matched": 0}
    (asked,) = talk.asked_records
    assert asked.session_id == "s1"
    assert (asked.query.collection, asked.query.since, asked.query.limit) == ("calls", "2h", 5)


def test_the_earlier_form_is_served(talk: Conversation, caller: Caller) -> None:
    talk.records_found = RecordsFound({"collection": "streams", "records": [1]})
    told = caller.calls(TOOL, collection="stream-posts", limit=500)
    assert (told["collection"], told["records"]) == ("stream-posts", [1])
    assert talk.asked_records[-1].query.collection == "streams"
    caller.calls(TOOL, collection="traces")
    assert talk.asked_records[-1].query.limit == 20


def test_what_cannot_be_answered_is_told(talk: Conversation, caller: Caller) -> None:
    talk.records_found = RecordsFound(fault="it took longer than 2 seconds")
    assert caller.fails(TOOL, collection="calls") == "it took longer than 2 seconds"


WHERE = {"field": "call.tool", "op": "eq", "value": "bash"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "collection: one of calls, streams"),
        ({"collection": "evals"}, "collection: one of calls, streams"),
        ({"collection": 3}, "collection: one of"),
        ({"collection": "calls", "colour": 1}, "colour: not an argument; there are collection"),
        ({"collection": "calls", "limit": 0}, "limit: 1 to 500"),
        ({"collection": "calls", "limit": True}, "limit: 1 to 500"),
        ({"collection": "calls", "order": "up"}, "order: one of desc, asc"),
        ({"collection": "calls", "where": WHERE}, "where: a list of at most 20"),
        ({"collection": "calls", "where": [WHERE] * 21}, "where: a list of at most 20"),
        ({"collection": "calls", "where": ["x"]}, r"where\[0\]: an object"),
        ({"collection": "calls", "where": [{"op": "eq"}]}, r"where\[0\].field: missing"),
        ({"collection": "calls", "any": [WHERE | {"op": "like"}]}, r"any\[0\].op: one of eq, ne"),
        ({"collection": "calls", "where": [WHERE | {"x": 1}]}, r"where\[0\].x: not known here"),
        ({"collection": "calls", "where": [WHERE | {"op": "in"}]}, r"where\[0\].value: a list"),
        ({"collection": "calls", "since": "yesterday"}, "since: RFC 3339, or a span"),
        ({"collection": "calls", "groupBy": ["a"] * 4}, "groupBy: a list of at most 3"),
        ({"collection": "calls", "groupBy": {"every": 5}}, "groupBy.every: a span"),
        ({"collection": "calls", "aggregate": [{"op": "median"}]}, r"aggregate\[0\].op: one of"),
        ({"collection": "calls", "aggregate": [{"op": "sum"}]}, r"aggregate\[0\].field: missing"),
        ({"collection": "calls", "fields": [1]}, r"fields\[0\]: a text"),
        ({"collection": "calls", "text": ""}, "text: a text of 1 to"),
        ({"collection": "calls", "cursor": 5}, "cursor: a text"),
    ],
)
def test_wrong_arguments_are_named(args: dict[str, Any], said: str) -> None:
    with pytest.raises(WireError, match=said):
        query_of(args)


def test_wrong_arguments_fail_the_call(caller: Caller) -> None:
    assert "order: one of desc, asc" in caller.fails(TOOL, collection="calls", order="up")
