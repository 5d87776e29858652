"""The digest: what it counts, and that the first key after a while shows it and does no more."""

import pytest
from msgspec import Raw
from msgspec.structs import replace
from textual.events import AppBlur, AppFocus, Key

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.app.app import TowerApp
from tapui.tower.app.digest import (
    AWAY,
    MOST_ROWS,
    MOST_SESSIONS,
    AwayRows,
    Digest,
    DigestScreen,
    digest,
    digest_parts,
    used_now,
)
from tapui.tower.app.view import View
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.sessions.session_detail import SessionDetail
from tapui.tower.sessions.sessions_pane import SessionsPane
from tapui.tower.sessions.tell_line import TellInput
from tapui.tower.table.table import Table
from tapui.wire import events as ev
from tapui.wire.turns import FileChange, SessionTurns, Turn, Usage
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import START, approval, at, call, session, world
from tests.tower.told import head, step


def told(*turns: Turn, session_id: str = "s1") -> dict[str, LiveTurns]:
    heads = [turn.head for turn in turns[:-1]]
    return {session_id: LiveTurns.of(SessionTurns(session_id, heads, turns[-1]))}


def test_turns_that_ended_meanwhile_are_counted_with_what_they_used_and_changed() -> None:
    turns = [
        Turn(head(1, "before", 5000, 60, usage=Usage(9, 9), files=[FileChange("z")])),
        Turn(head(2, "a", 1200, 300, usage=Usage(10, 1, 0.5), files=[FileChange("x", 1, 2)])),
        Turn(head(3, "b", 800, 60, state="failed", usage=Usage(5, 1))),
        Turn(head(4, "c", 300, None, files=[FileChange("x", 4, 0), FileChange("y")])),
    ]
    found = digest(State(turns=told(*turns)), {}, START - 1000, START)
    assert [(turn.prompt, turn.state) for turn in found.ended] == [("a", "done"), ("b", "failed")]
    assert found.running == 1
    assert found.usage == Usage(15, 2, 0.5)
    assert found.files == [FileChange("x", 5, 2), FileChange("y")]


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        (0, "2 turns still running"),
        (1, "1 turn still running, 1 asks you"),
        (2, "2 turns ask you"),
    ],
)
def test_a_turn_that_asks_is_not_still_running(waiting: int, words: str) -> None:
    turns: dict[str, LiveTurns] = {}
    for number in range(2):
        state = "waiting" if number < waiting else "running"
        turn = Turn(head(1, "a", 300, None, session_id=f"s{number}"), [step("1.1", state=state)])
        turns |= told(turn, session_id=f"s{number}")
    found = digest(State(turns=turns), {}, START - 1000, START)
    assert (found.running, found.asking) == (2, waiting)
    assert [one.text for one in digest_parts(found)] == [words]


def test_what_a_turn_had_used_before_is_not_counted() -> None:
    before = State(turns=told(Turn(head(1, "a", 5000, None, usage=Usage(10, 4, 0.25)))))
    turn = Turn(head(1, "a", 5000, 4500, usage=Usage(13, 5, 0.75)))
    state = State(turns=told(turn))
    found = digest(state, {}, START - 1000, START, used_now(before))
    assert found.usage == Usage(3, 1, 0.5)


def test_steps_that_failed_meanwhile_are_counted() -> None:
    steps = [
        step("1.1", state="failed", ago=1500),
        step("1.2", state="failed", ago=500),
        step("1.3", ago=400),
        step("1.4", state="denied", ago=300),
        step("1.5", state="timedOut", ago=200),
    ]
    turn = Turn(head(1, "a", 2000, None, failed=2), steps)
    found = digest(State(turns=told(turn)), {}, START - 1000, START)
    assert found.steps == {"failed": 1, "denied": 1, "timedOut": 1}
    words = [part.text for part in digest_parts(found)]
    assert words[1:] == ["✗ 1 step failed", "⊘ steps: 1 denied, 1 timed out"]


def test_the_time_that_something_waited_is_counted_once_where_requests_overlap() -> None:
    asked = [
        approval("a", "mode", {}, created_at=at(2000), state="approved", decided_by="rule “x”"),
        approval("b", "mode", {}, created_at=at(950), state="denied", decided_by="tapui 1"),
        approval("c", "mode", {}, created_at=at(500), state="expired"),
        approval("d", "mode", {}, created_at=at(100)),
        approval("e", "mode", {}, created_at=at(3000), state="approved", decided_by="rule “x”"),
    ]
    decided_at = {"a": at(900), "b": at(850), "c": at(400), "e": at(2500)}
    state = State(approvals={one.id: one for one in asked})
    found = digest(state, decided_at, START - 1000, START)
    assert found.waited == pytest.approx(150 + 100 + 100)
    assert (found.waiting, found.timed_out) == (1, 1)
    assert found.answers == {"rule “x”": 1, "you": 1}


