"""Finding: what of the records is found, by which words, and what leads back to the record."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.index.search import Search, excerpt, query_of, record_of
from tapui.index.store import IndexUnusable, index_path
from tapui.index.update import bring_up_to_date
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.message import Line
from tests.index import played
from tests.index.conftest import Find
from tests.records.turns import Writer, opened, refused, stamp


def told(hits: list[object]) -> list[tuple[str, str]]:
    return [(hit.kind, hit.title) for hit in hits]  # type: ignore[attr-defined]


@pytest.fixture
def _written(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), opened("s2"))
        writer.turn(played.prompt("Why does pairing flake?\nLook at the café"))
        writer.turn(played.message("Three files changed, all links are good."))
        writer.turn(
            *played.call("c1", "bash", {"command": "pytest -x"}, "FAILED test_pair\n1 failed")
        )
        failed = played.call(
            "c2", "bash", {"command": "make"}, None, state="failed", error="exit 2"
        )
        writer.turn(*failed)
        writer.turn(played.line("build 4711 started"))
        writer.turn(*played.permission("a1", "rm -rf build && npm ci"))
        writer.turn(refused("tools: expected `array`"))
        writer.turn(played.prompt("Another session entirely", "s2"))
        spent = {"trace_id": "0af7651916cd43dd8448eb211c80319c", "started_at": stamp(1)}
        call = subjects.Span(**spent, span_id="1" * 16, name="provider", duration=2.5, tool="bash")
        turn = subjects.Span(**spent, span_id="2" * 16, name="turn", duration=9.0, turn=1)
        writer.turn(*(ev.SpanEnded(session_id="s1", span=one) for one in (call, turn)))


FOUND: list[tuple[str, list[tuple[str, str]]]] = [
    ("pairing flake", [("prompt", "Why does pairing flake?")]),
    ("links", [("message", "Three files changed, all links are good.")]),
    ("cafe", [("prompt", "Why does pairing flake?")]),
    (
        "0af7651916cd43dd8448eb211c80319c",
        [("event", "turn 1 ok, trace 0af7651916cd43dd8448eb211c80319c")],
    ),
    ("CAFÉ", [("prompt", "Why does pairing flake?")]),
    ("pytest", [("call", "bash pytest -x")]),
    ("test_pair", [("result", "bash pytest -x")]),
    ("exit 2", [("error", "bash make")]),
    ("4711", [("line", "log@ci")]),
    ("log@ci", [("line", "log@ci")]),
    ("expected array", [("error", "INVALID_JSON")]),
    (
        '"rm -rf build" "npm ci" tower',
        [("approval", "approved by tower: shell rm -rf build && npm ci")],
    ),
    ('"links all"', []),
    ("pair*", [("result", "bash pytest -x"), ("prompt", "Why does pairing flake?")]),
    ("pairin", []),
    ("nowhere", []),
]


@pytest.mark.usefixtures("_written")
def test_everything_that_was_said_and_done_is_found(find: Find) -> None:
    for text, found in FOUND:
        assert told(find(text)) == found, text  # type: ignore[arg-type]


@pytest.mark.usefixtures("_written")
def test_the_last_word_is_a_beginning_while_it_is_typed(find: Find) -> None:
    assert [hit.kind for hit in find("why does pai", is_typing=True)] == ["prompt"]
    assert find("why does pai ", is_typing=True) == []
    assert find("p", is_typing=True) == []


@pytest.mark.usefixtures("_written")
def test_a_hit_says_where_it_is_and_leads_to_its_record(find: Find, workspace: Path) -> None:
    (hit,) = find("failed test_pair")
    assert (hit.session_id, hit.session, hit.call_id, hit.run) == ("s1", "label", "c1", "r1")
    assert hit.path == str(workspace / "files/tap/calls.jsonl")
    assert hit.excerpt == "FAILED test_pair⏎1 failed"
    assert [hit.excerpt[start:end] for start, end in hit.marks] == ["FAILED", "test_pair", "failed"]
    record = record_of(hit)
    assert record is not None
    assert (record.run, record.seq, record.ts) == (hit.run, hit.seq, hit.ts)
    assert isinstance(record.event, ev.CallFinished)


@pytest.mark.usefixtures("_written")
def test_a_session_and_a_time_narrow_what_is_found(find: Find) -> None:
    assert [hit.session_id for hit in find("session")] == ["s2"]
    assert find("session", session_id="s1") == []
    assert find("session", session_id="nobody") == []
    assert len(find("session", since=1_767_225_600.0)) == 1
    assert find("session", since=1_800_000_000.0) == []


def test_the_newest_come_first_and_no_more_than_wanted(
    state: Path, workspace: Path, find: Find
) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        for number in range(30):
            writer.turn(played.line(f"tick number{number}"))
    hits = find("tick", limit=5)
    assert [hit.excerpt.split()[-1] for hit in hits] == [f"number{n}" for n in range(29, 24, -1)]


def test_a_call_is_one_hit_with_its_result_and_the_requests_about_it(
    state: Path, workspace: Path, find: Find
) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), *played.permission("a0", "npm ci"))
        began, ended = played.call("c1", "bash", {"command": "npm ci"}, "npm ci: 3 packages")
        writer.turn(began, *played.permission("a1", "npm ci", toolCallId="c1"), ended)
        began, ended = played.call("c2", "bash", {"command": "npm ci --quiet"})
        writer.turn(began, *played.permission("a2", "npm ci --quiet", toolCallId="c2"), ended)
        writer.turn(*played.permission("a3", "npm ci", toolCallId="t3"))
        began, _ = played.call("c3", "install", {"text": "npm ci"})
        assert isinstance(began, ev.CallStarted)
        writer.turn(replace(began, call=replace(began.call, tool_call_id="t3")))
        gate = subjects.Gate("c4", "s1", "npm ci", "deny", ["guard"], stamp(0))
        writer.turn(ev.GateChecked("s1", gate), played.call("c4", "npm ci", {})[0])
    found = [
        ("call", "npm ci"),
        ("call", "install npm ci"),
        ("call", "bash npm ci --quiet"),
        ("result", "bash npm ci"),
        ("approval", "approved by tower: shell npm ci"),
    ]
    assert told(find("npm ci")) == found  # type: ignore[arg-type]
    assert told(find("npm ci", limit=4)) == found[:4]  # type: ignore[arg-type]


def test_a_message_is_found_by_what_it_says_and_not_by_the_tools_that_it_asks_for(
    state: Path, workspace: Path, find: Find
) -> None:
    def said(content: str) -> ev.SessionHappened:
        asks = [{"name": "bash", "args": {"command": "npm ci"}}]
        data = played.raw({"content": content, "toolRequests": asks})
        return ev.SessionHappened("s1", "assistant.message", data)

    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), said(""), said("Now the packages."))
        writer.turn(*played.call("c1", "bash", {"command": "npm ci"}))
    assert told(find("npm ci")) == [("call", "bash npm ci")]  # type: ignore[arg-type]
    assert told(find("now")) == [("message", "Now the packages.")]  # type: ignore[arg-type]


def test_a_body_that_was_cut_is_found_by_its_beginning_and_says_so(
    state: Path, workspace: Path, find: Find
) -> None:
    cut = subjects.Cut('{"text":"a \\"needle\\" at the begin', 100_000, "0" * 64)
    began = subjects.Call("c1", "s1", "ci", "greet", "running", stamp(0), args_cut=cut)
    big = ev.StreamPosted(
        "s1",
        "log@ci",
        Line(1, stamp(1), "keep", "straw…"),
        cuts={"line.event": subjects.Cut("straw", 9, "")},
    )
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), ev.CallStarted("s1", began), big, played.line("hay"))
    assert [hit.is_cut for hit in find("needle")] == [True]
    assert [hit.is_cut for hit in find("straw")] == [True]
    assert [hit.is_cut for hit in find("hay")] == [False]


def test_escapes_are_decoded(state: Path, workspace: Path, find: Find) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        text = '{"content":"\\u00fcber\\nall\\t\\"quoted\\""}'
        writer.turn(ev.SessionHappened("s1", "user.message", played.Raw(text.encode())))
    assert [hit.title for hit in find("über all quoted")] == ["über"]


HOSTILE = [
    *('"', '"""', "NEAR(a b)", "a AND", "NOT", "(", "*", "^a", "a:b", "text:a", "{", "-a", "\0"),
    *("'", "%", "changed:", 'changed:"', "changed:%", "scope:s1", "a" * 5000, "\ud800", "a\0b"),
]


