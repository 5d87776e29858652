"""Sheets get long values from one place, which says whether they are whole."""

import pytest
from msgspec import Raw, json

from tapui.projection.cuts import approval_head, call_head
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.state import State
from tapui.tower.app.view import Happening, View
from tapui.tower.calls.bodies import SHOWN_CHARS, Bodies, body_of, data_of, shortened
from tapui.tower.calls.call_detail import call_parts
from tapui.tower.textual.reader import Reader
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.message import Error, Line
from tapui.wire.tower import ApprovalDecide, Detail, DetailRead, StreamLines, TowerSnapshot
from tests.tower.running import running
from tests.tower.scripted import approval, at, call


@pytest.fixture
def bodies() -> Bodies:
    return Bodies(View(), lambda _message: None)


def test_arguments_are_set_out_without_escapes(bodies: Bodies) -> None:
    args = Raw(b'{"a":[1,{"b":null}],"say":"\\u201cunit tests\\u201d\\nand \\"more\\""}')
    found = bodies.arguments(call("c1", "greet", args=args))
    assert found == ('a:\n  - 1\n  - b: null\nsay:\n  \u201cunit tests\u201d\n  and "more"')


def test_a_text_cannot_pass_for_a_name_beside_it(bodies: Bodies) -> None:
    found = bodies.arguments(call("c1", "greet", args=Raw(json.encode({"a": "x\nb: 2", "c": []}))))
    assert found.splitlines() == ["a:", "  x", "  b: 2", "c: []"]


def test_what_is_very_deep_is_one_line(bodies: Bodies) -> None:
    deep = b'{"a":' * 200 + b"1" + b"}" * 200
    found = bodies.arguments(call("c1", "greet", args=Raw(deep)))
    assert len(found.splitlines()) == 41


def test_a_head_says_how_much_there_was(bodies: Bodies) -> None:
    cut = subjects.Cut(head='{"text":"abc', size=123_456, sha256="")
    found = bodies.result(call("c1", "greet", state="done", data_cut=cut))
    assert found.startswith('{"text":"abc')
    assert "123,456 bytes in all" in found


def test_what_an_event_brought_whole_is_shown_whole() -> None:
    view = View()
    raw = Raw(json.encode({"text": "x" * 100_000}))
    started = ev.CallStarted(session_id="s1", call=call("c1", "greet", args=raw))
    view.apply([ev.Entry("r1", 1, at(), started)])
    assert view.state.calls["c1"].args is None, "the state keeps its head"
    found = Bodies(view, lambda _message: None).arguments(view.state.calls["c1"])
    assert len(found) > 100_000


def test_nothing_is_shown_beyond_the_limit() -> None:
    found = shortened("y" * (SHOWN_CHARS + 7))
    assert found.startswith("y" * SHOWN_CHARS + "\n")
    assert "7 more characters" in found


@pytest.mark.parametrize("broken", [b"{", b"[" * 5000, b"\xff\xfe"])
def test_what_is_not_json_is_shown_as_it_is(broken: bytes) -> None:
    assert body_of(Raw(broken)) == broken.decode("utf-8", "replace")


def test_no_data_is_none(bodies: Bodies) -> None:
    assert data_of(Happening(at(), "session.idle", None, None)) is None
    assert data_of(Happening(at(), "session.idle", Raw(b"{}"), None)) is None
    assert bodies.arguments(call("c1", "greet")) == "(nothing)"


@pytest.mark.parametrize("detail", [{"kind": "shell"}, "text", None, [1]])
def test_a_request_is_a_mapping_whatever_was_sent(detail: object) -> None:
    found = detail_of(approval("a1", "permission", detail))
    assert found == (detail if isinstance(detail, dict) else {"detail": detail})


LONG = "rm -rf build && " * 2000 + "echo THE END"


async def test_a_request_of_which_only_the_head_is_here_is_read_before_it_can_be_approved() -> None:
    detail = {"kind": "shell", "fullCommandText": LONG}
    whole = approval("a1", "permission", detail, session_id="s1")
    head = approval_head(whole)
    assert head.is_cut
    async with running(State(approvals={"a1": head}), size=(100, 30)) as rig:
        await rig.press("a")
        assert rig.feed.sent == [DetailRead(id="detail-1", of="approval", subject="a1")]
        rig.clock.turn(1)
        await rig.press("y")
        assert "Not all of it is here yet" in rig.text
        assert "Reading the rest of this request …" in rig.app.screen.query_one(Reader).text
        await rig.press("enter")
        assert len(rig.feed.sent) == 1, "asked once, and not approved"
        rig.feed.put(Detail(id="detail-1", approval=whole))
        await rig.settle()
        assert "THE END" in rig.app.screen.query_one(Reader).text.replace("\n│ ", "")
        await rig.press("end", "y", "enter")
        assert rig.feed.sent[1:] == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_a_denial_that_is_half_written_stays_when_the_rest_of_its_request_comes() -> None:
    whole = approval("a1", "permission", {"kind": "shell", "fullCommandText": LONG})
    async with running(State(approvals={"a1": approval_head(whole)}), size=(100, 30)) as rig:
        await rig.press("a")
        rig.clock.turn(1)
        await rig.press("m", *"use n")
        rig.feed.put(Detail(id="detail-1", approval=whole))
        await rig.settle()
        await rig.press(*"pm", "enter")
        told = ApprovalDecide(approval_id="a1", decision="deny", reason="use npm")
        assert rig.feed.sent[1:] == [told]