def test_nothing_is_nothing() -> None:
    assert digest(State(), {}, START - 1000, START).is_empty


def busy_world() -> State:
    state = world()
    state.approvals.clear()
    state.turns["s1"] = LiveTurns.of(SessionTurns("s1", [], Turn(head(1, "Fix it", 60, None))))
    return state


async def ended_meanwhile(rig: Running) -> None:
    rig.clock.turn(AWAY + 300)
    rig.feed.happen(ev.SessionHappened("s1", "session.idle"), ts=at(-AWAY))
    await rig.settle()


async def test_the_first_key_after_five_minutes_shows_it_and_the_next_one_closes_it() -> None:
    async with running(busy_world()) as rig:
        await rig.press("1")
        await ended_meanwhile(rig)
        await rig.press("q")
        assert isinstance(rig.app.screen, DigestScreen)
        assert "While you were away: 10m, since 20:10" in rig.text
        assert "1 turn finished" in rig.text
        assert "1 turn done" in rig.text
        await rig.press("q")
        assert len(rig.app.screen_stack) == 1
        assert rig.app.is_running
        assert "tapui" in rig.text
        await rig.press("question_mark")
        assert len(rig.app.screen_stack) == 2, "keys act again"


async def test_keys_of_one_read_show_it_close_it_and_act() -> None:
    async with running(busy_world()) as rig:
        await ended_meanwhile(rig)
        await rig.type("5", "5", "5")
        assert len(rig.app.screen_stack) == 1
        assert rig.app.main.current_kind.id == "calls"


@pytest.mark.parametrize("seconds", [AWAY - 1, AWAY + 300])
async def test_a_key_acts_at_once_after_less_time_or_where_nothing_happened(
    seconds: float,
) -> None:
    async with running(State(sessions={"s1": session("s1", "quiet")})) as rig:
        await rig.press("1")
        rig.clock.turn(seconds)
        await rig.press("question_mark")
        assert "Help" in rig.text


async def test_a_click_does_not_lose_it() -> None:
    async with running(busy_world()) as rig:
        await ended_meanwhile(rig)
        await rig.pilot.click("HeaderLine", offset=(70, 0))
        await rig.settle()
        assert isinstance(rig.app, TowerApp)
        await rig.press("x")
        assert isinstance(rig.app.screen, DigestScreen)


# By session


def eventful(ago: float = 200) -> State:
    """One session asks, one has failed, one changed files, one only said something."""
    state = State(turns={})
    for id_, label in (("s1", "Quiet"), ("s2", "Changed"), ("s3", "Failed"), ("s4", "Asks")):
        state.sessions[id_] = session(id_, label)
    said = {"says": "All done.", "state": "done"}
    state.turns |= told(Turn(head(1, "a", ago, 60, **said)))
    files = [FileChange(f"src/{name}.py", 2, 1) for name in "abcde"]
    changed = Turn(head(1, "b", ago, 60, session_id="s2", files=files))
    state.turns |= told(changed, session_id="s2")
    steps = [
        step("1.1", state="failed", ago=ago - 100, tool="bash", summary="npm test", call_id="c1")
    ]
    state.turns |= told(
        Turn(head(1, "c", ago, 60, session_id="s3", failed=1), steps), session_id="s3"
    )
    detail = {"kind": "shell", "fullCommandText": "rm -rf build"}
    state.approvals["r1"] = approval("r1", "permission", detail, session_id="s4")
    return state


def rows_of(state: State) -> list[str]:
    view = View()
    view.state, view.now = state, START
    return [row.texts[0] for row in AwayRows(view, digest(state, {}, START - 1000, START)).rows]


def test_what_asks_and_failed_comes_first_then_what_changed() -> None:
    assert rows_of(eventful()) == [
        "Asks",
        "! run rm -rf build",
        "Failed  1 turn done",
        "✗ bash npm test",
        "Changed  1 turn done",
        "5 files changed +10 −5 src/e.py, src/d.py, src/c.py and 2 more",
        "Quiet  1 turn done",
        "“All done.”",
    ]


