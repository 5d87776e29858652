"""Orders from the tower: the Tell line, stopping, and the actions of a session."""

import pytest
from textual.events import Paste

from tapui.projection.state import State
from tapui.tower.sessions.tell_line import TellInput, TellLine
from tapui.wire import events as ev
from tapui.wire.errors import ErrorCode
from tapui.wire.limits import MAX_TELL
from tapui.wire.message import Error
from tapui.wire.steering import (
    ModelChoice,
    ModelsList,
    ModelsRead,
    Order,
    SessionCompact,
    SessionOrdered,
    SessionSet,
    SessionStop,
    SessionTell,
)
from tests.tower.running import Running, running
from tests.tower.scripted import at, session

CAN = ["tell", "now", "stop", "compact", "model", "effort", "label"]


def able(*, state: str = "busy", can: list[str] | None = None, **more: object) -> State:
    """A state with a session that takes orders, and one that takes none."""
    found = State()
    found.sessions["s1"] = session(
        "s1", "Fix pairing", state=state, can=CAN if can is None else can, model="gpt-5", **more
    )
    found.sessions["s2"] = session("s2", "Mute", cannot={"tell": "this CLI is too old"})
    return found


def given(kind: str = "tell", **fields: object) -> ev.OrderGiven:
    about = {"id": "o1", "session_id": "s1", "kind": kind, "state": "given", "by": "tapui"}
    order = Order(**{**about, "at": at(), **fields})  # type: ignore[arg-type]
    return ev.OrderGiven(session_id="s1", order=order)


def changed(state: str, **fields: object) -> ev.OrderChanged:
    about = {"session_id": "s1", "order_id": "o1", "state": state}
    return ev.OrderChanged(**{**about, **fields})  # type: ignore[arg-type]


async def becomes(rig: Running, state: str) -> None:
    now = session("s1", "Fix pairing", state=state, can=CAN)
    rig.feed.happen(ev.SessionUpdated(session_id="s1", session=now))
    await rig.settle()


