"""Sheets get long values from one place, which says whether they are whole."""

import pytest
from msgspec import Raw, json

from tapui.tower.bodies import SHOWN_CHARS, Bodies
from tapui.tower.view import Happening, View
from tapui.wire import events as ev
from tapui.wire.message import Line
from tests.tower.scripted import approval, at, call


@pytest.fixture
def bodies() -> Bodies:
    return Bodies(View())


def test_arguments_are_indented_json(bodies: Bodies) -> None:
    found = bodies.arguments(call("c1", "greet", args=Raw(b'{"a":[1,{"b":2}]}')))
    assert found.is_whole
    assert json.decode(found.text) == {"a": [1, {"b": 2}]}
    assert len(found.text.splitlines()) > 3


def test_a_head_says_how_much_there_was(bodies: Bodies) -> None:
    cut = ev.Cut(head='{"text":"abc', size=123_456, sha256="")
    found = bodies.result(call("c1", "greet", state="done", data_cut=cut))
    assert not found.is_whole
    assert found.text.startswith('{"text":"abc')
    assert "123,456 bytes in all" in found.text


def test_what_an_event_brought_whole_is_shown_whole() -> None:
    view = View()
    raw = Raw(json.encode({"text": "x" * 100_000}))
    started = ev.CallStarted(session_id="s1", call=call("c1", "greet", args=raw))
    view.apply([ev.Entry("r1", 1, at(), started)])
    assert view.state.calls["c1"].args is None, "the state keeps its head"
    found = Bodies(view).arguments(view.state.calls["c1"])
    assert found.is_whole
    assert len(found.text) > 100_000


def test_nothing_is_shown_beyond_the_limit(bodies: Bodies) -> None:
    line = Line(seq=1, ts=at(), level="keep", event="y" * (SHOWN_CHARS + 7), metadata=None)
    found = bodies.line(line)
    assert not found.is_whole
    assert found.text.startswith("y" * SHOWN_CHARS + "\n")
    assert "7 more characters" in found.text


@pytest.mark.parametrize("broken", [b"{", b"[" * 5000, b"\xff\xfe"])
def test_what_is_not_json_is_shown_as_it_is(bodies: Bodies, broken: bytes) -> None:
    line = Line(seq=1, ts=at(), level="keep", event="e", metadata=Raw(broken))
    found = bodies.metadata(line)
    assert found is not None
    assert found.text == broken.decode("utf-8", "replace")


def test_no_data_is_none(bodies: Bodies) -> None:
    assert bodies.happening(Happening(at(), "session.idle", None, None)) is None
    assert bodies.happening(Happening(at(), "session.idle", Raw(b"{}"), None)) is None
    assert bodies.metadata(Line(seq=1, ts=at(), level="keep", event="e", metadata=None)) is None
    assert bodies.arguments(call("c1", "greet")).text == "(nothing)"


@pytest.mark.parametrize("detail", [{"kind": "shell"}, "text", None, [1]])
def test_a_request_is_a_mapping_whatever_was_sent(bodies: Bodies, detail: object) -> None:
    found = bodies.detail(approval("a1", "permission", detail))
    assert found == (detail if isinstance(detail, dict) else {"detail": detail})