def test_paths_are_told_from_the_sessions_folder() -> None:
    state = State(sessions={"s1": session("s1", "First"), "s2": session("s2", "Second")})
    files = [FileChange(f"/code/s1/{name}", 2, 1) for name in ("a.py", "b.py")]
    steps = [step("1.1", state="failed", ago=90, tool="edit", summary="/code/s1/c.py")]
    turn = Turn(head(1, "a", 200, 60, files=[*files, FileChange("/etc/x", 1)], failed=1), steps)
    state.turns |= told(turn)
    failed = {"state": "failed", "duration": 9.0, "provider_id": None, "session_id": "s2"}
    one = call("c1", "view", args=Raw(b'{"path": "/code/s2/d.py"}'), **failed)
    state.recent_calls["c1"] = one
    rows = rows_of(state)
    assert "3 files changed +5 −2 /etc/x, b.py, a.py" in rows
    assert "✗ edit c.py" in rows
    assert not any("/code/" in row for row in rows)


def test_how_turns_ended_is_said_plainly_and_nothing_of_zero() -> None:
    turns = [
        Turn(head(number, "a", 900 - number, 60, state=state))
        for number, state in enumerate(("failed", "failed", "stopped", "unknown"), 1)
    ]
    state = State(sessions={"s1": session("s1", "First")}, turns=told(*turns))
    assert rows_of(state)[0] == "First  2 turns failed, 1 stopped, 1 unknown"
    (words,) = digest_parts(digest(state, {}, START - 1000, START))
    assert words.text == "2 turns failed, 1 stopped, 1 of unknown end"
    assert digest_parts(Digest(0.0, 600.0, waited=0.4)) == []


def test_of_very_much_each_session_has_a_bounded_number_of_rows() -> None:
    state = State()
    for number in range(MOST_SESSIONS + 5):
        id_ = f"s{number}"
        state.sessions[id_] = session(id_, id_)
        failed = [
            step(f"1.{n}", state="failed", ago=9, tool="t", call_id=f"{id_} {n}") for n in range(30)
        ]
        turn = Turn(head(1, "a", 20, 9, session_id=id_, failed=30), failed)
        state.turns |= told(turn, session_id=id_)
    rows = rows_of(state)
    assert len(rows) <= MOST_SESSIONS * (MOST_ROWS + 3) + 1
    assert rows.count(f"… {30 - MOST_ROWS} more") == MOST_SESSIONS
    assert rows[-1] == "… 5 more sessions: they are in Sessions"


async def come_back(rig: Running, state: State) -> None:
    """Go away, let what is in `state` have happened meanwhile, and press a key."""
    await rig.press("1")
    rig.clock.turn(AWAY + 1)
    rig.app.view.state = state
    await rig.press("x")
    assert isinstance(rig.app.screen, DigestScreen)


async def test_each_row_opens_what_it_is_about() -> None:
    async with running(State(sessions=eventful().sessions), size=(80, 24)) as rig:
        await come_back(rig, eventful(-50))
        assert "! run rm -rf build" in rig.text
        await rig.press("down", "enter")
        assert isinstance(on_top(rig.app), RequestDetail)
        await rig.press("escape", "colon", *"while you were", "enter")
        assert isinstance(rig.app.screen, DigestScreen)
        await rig.press("down", "down", "down", "enter")
        assert rig.app.main.current_kind.id == "turns"
        assert "npm test" in rig.text
        await rig.press("colon", *"while you were", "enter", "end", "up", "enter")
        assert isinstance(on_top(rig.app), SessionDetail)


async def open_row(rig: Running, text: str) -> None:
    """Press Enter on the row of the digest that has this text."""
    assert isinstance(rig.app.screen, DigestScreen)
    rows = [row for row in rig.app.screen.query_one(Table).rows if row.key]
    place = next(place for place, row in enumerate(rows) if text in row.texts[0])
    await rig.press("home", *["down"] * place, "enter")
    await rig.turn(2)


async def test_a_row_opens_its_own_request_while_another_stands_in_the_detail() -> None:
    begin, then = State(sessions=eventful().sessions), eventful(-50)
    detail = {"kind": "shell", "fullCommandText": "make all"}
    begin.approvals["r0"] = approval("r0", "permission", detail, session_id="s1")
    then.approvals = begin.approvals | then.approvals
    async with running(begin, size=(160, 40)) as rig:
        await rig.press("1", "a")
        rig.clock.turn(AWAY + 1)
        rig.app.view.state = then
        await rig.press("x")
        await open_row(rig, "rm -rf build")
        opened = on_top(rig.app)
        assert isinstance(opened, RequestDetail)
        assert opened.key == "r1"
        await rig.press("escape", "colon", *"while you were", "enter")
        await open_row(rig, "make all")
        shown = rig.app.main.detail_area
        assert len(rig.app.screen_stack) == 1
        assert isinstance(shown.detail, RequestDetail)
        assert (shown.detail.key, shown.has_keys) == ("r0", True)
        assert rig.feed.sent == []


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_a_row_opens_what_happened_in_a_session_that_ended(size: tuple[int, int]) -> None:
    state = eventful(-50)
    for id_ in ("s2", "s3"):
        over = {"state": "ended", "ended_at": at(-100), "reason": "the session ended in the CLI"}
        state.sessions[id_] = replace(state.sessions[id_], **over)
    async with running(State(sessions=eventful().sessions), size=size) as rig:
        await come_back(rig, state)
        await open_row(rig, "npm test")
        assert "2 Turns: Failed" in rig.text
        assert "npm test" in rig.text
        await rig.press("colon", *"while you were", "enter")
        await open_row(rig, "5 files changed")
        assert "2 Turns: Changed" in rig.text
        await rig.press("1", "home", "end")
        sessions = rig.app.main.current
        assert isinstance(sessions, SessionsPane)
        assert sorted(sessions.shown_keys()) == ["s1", "s4"], "it is in the way no longer"


