"""The calls of the person: each has one end, and what is kept of them is bounded."""

import pytest
from msgspec import Raw

from tapui.projection.feed import Link
from tapui.tower.workbench.calls_made import KEPT_CALLS, CallsMade, Made, TooLarge
from tapui.wire.limits import MAX_MESSAGE_BYTES
from tapui.wire.message import (
    Error,
    Message,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)
from tapui.wire.tower import ToolsList, ToolsRead


class Desk:
    """Calls with what was sent for them, and a clock."""

    def __init__(self, **kept: int) -> None:
        self.sent: list[Message] = []
        self.changes = 0
        self.now = 100.0
        self.made = CallsMade(self.sent.append, self._changed, lambda: self.now, **kept)

    def _changed(self) -> None:
        self.changes += 1

    def call(self, tool: str = "greet", arguments: bytes = b"{}") -> Made:
        return self.made.call("s1", tool, Raw(arguments), "about")


def test_a_call_has_progress_and_one_end() -> None:
    desk = Desk()
    made = desk.call(arguments=b'{"a":1}')
    (sent,) = desk.sent
    assert isinstance(sent, ToolInvoke)
    assert (sent.session_id, sent.tool, bytes(sent.args)) == ("s1", "greet", b'{"a":1}')
    desk.made.take(ToolProgress(sent.id, "half"))
    assert (made.state, made.progress) == ("running", "half")
    desk.now = 102.5
    outcome = ToolOutcome(sent.id, data=Raw(b"1"))
    desk.made.take(outcome)
    assert (made.state, made.outcome, made.took) == ("done", outcome, 2.5)
    changes = desk.changes
    desk.made.take(ToolOutcome(sent.id, error="late"))
    desk.made.take(ToolProgress(sent.id, "late"))
    assert (made.state, desk.changes) == ("done", changes)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (ToolOutcome("", error="no", error_code="INTERNAL"), "failed"),
        (ToolOutcome("", error_code="TIMEOUT"), "timedOut"),
        (ToolOutcome("", error="Cancelled", error_code="CANCELLED"), "cancelled"),
    ],
)
def test_how_a_call_ended(outcome: ToolOutcome, state: str) -> None:
    desk = Desk()
    made = desk.call()
    desk.made.take(ToolOutcome(made.id, error=outcome.error, error_code=outcome.error_code))
    assert made.state == state


def test_a_call_that_the_gateway_refuses_has_failed() -> None:
    desk = Desk()
    made = desk.call()
    desk.made.take(Error("INVALID_JSON", "no", "tool.invoke", id="of somebody else"))
    desk.made.take(Error("INVALID_JSON", "no", "tool.invoke", id=made.id))
    assert (made.state, made.outcome and made.outcome.error) == ("failed", "no")


def test_cancelling_is_asked_for_once_it_runs() -> None:
    desk = Desk()
    made = desk.call()
    desk.made.cancel(made)
    assert desk.sent[-1] == ToolAbort(made.id, "cancelled by the person")
    assert made.state == "running"
    desk.made.take(ToolOutcome(made.id, error="c", error_code="CANCELLED"))
    desk.made.cancel(made)
    assert len(desk.sent) == 2


def test_a_link_that_breaks_leaves_no_call_running() -> None:
    desk = Desk()
    made, done = desk.call(), desk.call("other")
    desk.made.take(ToolOutcome(done.id, data=Raw(b"1")))
    desk.made.read_tools("s1")
    desk.made.take(Link("down", "gone"))
    assert (made.state, done.state) == ("lost", "done")
    assert desk.made.refusals == {"s1": "the link to the gateway broke"}
    assert desk.made.tools("s1") is None


def test_tools_are_those_that_were_asked_for_last() -> None:
    desk = Desk()
    desk.made.read_tools("s1")
    (asked,) = desk.sent
    assert isinstance(asked, ToolsRead)
    desk.made.take(ToolsList("another", []))
    assert desk.made.tools("s1") is None
    tools = [OfferedTool("greet", "", Raw(b"{}"), "p")]
    desk.made.take(ToolsList(asked.id, tools))
    assert desk.made.tools("s1") == tools
    desk.made.read_tools("s1")
    assert desk.made.tools("s1") is None
    desk.made.take(Error("NOT_FOUND", "gone", "tools.read", id=desk.sent[-1].id))  # type: ignore[attr-defined]
    assert desk.made.refusals == {"s1": "gone"}


def test_arguments_that_no_message_holds_are_not_sent() -> None:
    desk = Desk()
    with pytest.raises(TooLarge):
        desk.call(arguments=b" " * (MAX_MESSAGE_BYTES + 1))
    assert (desk.sent, desk.made.of("greet")) == ([], [])


def test_what_is_kept_is_bounded_and_what_runs_is_kept() -> None:
    desk = Desk(kept_bytes=1000, kept_tools=3)
    first = desk.call()
    ended = []
    for _ in range(KEPT_CALLS + 5):
        desk.now += 1
        made = desk.call()
        desk.made.take(ToolOutcome(made.id, data=Raw(b'"%b"' % (b"x" * 398))))
        ended.append(made)
    kept = desk.made.of("greet")
    assert kept[:2] == [ended[-1], ended[-2]]
    assert len(kept) == KEPT_CALLS + 1
    assert kept[-1] is first
    assert [one.outcome is not None for one in kept[:4]] == [True, True, False, False]
    for number in range(10):
        desk.now += 1
        made = desk.call(f"t{number}")
        desk.made.take(ToolOutcome(made.id, data=Raw(b"1")))
        desk.made.keep_draft(f"t{number}", Raw(b"{}"))
    names = ["greet", *(f"t{number}" for number in range(10))]
    assert [name for name in names if desk.made.of(name)] == ["greet", "t8", "t9"]
    assert [name for name in names if desk.made.draft(name)] == ["t7", "t8", "t9"]