@pytest.mark.parametrize("answer", ["error", "nothing", "head"])
async def test_a_request_whose_rest_is_gone_says_so_and_can_be_decided(answer: str) -> None:
    head = approval_head(approval("a1", "permission", {"fullCommandText": LONG}, session_id="s1"))
    async with running(State(approvals={"a1": head}), size=(100, 30)) as rig:
        await rig.press("a")
        rig.clock.turn(1)
        told = {
            "error": Error(code="NOT_FOUND", message="gone", reply_to="detail.read"),
            "nothing": Detail(id="detail-1"),
            "head": Detail(id="detail-1", approval=head),
        }[answer]
        rig.feed.put(told)
        await rig.settle()
        assert "The rest of this request was not kept." in rig.app.screen.query_one(Reader).text
        await rig.press("end", "y", "enter")
        assert [type(one) for one in rig.feed.sent] == [DetailRead, ApprovalDecide]


async def test_a_call_of_a_snapshot_is_read_whole_when_its_sheet_opens() -> None:
    raw = Raw(json.encode({"text": "word " * 3000 + "THE END"}))
    whole = call("c1", "report", args=raw)
    async with running(State(calls={"c1": call_head(whole)}), size=(100, 30)) as rig:
        await rig.press("5", "enter")
        assert rig.feed.sent == [DetailRead(id="detail-1", of="call", subject="c1")]
        assert "THE END" not in rig.app.screen.query_one(Reader).text
        rig.feed.put(Detail(id="detail-1", call=whole))
        await rig.settle()
        assert "THE END" in rig.app.screen.query_one(Reader).text.replace("\n│ ", "")
        await rig.press("escape", "enter")
        assert len(rig.feed.sent) == 1, "it is still here"


async def test_after_a_lost_link_it_is_asked_for_again() -> None:
    head = approval_head(approval("a1", "permission", {"fullCommandText": LONG}, session_id="s1"))
    state = State(approvals={"a1": head})
    async with running(state) as rig:
        await rig.press("a")
        rig.feed.begin(state)
        await rig.settle()
        assert [one.id for one in rig.feed.sent] == ["detail-1", "detail-2"]  # type: ignore[attr-defined]


def test_a_line_of_a_snapshot_is_replaced_by_the_whole_one() -> None:
    view = View()
    short = Line(seq=3, ts=at(), level="keep", event="the beginn…", metadata=None)
    stream = subjects.Stream(name="ci@x", provider="x", session_id="s1", count=3, last=short)
    state = State(streams={("s1", "ci@x"): stream})
    view.apply(TowerSnapshot(seq=1, run="r1", state=state.snapshot(), towers=1))
    ring = view.rings["s1", "ci@x"]
    assert ring.head == 3
    view.expect_lines("r", ("s1", "ci@x"))
    long = Line(seq=3, ts=at(), level="keep", event="the beginning and the end", metadata=Raw(b"1"))
    view.apply(StreamLines(id="r", lines=[long]))
    assert list(ring.lines) == [long]
    assert ring.head is None
    assert ring.line(3) is long


def test_a_call_shows_what_its_shell_told(bodies: Bodies) -> None:
    shell = subjects.Shell(
        id="3", cwd="/code", is_cut=True, is_behind=True, head="begun\n", tail="2 failed\n"
    )
    done = call("c1", "bash", state="done", data=Raw(b'"Output too large"'), shell=shell)
    shown = [one.text for one in call_parts(bodies, done)]
    assert [" ".join(one.split()) for one in shown[:3]] == [
        "folder /code",
        "shell 3, in the background",
        "output cut for the agent",
    ]
    assert shown[-5:] == [
        "beginning of the output",
        "begun\n",
        "",
        "end of the output",
        "2 failed\n",
    ]


def test_a_call_of_no_shell_says_nothing_of_one(bodies: Bodies) -> None:
    shown = [one.text for one in call_parts(bodies, call("c1", "greet", state="done"))]
    assert not [one for one in shown if one.startswith(("shell", "folder", "output"))]