@pytest.mark.usefixtures("_written")
def test_no_text_is_a_syntax_error(find: Find) -> None:
    for text in HOSTILE:
        find(text)
        find(text, is_typing=True)
        find(f"pairing {text}")


@pytest.fixture(scope="module")
def one_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    state = tmp_path_factory.mktemp("index") / "state"
    with Writer(state) as writer:
        writer.turn(opened("s1"), played.line("a b c"))
    bring_up_to_date(state, 30)
    search = Search(state)
    yield search
    search.close()


@given(text=st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_asked_for(one_index: Search, text: str) -> None:
    for is_typing in (False, True):
        asked = query_of(text, is_typing=is_typing)
        list(one_index.find(asked))
        shown, marks = excerpt(text, asked)
        assert all(0 <= start < end <= len(shown) for start, end in marks)


@pytest.mark.usefixtures("_written")
def test_the_index_is_private(find: Find, state: Path) -> None:
    find("pairing")
    path = index_path(state)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert all(one.stat().st_mode & 0o077 == 0 for one in path.parent.iterdir())


@pytest.mark.usefixtures("_written")
def test_a_search_that_nobody_waits_for_any_longer_ends(find: Find, state: Path) -> None:
    find("pairing")
    search = Search(state)
    connection = search.opened()
    connection.set_progress_handler(lambda: search.interrupt() or 0, 1)
    with pytest.raises(IndexUnusable, match="interrupted"):
        list(search.find(query_of("pairing")))
    connection.set_progress_handler(None, 0)
    assert len(list(search.find(query_of("pairing")))) == 1
    search.close()


def test_a_hit_knows_its_turn(state: Path, workspace: Path, find: Find) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), played.prompt("first thing"))
        writer.turn(*played.call("c1", "bash", {"command": "alpha"}), played.idle())
        writer.turn(played.prompt("second thing"))
        writer.turn(*played.call("c2", "bash", {"command": "beta"}), played.idle())
    assert [(hit.kind, hit.turn) for hit in find("thing")] == [("prompt", 2), ("prompt", 1)]
    assert [hit.turn for word in ("alpha", "beta") for hit in find(word)] == [1, 2]


def test_turns_go_on_in_the_next_run(state: Path, workspace: Path, find: Find) -> None:
    for number, run in enumerate(("r1", "r2", "r3"), 1):
        with Writer(state, run) as writer:
            writer.seq = 1000 * number  # so that the times go on
            writer.turn(opened("s1", workspace), played.prompt(f"round {run}"), played.idle())
        find("nothing")
    assert [hit.turn for hit in find("round")] == [3, 2, 1]