async def test_a_goes_to_the_request_at_once_and_decides_nothing() -> None:
    async with running(State(sessions=eventful().sessions), size=(80, 24)) as rig:
        await come_back(rig, eventful(-50))
        assert "a answers   ⏎ opens   any other key closes" in rig.text
        await rig.press("a")
        assert isinstance(on_top(rig.app), RequestDetail)
        assert rig.feed.sent == []


async def test_a_letter_of_a_request_only_closes_it() -> None:
    keys = ("y", "d", "s", "r", "m", "q", "escape", "question_mark", "5")
    async with running(State(sessions=eventful().sessions), size=(160, 40)) as rig:
        for times, key in enumerate(keys):
            await come_back(rig, eventful(-50 - times * (AWAY + 1)))
            await rig.press(key)
            assert len(rig.app.screen_stack) == 1, key
            assert rig.app.main.current_kind.id == "sessions", key
            assert rig.feed.sent == [], key


async def test_a_request_that_is_open_takes_no_letter_that_shows_it() -> None:
    state = eventful()
    async with running(state, size=(80, 24)) as rig:
        await rig.press("a")
        assert isinstance(on_top(rig.app), RequestDetail)
        rig.clock.turn(AWAY + 1)
        await rig.press("y")
        assert isinstance(rig.app.screen, DigestScreen)
        await rig.press("y")
        assert isinstance(on_top(rig.app), RequestDetail)
        assert "chosen" not in rig.text
        await rig.press("enter")
        assert rig.feed.sent == []


# The terminal's focus


async def focus(rig: Running, *events: type[AppBlur | AppFocus]) -> None:
    for one in events:
        rig.app.post_message(one())
    await rig.settle()
    await rig.settle()


async def test_the_focus_that_comes_back_shows_it_without_a_key() -> None:
    async with running(busy_world()) as rig:
        await rig.press("1")
        rig.clock.turn(200)
        await focus(rig, AppBlur)
        rig.clock.turn(AWAY)
        rig.feed.happen(ev.SessionHappened("s1", "session.idle"), ts=at(-400))
        await rig.settle()
        await focus(rig, AppFocus)
        assert isinstance(rig.app.screen, DigestScreen)
        assert "While you were away: 5m 00s, since 20:13" in rig.text
        await rig.press("down", "y")
        assert len(rig.app.screen_stack) == 1
        await rig.press("question_mark")
        assert "Help" in rig.text, "it is shown once"


async def test_a_focus_that_was_gone_for_less_time_shows_nothing() -> None:
    async with running(busy_world()) as rig:
        await rig.press("1")
        await focus(rig, AppBlur)
        rig.clock.turn(AWAY - 1)
        rig.feed.happen(ev.SessionHappened("s1", "session.idle"), ts=at(-100))
        await focus(rig, AppFocus)
        assert len(rig.app.screen_stack) == 1
        rig.clock.turn(2)
        await rig.press("question_mark")
        assert "Help" in rig.text, "the focus was a sign of the person too"


async def test_a_key_right_behind_the_focus_does_nothing() -> None:
    async with running(busy_world()) as rig:
        await rig.press("1", "t")
        await focus(rig, AppBlur)
        rig.clock.turn(AWAY)
        rig.feed.happen(ev.SessionHappened("s1", "session.idle"), ts=at(-100))
        await rig.settle()
        rig.app.post_message(AppFocus())
        rig.app.post_message(Key("z", "z"))
        await rig.settle()
        assert isinstance(rig.app.screen, DigestScreen)
        await rig.press("z")
        assert len(rig.app.screen_stack) == 1
        assert rig.app.main.query_one(TellInput).value == ""


async def test_the_command_says_that_nothing_has_happened() -> None:
    async with running(State(sessions={"s1": session("s1", "quiet")})) as rig:
        await rig.press("colon", *"while you were", "enter")
        assert rig.notices == ["Nothing has happened since then."]