async def tell(rig: Running, *keys: str) -> SessionTell:
    """Write a text, send it, and let the gateway take it."""
    await rig.press("t", *keys, "enter")
    sent = rig.feed.sent[-1]
    assert isinstance(sent, SessionTell)
    rig.feed.put(SessionOrdered(sent.id, "o1"))
    rig.feed.happen(given(text=sent.text, way=sent.way))
    await rig.settle()
    return sent


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_t_opens_a_line_in_which_a_text_is_sent(size: tuple[int, int]) -> None:
    async with running(able(), size=size) as rig:
        await rig.press("t", "g", "o", "space", "q")
        line = next(one for one in rig.text.splitlines() if "tell Fix pairing" in one)
        assert "after this turn: go q" in line
        assert "Tab another way" in rig.text.splitlines()[-1] or "Tab way" in rig.text
        await rig.press("enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionTell)
        assert (sent.session_id, sent.text, sent.way) == ("s1", "go q", "after")
        assert "tell Fix pairing" not in rig.text
        assert rig.app.main.current_pane.has_pseudo_class("focus-within")


async def test_tab_goes_round_the_ways_and_each_session_keeps_its_own() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("t", "tab")
        assert "now:" in rig.text
        assert "a running command goes on in the background" in rig.text
        await rig.press("tab")
        assert "stop, then send:" in rig.text
        await rig.press("x", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionTell)
        assert (sent.text, sent.way) == ("x", "stopFirst")
        await rig.press("t")
        assert "stop, then send:" in rig.text
        await rig.press("tab")
        assert "after this turn:" in rig.text


async def test_a_host_that_cannot_steer_offers_only_what_it_can() -> None:
    async with running(able(can=["tell", "stop"]), size=(120, 36)) as rig:
        await rig.press("t", "tab")
        assert "stop, then send:" in rig.text
        await rig.press("tab")
        assert "after this turn:" in rig.text


async def test_escape_keeps_the_draft_of_each_session() -> None:
    state = able()
    state.sessions["s2"] = session("s2", "Other", state="busy", can=CAN)
    async with running(state, size=(120, 36)) as rig:
        await rig.press("t", "a", "b", "escape")
        assert rig.feed.sent == []
        assert not rig.app.main.query_one(TellLine).has_class("-open")
        await rig.press("down", "t")
        assert rig.app.main.query_one(TellInput).value == ""
        await rig.press("c", "escape", "up", "t")
        assert rig.app.main.query_one(TellInput).value == "ab"
        await rig.press("enter")
        assert rig.app.orders.draft("s1") == ""
        assert rig.app.orders.draft("s2") == "c"


TRACE = "Traceback:\n  File x\nValueError: no"


async def test_a_pasted_text_of_several_lines_is_sent_whole() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("t")
        high = rig.app.main.query_one(TellInput).size.height
        for pasted in ("look:\r\n", TRACE):
            rig.app.post_message(Paste(pasted))
            await rig.settle()
        assert rig.feed.sent == [], "a paste sends nothing"
        field = rig.app.main.query_one(TellInput)
        assert (high, field.size.height) == (1, 4)
        await rig.press("enter")
        assert rig.feed.sent[-1].text == f"look:\n{TRACE}"  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", ["alt+enter", "ctrl+j"])
async def test_a_line_is_begun_by_keys_of_its_own_and_five_are_in_sight(key: str) -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("t", *[one for number in range(7) for one in (str(number), key)], "x")
        assert rig.app.main.query_one(TellInput).size.height == 5
        await rig.press("up", "up", "y", "enter")
        assert rig.feed.sent[-1].text == "0\n1\n2\n3\n4\n5y\n6\nx"  # type: ignore[attr-defined]


async def test_up_and_down_move_in_a_line_that_is_wrapped() -> None:
    async with running(able(), size=(80, 24)) as rig:
        await rig.press("t", *"a" * 150)
        assert rig.app.main.query_one(TellInput).size.height > 1
        await rig.press("up", "x", "enter")
        sent = rig.feed.sent[-1].text  # type: ignore[attr-defined]
        assert 0 < sent.index("x") < 150


async def test_a_paste_without_bounds_is_cut_and_harmless() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("t", "a")
        rig.app.post_message(Paste("\x1b[2J\u202e" * 1_000_000))
        await rig.settle()
        await rig.press("enter")
        sent = rig.feed.sent[-1].text  # type: ignore[attr-defined]
        assert len(sent) == MAX_TELL
        assert sent.startswith("a\\x1b[2J\\u202e")


async def test_an_empty_text_is_not_sent() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("t", "space", "enter")
        assert rig.feed.sent == []


async def test_what_became_of_a_text_is_told() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await tell(rig, "g", "o")
        rig.feed.happen(changed("queued"))
        await rig.settle()
        assert rig.notices[-1] == "tell (after this turn): go: waits for the turn's end."
        rig.feed.happen(changed("done", running=["sleep 9"]))
        await rig.settle()
        assert "delivered; still running in the background: sleep 9" in rig.notices[-1]


async def test_of_a_long_text_its_beginning_is_told_and_what_became_of_it() -> None:
    async with running(able(), size=(120, 36)) as rig:
        rig.feed.happen(given(text="mend it " * 100), changed("failed", error="gone"))
        await rig.settle()
        text = rig.notices[-1]
        assert text.startswith("tell: mend it mend it ")
        assert "…: not delivered: gone" in text
        assert len(text) < 160


async def test_a_text_that_was_not_delivered_is_a_draft_again() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await tell(rig, "g", "o")
        rig.feed.happen(changed("failed", error="the turn was stopped"))
        await rig.settle()
        assert "not delivered: the turn was stopped. t has it as a draft." in rig.notices[-1]
        await rig.press("t")
        assert rig.app.main.query_one(TellInput).value == "go"


async def test_a_text_that_the_gateway_refuses_is_a_draft_again() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("t", "g", "o", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionTell)
        rig.feed.put(Error(ErrorCode.RATE_LIMITED, "too many", reply_to="session.tell", id=sent.id))
        await rig.settle()
        assert "RATE_LIMITED: too many" in rig.notices[-1]
        assert rig.app.orders.draft("s1") == "go"


async def test_a_text_of_another_tower_that_was_not_delivered_is_told_too() -> None:
    async with running(able(), size=(120, 36)) as rig:
        rig.feed.happen(given(text="theirs"), changed("queued"))
        await rig.settle()
        assert rig.notices == []
        rig.feed.happen(changed("failed", error="gone"))
        await rig.settle()
        assert "theirs: not delivered: gone" in rig.notices[-1]
        assert rig.app.orders.draft("s1") == ""


async def test_a_session_that_cannot_be_told_anything_says_why() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("down", "t")
        assert rig.notices == ["Mute cannot be told anything: this CLI is too old"]
        assert rig.feed.sent == []


async def test_x_stops_a_turn_after_a_question_and_the_row_says_so_until_it_rests() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("x")
        line = rig.text.splitlines()[-2]
        assert "Fix pairing  stop?" in line
        assert "Enter, or type what to do instead" in line
        await rig.press("escape")
        assert rig.feed.sent == []
        await rig.press("x", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionStop)
        rig.feed.put(SessionOrdered(sent.id, "o1"))
        rig.feed.happen(given("stop"), changed("stopping"))
        await rig.settle()
        assert "stopping" in rig.text
        rest = rig.app.view.state.sessions["s1"]
        rig.feed.happen(changed("done", running=["sleep 9"], dropped=["later"]))
        await rig.settle()
        assert "stopping" not in rig.text
        assert rest.state == "busy"
        assert rig.notices[-1] == (
            "stop the turn: stopped; still running in the background: sleep 9;"
            " dropped with the turn: later."
        )


async def test_the_sheet_of_a_session_keeps_what_was_ordered() -> None:
    async with running(able(), size=(120, 36)) as rig:
        rig.feed.happen(given(text="go on", way="now"), changed("failed", error="gone"))
        await rig.press("enter")
        assert "tell (now): go on: not delivered: gone" in rig.text


async def test_x_in_turns_stops_the_turn_of_the_session_that_is_shown() -> None:
    async with running(able(), size=(120, 36)) as rig:
        happened = ev.SessionHappened(session_id="s1", event="session.busy")
        rig.feed.happen(happened)
        await rig.press("2", "x", "enter")
        assert isinstance(rig.feed.sent[-1], SessionStop)
        await rig.press("x", "n", "o", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionTell)
        assert (sent.text, sent.way) == ("no", "stopFirst")
        assert rig.app.main.current_pane.has_pseudo_class("focus-within")


async def test_a_text_at_the_question_is_sent_once_the_turn_is_stopped() -> None:
    async with running(able(), size=(80, 24)) as rig:
        await rig.press("t", "l", "a", "t", "e", "r", "escape")
        await rig.press("x")
        assert "later" not in rig.text  # Enter alone must not send a draft
        assert "Tab" not in rig.text.splitlines()[-1]
        await rig.press("u", "s", "e", "space", "p", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionTell)
        assert (sent.session_id, sent.text, sent.way) == ("s1", "use p", "stopFirst")
        assert rig.app.orders.draft("s1") == "later"
        assert len(rig.feed.sent) == 1


async def test_escape_at_the_question_keeps_what_was_typed_as_a_draft() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("t", "b", "escape", "x", "a", "escape", "t")
        assert rig.app.main.query_one(TellInput).value == "a\nb"
        assert rig.feed.sent == []


async def test_a_turn_that_ended_before_the_answer_is_not_stopped_but_the_text_is_sent() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("x")
        await becomes(rig, "idle")
        await rig.press("enter")
        assert rig.feed.sent == []
        assert rig.notices == ["The turn of Fix pairing has ended already."]
        await becomes(rig, "busy")
        await rig.press("x", "g", "o")
        await becomes(rig, "idle")
        await rig.press("enter")
        assert isinstance(rig.feed.sent[-1], SessionTell)


async def test_a_session_that_takes_no_text_is_stopped_by_enter_alone() -> None:
    async with running(able(can=["stop"]), size=(120, 36)) as rig:
        await rig.press("x", "g", "o", "enter")
        assert rig.feed.sent == []
        assert rig.notices == [
            "Fix pairing cannot be told anything: its host does not offer that",
        ]
        assert rig.app.orders.draft("s1") == "go"
        await rig.press("x", "enter")
        assert isinstance(rig.feed.sent[-1], SessionStop)


async def test_an_idle_session_has_nothing_to_stop() -> None:
    async with running(able(state="idle"), size=(120, 36)) as rig:
        await rig.press("x")
        assert not rig.app.main.query_one(TellLine).has_class("-open")


async def test_compact_and_rename() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await rig.press("full_stop", "k")
        assert isinstance(rig.feed.sent[-1], SessionCompact)
        await rig.press("full_stop", "n")
        assert "New name of Fix pairing" in rig.text
        await rig.press("!", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionSet)
        assert (sent.what, sent.value) == ("label", "Fix pairing!")
        await rig.press("full_stop", "n", "enter")
        assert len(rig.feed.sent) == 2


async def models(rig: Running, letter: str, *listed: ModelChoice, error: str | None = None) -> None:
    """Open the choice behind a letter, and let the host name its models."""
    await rig.press("full_stop", letter)
    asked = rig.feed.sent[-1]
    assert isinstance(asked, ModelsRead)
    rig.feed.put(ModelsList(asked.id, list(listed), error))
    await rig.settle()


async def test_a_model_is_chosen_from_those_that_the_host_names() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await models(rig, "o", ModelChoice("gpt-5"), ModelChoice("opus", "Opus 9"))
        assert "Opus 9" in rig.text
        await rig.press("down", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionSet)
        assert (sent.what, sent.value) == ("model", "opus")


async def test_a_model_is_written_where_the_host_names_none() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await models(rig, "o")
        assert "names no models" in rig.text
        await rig.press("x", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionSet)
        assert (sent.what, sent.value) == ("model", "gpt-5x")


async def test_an_effort_is_chosen_from_those_of_the_model() -> None:
    async with running(able(), size=(120, 36)) as rig:
        await models(rig, "e", ModelChoice("gpt-5", None, ["low", "high"]))
        assert "medium" not in rig.text
        await rig.press("down", "enter")
        sent = rig.feed.sent[-1]
        assert isinstance(sent, SessionSet)
        assert (sent.what, sent.value) == ("effort", "high")


async def test_what_a_host_cannot_do_is_listed_with_its_reason() -> None:
    state = able(can=["tell"], cannot={"compact": "this CLI is too old"})
    async with running(state, size=(120, 36)) as rig:
        await rig.press("full_stop")
        assert "compact the context (not possible: this CLI is too old)" in rig.text
        await rig.press("k")
        assert rig.feed.sent == []
        assert "this CLI is too old" in rig.notices[-1]


async def test_a_prompt_of_the_person_is_yours_wherever_it_was_written() -> None:
    async with running(able(), size=(120, 36)) as rig:
        data = b'{"content":"go on","from":"tapui send"}'
        from msgspec import Raw

        rig.feed.happen(ev.SessionHappened(session_id="s1", event="user.message", data=Raw(data)))
        await rig.settle()
        assert "1  you: “go on”" in rig.text


async def test_the_effort_in_force_is_shown_with_the_model() -> None:
    async with running(able(effort="high"), size=(120, 36)) as rig:
        await rig.press("1", "full_stop")
        assert "reasoning effort (now high)" in rig.text
        await rig.press("escape", "enter")
        assert "gpt-5 · high" in rig.text
